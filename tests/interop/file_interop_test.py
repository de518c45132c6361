"""Data files between us and the released peer, in both directions: equal values, whole, by range and by row.

The peer runs in processes of its own (file_peer.py), we in file_tool.
"""

import json
import os
import pathlib
import random
import subprocess
import sys

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pytest

from peer import built_tool

pytestmark = pytest.mark.interop

HERE = pathlib.Path(__file__).resolve().parent
VERSIONS = ["2.0", "2.1", "2.2"]
WRITTEN = ["2.0", "2.1", "2.2"]
SIZES = [1, 3, 1024, 5000]
SEED = int(os.environ.get("JAVELIN_SEED", "20260101"))


@pytest.fixture(scope="session")
def tool():
    return built_tool("file_tool")


def peer(do, jobs):
    done = subprocess.run([sys.executable, str(HERE / "file_peer.py")], input=json.dumps({"do": do, "jobs": jobs}), capture_output=True,
                          text=True, timeout=120, env={**os.environ, "RUST_BACKTRACE": "0"}, check=False)
    assert done.returncode == 0, done.stderr[-2000:]
    return json.loads(done.stdout)


def ours(tool, *arguments):
    """Runs file_tool; returns its output, or the error it reports as a dictionary."""
    done = subprocess.run([tool, *map(str, arguments)], capture_output=True, text=True, timeout=120, check=False)
    if done.returncode == 2:
        return json.loads(done.stderr.strip().splitlines()[-1])
    assert done.returncode == 0, f"{arguments}: exit {done.returncode}\n{done.stderr[-2000:]}"
    return done.stdout


def load(path):
    with pa.OSFile(str(path), "rb") as source:
        return pa.ipc.open_file(source).read_all()


def save(table, path, chunk=None):
    with pa.OSFile(str(path), "wb") as sink, pa.ipc.new_file(sink, table.schema) as writer:
        writer.write_table(table, max_chunksize=chunk)
    return str(path)


# ---- columns at random ----

FIXED = {
    "int8": (pa.int8(), 8), "int16": (pa.int16(), 16), "int32": (pa.int32(), 32), "int64": (pa.int64(), 64),
    "uint8": (pa.uint8(), 8), "uint16": (pa.uint16(), 16), "uint32": (pa.uint32(), 32), "uint64": (pa.uint64(), 64),
    "float16": (pa.float16(), 16), "float32": (pa.float32(), 32), "float64": (pa.float64(), 64),
    "timestamp": (pa.timestamp("us"), 64), "zoned": (pa.timestamp("ns", "+08:00"), 64), "date32": (pa.date32(), 32), "date64": (pa.date64(), 64),
    "time32": (pa.time32("ms"), 32), "time64": (pa.time64("ns"), 64), "duration": (pa.duration("s"), 64),
    "decimal128": (pa.decimal128(30, 4), 128), "decimal256": (pa.decimal256(60, 4), 256), "fixed5": (pa.binary(5), 40), "fixed300": (pa.binary(300), 2400),
}
STRINGS = {"string": pa.string(), "large_string": pa.large_string(), "binary": pa.binary(), "large_binary": pa.large_binary()}
VECTORS = {"vector3": ("float32", [3]), "vector63": ("float32", [63]), "vector64": ("float32", [64]), "vector128": ("float32", [128]),
           "bytes80": ("int8", [80]), "halves": ("float16", [70]), "doubles": ("float64", [40]), "matrix": ("float32", [2, 3]),
           "wide_matrix": ("float32", [20, 8]), "bits": ("bool", [9]), "times": ("timestamp", [2]), "no_items": ("null", [3]), "no_matrix": ("null", [9, 2])}
SPREADS = ["sequence", "few", "small", "any", "one", "runs", "negative"]
WORDS = ["", "of", "river", "mountain", "a longer word", "Zürich", "🦒"]


class Columns:
    """Seeded columns of every type, spread and share of nulls."""

    def __init__(self, seed):
        self.random = random.Random(seed)
        self.numbers_source = np.random.default_rng(self.random.getrandbits(64))

    def validity(self, length, share):
        valid = self.numbers_source.random(length) >= share
        return pa.py_buffer(np.packbits(valid, bitorder="little").tobytes()) if share > 0 else None

    def numbers(self, length, spread):
        """64-bit patterns."""
        source = self.numbers_source
        index = np.arange(length, dtype=np.uint64)
        return {
            "sequence": lambda: index,
            "few": lambda: source.integers(1, 6, length, dtype=np.uint64) * np.uint64(0x0102030405060708),
            "small": lambda: source.integers(0, 100, length, dtype=np.uint64),
            "any": lambda: source.integers(0, 2**63, length, dtype=np.uint64),
            "negative": lambda: (-source.integers(0, 1000, length, dtype=np.int64)).view(np.uint64),
            "one": lambda: np.full(length, 42, dtype=np.uint64),
            "runs": lambda: index // np.uint64(40),
        }[spread]()

    def fixed(self, name, length, share, spread):
        if name == "null":
            return pa.nulls(length)
        numbers = self.numbers(length, spread)
        if name == "bool":
            bits = np.packbits(numbers % np.uint64(2) == 1, bitorder="little").tobytes()
            return pa.Array.from_buffers(pa.bool_(), length, [self.validity(length, share), pa.py_buffer(bits)])
        kind, bits = FIXED[name]
        width = bits // 8
        if name == "date64":  # whole days
            numbers = numbers % np.uint64(2**20) * np.uint64(86400000)
        if name in ("time32", "time64"):  # within a day
            numbers = numbers % np.uint64(86400000)
        cells = np.zeros((length, width), np.uint8)
        cells[:, : min(width, 8)] = numbers.view(np.uint8).reshape(length, 8)[:, : min(width, 8)]
        if name.startswith("decimal"):
            cells[:, 7] &= 0x7F
        return pa.Array.from_buffers(kind, length, [self.validity(length, share), pa.py_buffer(cells.tobytes())])

    def text(self, number, spread, long):
        text = "" if spread == "small" else f"v{number % 100000}"
        text += "".join(WORDS[(number + j) % 7] for j in range(number % 4))
        return text + "abcdefgh"[number % 8] * (200 + number % 3000) if long and number % 7 == 0 else text

    def strings(self, name, length, share, spread):
        long = self.random.random() < 0.3
        values = [None if self.random.random() < share else self.text(number, spread, long) for number in self.numbers(length, spread).tolist()]
        kind = STRINGS[name]
        if pa.types.is_binary(kind) or pa.types.is_large_binary(kind):
            values = [None if value is None else value.encode() for value in values]
        return pa.array(values, kind)

    def vectors(self, name, length, share, spread):
        item, dimensions = VECTORS[name]
        total = length
        for dimension in dimensions:
            total *= dimension
        array = self.fixed(item, total, share if self.random.random() < 0.5 else 0, spread)
        for dimension in reversed(dimensions):
            kind = pa.list_(array.type, dimension)
            total //= dimension
            outer = self.validity(total, share) if total == length else None
            array = pa.Array.from_buffers(kind, total, [outer], children=[array])
        return array

    def make(self, name, length):
        share = self.random.choice([0, 0, 0.1, 0.9, 1.0, 0.002])
        spread = self.random.choice(SPREADS)
        if name in STRINGS:
            return self.strings(name, length, share, spread)
        if name in VECTORS:
            return self.vectors(name, length, share, spread)
        return self.fixed(name, length, share, spread)

    def table(self, length, names=None):
        names = names or [*FIXED, *STRINGS, *VECTORS, "bool", "null"]
        return pa.table({name: self.make(name, length) for name in names})


def expect_equal(actual, expected, what):
    assert actual.num_rows == expected.num_rows, what
    assert actual.column_names == expected.column_names, what
    for name in expected.column_names:
        got, want = actual[name].combine_chunks(), expected[name].combine_chunks()
        assert got.type == want.type, (what, name)
        # Bit for bit below nulls: NaN payloads count, what lies under a null does not.
        assert same(got, want), (what, name, got.slice(0, 5), want.slice(0, 5))


def parts_of_maps(maps):
    """Keys and items of those that are not null, which Arrow has no function for."""
    offsets, valid = np.asarray(maps.offsets), np.asarray(maps.is_valid())
    places = [np.arange(first, end) for first, end, is_map in zip(offsets[:-1], offsets[1:], valid) if is_map]
    places = pa.array(np.concatenate(places) if places else np.arange(0))
    return maps.keys.take(places), maps.items.take(places)


def same(got, want):
    """Bit for bit, so that -0.0 is not 0.0 and NaN is itself; what lies under a null does not count."""
    kind = want.type
    if len(got) != len(want) or not got.is_valid().equals(want.is_valid()):
        return False
    if pa.types.is_floating(kind):
        integer = {16: pa.int16(), 32: pa.int32(), 64: pa.int64()}[kind.bit_width]
        return got.view(integer).equals(want.view(integer))
    if pa.types.is_dictionary(kind):  # which may hold its values in another order
        return same(got.dictionary_decode(), want.dictionary_decode())
    if pa.types.is_fixed_size_list(kind):
        return same(got.flatten(), want.flatten())
    if pa.types.is_list(kind) or pa.types.is_large_list(kind) or pa.types.is_map(kind):
        sizes = [np.diff(np.asarray(array.offsets))[np.asarray(array.is_valid())] for array in (got, want)]
        if not np.array_equal(*sizes):
            return False
        if pa.types.is_map(kind):
            return all(same(*parts) for parts in zip(parts_of_maps(got), parts_of_maps(want)))
        return same(got.flatten(), want.flatten())
    if pa.types.is_struct(kind) and len(want) > 0:
        return all(same(*children) for children in zip(got.flatten(), want.flatten()))
    return got.equals(want)


def test_what_is_not_the_same():
    """Of the comparison that all these tests rest on."""
    zero, minus = pa.array([0.0, None]), pa.array([-0.0, None])
    around = [lambda array: array, lambda array: pa.StructArray.from_arrays([array], ["x"]), lambda array: pa.ListArray.from_arrays([0, 1, 2], array),
              lambda array: pa.FixedSizeListArray.from_arrays(array, 2), lambda array: pa.MapArray.from_arrays([0, 2], pa.array([1, 2]), array),
              lambda array: pa.DictionaryArray.from_arrays(pa.array([0, None], pa.int8()), array.slice(0, 1))]
    for wrap in around:
        for kind in [pa.float64(), pa.float32(), pa.float16()]:
            left, right = wrap(zero.cast(kind)), wrap(minus.cast(kind))
            assert same(left, wrap(zero.cast(kind))) and not same(left, right), left.type
    assert same(pa.array([[1], None]), pa.array([[1], None])) and not same(pa.array([[1], []]), pa.array([[1], None]))
    assert not same(pa.array([[1, 2], [3]]), pa.array([[1], [2, 3]]))
    hidden = pa.Array.from_buffers(pa.int8(), 2, [pa.py_buffer(b"\x01"), pa.py_buffer(b"\x05\x07")])
    assert same(hidden, pa.array([5, None], pa.int8()))


def some_rows(seed, length):
    generator = random.Random(seed)
    return [generator.randrange(length) for _ in range(17)]


# ---- the peer writes, we read ----

@pytest.mark.parametrize("version", VERSIONS)
def test_files_of_the_peer(tool, tmp_path, version):
    tables, jobs = {}, []
    for length in SIZES:
        table = Columns(f"{SEED}/{version}/{length}").table(length)
        path = tmp_path / f"{length}.lance"
        tables[path] = table
        # In two batches, which is one page or two.
        jobs.append({"arrow": save(table, tmp_path / f"{length}.arrow", chunk=max(1, length * 2 // 3)), "out": str(path), "version": version})
    assert peer("write", jobs) == [{"ok": True}] * len(jobs)
    for path, table in tables.items():
        check_we_read(tool, tmp_path, path, table)


def check_we_read(tool, tmp_path, path, table):
    out = tmp_path / "out.arrow"
    result = ours(tool, "read", path, out)
    assert isinstance(result, str), result
    expect_equal(load(out), table, path)
    rows = some_rows(str(path), table.num_rows)
    assert isinstance(ours(tool, "read", path, out, "--rows", ",".join(map(str, rows))), str)
    expect_equal(load(out), table.take(rows), (path, rows))
    first = rows[0]
    count = min(rows[1] + 1, table.num_rows - first)
    assert isinstance(ours(tool, "read", path, out, "--range", f"{first},{count}"), str)
    expect_equal(load(out), table.slice(first, count), (path, first, count))


@pytest.mark.parametrize("version", VERSIONS)
def test_data_files_of_the_peers_datasets(tool, tmp_path, version):
    table = Columns(f"{SEED}/dataset/{version}").table(700)
    job = {"arrow": save(table, tmp_path / "in.arrow"), "uri": str(tmp_path / "table"), "version": version}
    answers = peer("dataset", [job])
    assert "ok" in answers[0] and len(answers[0]["ok"]) == 1, answers
    check_we_read(tool, tmp_path, answers[0]["ok"][0], table)


# What each needs of the reader is pinned here, so that a change of the peer's choices shows.
def default_columns():
    generator = random.Random(SEED)
    n = 3000
    text = [" ".join(generator.choice(WORDS[1:]) for _ in range(12)) for _ in range(n)]
    return {
        "packed": (pa.array([i % 1000 for i in range(n)], pa.int32()), "inlineBitpacking"),
        "flat": (pa.array([generator.getrandbits(63) for _ in range(n)], pa.int64()), "flat"),
        "runs": (pa.array([i // 50 * 7919 % 251 for i in range(n)], pa.int32()), "rle"),
        "nulls": (pa.array([None if i % 3 else i for i in range(n)], pa.int64()), "outOfLineBitpacking"),
        "dictionary": (pa.array([f"name {i % 5}" for i in range(n)]), "dictionary"),
        "numbers": (pa.array([float(i % 3) for i in range(n)], pa.float64()), "dictionary"),
        "fsst": (pa.array(text), "fsst"),
        "large_fsst": (pa.array(text, pa.large_string()), "fsst"),
        "long_fsst": (pa.array([value * 5 for value in text]), "fullZipLayout"),
        "zstd": (pa.array(["x%d" % i * 20000 if i == 7 else value for i, value in enumerate(text)]), "ZSTD"),
        "constant": (pa.array([7] * n, pa.int32()), "inlineValue"),
        "constant_text": (pa.array(["same"] * n), "constantLayout"),
        "constant_with_nulls": (pa.array([None if i % 5 == 0 else "same" for i in range(n)]), "constantLayout"),
        "all_null": (pa.nulls(n, pa.int32()), "constantLayout"),
        "vector": (pa.array([[float(i), 1.0, None] for i in range(n)], pa.list_(pa.float32(), 3)), "hasValidity"),
        # 1,500 numbers of 40 bits, packed in a block of the dictionary.
        "dictionary_packed": (pa.array([i * 7919 % 1500 * 700_000_001 for i in range(n)], pa.int64()), "dictionary"),
        "wide_vector": (pa.array([[float(i)] * 128 if i % 9 else None for i in range(n)], pa.list_(pa.float32(), 128)), "fullZipLayout"),
        "null_items": (pa.array([[None] * 80 for _ in range(n)], pa.list_(pa.float32(), 80)), "constant"),
    }


@pytest.mark.parametrize("version", VERSIONS)
def test_encodings_the_peer_chooses(tool, tmp_path, version):
    columns = default_columns()
    jobs = []
    for name, (array, _) in columns.items():
        table = pa.table({name: array})
        jobs.append({"arrow": save(table, tmp_path / f"{name}.arrow"), "out": str(tmp_path / f"{name}.lance"), "version": version})
    assert peer("write", jobs) == [{"ok": True}] * len(jobs)
    for name, (array, encoding) in columns.items():
        path = tmp_path / f"{name}.lance"
        check_we_read(tool, tmp_path, path, pa.table({name: array}))
        if version == "2.2":
            text = ours(tool, "inspect", path)
            assert encoding in text, (name, text)


@pytest.mark.parametrize("version", VERSIONS)
def test_compression_on_request(tool, tmp_path, version):
    generator = random.Random(SEED)
    n = 20000
    columns = {
        "text": pa.array([" ".join(generator.choice(WORDS) for _ in range(6)) for _ in range(n)]),
        "text_with_nulls": pa.array([None if i % 3 == 0 else " ".join(generator.choice(WORDS) for _ in range(6)) for i in range(n)]),
        "long": pa.array([" ".join(generator.choice(WORDS) for _ in range(100)) for _ in range(n // 10)] * 10),
        "number": pa.array([i * 1000003 for i in range(n)], pa.int64()),
        "real": pa.array([i / 8 for i in range(n)], pa.float32()),
        "vector": pa.array([[i % 7, 1, 2, 3] for i in range(n)], pa.list_(pa.float32(), 4)),
        "wide": pa.array([[float(i % 7)] * 64 for i in range(n)], pa.list_(pa.float32(), 64)),
    }
    jobs, tables = [], {}
    for scheme in ["zstd", "lz4", "none", "fsst"]:
        for bss in ["on", "off"]:
            metadata = {"lance-encoding:compression": scheme, "lance-encoding:bss": bss}
            schema = pa.schema([pa.field(name, array.type, metadata=metadata) for name, array in columns.items()])
            name = f"{scheme}-{bss}"
            tables[name] = pa.table(list(columns.values()), schema=schema)
            jobs.append({"arrow": save(tables[name], tmp_path / f"{name}.arrow"), "out": str(tmp_path / f"{name}.lance"), "version": version})
    answers = peer("write", jobs)
    assert all("ok" in answer for answer in answers), answers
    for name, table in tables.items():
        check_we_read(tool, tmp_path, tmp_path / f"{name}.lance", table)
    text = {name: ours(tool, "inspect", tmp_path / f"{name}.lance") for name in tables}
    if version == "2.0":
        assert all(f'"scheme": "{scheme}"' in text[f"{scheme}-on"] for scheme in ["zstd", "lz4", "none"]) and "symbolTable" in text["fsst-on"]
        return
    found = {name: {word for word in ["ZSTD", "LZ4", "fsst", "byteStreamSplit"] if f'"{word}"' in text[name]} for name in text}
    wanted = {"zstd": {"ZSTD"}, "lz4": {"LZ4"}, "none": set(), "fsst": {"fsst"}}
    dictionary = {"LZ4"} if version == "2.2" else set()  # of the long texts
    for name in text:
        scheme, bss = name.split("-")
        split = {"byteStreamSplit"} if bss == "on" and scheme != "none" else set()
        assert found[name] == wanted[scheme] | split | dictionary, (name, found)


def odd(kind, values, metadata):
    return pa.table([pa.array(values, kind)], schema=pa.schema([pa.field("odd", kind, metadata=metadata)]))


# The peer does not read them back either.
def test_what_we_do_not_read_is_refused_by_name(tool, tmp_path):
    packed = {"lance-encoding:packed": "true"}
    tables = {
        "packed bits": ("2.2", odd(pa.struct([pa.field("x", pa.bool_(), False), pa.field("y", pa.int8(), False)]),
                                   [{"x": True, "y": i} for i in range(3)], packed)),
        "structs in fixed-size lists": ("2.0", odd(pa.list_(pa.struct([("x", pa.int32())]), 2), [[{"x": i}] * 2 for i in range(3)], None)),
    }
    jobs = [{"arrow": save(table, tmp_path / f"{name}.arrow"), "out": str(tmp_path / f"{name}.lance"), "version": version}
            for name, (version, table) in tables.items()]
    assert peer("write", jobs) == [{"ok": True}] * len(jobs)
    for name in tables:
        error = ours(tool, "read", tmp_path / f"{name}.lance", tmp_path / "out.arrow")
        assert isinstance(error, dict) and error["kind"] == "NotSupported", (name, error)
        assert "'odd'" in error["message"] and f"{name}.lance" in error["message"], error


ODD_VALUES = {
    "null_items": ([[None, None], None, [None, None]], pa.list_(pa.null(), 2), ["2.0", "2.1", "2.2"]),
    "null_items_twice": ([[[None] * 2] * 3, None], pa.list_(pa.list_(pa.null(), 2), 3), ["2.0", "2.1", "2.2"]),
    "null_items_in_lists": ([[[None, None], None], None, []], pa.list_(pa.list_(pa.null(), 2)), ["2.0", "2.1", "2.2"]),
    "null_items_in_structs": ([{"a": [None, None]}, None], pa.struct([("a", pa.list_(pa.null(), 2))]), ["2.1", "2.2"]),
    "no_bytes": ([b"", None, b""], pa.binary(0), ["2.2"]),
    "no_bytes_nor_nulls": ([b"", b""], pa.binary(0), ["2.2"]),
    "no_bytes_in_lists": ([[b"", None], None, []], pa.list_(pa.binary(0)), ["2.2"]),
}


@pytest.mark.parametrize("version", VERSIONS)
def test_values_without_bytes(tool, tmp_path, version):
    """In both directions; where the peer reads none, neither do we, nor write any, and the columns beside are readable."""
    files = {}
    for name, (values, kind, readable) in ODD_VALUES.items():
        values = values * 700
        table = pa.table({"id": pa.array(range(len(values))), "odd": pa.array(values, kind)})
        answer = peer("dataset", [{"arrow": save(table, tmp_path / "in.arrow"), "uri": str(tmp_path / name), "version": version}])[0]
        if "null struct" in answer.get("error", "") or "null value" in answer.get("error", ""):
            continue  # which 2.0 has not
        path = answer["ok"][0]
        mine = tmp_path / f"{name}.lance"
        written = ours(tool, "write", save(table, tmp_path / "in.arrow", chunk=500), mine, "--version", version)
        if version in readable:
            check_we_read(tool, tmp_path, path, table)
            assert isinstance(written, str), (name, written)
            files[mine] = table
        else:
            error = ours(tool, "read", path, tmp_path / "out.arrow")
            assert isinstance(error, dict) and error["kind"] == "NotSupported" and ("'odd'" in error["message"] or "'item'" in error["message"]), (name, error)
            assert written["kind"] == "NotSupported" and "'odd" in written["message"] and "version 2.2" in written["message"], (name, written)
            assert "error" in peer("read", [{"file": path, "arrow": str(tmp_path / "out.arrow")}])[0], "the refusal stands as long as this holds"
    check_both_read(tool, files)
    lists = pa.table({"odd": pa.array([[b""] * 2], pa.list_(pa.binary(0), 2))})
    answer = peer("dataset", [{"arrow": save(lists, tmp_path / "in.arrow"), "uri": str(tmp_path / "lists"), "version": version}])[0]
    assert "error" in peer("read", [{"file": answer["ok"][0], "arrow": str(tmp_path / "out.arrow")}])[0]
    assert ours(tool, "write", tmp_path / "in.arrow", tmp_path / "ours.lance", "--version", version)["kind"] == "InvalidInput"


# ---- we write, the peer reads ----

def check_both_read(tool, files):
    """Tables that we wrote, by path: whole, some rows and a range of them."""
    tables, jobs = {}, []
    for path, table in files.items():
        rows = sorted(set(some_rows(str(path), table.num_rows)))  # the peer takes nothing else from a file
        count = (table.num_rows - rows[0] + 1) // 2
        for name, expected, wanted in [("all", table, {}), ("take", table.take(rows), {"rows": rows}),
                                       ("range", table.slice(rows[0], count), {"range": [rows[0], count]})]:
            out = str(path.with_name(f"{path.stem}-{name}.arrow"))
            jobs.append({"file": str(path), "arrow": out, **wanted})
            tables[out] = expected
        check_we_read(tool, path.parent, path, table)
    answers = peer("read", jobs)
    for job, answer in zip(jobs, answers):
        expected = tables[job["arrow"]]
        assert answer == {"ok": expected.num_rows}, (job, answer)
        expect_equal(load(job["arrow"]), expected, job)


@pytest.mark.parametrize("version", WRITTEN)
@pytest.mark.parametrize("page_bytes", [8 << 20, 20000, 700])
def test_our_files_in_the_peer(tool, tmp_path, page_bytes, version):
    files = {}
    for length in SIZES:
        table = Columns(f"{SEED}/ours/{version}/{page_bytes}/{length}").table(length)
        path = tmp_path / f"{length}.lance"
        save(table, tmp_path / "in.arrow", chunk=max(1, length // 3))
        result = ours(tool, "write", tmp_path / "in.arrow", path, "--page-bytes", page_bytes, "--version", version)
        assert isinstance(result, str), result
        assert json.loads(result) == {"rows": length, "bytes": path.stat().st_size}
        files[path] = table
    check_both_read(tool, files)


@pytest.mark.parametrize("version", WRITTEN)
def test_our_large_file_in_the_peer(tool, tmp_path, version):
    table = Columns(f"{SEED}/large").table(70000, ["int64", "string", "float64", "bool", "timestamp"])
    table = table.append_column("vector64", pa.array([[float(i)] * 64 if i % 3 else None for i in range(70000)], pa.list_(pa.float32(), 64)))
    save(table, tmp_path / "in.arrow")
    assert isinstance(ours(tool, "write", tmp_path / "in.arrow", tmp_path / "large.lance", "--version", version), str)
    rows = [0, 12, 35000, 35001, 69999]
    answers = peer("read", [{"file": str(tmp_path / "large.lance"), "arrow": str(tmp_path / "all.arrow")},
                            {"file": str(tmp_path / "large.lance"), "arrow": str(tmp_path / "take.arrow"), "rows": rows}])
    assert answers == [{"ok": 70000}, {"ok": 5}]
    expect_equal(load(tmp_path / "all.arrow"), table, "all")
    expect_equal(load(tmp_path / "take.arrow"), table.take(rows), "take")


# Every form that our strings take; the words in which `inspect` names it, and those it must not name.
def string_columns():
    generator = random.Random(SEED)
    n = 5000
    text = [" ".join(generator.choice(WORDS) for _ in range(12)) for _ in range(n)]
    noise = [generator.randbytes(generator.randrange(60)) for _ in range(n)]
    eight = ["".join(generator.choice("abcdefghijkl") for _ in range(8)) for _ in range(200)]
    return {
        "fsst": (pa.array(text), ["fsst"]),
        "large_fsst": (pa.array(text, pa.large_string()), ["fsst"]),
        "fsst_with_nulls": (pa.array([None if i % 3 == 0 else value for i, value in enumerate(text)]), ["fsst", "defCompression"]),
        # The peer writes no FSST for these.
        "binary_fsst": (pa.array([value.encode() + noise[i][:9] for i, value in enumerate(text)], pa.binary()), ["fsst"]),
        "large_binary_fsst": (pa.array([value.encode() for value in text], pa.large_binary()), ["fsst"]),
        # Each code stands for 8 bytes.
        "eightfold": (pa.array(["".join(generator.choice(eight) for _ in range(10 + i % 20)) for i in range(n)]), ["fsst"]),
        "short_fsst": (pa.array([f"https://{generator.randrange(10**9)}" for i in range(n)]), ["fsst"]),
        "noise": (pa.array(noise, pa.binary()), ["variable"]),
        "lines": (pa.array([f"2026-11-30T04:00:00Z INFO server.request path=/api/v1/items status=200 n={i}" for i in range(n)]), ["ZSTD", "miniBlock"]),
        "small": (pa.array(text[:50]), ["ZSTD", "miniBlock"]),
        "tiny": (pa.array(text[:4]), ["variable"]),
        "long_fsst": (pa.array([value * 4 if i % 5 else "" for i, value in enumerate(text)]), ["fsst", "fullZip"]),
        "long_binary_fsst": (pa.array([None if i % 3 == 0 else value.encode() * 4 for i, value in enumerate(text)], pa.large_binary()), ["fsst", "fullZip"]),
        "one_large": (pa.array(["x%d" % i * 20000 if i == 7 else value for i, value in enumerate(text)]), ["fsst", "fullZip"]),
        "long_zstd": (pa.array([f"{noise[i].hex()}{i}" * 40 for i in range(1000)]), ["ZSTD", "fullZip"]),
        "long_noise": (pa.array([generator.randbytes(400) for _ in range(300)], pa.binary()), ["variable", "fullZip"]),
    }


# Numbers that we store byte by byte under lz4; the peer does so only when asked.
def regular_columns():
    n = 5000
    counter = np.arange(n) + 1_000_000
    split = ["byteStreamSplit", "general"]
    return {
        "int64": (pa.array(counter), split),
        "int64_with_nulls": (pa.array([None if i % 7 == 0 else 1_000_000 + i for i in range(n)], pa.int64()), [*split, "defCompression"]),
        "uint32": (pa.array(counter, pa.uint32()), split),
        "double": (pa.array(counter.astype(np.float64)), split),
        "float": (pa.array(counter.astype(np.float32)), split),
        "timestamp": (pa.array(1_700_000_000_000_000 + counter * 1_000_003).cast(pa.timestamp("us")), split),
        "few": (pa.array(counter[:200]), split),
        "dictionary": (pa.array([f"session-{i % 500}" for i in range(n)]), [*split, "dictionary"]),
    }


# Numbers, strings and vectors in the forms that only what repeats, or is missing, gets.
def repeating_columns():
    generator = random.Random(SEED)
    n = 5000
    long = [" ".join(generator.choice(WORDS) for _ in range(90)) for _ in range(10)]
    return {
        "runs": (pa.array([i // 40 * 7919 % 251 for i in range(n)], pa.int32()), ["rle"]),
        "runs_with_nulls": (pa.array([None if i % 9 == 0 else i // 40 for i in range(n)], pa.int64()), ["rle", "defCompression"]),
        "bytes": (pa.array([i // 3 * 7919 % 251 for i in range(n)], pa.uint8()), ["rle"]),
        "reals": (pa.array([i // 20 * 0.37 for i in range(n)], pa.float32()), ["rle"]),
        "halves": (pa.array(np.arange(n, dtype=np.float16) // np.float16(20)), ["rle"]),
        "names_in_runs": (pa.array([f"name {i // 100 % 10}" for i in range(n)]), ["rle", "dictionary"]),
        "long_names": (pa.array([long[generator.randrange(10)] for _ in range(n)]), ["miniBlock", "dictionary"]),
        "long_names_with_nulls": (pa.array([None if i % 5 == 0 else long[i % 10] for i in range(n)], pa.large_string()), ["miniBlock", "dictionary"]),
        "many_names": (pa.array([f"name {generator.randrange(2000)}" for _ in range(n)]), ["miniBlock"]),
        "numbers": (pa.array([generator.randrange(700) * 0x01020304050607 for _ in range(n)], pa.int64()), ["miniBlock"]),
        "fixed": (pa.array([f"{generator.randrange(50):016}".encode() for _ in range(n)], pa.binary(16)), ["dictionary"]),
        "no_items": (pa.array([[None] * 8 if i % 7 else None for i in range(n)], pa.list_(pa.float32(), 8)), ["constant", "fullZip"]),
        "no_items_wide": (pa.array([[None] * 80] * n, pa.list_(pa.float64(), 80)), ["constant", "fullZip"]),
        "no_items_in_lists": (pa.array([[[None] * 3] * (i % 3) for i in range(n)], pa.list_(pa.list_(pa.int32(), 3))), ["constant", "fullZip"]),
        "sequence": (pa.array(np.random.default_rng(1).random(n, dtype=np.float32)), ["inlineBitpacking"]),
    }


def check_the_peer_reads(tool, tmp_path, columns, version, metadata=None):
    tables, jobs, inspected = {}, [], {}
    for name, (array, words) in columns.items():
        table = pa.table([array], schema=pa.schema([pa.field("c", array.type, metadata=metadata)]))
        path = tmp_path / f"{name}.lance"
        save(table, tmp_path / "in.arrow")
        assert isinstance(ours(tool, "write", tmp_path / "in.arrow", path, "--version", version), str)
        inspected[name] = ours(tool, "inspect", path)
        assert all(word in inspected[name] for word in words), (name, inspected[name])
        check_we_read(tool, tmp_path, path, table)
        rows = sorted(set(some_rows(name, len(array))))
        count = min(700, len(array) - 3)
        for what, expected, wanted in [("all", table, {}), ("take", table.take(rows), {"rows": rows}), ("range", table.slice(3, count), {"range": [3, count]})]:
            out = str(tmp_path / f"{name}-{what}.arrow")
            jobs.append({"file": str(path), "arrow": out, **wanted})
            tables[out] = expected
    for job, answer in zip(jobs, peer("read", jobs)):
        assert answer == {"ok": tables[job["arrow"]].num_rows}, (job, answer)
        expect_equal(load(job["arrow"]), tables[job["arrow"]], job)
    return inspected


@pytest.mark.parametrize("version", ["2.1", "2.2"])
def test_our_strings_in_the_peer(tool, tmp_path, version):
    columns = string_columns()
    for name, text in check_the_peer_reads(tool, tmp_path, columns, version).items():
        assert ("fsst" in text) == ("fsst" in columns[name][1]), (name, text)


@pytest.mark.parametrize("version", ["2.1", "2.2"])
def test_our_regular_numbers_in_the_peer(tool, tmp_path, version):
    check_the_peer_reads(tool, tmp_path, regular_columns(), version)


@pytest.mark.parametrize("version", ["2.1", "2.2"])
def test_our_repeating_values_in_the_peer(tool, tmp_path, version):
    check_the_peer_reads(tool, tmp_path, repeating_columns(), version)


# Columns of all kinds that wishes have an effect on.
def wished_columns():
    generator = random.Random(SEED)
    n = 3000
    text = [" ".join(generator.choice(WORDS) for _ in range(12)) for _ in range(n)]
    return {
        "counter": pa.array([1_000_000 + i for i in range(n)], pa.int64()),
        "real": pa.array([None if i % 7 == 0 else i / 8 for i in range(n)], pa.float64()),
        "runs": pa.array([i // 30 for i in range(n)], pa.int32()),
        "small": pa.array([i % 100 for i in range(n)], pa.int16()),
        "flags": pa.array([i % 50 == 0 for i in range(n)]),
        "decimal": pa.array(list(range(n)), pa.int64()).cast(pa.decimal128(30, 2)),
        "text": pa.array(text),
        "text_with_nulls": pa.array([None if i % 3 == 0 else value for i, value in enumerate(text)], pa.large_string()),
        "bytes": pa.array([value.encode() for value in text], pa.binary()),
        "few": pa.array(text[:3]),
        "empty": pa.array(["", None, ""] * 100),
        "long": pa.array([value * 5 for value in text]),
        "names": pa.array([f"name {i * 7919 % 300}" for i in range(n)]),
        "numbers": pa.array([i * 7919 % 300 * 0x01020304050607 for i in range(n)], pa.int64()),
        "vector": pa.array([[i % 7, 1, 2, 3] for i in range(n)], pa.list_(pa.float32(), 4)),
        "wide": pa.array([[float(i % 7)] * 64 if i % 5 else None for i in range(300)], pa.list_(pa.float32(), 64)),
        "constant": pa.array([7] * n, pa.int32()),
    }


WISHES = [{"compression": scheme, "compression-level": "7"} for scheme in ["none", "fsst", "lz4", "zstd"]] + [
    {"compression": "zstd", "bss": "off"}, {"compression": "lz4", "bss": "on"}, {"bss": "off"},
    {"structural-encoding": "miniblock"}, {"structural-encoding": "fullzip"},
    *[{"structural-encoding": "fullzip", "compression": scheme} for scheme in ["none", "fsst", "lz4", "zstd"]],
    {"structural-encoding": "miniblock", "compression": "zstd"},
    {"rle-threshold": "0"}, {"rle-threshold": "0.5"}, {"minichunk-size": "200"}, {"minichunk-size": "60000"},
    {"dict-divisor": "100", "dict-size-ratio": "0.5"}, {"dict-max-size": "100"},
    *[{"dict-values-compression": scheme, "dict-values-compression-level": "5"} for scheme in ["none", "lz4", "zstd"]],
    {"no-such-wish": "1", "bss": "perhaps", "rle-threshold": "much"},
]


@pytest.mark.parametrize("version", ["2.0", "2.1", "2.2"])
def test_wished_encodings_in_the_peer(tool, tmp_path, version):
    files = {}
    for number, wish in enumerate(WISHES):
        metadata = {f"lance-encoding:{key}": value for key, value in wish.items()}
        columns = wished_columns()
        for length in {len(array) for array in columns.values()}:
            names = [name for name, array in columns.items() if len(array) == length]
            schema = pa.schema([pa.field(name, columns[name].type, metadata=metadata) for name in names])
            path = tmp_path / f"{number}-{length}.lance"
            files[path] = pa.table([columns[name] for name in names], schema=schema)
            save(files[path], tmp_path / "in.arrow")
            result = ours(tool, "write", tmp_path / "in.arrow", path, "--version", version)
            assert isinstance(result, str), (wish, result)
    check_both_read(tool, files)


def test_wishes_that_both_refuse(tool, tmp_path):
    for key, value in [("compression", "snappy"), ("structural-encoding", "sparse"), ("dict-size-ratio", "2"), ("dict-max-size", "much"),
                       ("dict-values-compression", "fsst")]:
        table = odd(pa.string(), [f"name {i % 7}" for i in range(500)], {f"lance-encoding:{key}": value})
        job = {"arrow": save(table, tmp_path / "in.arrow"), "out": str(tmp_path / "theirs.lance"), "version": "2.2"}
        assert "error" in peer("write", [job])[0], (key, value)
        error = ours(tool, "write", tmp_path / "in.arrow", tmp_path / "ours.lance")
        assert isinstance(error, dict) and error["kind"] == "InvalidInput" and f"lance-encoding:{key}" in error["message"], (key, error)


@pytest.mark.parametrize("version", WRITTEN)
def test_no_rows(tool, tmp_path, version):
    table = Columns(SEED).table(0)
    save(table, tmp_path / "in.arrow")
    assert isinstance(ours(tool, "write", tmp_path / "in.arrow", tmp_path / "ours.lance", "--version", version), str)
    answers = peer("read", [{"file": str(tmp_path / "ours.lance"), "arrow": str(tmp_path / "out.arrow")}])
    assert answers == [{"ok": 0}]
    assert load(tmp_path / "out.arrow").schema == table.schema
    assert isinstance(ours(tool, "read", tmp_path / "ours.lance", tmp_path / "out.arrow"), str)
    assert load(tmp_path / "out.arrow").schema == table.schema
    assert pc.count(pa.chunked_array(load(tmp_path / "out.arrow")["int8"])).as_py() == 0
