"""Writes the golden tables of this release: `make.py FOLDER` writes those of TABLES that are not there. Run once per release
that changes what is written; never again for an old one, whose files stay as they are.
"""

import sys
from pathlib import Path

import pyarrow as pa

import javelin
from javelin import mem_wal

SHARDS = [f"60de0000-0000-4000-8000-00000000000{number}" for number in (1, 2)]
SHARD = SHARDS[0]
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

KEYLESS_SCHEMA = pa.schema([field.remove_metadata() for field in SCHEMA])


def keyless_rows(*keys, tag):
    return rows(*keys, tag=tag).cast(KEYLESS_SCHEMA)


PAIR = [pa.field(name, type, nullable=False, metadata={**KEY, "lance-schema:unenforced-primary-key:position": place})
        for name, type, place in (("region", pa.int32(), "1"), ("name", pa.string(), "2"))]
PAIR_SCHEMA = pa.schema([*PAIR, *KEYLESS_SCHEMA])


def pair_rows(*keys, tag):
    """The same rows with a key of two columns; their id is a column as others."""
    columns = [pa.array([key % 3 - 1 for key in keys], pa.int32()), pa.array([f"name {key}é" for key in keys])]
    return pa.Table.from_arrays([*columns, *rows(*keys, tag=tag).columns], schema=PAIR_SCHEMA)


def shares(uri, table):
    """The rows of each shard of a table that is bucketed by the second column of its key."""
    dataset = javelin.dataset(uri)
    (spec,) = dataset.mem_wal_index_details()["sharding_specs"]
    (batch,) = table.combine_chunks().to_batches()
    places = mem_wal.evaluate_sharding_spec(batch, spec, dataset.lance_schema).column(0).to_pylist()
    return {shard: table.filter(pa.array([place == number for place in places])) for number, shard in enumerate(SHARDS)}


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


def sharded(uri):
    """The same steps over a composite key and two shards, of which each row has its own: the first SSTable of either is in
    the base, the second is not, and the tail is only in the log."""
    javelin.write_dataset(pair_rows(*range(1, 40), tag="base"), uri).initialize_mem_wal(bucket_column="name", num_buckets=2)
    for shard in SHARDS:
        with javelin.dataset(uri).mem_wal_writer(shard) as writer:
            writer.put(shares(uri, pair_rows(3, 4, 50, 51, tag="first"))[shard])
            writer.put(shares(uri, pair_rows(4, 52, tag="second"))[shard])
            writer.delete(shares(uri, pair_rows(5, 51, tag=""))[shard].select(["region", "name"]))
    javelin.dataset(uri).compact_shards()
    for shard in SHARDS:
        writer = javelin.dataset(uri).mem_wal_writer(shard)
        writer.put(shares(uri, pair_rows(5, 50, 60, tag="third"))[shard])
        writer.flush()
        writer.put(shares(uri, pair_rows(60, 61, tag="log"))[shard])
        writer.delete(shares(uri, pair_rows(1, tag=""))[shard].select(["region", "name"]))
        writer._abort()


def keyless(uri):
    """Without a key: rows of one id stay beside each other. One SSTable is in the base, one is not, one put is in the log."""
    javelin.write_dataset(keyless_rows(*range(1, 40), tag="base"), uri).initialize_mem_wal(unsharded=True)
    with javelin.dataset(uri).mem_wal_writer(SHARD) as writer:
        writer.put(keyless_rows(3, 4, 50, 50, tag="first"))
    javelin.dataset(uri).compact_shards()
    writer = javelin.dataset(uri).mem_wal_writer(SHARD)
    writer.put(keyless_rows(4, 60, tag="second"))
    writer.flush()
    writer.put(keyless_rows(60, 61, tag="log"))
    writer._abort()


TABLES = {"table": flushed, "compacted": compacted, "sharded": sharded, "keyless": keyless}


def main():
    for name, write in TABLES.items():
        path = Path(sys.argv[1], f"{name}.lance")
        if not path.exists():
            write(str(path))


if __name__ == "__main__":
    main()
