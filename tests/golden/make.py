"""Writes the golden tables of this release: `make.py FOLDER` writes those of TABLES that are not there. Run once per release
that changes what is written; never again for an old one, whose files stay as they are.
"""

import sys
from pathlib import Path

import pyarrow as pa

import javelin

SHARD = "60de0000-0000-4000-8000-000000000001"
KEY = {"lance-schema:unenforced-primary-key": "true"}
SCHEMA = pa.schema([pa.field("id", pa.int64(), nullable=False, metadata=KEY), pa.field("text", pa.string()),
                    pa.field("at", pa.timestamp("us", "UTC")), pa.field("vector", pa.list_(pa.float32(), 4))])


def rows(*keys, tag):
    return pa.table({
        "id": pa.array(keys, pa.int64()),
        "text": [None if key % 5 == 0 else f"{tag} {key} \u00e9\0" for key in keys],
        "at": pa.array([key * 1_000_000 for key in keys], pa.timestamp("us", "UTC")),
        "vector": pa.array([None if key % 7 == 0 else [key / 2, -key, 0.0, 1e30] for key in keys], pa.list_(pa.float32(), 4)),
    }, schema=SCHEMA)


def first_generation(uri):
    """Versions, a deletion and nulls in one SSTable."""
    with javelin.dataset(uri).mem_wal_writer(SHARD) as writer:
        writer.put(rows(3, 4, 50, 51, tag="first"))
        writer.put(rows(4, 52, tag="second"))
        writer.delete([{"id": 5}, {"id": 51}])


def second_generation_and_log(uri):
    """One more SSTable, and a tail that is only in the log."""
    writer = javelin.dataset(uri).mem_wal_writer(SHARD)
    writer.put(rows(5, 50, 60, tag="third"))
    writer.flush()
    writer.put(rows(60, 61, tag="log"))
    writer.delete([{"id": 1}])
    writer._abort()


def flushed(uri):
    """A base table, and a shard with two SSTables and a tail that is only in the log."""
    javelin.write_dataset(rows(*range(1, 40), tag="base"), uri).initialize_mem_wal(unsharded=True)
    first_generation(uri)
    second_generation_and_log(uri)


def compacted(uri):
    """The same rows, with the first SSTable moved into the base: fragments and deletion files of a compaction, its mark, an
    SSTable that only older shard manifests list, one above the mark, and the tail."""
    javelin.write_dataset(rows(*range(1, 40), tag="base"), uri, max_rows_per_file=20).initialize_mem_wal(unsharded=True)
    first_generation(uri)
    javelin.dataset(uri).compact_shards()
    second_generation_and_log(uri)


TABLES = {"table": flushed, "compacted": compacted}


def main():
    for name, write in TABLES.items():
        path = Path(sys.argv[1], f"{name}.lance")
        if not path.exists():
            write(str(path))


if __name__ == "__main__":
    main()
