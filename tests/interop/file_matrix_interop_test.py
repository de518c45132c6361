"""Every type with no, some and only nulls, in every size and version of data files, in both directions: equal values,
whole, by range and by row. What has no form, and what is left out, stands in one list each."""

import json
import os

import numpy as np
import pyarrow as pa
import pytest

from file_interop_test import FIXED, STRINGS, VECTORS, VERSIONS, Columns, check_both_read, check_we_read, load, ours, peer, save, tool  # noqa: F401 (a fixture)
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
    "empty_struct": pa.struct([]),  # the last one: from 2.1 on the peer finds nothing but nulls in columns behind it
}
TYPES = [*FIXED, "bool", "null", *STRINGS, *VECTORS, *NESTED]

# What the format has no form for. (A struct of 2.0 is never null.)
NO_FORM = {
    "2.0": {"map", "list_of_maps", "vector_of_structs"},
    "2.1": {"map", "list_of_maps", "vector_of_structs"},
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
        if name == "null":
            return pa.nulls(length)
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
            return [i * 7 % 11 if pa.types.is_integer(kind.value_type) else f"word {i * 5 % 13}" for i in range(length)]
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


@pytest.mark.parametrize("version", VERSIONS)
def test_a_million_rows(tool, tmp_path, version):
    table = million(SEED)
    theirs, mine, arrow = tmp_path / "theirs.lance", tmp_path / "ours.lance", save(table, tmp_path / "in.arrow", chunk=300_000)
    assert peer("write", [{"arrow": arrow, "out": str(theirs), "version": version}]) == [{"ok": True}]
    check_we_read(tool, tmp_path, theirs, table)
    assert isinstance(answer := ours(tool, "write", arrow, mine, "--version", version), str), answer
    check_both_read(tool, {mine: table})
