"""Reading and compacting SSTables: point lookups, scans over base and five SSTables, and a compaction, beside the released peer.

One table of 50,000 rows with five SSTables of 5,000 rows on top, half of whose keys are in the base; both libraries read the
same files. A lookup is of a key in the newest SSTable that holds it, with view and planner made beforehand, as a service
would have them. For each compaction a side gets a copy of its own; the peer's is a merge_insert of what its own scanner reads.
Goals: lookup 10x (aim 100x), scan 1x (aim 2x), compaction 1x (aim 3x).
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


def build(javelin, folder):
    """The table, and what every key must read as."""
    uri, shard = str(folder / "lsm.lance"), str(uuid.uuid4())
    javelin.write_dataset(rows(range(BASE_ROWS), "base"), uri).initialize_mem_wal(unsharded=True)
    expected = {key: "base" for key in range(BASE_ROWS)}
    for generation in range(SSTABLES):
        chance = random.Random(generation)
        keys = chance.sample(range(BASE_ROWS), ROWS_EACH // 2)
        keys += range(BASE_ROWS + generation * ROWS_EACH, BASE_ROWS + generation * ROWS_EACH + ROWS_EACH // 2)
        with javelin.dataset(uri).mem_wal_writer(shard) as writer:
            writer.put(rows(keys, f"g{generation}"))
        expected |= dict.fromkeys(keys, f"g{generation}")
    return uri, shard, expected


def median_of(call, repeats=REPEATS):
    times = []
    for _ in range(repeats):
        started = time.perf_counter()
        call()
        times.append(time.perf_counter() - started)
    return statistics.median(times)


def some_keys():
    return random.Random(7).sample(range(BASE_ROWS + (SSTABLES - 1) * ROWS_EACH, BASE_ROWS + (SSTABLES - 1) * ROWS_EACH + ROWS_EACH // 2),
                                   LOOKUPS)


def check_rows(table, expected):
    found = dict(zip(table["id"].to_pylist(), (text.split()[0] for text in table["text"].to_pylist())))
    if table.num_rows != len(expected) or found != expected:
        raise SystemExit(f"{table.num_rows} rows were read, {len(expected)} are right, or some are another version")


def our_figures(javelin, uri, expected):
    dataset = javelin.dataset(uri)
    check_rows(dataset.fresh().to_table(["id", "text"]), expected)
    view = dataset.fresh()
    times = []
    for key in some_keys():
        started = time.perf_counter()
        found = view.get([key])
        times.append(time.perf_counter() - started)
        assert found["id"].to_pylist() == [key]
    return {"lookup": statistics.median(times), "scan": median_of(lambda: dataset.fresh().to_table()),
            "cold_scan": median_of(lambda: javelin.dataset(uri, session=javelin.Session()).fresh().to_table())}


def compact(javelin, uri, expected):
    dataset = javelin.dataset(uri, storage_options={"sync": "false"}, session=javelin.Session())  # the peer syncs nothing
    started = time.perf_counter()
    dataset.compact_shards()
    seconds = time.perf_counter() - started
    check_rows(javelin.dataset(uri).to_table(["id", "text"]), expected)
    return seconds


def snapshot_of(lance, uri, shard):
    """As a reader of the released package must gather it: the folders of the shard by generation."""
    snapshot = lance.mem_wal.ShardSnapshot(shard).with_current_generation(SSTABLES + 1)
    for folder in Path(uri, "_mem_wal", shard).glob("*_gen_*"):
        snapshot = snapshot.with_sstable(int(folder.name.rpartition("_")[2]), folder.name)
    return snapshot


def peer_compact(lance, shard, copy):
    started = time.perf_counter()
    target = lance.dataset(copy)
    folders = [next(Path(copy, "_mem_wal", shard).glob(f"*_gen_{generation}")) for generation in range(1, SSTABLES + 1)]
    # Its scanner cannot leave the base out, so the newest row of each key is found by hand.
    table = pa.concat_tables(lance.dataset(str(folder)).to_table(columns=SCHEMA.names) for folder in folders)
    table = table.filter(newest_of(table))
    marks = [lance.mem_wal.CompactedSsTable(shard, SSTABLES)]
    (target.merge_insert("id").when_matched_update_all().when_not_matched_insert_all()
     .mark_sstables_as_compacted(marks).execute(table.cast(SCHEMA)))
    return time.perf_counter() - started


def peer_main(uri, shard, copies):
    import lance
    import lance.mem_wal

    dataset, snapshot = lance.dataset(uri), snapshot_of(lance, uri, shard)
    planner = lance.mem_wal.LsmPointLookupPlanner(dataset, [snapshot], ["id"])
    times = []
    for key in some_keys():
        value = pa.array([key], pa.int64())
        started = time.perf_counter()
        found = planner.plan_lookup(value).to_table()
        times.append(time.perf_counter() - started)
        assert found["id"].to_pylist() == [key]
    scan = median_of(lambda: lance.mem_wal.LsmScanner.from_snapshots(dataset, [snapshot]).to_table())
    compactions = [peer_compact(lance, shard, copy) for copy in copies]
    print(json.dumps({"lookup": statistics.median(times), "scan": scan, "compaction": statistics.median(compactions),
                      "rows": lance.dataset(copies[-1]).count_rows()}))


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
        uri, shard, expected = build(javelin, folder)
        copies = [str(folder / f"copy{number}.lance") for number in range(2 * COMPACTIONS)]
        for copy in copies:
            shutil.copytree(uri, copy)
        done = subprocess.run([sys.executable, __file__, uri, shard, *copies[:COMPACTIONS]], capture_output=True, text=True, check=True)
        peer = json.loads(done.stdout.splitlines()[-1])
        if peer["rows"] != len(expected):
            raise SystemExit(f"the peer's compaction left {peer['rows']} rows, {len(expected)} are right")
        ours = our_figures(javelin, uri, expected)
        report.add("point lookup in the newest SSTable, p50", 1e6 * ours["lookup"], 1e6 * peer["lookup"], "us", "lower",
                   goal=1e5 * peer["lookup"])
        report.add("scan of base and 5 SSTables, view opened anew", 1e3 * ours["scan"], 1e3 * peer["scan"], "ms", "lower",
                   goal=1e3 * peer["scan"])
        report.add("the same in a new session", 1e3 * ours["cold_scan"], 1e3 * peer["scan"], "ms", "lower")
        moved = SSTABLES * ROWS_EACH
        compaction = statistics.median(compact(javelin, copy, expected) for copy in copies[COMPACTIONS:])
        report.add("compaction of 5 SSTables", moved / compaction, moved / peer["compaction"], "rows/s",
                   "higher", goal=moved / peer["compaction"])


if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    for argument in ("uri", "shard"):
        parser.add_argument(argument)
    parser.add_argument("copies", nargs="+")
    peer_main(**vars(parser.parse_args()))
