"""Filters against the released peer as oracle: what is accepted, what is refused, and exactly which rows pass.

`JAVELIN_SEED=N` draws other random filters.
"""

import decimal
import json
import os
import pathlib
import random
import re
import subprocess

import pyarrow as pa
import pytest

from peer import built_tool

HELPERS = """
def passing(uri, filters):
    table = lance.dataset(uri)
    answers = []
    for text in filters:
        try:
            answers.append(table.to_table(columns=["row"], filter=text).column("row").to_pylist())
        except Exception as failure:
            answers.append(f"{type(failure).__name__}: {failure}"[:300])
    return answers
"""

NAN, INF = float("nan"), float("inf")
D = decimal.Decimal


def small_table():
    micros = [None, 0, 1, -1, 10**15, 1577836800 * 10**6, 1577836800 * 10**6 + 123456, 3600 * 10**6]
    days = [None, 0, 1, -1, 18262, 20000, 2, 3]
    structs = [None, {"x": 1, "y": "a"}, {"x": None, "y": "b"}, {"x": 2, "y": None}, {"x": 3, "y": ""}, {"x": 4, "y": "c"},
               {"x": 5, "y": "d"}, {"x": 1, "y": "a"}]
    texts = [None, "", "a", "A", "äöü", "a%b_c\\", "it's", "hello world"]
    floats = [None, NAN, INF, -INF, 0.0, -0.0, 1.5, 0.1]
    columns = {
        "row": pa.array(range(8), pa.int64()),
        "id": pa.array(range(8), pa.int64()),
        "f16": pa.array(floats, pa.float16()),
        "f32": pa.array(floats, pa.float32()),
        "f64": pa.array(floats, pa.float64()),
        "dec": pa.array([None, D("1.00"), D("-1.50"), D("0.00"), D("99999999.99"), D("2.25"), D("1.5"), D("5")],
                        pa.decimal128(10, 2)),
        "s": pa.array(texts, pa.string()),
        "ls": pa.array(texts, pa.large_string()),
        "bin": pa.array([None, b"", b"\x01\x02", b"\xab", b"\xff", b"a", b"abc", b"\x00"], pa.binary()),
        "fsb": pa.array([None, b"ab", b"\x01\x02", b"\xab\x00", b"\xff\xff", b"aa", b"bb", b"\x00\x00"], pa.binary(2)),
        "b": pa.array([None, True, False, True, False, None, True, False]),
        "c": pa.array([None, None, None, True, True, True, False, False]),
        "d32": pa.array(days, pa.int32()).cast(pa.date32()),
        "d64": pa.array([day and day * 86400000 for day in days], pa.int64()).cast(pa.date64()),
        "ts": pa.array(micros, pa.int64()).cast(pa.timestamp("us")),
        "tss": pa.array([None, 0, 1, -1, 10**9, 1577836800, 1577836801, 3600], pa.int64()).cast(pa.timestamp("s")),
        "tsn": pa.array([None, 0, 1, -1, 10**18, 1577836800 * 10**9, 1577836800 * 10**9 + 123456789, 3600 * 10**9],
                        pa.int64()).cast(pa.timestamp("ns")),
        "tz": pa.array(micros, pa.int64()).cast(pa.timestamp("us", "UTC")),
        "tzp": pa.array(micros, pa.int64()).cast(pa.timestamp("us", "Europe/Paris")),
        "t32": pa.array([None, 0, 1, 2, 86399, 3600, 60, 61], pa.int32()).cast(pa.time32("s")),
        "dur": pa.array([None, 0, 1, 2, 86399 * 10**6, 3600, 60, -61], pa.int64()).cast(pa.duration("us")),
        "l": pa.array([None, [], [1, 2], [3], [None, 1], [1, 2, 3], [-1], [5]], pa.list_(pa.int64())),
        "tags": pa.array([None, [], ["x", "y"], ["x"], [None, "z"], ["y"], ["x", "x"], [""]], pa.list_(pa.string())),
        "v": pa.array([None, [1, 2], [0, 0], [NAN, 1], [3, 4], [5, 6], [7, 8], [-1, 0.5]], pa.list_(pa.float32(), 2)),
        "st": pa.array(structs, pa.struct([("x", pa.int32()), ("y", pa.string())])),
        "dict": pa.array([None, "a", "b", "a", "c", "b", "a", ""]).dictionary_encode(),
        "nul": pa.nulls(8),
        "Mixed Case": pa.array(range(8), pa.int32()),
        "order": pa.array(range(8), pa.int32()),
        "Cap": pa.array(range(8), pa.int32()),
    }
    for bits in (8, 16, 32, 64):
        top = 2 ** (bits - 1)
        columns[f"i{bits}"] = pa.array([None, -top, -1, 0, 1, 2, top - 1, 5], getattr(pa, f"int{bits}")())
        columns[f"u{bits}"] = pa.array([None, 0, 1, 2, 3, 200, 2 * top - 1, 5], getattr(pa, f"uint{bits}")())
    return pa.table(columns)


class Oracle:
    def __init__(self, peer, folder, table):
        self.peer, self.folder, self.uri = peer, folder, str(folder / "t.lance")
        peer.run("lance.write_dataset(table, uri, data_storage_version='2.1', max_rows_per_file=1000)",
                 table=table, uri=self.uri)

    def theirs(self, filters):
        return self.peer.value("passing(uri, filters)", uri=self.uri, filters=filters)

    def ours(self, filters, batch_rows=8192):
        path = self.folder / "filters.json"
        path.write_text(json.dumps(filters))
        done = subprocess.run([built_tool("filter_tool"), self.uri, str(path), "--batch-rows", str(batch_rows)],
                              capture_output=True, text=True)
        assert done.returncode == 0, done.stderr
        return [json.loads(line) for line in done.stdout.splitlines()]

    def differences(self, filters):
        """(text, theirs, ours) wherever one accepts what the other refuses, or other rows pass."""
        found = []
        for text, theirs, ours in zip(filters, self.theirs(filters), self.ours(filters), strict=True):
            refused = isinstance(theirs, str), isinstance(ours, dict)
            if refused[0] != refused[1] or (not refused[0] and theirs != ours):
                found.append((text, theirs, ours))
        return found


@pytest.fixture
def oracle(peer, tmp_path):
    return Oracle(peer, tmp_path, small_table())


def conformance():
    return (pathlib.Path(__file__).parent / "filters.txt").read_text().splitlines()


def test_the_conformance_table(oracle):
    """Every form, accepted or refused alike, with the same rows."""
    filters = [line for line in conformance() if line and not line.startswith("#")]
    assert len(filters) > 500
    assert oracle.differences(filters) == []


@pytest.mark.parametrize(("text", "theirs", "ours"), [
    ("id = 1_000", [1], "InvalidInput"),
    ("id = 3 foo", [3], "InvalidInput"),
    ("id = 3; id = 4", [3], "InvalidInput"),
    ("id = 3)", [3], "InvalidInput"),
    ("bin = X'zz'", [], "InvalidInput"),
    ("NOT i32 = 1.5", [1, 2, 3, 4, 5, 6, 7], "InvalidInput"),
    ("st.x IN ('1')", [1, 7], "InvalidInput"),
    ("i32 + 1 = '2'", [4], "InvalidInput"),
    ("CAST(i32 AS tinyint) = 1", [4], "InvalidInput"),
    ("id << 1 = 2", [1], "NotSupported"),
    ("l = []", "ValueError", [1]),
    ("[id, 2][1] = 3", "ValueError", [3]),
    ("cast(dec as int) = 1", [1], [1, 6]),
    ("nullif(f64, 0) is null", [0, 4], [0, 4, 5]),
    ("ls not in ('', 'ab') or ls not in ('ab', null)", [1, 2, 3, 4, 5, 6, 7], [2, 3, 4, 5, 6, 7]),
    ("s not in ('b') or s not in ('x')", [0, 1, 2, 3, 4, 5, 6, 7], [1, 2, 3, 4, 5, 6, 7]),
    ("date_part('year', tsn) >= 8", [], [1, 2, 3, 4, 5, 6, 7]),
    ("array_has_all(tags, [])", [0, 1, 2, 3, 4, 5, 6, 7], [1, 2, 3, 4, 5, 6, 7]),
])
def test_where_we_differ(oracle, text, theirs, ours):
    """The last section of docs/filters.md, as it is."""
    answer, = oracle.theirs([text])
    assert answer.startswith(theirs) if isinstance(theirs, str) else answer == theirs
    answer, = oracle.ours([text])
    assert answer["kind"] == ours if isinstance(ours, str) else answer == ours


def test_batches_of_any_size_pass_the_same_rows(oracle):
    filters = [line for line in conformance() if line and not line.startswith("#")]
    whole = oracle.ours(filters)
    for text, rows, again in zip(filters, whole, oracle.ours(filters, batch_rows=3), strict=True):
        assert (rows["kind"] == again["kind"]) if isinstance(rows, dict) else rows == again, text


class Draw:
    """Random conditions that are well typed, over values where many rows are equal."""

    NUMBERS = ["i8", "i16", "i32", "i64", "u8", "u16", "u32", "id"]
    FLOATS = ["f16", "f32", "f64"]
    TEXTS = ["s", "ls", "dict", "st.y", "tags[1]"]
    MOMENTS = ["ts", "tss", "tsn", "tz", "d32", "d64"]

    def __init__(self, generator):
        self.random = generator

    def of(self, *choices):
        return self.random.choice(choices)

    def small(self):
        return str(self.random.randint(0, 9))

    def text(self):
        return self.of("'a'", "''", "'b'", "'x'", "'ä'", "'A'", "'ab'", "'%'")

    def number(self, depth):
        if depth <= 0 or self.random.random() < 0.3:
            return self.of(*self.NUMBERS, "st.x", "l[1]", "l[2]", self.small(), self.small())
        inner = lambda: self.number(depth - 1)  # noqa: E731
        return self.of(
            lambda: f"({inner()} {self.of('+', '-', '*')} {inner()})",
            lambda: f"({inner()} % {self.random.randint(1, 5)})",
            lambda: f"({inner()} / {self.random.randint(1, 5)})",
            lambda: f"length({self.string(depth - 1)})",
            lambda: f"strpos({self.string(depth - 1)}, {self.text()})",
            lambda: f"coalesce({inner()}, {self.small()})",
            lambda: f"nullif({inner()}, {self.small()})",
            lambda: f"{self.of('greatest', 'least')}({inner()}, {inner()})",
            lambda: f"date_part('{self.of('month', 'day', 'hour', 'dow', 'doy', 'week', 'quarter', 'minute')}', "
                    f"{self.of(*self.MOMENTS)})",
            lambda: f"cardinality({self.of('l', 'tags')})",
            lambda: f"cast({self.of(*self.NUMBERS)} as bigint)" if self.random.random() < 0.5 else inner(),
        )()

    def string(self, depth):
        if depth <= 0 or self.random.random() < 0.3:
            return self.of(*self.TEXTS, self.text())
        inner = lambda: self.string(depth - 1)  # noqa: E731
        return self.of(
            lambda: f"({inner()} || {inner()})",
            lambda: f"{self.of('lower', 'upper', 'reverse', 'btrim')}({inner()})",
            lambda: f"{self.of('left', 'right')}({inner()}, {self.random.randint(-2, 3)})",
            lambda: f"replace({inner()}, {self.text()}, {self.text()})",
            lambda: f"concat({inner()}, {inner()})",
            lambda: f"coalesce({inner()}, {self.text()})",
            lambda: f"cast({self.of(*self.NUMBERS, 'b', 'd32', 'ts', 'dec')} as string)",
            lambda: f"{self.of('lpad', 'rpad')}({inner()}, {self.random.randint(0, 4)}, 'xy')",
        )()

    def compare(self):
        return self.of("=", "<>", "<", "<=", ">", ">=", "is distinct from", "is not distinct from")

    def leaf(self):
        no = self.of("", "not ")
        pattern = "".join(self.of("a", "%", "_", "b", "\\\\%", "ä", "o") for _ in range(self.random.randint(0, 4)))
        return self.of(
            lambda: f"{self.number(2)} {self.compare()} {self.number(2)}",
            lambda: f"{self.string(2)} {self.compare()} {self.string(2)}",
            lambda: f"{self.of(*self.FLOATS)} {self.compare()} {self.of('0', '1.5', '-1', '0.5', 'f64', 'f32', 'id')}",
            lambda: f"{self.of(*self.NUMBERS)} {no}in ({self.small()}, {self.small()}, {self.small()})",
            lambda: f"{self.of('s', 'ls', 'dict')} {no}in ({self.text()}, {self.text()})",
            lambda: f"{self.number(1)} {no}between {self.small()} and {self.small()}",
            lambda: f"{self.string(1)} {no}{self.of('like', 'ilike')} '{pattern}'",
            lambda: f"{self.of('b', 'c')} is {no}{self.of('null', 'true', 'false')}",
            lambda: f"{self.of(self.number(1), self.string(1), 'l', 'st', 'v', 'nul', 'dec')} is {no}null",
            lambda: f"dec {self.compare()} {self.of('1', '5', 'dec + 1', 'dec * 2', 'i32', 'u8', '-dec')}",
            lambda: f"{self.of(*self.MOMENTS)} {self.of('<', '>=', '=')} {self.moment()}",
            lambda: f"bin {self.compare()} {self.of(chr(88) + chr(39) + '61' + chr(39), 'bin')}",
            lambda: f"{self.of('array_has', 'list_contains')}(tags, {self.text()})",
            lambda: f"array_has(l, {self.number(1)})",
            lambda: f"{self.of('array_has_any', 'array_has_all')}(tags, [{self.text()}, {self.text()}])",
            lambda: f"{self.of('starts_with', 'ends_with', 'contains')}({self.string(1)}, {self.text()})",
            lambda: f"l {self.of('=', '<>', '<', '>')} [{self.small()}, {self.small()}]",
            lambda: self.of("b", "c", "true", "false", "b = c", "isnan(f64)", "st = st", "v = [1, 2]"),
        )()

    def moment(self):
        return self.of("timestamp '1970-01-01 01:00:00'", "date '2020-01-01'", "date '1970-01-02'", "ts",
                       "timestamp(0) '2020-01-01 00:00:01'", "timestamp '1970-01-01 00:00:00.000001'")

    def condition(self, depth):
        if depth == 0 or self.random.random() < 0.2:
            return self.leaf()
        inner = lambda: self.condition(depth - 1)  # noqa: E731
        return self.of(lambda: f"({inner()} and {inner()})", lambda: f"({inner()} or {inner()})",
                       lambda: f"not ({inner()})", lambda: f"({inner()}) is not true", lambda: self.leaf())()


def test_random_filters(oracle):
    """Wherever both accept a filter the same rows pass; we refuse only what the peer bends or fails at."""
    seed = int(os.environ.get("JAVELIN_SEED", "1"))
    draw = Draw(random.Random(seed))
    filters = [draw.condition(draw.random.randint(0, 3)) for _ in range(1500)]
    # Several sets of one column are joined there, and nulls are lost by it (test_where_we_differ).
    filters = [text for text in filters if text.count(" in (") < 2]
    theirs, ours = oracle.theirs(filters), oracle.ours(filters)
    both, wrong, ours_alone, theirs_alone = 0, [], [], []
    for text, their, our in zip(filters, theirs, ours, strict=True):
        if isinstance(their, list) and isinstance(our, list):
            both += 1
            if their != our:
                wrong.append((text, their, our))
        elif isinstance(our, list):
            ours_alone.append((text, their))
        elif isinstance(their, list):
            theirs_alone.append((text, our["message"].split("\n")[0]))
    assert wrong == [], "\n".join(map(str, wrong))
    assert both > 900, (both, ours_alone[:5], theirs_alone[:5])
    # Literals beside columns are strict at every depth here, at the top only there (docs/filters.md).
    strange = [case for case in theirs_alone
               if not re.search("is no value of|out of bounds|not in range|cannot be compared", case[1])]
    assert strange == [], "\n".join(map(str, strange))
