"""Data files: scan, write, size, random rows and opening, beside the released peer.

100,000 rows {id int64, session (997 distinct), text (12 to 14 words), ts timestamp, score double, vec 128 x float32}. Each side
has one process of its own and a table that it wrote itself from the same rows; they are asked for the same thing in turn, and
medians are compared. What is timed is always checked: every answer is compared with the rows that were written, and each side
must read the other's table right before anything is measured. Nothing is synced unless said; the peer never syncs, so that for
writes with sync its files are synced by hand.
"""

import argparse
import gc
import json
import os
import random
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import pyarrow as pa

ROWS, SMALL_ROWS, TAKEN, WARM_UPS = 100_000, 100, 1_000, 2
LARGE_COPIES = 6  # of all rows: about 330 MB
PEAK_GOAL = 256 << 20
WORDS = ("lorem ipsum dolor sit amet consectetur adipiscing elit sed do eiusmod tempor incididunt ut labore et dolore magna aliqua "
         "enim ad minim veniam quis nostrud exercitation ullamco laboris nisi aliquip ex ea commodo consequat duis aute irure in "
         "reprehenderit voluptate velit esse cillum fugiat nulla pariatur excepteur sint occaecat cupidatat non proident sunt "
         "culpa qui officia deserunt mollit anim id est laborum").split()


def make_rows():
    import numpy

    choice, numbers = random.Random(1), numpy.random.default_rng(1)
    vectors = pa.array(numbers.random(ROWS * 128, dtype=numpy.float32))
    return pa.table({
        "id": pa.array(range(ROWS), pa.int64()),
        "session": [f"session-{choice.randrange(997):03}" for _ in range(ROWS)],
        "text": [" ".join(choice.choices(WORDS, k=choice.randint(12, 14))) for _ in range(ROWS)],
        "ts": pa.array([1_700_000_000_000_000 + 1_000_003 * row for row in range(ROWS)], pa.timestamp("us")),
        "score": numbers.random(ROWS),
        "vec": pa.FixedSizeListArray.from_arrays(vectors, 128)})


# ---- in the process of one side ----


class Ours:
    def __init__(self):
        import javelin
        self.library = javelin

    def write(self, rows, uri, sync=False):
        self.library.write_dataset(rows, uri, storage_options={"sync": str(sync).lower()})

    def new_session(self):
        return self.library.Session()


class Peer:
    def __init__(self):
        import lance
        self.library = lance

    def write(self, rows, uri, sync=False):
        self.library.write_dataset(rows, uri)
        if sync:
            for folder, _, files in os.walk(uri):
                for name in (*files, "."):
                    sync_path(os.path.join(folder, name))

    def new_session(self):
        return self.library.Session()


SIDES = {"ours": Ours, "peer": Peer}


def sync_path(path):
    descriptor = os.open(path, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def check(found, expected, what):
    if not (found.schema.names == expected.schema.names and found.cast(expected.schema).equals(expected)):
        raise SystemExit(f"{what}: {found.num_rows} rows were read, {expected.num_rows} are right, or some are other rows")


def resident_bytes(line):
    """`line`: VmRSS is what the process holds now, VmHWM the most since clear_refs was written."""
    status = Path("/proc/self/status").read_text()
    return 1024 * next(int(text.split()[1]) for text in status.splitlines() if text.startswith(line))


class Worker:
    """Does one operation at a time. Those that return a call are timed: the call, and what checks its answer afterwards."""

    def __init__(self, side, folder):
        self.name, self.folder = side, Path(folder)
        self.side = SIDES[side]()
        self.rows = pa.ipc.open_file(pa.OSFile(str(self.folder / "rows.arrow"))).read_all()
        self.session = self.side.new_session()
        self.opened = {}
        self.written = 0

    def uri(self, name, side=None):
        return str(self.folder / f"{side or self.name}_{name}.lance")

    def open(self, uri, session=None):
        return self.side.library.dataset(uri, session=session or self.session)

    def table(self, anew):
        """The table of all rows: as opened before, or opened in a session that has read nothing."""
        if anew:
            return self.open(self.uri("all"), self.side.new_session())
        if "all" not in self.opened:
            self.opened["all"] = self.open(self.uri("all"))
        return self.opened["all"]

    def build(self):
        self.side.write(self.rows, self.uri("all"))
        self.side.write(self.rows.drop_columns(["vec"]), self.uri("narrow"))
        self.side.write(self.rows.slice(0, SMALL_ROWS), self.uri("small"))
        batches = (batch for _ in range(LARGE_COPIES) for batch in self.rows.to_batches(max_chunksize=8192))
        self.side.write(pa.RecordBatchReader.from_batches(self.rows.schema, batches), self.uri("large"))

    def read_the_other(self):
        other = next(side for side in SIDES if side != self.name)
        check(self.open(self.uri("all", other)).to_table(), self.rows, f"{self.name} reads the table of the other side")

    def size(self, name):
        return sum(path.stat().st_size for path in Path(self.uri(name)).glob("data/*"))

    def scan(self, anew=False):
        return lambda: self.table(anew).to_table(), lambda found: check(found, self.rows, f"{self.name} scans")

    def take(self, columns, seed, anew=False):
        rows = random.Random(seed).sample(range(ROWS), TAKEN)
        return (lambda: self.table(anew).take(rows, columns=columns),
                lambda found: check(found, self.rows.select(columns).take(pa.array(rows)), f"{self.name} takes rows"))

    def write(self, sync):
        self.written += 1
        uri = self.uri(f"written{self.written}")

        def check_and_remove(_):
            check(self.open(uri, self.side.new_session()).to_table(), self.rows, f"{self.name} writes")
            shutil.rmtree(uri)

        return lambda: self.side.write(self.rows, uri, sync), check_and_remove

    def open_small(self, anew=False):
        def call():
            return self.open(self.uri("small"), self.side.new_session() if anew else None)
        return call, lambda found: check(found.to_table(), self.rows.slice(0, SMALL_ROWS), f"{self.name} opens a small table")

    def read_small(self, anew=False):
        def call():
            return self.open(self.uri("small"), self.side.new_session() if anew else None).to_table()
        return call, lambda found: check(found, self.rows.slice(0, SMALL_ROWS), f"{self.name} reads a small table")

    def peak_of_scan(self):
        """Bytes by which the process grows while it reads the large table batch by batch."""
        dataset = self.open(self.uri("large"))
        expected, start = pa.concat_tables([self.rows] * LARGE_COPIES), 0
        before = resident_bytes("VmRSS")
        Path("/proc/self/clear_refs").write_text("5")
        for batch in dataset.to_batches():
            check(pa.Table.from_batches([batch]), expected.slice(start, batch.num_rows), f"{self.name} scans in batches")
            start += batch.num_rows
        if start != expected.num_rows:
            raise SystemExit(f"{self.name}: {start} of {expected.num_rows} rows were scanned")
        return resident_bytes("VmHWM") - before

    def do(self, operation, arguments):
        result = getattr(self, operation)(**arguments)
        if not isinstance(result, tuple):
            return result
        call, check_answer = result
        gc.collect()
        started = time.perf_counter()
        answer = call()
        seconds = time.perf_counter() - started
        check_answer(answer)
        return seconds


def worker_main(side, folder):
    worker = Worker(side, folder)
    for line in sys.stdin:
        operation, arguments = json.loads(line)
        print(json.dumps(worker.do(operation, arguments)), flush=True)


# ---- in the process that asks both ----


class Process:
    def __init__(self, side, folder):
        self.side = side
        self.process = subprocess.Popen([sys.executable, __file__, side, folder], stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                                        text=True)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.process.stdin.close()
        self.process.wait()

    def ask(self, operation, **arguments):
        self.process.stdin.write(json.dumps([operation, arguments]) + "\n")
        self.process.stdin.flush()
        answer = self.process.stdout.readline()
        if not answer:
            raise SystemExit(f"the process of {self.side} ended at '{operation}'")
        return json.loads(answer)


class Comparison:
    def __init__(self, report, ours, peer):
        self.report, self.ours, self.peer = report, ours, peer

    def both(self, operation, **arguments):
        return self.ours.ask(operation, **arguments), self.peer.ask(operation, **arguments)

    def time(self, case, operation, goal=None, aim=None, repeats=15, seeded=False, **arguments):
        """Goal and aim: how many times faster than the peer. `seeded`: each round asks for other rows, the same of both."""
        rounds = [self.both(operation, **arguments, **({"seed": number} if seeded else {}))
                  for number in range(WARM_UPS + repeats)][WARM_UPS:]
        ours, peer = (1e3 * statistics.median(times) for times in zip(*rounds))
        self.report.add(case, ours, peer, "ms", "lower", goal=goal and peer / goal, aim=aim and peer / aim)

    def size(self, case, name, share):
        ours, peer = self.both("size", name=name)
        self.report.add(case, ours, peer, "bytes", "lower", goal=int(share * peer))


def measure(compare):
    compare.time("scan, same session", "scan", goal=2, aim=4)
    compare.time("scan, new session", "scan", goal=2, aim=4, anew=True)
    compare.time("write, without sync", "write", goal=1.5, aim=2.5, repeats=9, sync=False)
    compare.time("write, with sync", "write", goal=1.5, aim=2.5, repeats=9, sync=True)
    compare.size("size of all columns", "all", 0.99)
    compare.size("size without vectors", "narrow", 0.90)
    compare.time("take 1,000 rows of id, text", "take", goal=4, aim=8, repeats=25, seeded=True, columns=["id", "text"])
    compare.time("take 1,000 rows of id, text, new session", "take", repeats=15, seeded=True, columns=["id", "text"], anew=True)
    compare.time("take 1,000 rows of vec, new session", "take", repeats=15, seeded=True, columns=["vec"], anew=True)
    compare.time("open a table of 100 rows", "open_small", repeats=41)
    compare.time("open a table of 100 rows, new session", "open_small", goal=3, repeats=41, anew=True)
    compare.time("open and read it", "read_small", repeats=41)
    compare.time("open and read it, new session", "read_small", goal=3, repeats=41, anew=True)


def run(report):
    """For scripts/bench."""
    with tempfile.TemporaryDirectory() as folder:
        with pa.OSFile(f"{folder}/rows.arrow", "wb") as sink:
            rows = make_rows()
            with pa.ipc.new_file(sink, rows.schema) as writer:
                writer.write_table(rows)
        with Process("ours", folder) as ours, Process("peer", folder) as peer:
            compare = Comparison(report, ours, peer)
            compare.both("build")
            compare.both("read_the_other")
            measure(compare)
        with Process("ours", folder) as ours, Process("peer", folder) as peer:  # processes that have read nothing else
            grown, theirs = Comparison(report, ours, peer).both("peak_of_scan")
            report.add("growth of memory in a scan of 6 times the rows", grown / 2**20, theirs / 2**20, "MiB", "lower",
                       goal=PEAK_GOAL / 2**20)


if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    parser.add_argument("side", choices=SIDES)
    parser.add_argument("folder")
    options = parser.parse_args()
    worker_main(options.side, options.folder)
