"""Durable single-row puts: group commit under many callers, and the latency of a lone put, beside the released peer.

Interval mode: 32 threads put single rows at the default tick (100 ms). Goal: at most one WAL object a tick, and at least
0.9 x callers puts a tick. Eager mode: one caller. Goal: a put costs at most 3x (aim 1.5x) one put-if-absent of our store, of the
same bytes on the same file system. The peer never syncs a file, so it stands beside us with `sync` off; ours runs once more with
it on.
"""

import argparse
import json
import math
import statistics
import subprocess
import sys
import tempfile
import threading
import time
import uuid
from pathlib import Path

import pyarrow as pa

CALLERS = 32
TICK_SECONDS = 0.1
SECONDS = 4.0
LONE_PUTS = 400
CREATE_TIMER = Path(__file__).resolve().parents[1] / "build" / "release" / "bench" / "create_timer"
SCHEMA = pa.schema([pa.field("id", pa.int64(), nullable=False, metadata={"lance-schema:unenforced-primary-key": "true"}),
                    pa.field("text", pa.string())])


def one_row(key):
    return pa.record_batch([pa.array([key], pa.int64()), pa.array([f"text of row {key}"])], schema=SCHEMA)


def open_writer(library, folder, sync, **options):
    """A writer on a fresh table, and the folder of its log; `library` is our package or the peer's."""
    uri, shard = str(folder / f"{uuid.uuid4().hex}.lance"), str(uuid.uuid4())
    storage = {} if sync is None else {"storage_options": {"sync": str(sync).lower()}}
    library.write_dataset(pa.Table.from_batches([one_row(0)]), uri, **storage).initialize_mem_wal(unsharded=True)
    writer = library.dataset(uri, **storage).mem_wal_writer(shard, **options)
    return writer, Path(uri, "_mem_wal", shard, "wal")


def check_rows(writer, rows, who):
    """Everything that was acknowledged can be read back; else what was timed is worth nothing."""
    found = writer.lsm_scanner().count_rows()
    if found != rows:
        raise RuntimeError(f"{who}: {rows} rows were acknowledged, {found} are there")


def many_callers(library, folder, sync):
    """Durable puts of CALLERS threads for SECONDS: puts and WAL objects, per tick and per second."""
    writer, wal = open_writer(library, folder, sync)
    counts, stop = [0] * CALLERS, threading.Event()

    def run(caller):
        while not stop.is_set():
            writer.put(one_row(1 + caller * 1_000_000 + counts[caller]))
            counts[caller] += 1

    threads = [threading.Thread(target=run, args=(caller,)) for caller in range(CALLERS)]
    started = time.monotonic()
    for thread in threads:
        thread.start()
    time.sleep(SECONDS)
    stop.set()
    for thread in threads:
        thread.join()
    ticks = (time.monotonic() - started) / TICK_SECONDS
    objects = len(list(wal.glob("*.arrow")))
    check_rows(writer, 1 + sum(counts), "many callers")
    writer.close()
    # In a time of t ticks lie up to floor(t) + 1 instants at which the log may be written.
    return {"puts_per_second": sum(counts) / ticks / TICK_SECONDS, "puts_per_tick": sum(counts) / ticks,
            "objects_per_tick": objects / (math.floor(ticks) + 1)}


class CreateTimer:
    """One put-if-absent of our store at a time, in a process beside this one, on the same file system."""

    def __init__(self, folder, data, sync):
        place = folder / uuid.uuid4().hex
        place.mkdir()
        (place / "data").write_bytes(data)
        self.process = subprocess.Popen([CREATE_TIMER, place, place / "data", str(sync).lower()], stdin=subprocess.PIPE,
                                        stdout=subprocess.PIPE, text=True)

    def __enter__(self):
        self.seconds()  # the first one makes folders and opens libraries
        return self

    def __exit__(self, *_):
        self.process.stdin.close()
        if self.process.wait() != 0:
            raise RuntimeError(f"{CREATE_TIMER.name} ended with {self.process.returncode}")

    def seconds(self):
        self.process.stdin.write("\n")
        self.process.stdin.flush()
        return int(self.process.stdout.readline()) / 1e9


def lone_caller(library, folder, sync):
    """Median latency of one durable put in eager mode, and of one put-if-absent of the same bytes, alternating."""
    writer, wal = open_writer(library, folder, sync, commit_mode="eager")
    writer.put(one_row(1))
    data = next(wal.glob("*.arrow")).read_bytes()
    puts, creates = [], []
    with CreateTimer(folder, data, sync) as timer:
        for key in range(2, LONE_PUTS + 2):
            batch = one_row(key)
            started = time.perf_counter()
            writer.put(batch)
            puts.append(time.perf_counter() - started)
            creates.append(timer.seconds())
    check_rows(writer, LONE_PUTS + 2, "lone caller")
    writer.close()
    return {"put_us": 1e6 * statistics.median(puts), "create_us": 1e6 * statistics.median(creates), "bytes": len(data)}


def peer_figures(folder):
    """The peer in a process of its own."""
    done = subprocess.run([sys.executable, __file__, "--peer", str(folder)], capture_output=True, text=True, check=True)
    return json.loads(done.stdout.splitlines()[-1])


def run(report):
    """For scripts/bench."""
    import javelin

    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        peer = peer_figures(folder)
        for sync in (False, True):
            label = "fsync on" if sync else "fsync off"
            many, lone = many_callers(javelin, folder, sync), lone_caller(javelin, folder, sync)
            report.add(f"{CALLERS} callers, {label}: puts", many["puts_per_second"], peer["puts_per_second"], "1/s", "higher")
            report.add(f"{CALLERS} callers, {label}: puts a tick", many["puts_per_tick"], peer["puts_per_tick"], "", "higher",
                       goal=0.9 * CALLERS)
            report.add(f"{CALLERS} callers, {label}: WAL objects a tick", many["objects_per_tick"], peer["objects_per_tick"],
                       "", "lower", goal=1)
            report.add(f"one put-if-absent of {lone['bytes']} bytes, {label}", lone["create_us"], None, "us", "lower")
            report.add(f"lone eager put of the same bytes, {label} (goal 3x, aim 1.5x)", lone["put_us"], None, "us", "lower",
                       goal=3 * lone["create_us"])


if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    parser.add_argument("--peer", type=Path, required=True)
    import lance

    with tempfile.TemporaryDirectory(dir=parser.parse_args().peer) as private:
        print(json.dumps(many_callers(lance, Path(private), None)))
