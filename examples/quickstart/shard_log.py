"""What lies in the log of a shard, read without the library: one Arrow IPC stream per entry (docs/format.md, "MemWAL: WAL entries")."""

from pathlib import Path

import pyarrow as pa
import pyarrow.ipc


def entries(uri, shard):
    """{position: file} of the entries that are there now."""
    files = Path(uri, "_mem_wal", shard, "wal").glob("*.arrow")
    return {int(file.stem[::-1], 2): file for file in files}  # a name is the position in binary digits, the lowest first


def ids(files):
    """The ids of all rows of these entries, as often as they are there."""
    found = []
    for file in files:
        with pa.memory_map(str(file)) as source, pa.ipc.open_stream(source) as rows:
            if "id" in rows.schema.names:  # an entry that fences a predecessor has no columns
                found += rows.read_all()["id"].to_pylist()
    return found
