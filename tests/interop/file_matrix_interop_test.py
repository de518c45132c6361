"""Every type with no, some and only nulls, in every size and version of data files, in both directions: equal values,
whole, by range and by row. What has no form, and what is left out, stands in one list each."""

import json
import os
import pathlib

import numpy as np
import pyarrow as pa
import pytest

from file_interop_test import (FIXED, STRINGS, VECTORS, VERSIONS, Columns, check_both_read, check_we_read, expect_equal, load, ours, peer,
                               regular_columns, repeating_columns, save, string_columns, tool)  # noqa: F401 (a fixture)
from nested_file_interop_test import Nested

pytestmark = pytest.mark.interop

SEED = int(os.environ.get("JAVELIN_SEED", "20260101"))
SIZES = [0, 1, 3, 5000]
NULLS = {"none": 0, "some": 0.3, "all": 1}

PAIR = pa.struct([("number", pa.int32()), ("text", pa.string())])
NESTED = {
    "list": pa.list_(pa.int64()),
    "large_list": pa.large_list(pa.bool_()),
    "list_of_text": pa.list_(pa.string()),
    "list_of_lists": pa.list_(pa.list_(pa.int8())),
    "list_of_vectors": pa.list_(pa.list_(pa.float32(), 100)),
    "list_of_structs": pa.list_(PAIR),
    "struct": PAIR,
    "struct_of_lists": pa.struct([("list", pa.list_(pa.int32())), ("inner", pa.struct([("flag", pa.bool_())]))]),
    "map": pa.map_(pa.string(), pa.int32()),
    "list_of_maps": pa.list_(pa.map_(pa.int32(), pa.string())),
    "vector_of_structs": pa.list_(PAIR, 2),
    "dictionary": pa.dictionary(pa.int32(), pa.string()),
    "dictionary_of_numbers": pa.dictionary(pa.int16(), pa.int64()),
    "list_of_dictionaries": pa.list_(pa.dictionary(pa.int32(), pa.string())),
    "dictionary_of_booleans": pa.dictionary(pa.int8(), pa.bool_()),
    "list_of_booleans_by_number": pa.list_(pa.dictionary(pa.int32(), pa.bool_())),
    "list_of_no_items": pa.list_(pa.list_(pa.null(), 3)),
    "no_bytes": pa.binary(0),
    "list_of_no_bytes": pa.list_(pa.binary(0)),
    "empty_struct": pa.struct([]),  # the last one: from 2.1 on the peer finds nothing but nulls in columns behind it
}
TYPES = [*FIXED, "bool", "null", *STRINGS, *VECTORS, *NESTED]

# What the format has no form for. (A struct of 2.0 is never null.)
NO_FORM = {
    "2.0": {"map", "list_of_maps", "vector_of_structs", "no_bytes", "list_of_no_bytes"},
    "2.1": {"map", "list_of_maps", "vector_of_structs", "no_bytes", "list_of_no_bytes"},
    "2.2": set(),
}
# What we do not write beside other columns: the peer does not read it there, not even its own.
NOT_BESIDE = {"2.0": set(), "2.1": set(), "2.2": {"vector_of_structs"}}


class Matrix:
    def __init__(self, seed, version):
        self.columns = Columns(seed)
        self.nested = Nested(seed, version)
        self.version = version

    def spread(self):
        return self.columns.random.choice(["sequence", "few", "small", "any", "one", "runs"])

    def column(self, name, length, nulls):
        share = NULLS[nulls]
        if name in STRINGS:
            return self.columns.strings(name, length, share, self.spread())
        if name in VECTORS:
            return self.columns.vectors(name, length, share, self.spread())
        if name not in NESTED:
            return self.columns.fixed(name, length, share, self.spread())
        kind = NESTED[name]
        values = [self.null_or(kind, value, share) for value in self.values(kind, length)]
        return pa.array(values, kind)

    def values(self, kind, length):
        if pa.types.is_dictionary(kind):
            values = [i * 7 % 11 if pa.types.is_integer(kind.value_type) else f"word {i * 5 % 13}" for i in range(length)]
            return [value.endswith("1") for value in values] if pa.types.is_boolean(kind.value_type) else values
        if pa.types.is_list(kind) and pa.types.is_dictionary(kind.value_type):
            words = self.values(kind.value_type, length + 3)
            return [words[i : i + i % 4] for i in range(length)]
        if pa.types.is_fixed_size_list(kind):
            items = self.nested.values(kind.value_type, length * kind.list_size)
            return [items[i * kind.list_size : (i + 1) * kind.list_size] for i in range(length)]
        return self.nested.values(kind, length)

    def null_or(self, kind, value, share):
        whole = pa.types.is_struct(kind) and (self.version == "2.0" or not kind.num_fields)
        if not whole and (share == 1 or (share > 0 and self.columns.random.random() < share)):
            return None
        if value is not None:
            return value
        if pa.types.is_fixed_size_binary(kind):
            return b""
        return {field.name: None for field in kind} if pa.types.is_struct(kind) else []

    def table(self, length, refused):
        return pa.table({f"{name}_{nulls}": self.column(name, length, nulls) for name in TYPES if name not in refused for nulls in NULLS})


def matrix(version, direction, length, refused):
    return Matrix(f"{SEED}/{direction}/{version}/{length}", version).table(length, refused)


@pytest.mark.parametrize("version", VERSIONS)
def test_the_peer_writes_we_read(tool, tmp_path, version):
    tables, jobs = {}, []
    for length in SIZES:
        path = tmp_path / f"{length}.lance"
        tables[path] = matrix(version, "theirs", length, NO_FORM[version])
        jobs.append({"arrow": save(tables[path], tmp_path / f"{length}.arrow"), "out": str(path), "version": version})
    assert peer("write", jobs) == [{"ok": True}] * len(jobs)
    for path, table in tables.items():
        if table.num_rows > 0:
            check_we_read(tool, tmp_path, path, table)
        else:
            assert isinstance(answer := ours(tool, "read", path, tmp_path / "out.arrow"), str), answer
            assert load(tmp_path / "out.arrow").schema.types == table.schema.types


@pytest.mark.parametrize("version", VERSIONS)
def test_we_write_the_peer_reads(tool, tmp_path, version):
    files, empty = {}, tmp_path / "0.lance"
    for length in SIZES:
        table = matrix(version, "ours", length, NO_FORM[version] | NOT_BESIDE[version])
        path = tmp_path / f"{length}.lance"
        save(table, tmp_path / "in.arrow")
        assert isinstance(answer := ours(tool, "write", tmp_path / "in.arrow", path, "--version", version), str), answer
        if length > 0:
            files[path] = table
    check_both_read(tool, files)
    assert peer("read", [{"file": str(empty), "arrow": str(tmp_path / "out.arrow")}]) == [{"ok": 0}]


@pytest.mark.parametrize("version", VERSIONS)
def test_what_goes_alone_only(tool, tmp_path, version):
    files = {}
    for name in sorted(NOT_BESIDE[version]):
        for nulls in NULLS:
            for length in SIZES[1:]:
                table = pa.table({"alone": Matrix(f"{SEED}/{name}/{nulls}/{length}", version).column(name, length, nulls)})
                path = tmp_path / f"{name}_{nulls}_{length}.lance"
                save(table, tmp_path / "in.arrow")
                assert isinstance(answer := ours(tool, "write", tmp_path / "in.arrow", path, "--version", version), str), answer
                files[path] = table
    if files:
        check_both_read(tool, files)


@pytest.mark.parametrize("page_bytes", [8 << 20, 20000, 1000])
def test_fixed_size_lists_of_structs_go_together_that_have_as_many_items(tool, tmp_path, page_bytes):
    """In pages that end at different rows, and are without nulls here and there."""
    files = {}
    for number, length in enumerate([1, 3, 2500, 5000]):
        source = Matrix(f"{SEED}/together/{page_bytes}/{length}", "2.2")
        pairs = {nulls: source.column("vector_of_structs", length, nulls) for nulls in NULLS}
        changing = pa.concat_arrays([source.column("vector_of_structs", length, nulls) for nulls in ["none", "some", "none"]])
        narrow = pa.array([[{"x": i % 100}, {"x": i % 7}] for i in range(length)], pa.list_(pa.struct([("x", pa.int8())]), 2))
        table = {**pairs, "narrow": narrow, "changing": changing.slice(length // 2, length)}
        path = tmp_path / f"{number}.lance"
        files[path] = pa.table(table)
        save(files[path], tmp_path / "in.arrow", chunk=max(1, length // 3))
        assert isinstance(answer := ours(tool, "write", tmp_path / "in.arrow", path, "--page-bytes", page_bytes), str), answer
    check_both_read(tool, files)


@pytest.mark.parametrize("version", VERSIONS)
def test_what_is_left_out_is_refused_by_name(tool, tmp_path, version):
    """If one of these fails, a type is written now and has to go from its list."""
    source = Matrix(SEED, version)
    tables = {name: {"odd": source.column(name, 3, "none")} for name in NO_FORM[version]}
    tables |= {name: {"odd": source.column(name, 3, "none"), "even": pa.array(range(3))} for name in NOT_BESIDE[version]}
    if version > "2.0":
        tables["empty_struct"] = {"odd": pa.array([{}] * 3, pa.struct([])), "even": pa.array(range(3))}
    for name, columns in tables.items():
        save(pa.table(columns), tmp_path / "in.arrow")
        answer = ours(tool, "write", tmp_path / "in.arrow", tmp_path / "out.lance", "--version", version)
        assert isinstance(answer, dict), (name, version)
        assert answer["kind"] == "NotSupported" and "'odd" in answer["message"], (name, answer)


@pytest.mark.parametrize("version", VERSIONS[1:])
def test_the_peer_cannot_read_its_own_of_what_is_left_out(tmp_path, version):
    """The other half of the refusals above: as long as this holds they must stay."""
    tables = {"empty_struct": pa.table({"odd": pa.array([{}] * 3, pa.struct([])), "even": pa.array(range(3))})}
    if version >= "2.2":
        tables["vector_of_structs"] = pa.table({"odd": Matrix(SEED, version).column("vector_of_structs", 3, "none"), "even": pa.array(range(3))})
    for name, table in tables.items():
        path, out = str(tmp_path / "theirs.lance"), tmp_path / "out.arrow"
        assert peer("write", [{"arrow": save(table, tmp_path / "in.arrow"), "out": path, "version": version}]) == [{"ok": True}]
        answer = peer("read", [{"file": path, "arrow": str(out)}])[0]
        assert "differing lengths" in answer.get("error", "") or load(out)["even"].to_pylist() == [None] * 3, (name, answer)


# ---- pages of one column that differ in what may be null ----

SEGMENTS = ["none", "some", "all", "none"]
SEGMENT_ROWS = 700
CHANGING = [*FIXED, "bool", *STRINGS, *VECTORS, "list", "list_of_text", "struct", "large_list"]


def changing(version, direction):
    source = Matrix(f"{SEED}/changing/{direction}/{version}", version)
    return pa.table({name: pa.concat_arrays([source.column(name, SEGMENT_ROWS, nulls) for nulls in SEGMENTS]) for name in CHANGING})


def pages_of(tool, path):
    return [len(column["pages"]) for column in json.loads(ours(tool, "inspect", path))["columns"]]


@pytest.mark.parametrize("version", VERSIONS)
def test_nullability_changes_from_page_to_page_of_the_peer(tool, tmp_path, version):
    table, path = changing(version, "theirs"), tmp_path / "theirs.lance"
    job = {"arrow": save(table, tmp_path / "in.arrow", chunk=SEGMENT_ROWS), "out": str(path), "version": version, "data_cache_bytes": 1}
    assert peer("write", [job]) == [{"ok": True}]
    assert min(pages_of(tool, path)) >= (1 if version == "2.0" else len(SEGMENTS))  # the structs of 2.0 have no values
    check_we_read(tool, tmp_path, path, table)


@pytest.mark.parametrize("version", VERSIONS)
def test_nullability_changes_from_page_to_page_of_ours(tool, tmp_path, version):
    table, path = changing(version, "ours"), tmp_path / "ours.lance"
    save(table, tmp_path / "in.arrow", chunk=SEGMENT_ROWS)
    assert isinstance(answer := ours(tool, "write", tmp_path / "in.arrow", path, "--version", version, "--page-bytes", 1), str), answer
    assert max(pages_of(tool, path)) >= len(SEGMENTS)
    check_both_read(tool, {path: table})


# ---- as many rows as fill chunks, or one less, or one more ----

AROUND_CHUNKS = [2047, 2048, 2049, 4095, 4096, 4097]


def columns_of_every_encoding(version, direction):
    """Of the most rows; the others are slices of these."""
    length = max(AROUND_CHUNKS)
    columns = {}
    source = Matrix(f"{SEED}/edges/{direction}/{version}", version)
    for name in TYPES:
        if name not in NO_FORM[version] | NOT_BESIDE["2.2"]:
            columns |= {f"{name}_{nulls}": source.column(name, length, nulls) for nulls in ["none", "some"]}
    last = {name: columns.pop(name) for name in list(columns) if name.startswith("empty_struct")}
    for make in [string_columns, regular_columns, repeating_columns]:
        columns |= {f"{make.__name__}_{name}": array.slice(0, length) for name, (array, _) in make().items() if len(array) >= length}
    return pa.table(columns | last)


@pytest.mark.parametrize("version", VERSIONS)
def test_files_of_the_peer_that_end_beside_a_chunk(tool, tmp_path, version):
    table = columns_of_every_encoding(version, "theirs")
    jobs = [{"arrow": save(table.slice(0, rows), tmp_path / f"{rows}.arrow"), "out": str(tmp_path / f"{rows}.lance"), "version": version}
            for rows in AROUND_CHUNKS]
    assert peer("write", jobs) == [{"ok": True}] * len(jobs)
    for rows, job in zip(AROUND_CHUNKS, jobs):
        expected = table.slice(0, rows)
        check_we_read(tool, tmp_path, pathlib.Path(job["out"]), expected)
        for first in [edge for edge in [1024, 2048, 4096, rows] if edge <= rows]:
            count = min(2, rows - first + 1)
            assert isinstance(ours(tool, "read", job["out"], tmp_path / "out.arrow", "--range", f"{first - 1},{count}"), str)
            expect_equal(load(tmp_path / "out.arrow"), expected.slice(first - 1, count), (rows, first))


@pytest.mark.parametrize("version", VERSIONS)
def test_our_files_that_end_beside_a_chunk(tool, tmp_path, version):
    table = columns_of_every_encoding(version, "ours")
    files = {tmp_path / f"{rows}.lance": table.slice(0, rows) for rows in AROUND_CHUNKS}
    jobs, wanted = [], []
    for path, expected in files.items():
        save(expected, tmp_path / "in.arrow")
        assert isinstance(answer := ours(tool, "write", tmp_path / "in.arrow", path, "--version", version), str), answer
        for first in [edge for edge in [1024, 2048, 4096, expected.num_rows] if edge <= expected.num_rows]:
            count = min(2, expected.num_rows - first + 1)
            jobs.append({"file": str(path), "arrow": str(tmp_path / f"{path.stem}-{first}.arrow"), "range": [first - 1, count]})
            wanted.append(expected.slice(first - 1, count))
    check_both_read(tool, files)
    for job, answer, expected in zip(jobs, peer("read", jobs), wanted):
        assert answer == {"ok": expected.num_rows}, (job, answer)
        expect_equal(load(job["arrow"]), expected, job)


# ---- a million rows ----

MILLION = 1_000_000


def million(seed):
    source = np.random.default_rng(seed)
    words = pa.array([None if i == 7 else f"word {i * i}" for i in range(50)])
    numbers = source.integers(-(2**62), 2**62, MILLION)
    return pa.table({
        "any": pa.array(numbers),
        "sequence": pa.array(np.arange(MILLION, dtype=np.int32)),
        "nulls": pa.array(numbers >> 40, mask=numbers % 3 == 0),
        "flag": pa.array(numbers % 2 == 0, mask=numbers % 5 == 0),
        "word": words.take(pa.array(numbers % 50)),
        "real": pa.array(source.random(MILLION, dtype=np.float32)),
        "same": pa.array(np.full(MILLION, 7, np.int64)),
        "none": pa.nulls(MILLION, pa.int16()),
    })


def million_lists(seed):
    """Lists of structs and structs of lists around millions of values, made by the column."""
    source = np.random.default_rng(seed)
    words = pa.array([f"word {i * i}" for i in range(50)])
    sizes = source.integers(0, 4, MILLION)
    ends = np.concatenate([[0], np.cumsum(sizes)])
    count = int(ends[-1])
    numbers = pa.array(source.integers(0, 2**31, count, dtype=np.int32), mask=source.random(count) < 0.1)
    structs = pa.StructArray.from_arrays([numbers, words.take(pa.array(source.integers(0, 50, count)))], ["number", "word"])
    offsets = pa.array(ends[: MILLION + 1].astype(np.int32), mask=np.append(source.random(MILLION) < 0.1, False))
    lists = pa.ListArray.from_arrays(offsets, structs)
    reals = pa.LargeListArray.from_arrays(pa.array(ends), pa.array(source.random(count)))
    return pa.table({"structs": lists, "lists": pa.StructArray.from_arrays([reals, pa.array(sizes)], ["reals", "size"])})


@pytest.mark.parametrize("make", [million, million_lists])
@pytest.mark.parametrize("version", VERSIONS)
def test_a_million_rows(tool, tmp_path, version, make):
    table = make(SEED)
    theirs, mine, arrow = tmp_path / "theirs.lance", tmp_path / "ours.lance", save(table, tmp_path / "in.arrow", chunk=300_000)
    assert peer("write", [{"arrow": arrow, "out": str(theirs), "version": version}]) == [{"ok": True}]
    check_we_read(tool, tmp_path, theirs, table)
    assert isinstance(answer := ours(tool, "write", arrow, mine, "--version", version), str), answer
    check_both_read(tool, {mine: table})
