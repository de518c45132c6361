"""Reading and compacting SSTables: point lookups, scans over base and five SSTables, and a compaction, beside the released peer.

One table of 50,000 rows with five SSTables of 5,000 rows on top, half of whose keys are in the base; both libraries read the
same files. A lookup is of a key that one SSTable alone holds, the newest or the oldest, with view and planner made beforehand,
as a service would have them. For each compaction a side gets a copy of its own; the peer's is a merge_insert of the newest
rows of the SSTables. Every answer that is timed is compared with the rows that were written, of both sides.
Goals: lookup 10x, scan 1x, compaction 1x what the peer reaches; aims: 100x, 2x, 3x.
"""

import argparse
import json
import random
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
import uuid
from pathlib import Path

import pyarrow as pa

BASE_ROWS, SSTABLES, ROWS_EACH = 50_000, 5, 5_000
LOOKUPS, REPEATS, COMPACTIONS = 300, 5, 5
SCHEMA = pa.schema([pa.field("id", pa.int64(), nullable=False, metadata={"lance-schema:unenforced-primary-key": "true"}),
                    pa.field("text", pa.string()), pa.field("vector", pa.list_(pa.float32(), 32))])


def rows(keys, tag):
    values = pa.array([float(key % 97) for key in keys for _ in range(32)], pa.float32())
    return pa.table({"id": pa.array(keys, pa.int64()), "text": [f"{tag} of row {key}" for key in keys],
                     "vector": pa.FixedSizeListArray.from_arrays(values, 32)}, schema=SCHEMA)


def new_keys(generation):
    """Keys that this SSTable brings; no other holds them."""
    first = BASE_ROWS + generation * ROWS_EACH
    return range(first, first + ROWS_EACH // 2)


def keys_of(generation):
    """Half of them are keys of the base."""
    return [*random.Random(generation).sample(range(BASE_ROWS), ROWS_EACH // 2), *new_keys(generation)]


def tag_of(generation):
    return f"g{generation}"


def build(javelin, folder):
    uri, shard = str(folder / "lsm.lance"), str(uuid.uuid4())
    javelin.write_dataset(rows(range(BASE_ROWS), "base"), uri).initialize_mem_wal(unsharded=True)
    for generation in range(SSTABLES):
        with javelin.dataset(uri).mem_wal_writer(shard) as writer:
            writer.put(rows(keys_of(generation), tag_of(generation)))
    return uri, shard


def expected_rows():
    """What base and SSTables read as, in the order of the key: of each key the row of the newest that holds it."""
    tags = dict.fromkeys(range(BASE_ROWS), "base")
    for generation in range(SSTABLES):
        tags.update(dict.fromkeys(keys_of(generation), tag_of(generation)))
    parts = [rows([key for key, tag in tags.items() if tag == each], each) for each in dict.fromkeys(tags.values())]
    return pa.concat_tables(parts).sort_by("id")


def check_rows(table, expected):
    if not table.select(SCHEMA.names).cast(SCHEMA).sort_by("id").equals(expected):
        raise SystemExit(f"{table.num_rows} rows were read, {expected.num_rows} are right, or some are other rows")


def median_of(call, expected, repeats=REPEATS):
    """Median seconds of a scan; what each of them read is checked."""
    times = []
    for _ in range(repeats):
        started = time.perf_counter()
        found = call()
        times.append(time.perf_counter() - started)
        check_rows(found, expected)
    return statistics.median(times)


def lookup_medians(look_up):
    """Median seconds of a lookup in the newest and in the oldest SSTable; what each of them found is checked."""
    medians = {}
    for name, generation in (("newest", SSTABLES - 1), ("oldest", 0)):
        times, found = [], {}
        for key in random.Random(7).sample(new_keys(generation), LOOKUPS):
            started = time.perf_counter()
            found[key] = look_up(key)
            times.append(time.perf_counter() - started)
        for key, table in found.items():  # not between two lookups, which would find the caches of the processor full of it
            check_rows(table, rows([key], tag_of(generation)))
        medians[name] = statistics.median(times)
    return medians


def our_figures(javelin, uri, expected):
    dataset = javelin.dataset(uri)
    view = dataset.fresh()
    return {"lookup": lookup_medians(lambda key: view.get([key])),
            "scan": median_of(lambda: dataset.fresh().to_table(), expected),
            "cold_scan": median_of(lambda: javelin.dataset(uri, session=javelin.Session()).fresh().to_table(), expected)}


def compact(javelin, uri, expected):
    dataset = javelin.dataset(uri, storage_options={"sync": "false"}, session=javelin.Session())  # the peer syncs nothing
    started = time.perf_counter()
    dataset.compact_shards()
    seconds = time.perf_counter() - started
    check_rows(javelin.dataset(uri).to_table(), expected)
    return seconds


def snapshot_of(lance, uri, shard):
    """As a reader of the released package must gather it: the folders of the shard by generation."""
    snapshot = lance.mem_wal.ShardSnapshot(shard).with_current_generation(SSTABLES + 1)
    for folder in Path(uri, "_mem_wal", shard).glob("*_gen_*"):
        snapshot = snapshot.with_sstable(int(folder.name.rpartition("_")[2]), folder.name)
    return snapshot


def peer_compact(lance, shard, copy, expected):
    started = time.perf_counter()
    target = lance.dataset(copy)
    folders = [next(Path(copy, "_mem_wal", shard).glob(f"*_gen_{generation}")) for generation in range(1, SSTABLES + 1)]
    # Its scanner cannot leave the base out, so the newest row of each key is found by hand.
    table = pa.concat_tables(lance.dataset(str(folder)).to_table(columns=SCHEMA.names) for folder in folders)
    table = table.filter(newest_of(table))
    marks = [lance.mem_wal.CompactedSsTable(shard, SSTABLES)]
    (target.merge_insert("id").when_matched_update_all().when_not_matched_insert_all()
     .mark_sstables_as_compacted(marks).execute(table.cast(SCHEMA)))
    seconds = time.perf_counter() - started
    check_rows(lance.dataset(copy).to_table(), expected)
    return seconds


def peer_main(uri, shard, copies):
    import lance
    import lance.mem_wal

    dataset, snapshot = lance.dataset(uri), snapshot_of(lance, uri, shard)
    expected = expected_rows()
    planner = lance.mem_wal.LsmPointLookupPlanner(dataset, [snapshot], ["id"])
    lookup = lookup_medians(lambda key: planner.plan_lookup(pa.array([key], pa.int64())).to_table())
    scan = median_of(lambda: lance.mem_wal.LsmScanner.from_snapshots(dataset, [snapshot]).to_table(), expected)
    compactions = [peer_compact(lance, shard, copy, expected) for copy in copies]
    print(json.dumps({"lookup": lookup, "scan": scan, "compaction": statistics.median(compactions)}))


def newest_of(table):
    """Which rows are the last of their key; generations come in order."""
    newest = {}
    for row, key in enumerate(table["id"].to_pylist()):
        newest[key] = row
    keep = [False] * table.num_rows
    for row in newest.values():
        keep[row] = True
    return pa.array(keep)


def run(report):
    """For scripts/bench."""
    import javelin

    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        uri, shard = build(javelin, folder)
        expected = expected_rows()
        copies = [str(folder / f"copy{number}.lance") for number in range(2 * COMPACTIONS)]
        for copy in copies:
            shutil.copytree(uri, copy)
        done = subprocess.run([sys.executable, __file__, uri, shard, *copies[:COMPACTIONS]], stdout=subprocess.PIPE, text=True,
                              check=True)
        peer = json.loads(done.stdout.splitlines()[-1])
        ours = our_figures(javelin, uri, expected)
        for which in ("newest", "oldest"):
            theirs = 1e6 * peer["lookup"][which]
            report.add(f"point lookup in the {which} SSTable, p50", 1e6 * ours["lookup"][which], theirs, "us", "lower",
                       goal=theirs / 10, aim=theirs / 100)
        scan = 1e3 * peer["scan"]
        report.add("scan of base and 5 SSTables, view opened anew", 1e3 * ours["scan"], scan, "ms", "lower",
                   goal=scan, aim=scan / 2)
        report.add("the same in a new session", 1e3 * ours["cold_scan"], scan, "ms", "lower")
        moved = SSTABLES * ROWS_EACH
        theirs = moved / peer["compaction"]
        seconds = statistics.median(compact(javelin, copy, expected) for copy in copies[COMPACTIONS:])
        report.add("compaction of 5 SSTables", moved / seconds, theirs, "rows/s", "higher", goal=theirs, aim=3 * theirs)


if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    for argument in ("uri", "shard"):
        parser.add_argument(argument)
    parser.add_argument("copies", nargs="+")
    peer_main(**vars(parser.parse_args()))
