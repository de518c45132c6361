"""Prints, as JSON, every row [id, op, ordinal] that the released peer reads over base and shard: TABLE SHARD."""

import json
import sys

import lance


def main() -> None:
    table, shard = sys.argv[1:]
    dataset = lance.dataset(table)
    writer = dataset.mem_wal_writer(shard, max_wal_flush_interval_ms=5)
    rows = writer.lsm_scanner().to_table().to_pylist()
    writer.close()
    print(json.dumps(sorted([row["id"], row["op"], row["ordinal"]] for row in rows)))


if __name__ == "__main__":
    main()
