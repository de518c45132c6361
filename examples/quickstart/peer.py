"""Reads the table with the released `pylance`: `peer.py OUT.arrow URI [SHARD]`.

In a process of its own: with a shard it claims that, replays its log and writes every row that it sees to an Arrow file; else
the rows of the base table.
"""

import sys

import lance
import pyarrow as pa
import pyarrow.ipc

import corpus


def main():
    out, uri, *shard = sys.argv[1:]
    dataset = lance.dataset(uri)
    if shard:
        writer = dataset.mem_wal_writer(*shard)
        table = writer.lsm_scanner().to_table()
        writer.close()
    else:
        table = dataset.to_table()
    table = table.select(corpus.SCHEMA.names)
    with pa.OSFile(out, "wb") as sink, pa.ipc.new_file(sink, table.schema) as file:
        file.write_table(table)
    print(f"base {dataset.count_rows()} rows at version {dataset.version}, {table.num_rows} rows read")


if __name__ == "__main__":
    main()
