"""The main job on real text, step by step; every step checks itself. Run by scripts/quickstart.

Streams the speeches of Shakespeare's plays into a Lance table through a shard writer, reads them back at once, updates and
deletes some, kills a writer process in the middle of an append, reopens, lets the released `pylance` read the same table
and shard, and compacts the shard into the table. Exits non-zero if a check fails.
"""

import argparse
import os
import shutil
import signal
import subprocess
import sys
import time
import uuid
from dataclasses import replace
from pathlib import Path

import pyarrow as pa
import pyarrow.ipc

import javelin

import corpus
import shard_log
import writer as streaming

HERE = Path(__file__).resolve().parent
PROGRAM = HERE.parents[1] / "build/release/cli/javelin"  # where scripts/setup builds it
ROWS_IN_BASE = 2_000       # written as an ordinary table before streaming starts
ROWS_BEFORE_KILL = 20_000  # streamed by this process; the rest by a process that is killed
KILL_AFTER = 3_000         # acknowledged rows of that process
MEMTABLE_ROWS = 5_000      # so that MemTables are flushed to SSTables while rows stream in


class CheckFailed(Exception):
    pass


def check(condition, what):
    if not condition:
        raise CheckFailed(what)


class Step:
    """Prints a title, then one line of figures with the time the step took."""

    number = 0

    def __init__(self, title):
        Step.number += 1
        print(f"[{Step.number}] {title}", flush=True)
        self.figures = []

    def __enter__(self):
        self.started = time.monotonic()
        return self

    def __exit__(self, kind, *_):
        if kind is None:
            elapsed = time.monotonic() - self.started
            print(f"    {'; '.join(self.figures)} ({elapsed:.2f} s)", flush=True)

    def note(self, figure):
        self.figures.append(figure)


class Progress:
    """A line that counts up: rewritten in a terminal, one line a tenth elsewhere."""

    def __init__(self, total, what):
        self.total, self.what, self.done, self.shown = total, what, 0, 0

    def add(self, rows):
        self.done += rows
        if self.done - self.shown >= self.total / 10 or self.done >= self.total > self.shown:
            self.shown = self.done
            print(f"    {self.done:>6} of {self.total} {self.what}", end="\r" if sys.stdout.isatty() else "\n", flush=True)
            if sys.stdout.isatty() and self.done >= self.total:
                print()


def rows_by_id(table):
    """{id: row} of a table; a doubled id is a failed check."""
    rows = {row["id"]: row for row in table.to_pylist()}
    check(len(rows) == table.num_rows, f"{table.num_rows - len(rows)} ids come twice")
    return rows


def expected_rows(speeches):
    return rows_by_id(pa.Table.from_batches([corpus.to_batch(list(speeches.values()))]))


def check_equal(table, speeches, who):
    """`table` holds exactly these speeches, compared row by row."""
    seen, wanted = rows_by_id(table), expected_rows(speeches)
    missing, extra = wanted.keys() - seen.keys(), seen.keys() - wanted.keys()
    check(not missing, f"{who} lacks {len(missing)} rows, e.g. id {min(missing, default=None)}")
    check(not extra, f"{who} has {len(extra)} rows too many, e.g. id {min(extra, default=None)}")
    wrong = [key for key, row in wanted.items() if seen[key] != row]
    check(not wrong, f"{who} has other values in {len(wrong)} rows, e.g. id {wrong[:1]}")


def create(uri, speeches):
    with Step("create a table with a primary key and turn MemWAL on") as step:
        dataset = javelin.write_dataset(pa.Table.from_batches([corpus.to_batch(speeches[:ROWS_IN_BASE])]), uri)
        dataset.initialize_mem_wal(unsharded=True)
        dataset = javelin.dataset(uri)
        check(dataset.count_rows() == ROWS_IN_BASE, "the base table has a wrong row count")
        step.note(f"{ROWS_IN_BASE} rows in the base, version {dataset.version}")
    return dataset


def stream(dataset, writer, speeches):
    """Streams from several threads and reads every thousandth row back the moment its put has returned."""
    with Step(f"stream rows, {streaming.THREADS} threads, {streaming.ROWS_PER_BATCH} rows a durable put, reading back") as step:
        progress, looked_up, lookup_seconds = Progress(len(speeches), "rows"), 0, 0.0

        def acknowledged(batch):
            nonlocal looked_up, lookup_seconds
            progress.add(len(batch))
            if batch[0].id % 1000 < streaming.ROWS_PER_BATCH:
                started = time.monotonic()
                found = dataset.fresh().get([batch[0].id]).to_pylist()
                lookup_seconds += time.monotonic() - started
                looked_up += 1
                check([row["text"] for row in found] == [batch[0].text], f"id {batch[0].id} is not there right after its put")

        started = time.monotonic()
        streaming.stream(writer, speeches, acknowledged)
        elapsed = time.monotonic() - started
        stats = writer.stats()
        check(stats["put_count"] == len(streaming.batches(speeches)), "puts were lost from the statistics")
        step.note(f"{len(speeches) / elapsed:,.0f} rows/s, {stats['put_count']} puts in {stats['wal_flush_count']} log entries, "
                  f"{stats['wal_flush_bytes'] / 1e6:.1f} MB")
        check(stats["memtable_flush_count"] > 0, "no MemTable was flushed meanwhile")
        step.note(f"{stats['memtable_flush_count']} MemTables flushed meanwhile")
        step.note(f"{looked_up} lookups by key right after their put, {1000 * lookup_seconds / max(looked_up, 1):.1f} ms each")


def scan(dataset, expected):
    with Step("scan everything at once: base and what was just streamed") as step:
        table = dataset.fresh().to_table()
        check_equal(table, expected, "the scan")
        step.note(f"{table.num_rows} rows, {table.nbytes / 1e6:.1f} MB, equal one by one")


def change(dataset, writer, expected):
    """Updates and deletes rows of the base and of the stream."""
    with Step("update and delete some") as step:
        updated = [replace(speech, text=speech.text.upper()) for speech in expected.values() if speech.id % 97 == 0]
        deleted = [speech.id for speech in expected.values() if speech.id % 101 == 50]
        for batch in streaming.batches(updated):
            writer.put(corpus.to_batch(batch))
        writer.delete(pa.table({"id": pa.array(deleted, pa.int64())}))
        expected.update((speech.id, speech) for speech in updated)
        for key in deleted:
            del expected[key]
        view = dataset.fresh()
        check(view.get(deleted).num_rows == 0, "a deleted row answers a lookup")
        found = rows_by_id(view.get([speech.id for speech in updated if speech.id in expected]))
        check(all(found[key]["text"] == expected[key].text for key in found) and found, "an updated row has its old text")
        check(view.count_rows() == len(expected), "the count is wrong after updates and deletes")
        step.note(f"{len(updated)} updated, {len(deleted)} deleted, {len(expected)} rows")


def kill(uri, shard, speeches, directory):
    """Starts a writer process, kills it in the middle of an append; returns the ids that it acknowledged.

    The log is held against them before anyone opens the shard: it has every acknowledged row, and no row twice.
    """
    with Step("kill a writer process with SIGKILL while it appends") as step:
        before = shard_log.entries(uri, shard)
        acknowledged = directory / "acknowledged"
        acknowledged.unlink(missing_ok=True)
        process = subprocess.Popen([sys.executable, HERE / "writer.py", uri, shard, str(ROWS_BEFORE_KILL), str(len(speeches)),
                                    acknowledged])
        deadline = time.monotonic() + 120
        while not acknowledged.exists() or acknowledged.read_bytes().count(b"\n") < KILL_AFTER:
            check(process.poll() is None, f"the writer process ended by itself with {process.returncode}")
            check(time.monotonic() < deadline, "the writer process makes no progress")
            time.sleep(0.002)
        process.send_signal(signal.SIGKILL)
        check(process.wait() == -signal.SIGKILL, "the writer process was not killed")
        ids = [int(line) for line in acknowledged.read_text().rpartition("\n")[0].split()]  # the last line may lack its end
        acknowledged.unlink()
        step.note(f"{len(ids)} rows were acknowledged before it died")
    with Step("its log: no acknowledged row lost, none doubled") as step:
        entries = [file for position, file in shard_log.entries(uri, shard).items() if position not in before]
        logged = shard_log.ids(entries)
        check(len(set(logged)) == len(logged), f"{len(logged) - len(set(logged))} rows are in the log twice")
        lost = set(ids) - set(logged)
        check(not lost, f"{len(lost)} acknowledged rows are not in the log, e.g. id {min(lost, default=None)}")
        under_way = len(logged) - len(ids)
        check(under_way <= streaming.THREADS * streaming.ROWS_PER_BATCH, f"{under_way} rows in the log that no put under way held")
        step.note(f"{len(logged)} rows in {len(entries)} entries, each once; {under_way} of them were under way when it died")
    return ids


def recover(dataset, shard, speeches, expected, acknowledged):
    """Reopens the shard and holds it against what was acknowledged; finishes the stream."""
    with Step("reopen: replay the log") as step:
        writer = dataset.mem_wal_writer(shard, commit_mode="eager")
        first = writer.manifest()["replay_after"] + 1
        logged = shard_log.ids(file for position, file in shard_log.entries(dataset.uri, shard).items() if position >= first)
        replayed = writer.memtable_stats()["row_count"]
        check(replayed == len(logged), f"{replayed} rows were replayed of {len(logged)} in the log")
        step.note(f"{replayed} rows of {len(logged)} in the log are in memory again")
    with Step("read everything back: every acknowledged row, no other") as step:
        table = dataset.fresh().to_table()
        present = rows_by_id(table).keys()
        lost = [key for key in acknowledged if key not in present]
        check(not lost, f"{len(lost)} acknowledged rows are lost, e.g. id {lost[:1]}")
        expected.update((key, speeches[key]) for key in present if key not in expected)
        check(expected.keys() <= {speech.id for speech in speeches}, "ids that no speech has")
        check_equal(table, expected, "the reopened shard")
        step.note(f"{table.num_rows} rows, equal one by one")
    rest = [speech for speech in speeches[ROWS_BEFORE_KILL:] if speech.id not in expected]
    with Step("stream the rest") as step:
        progress = Progress(len(rest), "rows")
        streaming.stream(writer, rest, lambda batch: progress.add(len(batch)))
        expected.update((speech.id, speech) for speech in rest)
        check_equal(dataset.fresh().to_table(), expected, "the fresh view")
        writer.close()
        step.note(f"{len(rest)} rows; {len(expected)} in all, equal one by one")


def read_with_peer(title, arguments, expected, directory):
    with Step(title) as step:
        out = directory / "peer.arrow"
        done = subprocess.run([sys.executable, HERE / "peer.py", out, *arguments], capture_output=True, text=True)
        check(done.returncode == 0, f"pylance failed:\n{done.stderr}")
        with pa.memory_map(str(out)) as source:
            check_equal(pa.ipc.open_file(source).read_all(), expected, "pylance")
        out.unlink()
        step.note(f"{done.stdout.strip()}: equal to ours one by one")


def compact(uri, expected):
    with Step("compact the SSTables into the base table") as step:
        dataset = javelin.dataset(uri)
        before = dataset.count_rows()
        report = dataset.compact_shards()
        (shard,) = report["shards"]
        check(shard["generations"], "no SSTable was compacted")
        check_equal(dataset.to_table(), expected, "the base table")
        check_equal(dataset.fresh().to_table(), expected, "the fresh view")
        step.note(f"{len(shard['generations'])} SSTables; the base had {before} rows and has {dataset.count_rows()} at version "
                  f"{dataset.version}, equal one by one")


def read_with_command_line(uri, expected):
    with Step("javelin scan: the command line shows every row") as step:
        done = subprocess.run([PROGRAM, "scan", uri, "--format", "arrow"], capture_output=True)
        check(done.returncode == 0, f"javelin scan failed:\n{done.stderr.decode()}")
        with pa.ipc.open_stream(done.stdout) as rows:
            table = rows.read_all()
        check_equal(table, expected, "javelin scan")
        step.note(f"{table.num_rows} rows, equal one by one")


def run(directory):
    directory.mkdir(parents=True, exist_ok=True)
    table = directory / "plays.lance"
    shutil.rmtree(table, ignore_errors=True)
    uri, shard = str(table), str(uuid.uuid4())
    with Step("read the plays") as step:
        speeches = corpus.load()
        step.note(f"{len(speeches)} speeches of {len({speech.play for speech in speeches})} plays")
    dataset = create(uri, speeches)
    writer = dataset.mem_wal_writer(shard, commit_mode="eager", max_memtable_rows=MEMTABLE_ROWS)
    stream(dataset, writer, speeches[ROWS_IN_BASE:ROWS_BEFORE_KILL])
    expected = {speech.id: speech for speech in speeches[:ROWS_BEFORE_KILL]}
    scan(dataset, expected)
    change(dataset, writer, expected)
    writer.close()
    acknowledged = kill(uri, shard, speeches, directory)
    recover(dataset, shard, speeches, expected, acknowledged)
    read_with_peer("the released pylance opens the same table and shard", [uri, shard], expected, directory)
    read_with_command_line(uri, expected)
    compact(uri, expected)
    read_with_peer("the released pylance reads the base table", [uri], expected, directory)
    print(f"All checks held. The table is in {os.path.relpath(table)}.")


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--out", type=Path, default=Path("quickstart-data"), help="folder of the table (default: %(default)s)")
    arguments = parser.parse_args()
    try:
        run(arguments.out)
    except CheckFailed as failure:
        print(f"CHECK FAILED: {failure}", file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
