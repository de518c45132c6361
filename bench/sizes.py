"""Sizes of columns of many kinds, beside the released peer's: bytes of the data files, no times."""

import argparse
import json
import random
import subprocess
import sys
import tempfile
from pathlib import Path

import numpy
import pyarrow as pa

ROWS = 20_000  # every column is less than a page: each library cuts pages its own way
WORDS = ("lorem ipsum dolor sit amet consectetur adipiscing elit sed do eiusmod tempor incididunt ut labore et dolore magna aliqua "
         "enim ad minim veniam quis nostrud exercitation ullamco laboris nisi aliquip ex ea commodo consequat duis aute irure in "
         "reprehenderit voluptate velit esse cillum fugiat nulla pariatur excepteur sint occaecat cupidatat non proident sunt").split()
GOAL = 1.03  # a dictionary that saves a fortieth is not worth its cost in reading


class Source:
    """Seeded columns; each function of KINDS gets one of its own."""

    def __init__(self, name):
        self.choice = random.Random(name)
        self.numbers = numpy.random.default_rng(sum(name.encode()) + 1000 * len(name))
        self.index = numpy.arange(ROWS)

    def integers(self, high, low=0, size=ROWS):
        return self.numbers.integers(low, high, size)

    def words(self, count, rows=ROWS):
        return [" ".join(self.choice.choices(WORDS, k=count)) for _ in range(rows)]

    def pick(self, values, rows=ROWS):
        return [self.choice.choice(values) for _ in range(rows)]

    def nulls(self, values, share):
        return [None if self.choice.random() < share else value for value in values]

    def log_lines(self):
        return [f"2024-05-{row // 1000 % 28 + 1:02} 12:{row // 60 % 60:02}:{row % 60:02} INFO worker-{self.choice.randrange(16)} "
                f"request {row} took {self.choice.randrange(500)} ms, status 200" for row in range(ROWS)]

    def documents(self, rows):
        return [json.dumps({"id": row, "kind": "event", "source": {"host": f"host-{row % 7}", "region": "eu-central-1"},
                            "tags": ["alpha", "beta", "gamma"], "value": self.choice.randrange(1000),
                            "comment": "nothing to be said about it " * 8}) for row in range(rows)]


def vectors(items, dimension, mask=None):
    return pa.FixedSizeListArray.from_arrays(pa.array(items), dimension, mask=mask)


KINDS = {
    # whole numbers
    "int64 sequence": lambda s: pa.array(s.index),
    "int32 sequence": lambda s: pa.array(s.index, pa.int32()),
    "int32 below 100": lambda s: pa.array(s.integers(100), pa.int32()),
    "int32 below 1000": lambda s: pa.array(s.integers(1000), pa.int32()),
    "int64 any": lambda s: pa.array(s.integers(2**63 - 1, -2**63)),
    "int64 negative": lambda s: pa.array(s.integers(1000, -1000)),
    "int64 5 values": lambda s: pa.array(s.integers(5) * 0x0102030405060708),
    "int64 1500 values of 40 bits": lambda s: pa.array(s.numbers.choice(s.integers(2**40, size=1500), ROWS)),
    "int64 5000 values of 60 bits": lambda s: pa.array(s.numbers.choice(s.integers(2**60, size=5000), ROWS)),
    "int64 in runs of 50": lambda s: pa.array(s.index // 50 * 7919 % 2**20),
    "int64 in runs of 2": lambda s: pa.array(s.index // 2 * 7919 % 100003),
    "int32 in runs of 10": lambda s: pa.array(s.index // 10 * 7919 % 251, pa.int32()),
    "int32 in runs of 1000": lambda s: pa.array(s.index // 1000 * 7919 % 251, pa.int32()),
    "int64 mostly zero": lambda s: pa.array(numpy.where(s.integers(100) == 0, s.integers(2**40), 0)),
    "int64 with nulls": lambda s: pa.array(s.nulls(s.integers(1000).tolist(), 0.3)),
    "int64 ascending with gaps": lambda s: pa.array(numpy.cumsum(s.integers(50))),
    "int16 below 3000": lambda s: pa.array(s.integers(3000), pa.int16()),
    "uint8 any": lambda s: pa.array(s.integers(256), pa.uint8()),
    "uint8 in runs of 3": lambda s: pa.array(s.index // 3 * 7919 % 251, pa.uint8()),
    "timestamp regular": lambda s: pa.array(1_700_000_000_000_000 + 1_000_003 * s.index, pa.timestamp("us")),
    "timestamp jittering": lambda s: pa.array(1_700_000_000_000_000 + numpy.cumsum(s.integers(1_000_000)), pa.timestamp("us")),
    "timestamp in hours": lambda s: pa.array(1_700_000_000_000_000 + s.index // 60 * 3_600_000_000, pa.timestamp("us")),
    "date32": lambda s: pa.array(s.integers(20_000, 10_000), pa.int32()).cast(pa.date32()),
    "bool": lambda s: pa.array(s.integers(2) == 1),
    "bool mostly false, with nulls": lambda s: pa.array(s.nulls((s.integers(50) == 0).tolist(), 0.1)),
    # fractions
    "double from 0 to 1": lambda s: pa.array(s.numbers.random(ROWS)),
    "double 3 values": lambda s: pa.array(s.integers(3) * 1.1),
    "double prices": lambda s: pa.array(s.integers(100_000) / 100),
    "double walk": lambda s: pa.array(numpy.cumsum(s.numbers.random(ROWS))),
    "double in runs of 10": lambda s: pa.array(s.index // 10 * 0.37),
    "float from 0 to 1": lambda s: pa.array(s.numbers.random(ROWS, dtype=numpy.float32)),
    "float whole numbers": lambda s: pa.array(s.integers(100).astype(numpy.float32)),
    "float in runs of 10": lambda s: pa.array((s.index // 10 * 0.37).astype(numpy.float32)),
    "half": lambda s: pa.array(s.numbers.random(ROWS).astype(numpy.float16)),
    "decimal128": lambda s: pa.array(s.integers(10**9), pa.int64()).cast(pa.decimal128(30, 2)),
    "decimal128 100 values": lambda s: pa.array(s.integers(100), pa.int64()).cast(pa.decimal128(30, 2)),
    "fixed 16 any": lambda s: pa.array([s.choice.randbytes(16) for _ in range(ROWS)], pa.binary(16)),
    "fixed 16 50 values": lambda s: pa.array(s.pick([s.choice.randbytes(16) for _ in range(50)]), pa.binary(16)),
    "fixed 5 any": lambda s: pa.array([s.choice.randbytes(5) for _ in range(ROWS)], pa.binary(5)),
    # strings
    "text of 4 bytes": lambda s: pa.array([f"{number:x}" for number in s.integers(65536)]),
    "text hex": lambda s: pa.array([f"{s.choice.getrandbits(128):032x}" for _ in range(ROWS)]),
    "text sentences": lambda s: pa.array(s.words(12)),
    "text sentences with nulls": lambda s: pa.array(s.nulls(s.words(12), 0.5)),
    "text log lines": lambda s: pa.array(s.log_lines()),
    "text addresses": lambda s: pa.array([f"https://www.example.com/{word.replace(' ', '/')}?id={row}"
                                          for row, word in enumerate(s.words(3))]),
    "text 5 values": lambda s: pa.array(s.pick([f"name {number}" for number in range(5)])),
    "text 300 values": lambda s: pa.array(s.pick([f"name {number}" for number in range(300)])),
    "text 3000 values": lambda s: pa.array(s.pick([f"name {number}" for number in range(3000)])),
    "text 5 values with nulls": lambda s: pa.array(s.nulls(s.pick([f"name {number}" for number in range(5)]), 0.2)),
    "text 10 values in runs of 100": lambda s: pa.array([f"name {row // 100 % 10}" for row in range(ROWS)]),
    "text 10 values of 600 bytes": lambda s: pa.array(s.pick(s.words(90, 10), 10_000)),
    "text 10 values of 3000 bytes": lambda s: pa.array(s.pick(s.words(450, 10), 2000)),
    "text 1000 values of 200 bytes": lambda s: pa.array(s.pick(s.words(30, 1000))),
    "text of 400 bytes": lambda s: pa.array(s.words(60, 4000)),
    "text documents": lambda s: pa.array(s.documents(4000)),
    "text documents of 8 KB": lambda s: pa.array([" ".join(s.documents(20)) for _ in range(50)]),
    "text of 40 KB": lambda s: pa.array([" ".join(s.words(60, 100)) for _ in range(20)]),
    "text one row of 40 KB": lambda s: pa.array(s.words(12, 3000) + [" ".join(s.words(60, 100))]),
    "text short, one row of 300 bytes": lambda s: pa.array(s.words(3) + [" ".join(s.words(60, 1))]),
    "text empty, with nulls": lambda s: pa.array(s.nulls([""] * ROWS, 0.5)),
    "text mostly null": lambda s: pa.array(s.nulls(s.words(4), 0.99)),
    "text 300 rows": lambda s: pa.array(s.words(12, 300)),
    "text large offsets": lambda s: pa.array(s.words(12), pa.large_string()),
    "binary any": lambda s: pa.array([s.choice.randbytes(s.choice.randrange(60)) for _ in range(ROWS)]),
    "binary of 4 bits": lambda s: pa.array([bytes(s.integers(16, size=20).tolist()) for _ in range(ROWS)]),
    "binary any of 500 bytes": lambda s: pa.array([s.choice.randbytes(500) for _ in range(2000)]),
    # vectors
    "16 floats": lambda s: vectors(s.numbers.random(ROWS * 16, dtype=numpy.float32), 16),
    "128 floats": lambda s: vectors(s.numbers.random(2000 * 128, dtype=numpy.float32), 128),
    "128 floats with nulls": lambda s: vectors(s.numbers.random(2000 * 128, dtype=numpy.float32), 128, pa.array(s.integers(5, size=2000) == 0)),
    "64 int8": lambda s: vectors(s.integers(256, size=2000 * 64).astype(numpy.uint8), 64),
    "8 floats, items null": lambda s: pa.array([s.nulls([1.5] * 8, 0.1) for _ in range(2000)], pa.list_(pa.float32(), 8)),
    "8 floats, all items null": lambda s: pa.array([[None] * 8] * 2000, pa.list_(pa.float32(), 8)),
    "80 floats, all items null": lambda s: pa.array([[None] * 80] * 2000, pa.list_(pa.float32(), 80)),
    "128 floats, all null": lambda s: pa.nulls(8000, pa.list_(pa.float32(), 128)),
    # nested
    "list of int64": lambda s: pa.array([[row, row + 7][: row % 3] for row in range(ROWS)], pa.list_(pa.int64())),
    "list of text": lambda s: pa.array([s.words(1, row % 4) for row in range(ROWS)]),
    "list of sentences": lambda s: pa.array([s.words(9, row % 4) for row in range(ROWS // 4)]),
    "list, mostly empty": lambda s: pa.array([[row] if row % 1000 == 0 else [] for row in range(ROWS)], pa.list_(pa.int64())),
    "list, only null and empty": lambda s: pa.array([None if row % 3 else [] for row in range(ROWS)], pa.list_(pa.int64())),
    "list of 128 floats": lambda s: pa.array([[[1.0 * row] * 128] * (row % 3) for row in range(600)], pa.list_(pa.list_(pa.float32(), 128))),
    "struct with nulls": lambda s: pa.array(s.nulls([{"a": row % 1000, "b": f"name {row % 7}"} for row in range(ROWS)], 0.2)),
    "list of struct": lambda s: pa.array([[{"a": row, "b": None if row % 5 else row * 1.5}] * (row % 3) for row in range(ROWS // 2)]),
}


def table_of(name):
    return pa.table({"value": KINDS[name](Source(name))})


def write_all(side, folder):
    """In the process of one side: writes each kind and prints the size of each and whether what is read back is equal."""
    library = __import__({"ours": "javelin", "peer": "lance"}[side])
    sizes = {}
    for number, name in enumerate(KINDS):
        uri = Path(folder) / f"{side}{number}.lance"
        table = table_of(name)
        library.write_dataset(table, str(uri))
        if not library.dataset(str(uri)).to_table().equals(table):
            raise SystemExit(f"{side}: '{name}' is not read as it was written")
        sizes[name] = sum(path.stat().st_size for path in uri.glob("data/*"))
    print(json.dumps(sizes))


def run(report):
    """For scripts/bench."""
    with tempfile.TemporaryDirectory() as folder:
        ours, peer = (json.loads(subprocess.run([sys.executable, __file__, side, folder], check=True, stdout=subprocess.PIPE).stdout)
                      for side in ("ours", "peer"))
    for name in KINDS:
        report.add(name, ours[name], peer[name], "bytes", "lower", goal=int(GOAL * peer[name]))


if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    parser.add_argument("side", choices=("ours", "peer"))
    parser.add_argument("folder")
    options = parser.parse_args()
    write_all(options.side, options.folder)
