"""Scans of one column of each kind beside the released peer: all columns of `sizes`, repeated, and nested and repeating ones.

Each side has a process of its own and reads the table that it wrote itself; both are asked in turn, in the session that has
opened the table, and every answer is compared with what was written.
"""

import argparse
import gc
import json
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import numpy
import pyarrow as pa
import pyarrow.compute as pc

sys.path.insert(0, str(Path(__file__).parent))
import sizes  # noqa: E402

REPEATS, WARM_UPS = 9, 2
COPIES = 10  # of the rows of a column of `sizes`
LISTS, ROWS = 600_000, 1_000_000
GOAL, AIM = 1.0, 2.0  # times faster than the peer
VERSIONS = ("2.1", "2.2")


def offsets(numbers):
    return pa.array(numpy.concatenate([[0], numpy.cumsum(numbers.integers(0, 4, LISTS))]), pa.int32())


def lists(items, with_nulls=False):
    """Lists of 0 to 3 items; `items` makes so many of them."""
    def make(numbers):
        ends = offsets(numbers)
        nulls = pa.array(numbers.random(LISTS) < 0.05) if with_nulls else None
        return pa.ListArray.from_arrays(ends, items(numbers, ends[-1].as_py()), mask=nulls)
    return make


def integers(numbers, count, null_share=0.0):
    return pa.array(numbers.integers(0, 1000, count), pa.int32(),
                    mask=numbers.random(count) < null_share if null_share else None)


def texts(numbers, count):
    return pa.array([f"w{number % 977} {number}" for number in range(count)])


def words(numbers, count):
    return pa.array([f"n{number}" for number in range(50)]).take(pa.array(numbers.integers(0, 50, count)))


def nulls(numbers, column):
    return pc.if_else(pa.array(numbers.random(len(column)) < 0.1), None, column)


def many_texts(numbers):
    return pa.array([f"text {number} of many" for number in range(5000)]).take(pa.array(numbers.integers(0, 5000, ROWS)))


def sentences(numbers, count):
    return pa.array([" ".join(sizes.WORDS[:number % 12 + 1]) for number in range(500)]).take(
        pa.array(numbers.integers(0, 500, count)))


def vectors(numbers, count):
    return pa.FixedSizeListArray.from_arrays(pa.array(numbers.random(count * 8, dtype=numpy.float32)), 8)


def structs(numbers, count):
    return pa.StructArray.from_arrays([integers(numbers, count), words(numbers, count)], names=["number", "word"],
                                      mask=pa.array(numbers.random(count) < 0.1))


def lists_of_lists(numbers):
    inner = lists(integers)(numbers)
    ends = numpy.unique(numpy.concatenate([[0, LISTS], numbers.integers(0, LISTS, LISTS // 3)]))
    return pa.ListArray.from_arrays(pa.array(ends, pa.int32()), inner)


# Each is written in both versions.
KINDS = {
    "list of int": lists(integers),
    "list of int, some null": lists(integers, with_nulls=True),
    "list of int, items null": lists(lambda numbers, count: integers(numbers, count, 0.1)),
    "list of text": lists(texts),
    "list of 50 words": lists(words),
    "list of 8 floats": lists(vectors),
    "list of struct": lists(structs, with_nulls=True),
    "list of list of int": lists_of_lists,
    "struct with nulls": lambda numbers: structs(numbers, ROWS),
    "50 words": lambda numbers: words(numbers, ROWS),
    "500 sentences": lambda numbers: sentences(numbers, ROWS),
    "dictionary of 50 words": lambda numbers: words(numbers, ROWS).dictionary_encode(),
    "dictionary of 50 words, some null": lambda numbers: nulls(numbers, words(numbers, ROWS)).dictionary_encode(),
    "dictionary of 5,000 texts": lambda numbers: many_texts(numbers).dictionary_encode(),
    "dictionary of 1,000 numbers": lambda numbers: integers(numbers, ROWS).dictionary_encode(),
    "list of dictionary": lists(lambda numbers, count: words(numbers, count).dictionary_encode()),
    "int with nulls": lambda numbers: integers(numbers, ROWS, 0.1),
}


def cases():
    """Name -> (column, version or None for what the library writes by itself)."""
    found = {name: (lambda name=name: repeated(sizes.KINDS[name](sizes.Source(name))), None) for name in sizes.KINDS}
    for name, make in KINDS.items():
        for version in VERSIONS:
            found[f"{name}, {version}"] = (lambda make=make: make(numpy.random.default_rng(3)), version)
    return found


def plain(table):
    """Dictionaries may have other items in another order and mean the same."""
    column = table["value"]
    kind = column.type
    if pa.types.is_dictionary(kind):
        column = column.cast(kind.value_type)
    elif pa.types.is_list(kind) and pa.types.is_dictionary(kind.value_type):
        column = column.cast(pa.list_(kind.value_type.value_type))
    return table.set_column(0, "value", column)


def repeated(column):
    return pa.concat_arrays([column] * COPIES)


class Worker:
    """In the process of one side."""

    def __init__(self, side, folder):
        self.library = __import__({"ours": "javelin", "peer": "lance"}[side])
        self.folder, self.side = Path(folder), side
        self.cases = cases()

    def build(self, name):
        make, version = self.cases[name]
        self.table = pa.table({"value": make()})
        uri = str(self.folder / f"{self.side}.lance")
        options = {} if version is None else {"data_storage_version": version}
        self.library.write_dataset(self.table, uri, mode="overwrite", **options)
        self.dataset = self.library.dataset(uri)

    def scan(self, name):
        gc.collect()
        started = time.perf_counter()
        found = self.dataset.to_table()
        seconds = time.perf_counter() - started
        if not plain(found).equals(plain(self.table)):
            raise SystemExit(f"{self.side}: '{name}' is not read as it was written")
        return seconds


def worker_main(side, folder):
    worker = Worker(side, folder)
    for line in sys.stdin:
        operation, name = json.loads(line)
        print(json.dumps(getattr(worker, operation)(name)), flush=True)


class Process:
    def __init__(self, side, folder):
        self.side = side
        self.process = subprocess.Popen([sys.executable, __file__, side, folder], stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                                        text=True)

    def ask(self, operation, name):
        self.process.stdin.write(json.dumps([operation, name]) + "\n")
        self.process.stdin.flush()
        answer = self.process.stdout.readline()
        if not answer:
            raise SystemExit(f"the process of {self.side} ended at '{operation}' of '{name}'")
        return json.loads(answer)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.process.stdin.close()
        self.process.wait()


def run(report, wanted=lambda name: True):
    """For scripts/bench."""
    with tempfile.TemporaryDirectory() as folder, Process("ours", folder) as ours, Process("peer", folder) as peer:
        for name in filter(wanted, cases()):
            ours.ask("build", name), peer.ask("build", name)
            rounds = [(ours.ask("scan", name), peer.ask("scan", name)) for _ in range(WARM_UPS + REPEATS)][WARM_UPS:]
            ours_ms, peer_ms = (1e3 * statistics.median(times) for times in zip(*rounds))
            report.add(name, ours_ms, peer_ms, "ms", "lower", goal=peer_ms / GOAL, aim=peer_ms / AIM)


if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    parser.add_argument("side", choices=("ours", "peer"))
    parser.add_argument("folder")
    options = parser.parse_args()
    worker_main(options.side, options.folder)
