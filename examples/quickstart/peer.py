"""Reads the table and its shard with the released `pylance`: `peer.py URI SHARD OUT.arrow`.

In a process of its own: it claims the shard, replays its log and writes every row that it sees to an Arrow file.
"""

import sys

import lance
import pyarrow as pa
import pyarrow.ipc

import corpus


def main():
    uri, shard, out = sys.argv[1:]
    dataset = lance.dataset(uri)
    writer = dataset.mem_wal_writer(shard)
    table = writer.lsm_scanner().to_table().select(corpus.SCHEMA.names)
    with pa.OSFile(out, "wb") as sink, pa.ipc.new_file(sink, table.schema) as file:
        file.write_table(table)
    print(f"base {dataset.count_rows()} rows at version {dataset.version}, with the shard {table.num_rows} rows")
    writer.close()


if __name__ == "__main__":
    main()
