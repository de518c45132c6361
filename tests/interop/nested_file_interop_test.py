"""Structs, lists and maps in data files, of random types in random nestings, in both directions."""

import datetime
import json
import os
import random

import numpy as np
import pyarrow as pa
import pytest

from file_interop_test import WRITTEN, check_both_read, check_we_read, load, ours, peer, save, some_rows, tool  # noqa: F401 (a fixture)

pytestmark = pytest.mark.interop

SEED = int(os.environ.get("JAVELIN_SEED", "20260101"))
COLUMNS = 10  # a file
FILES = 26    # a version: more than 500 nested types in all

LEAVES = [pa.int8(), pa.int32(), pa.int64(), pa.float64(), pa.bool_(), pa.string(), pa.binary(), pa.large_string(), pa.binary(5),
          pa.timestamp("us", "UTC"), pa.decimal128(20, 3), pa.list_(pa.float32(), 4), pa.list_(pa.float32(), 100),
          pa.float16(), pa.float32(), pa.date32(), pa.date64(), pa.large_binary(), pa.null(), pa.list_(pa.list_(pa.int16(), 3), 2),
          pa.list_(pa.float16(), 40),
          pa.dictionary(pa.int8(), pa.string()), pa.dictionary(pa.uint16(), pa.large_binary()), pa.dictionary(pa.int32(), pa.string()),
          pa.dictionary(pa.int64(), pa.float32()), pa.dictionary(pa.uint8(), pa.int64())]


EMPTY = pa.struct([])
PACKED = {"lance-encoding:packed": "true"}
PACKABLE = [pa.int8(), pa.int32(), pa.float64(), pa.decimal128(20, 3), pa.binary(5)]


class Nested:
    """Types and values; how often something is null, empty or long differs from node to node."""

    def __init__(self, seed, version, dictionaries=True):
        self.random = random.Random(seed)
        self.version = version
        self.leaves = LEAVES if dictionaries else [kind for kind in LEAVES if not pa.types.is_dictionary(kind)]

    def fields(self, kinds):
        """Of a struct; now and then one that is packed."""
        for i, kind in enumerate(kinds):
            if self.version > "2.0" and self.random.random() < 0.1:
                inside = [pa.field(f"p{k}", self.random.choice(PACKABLE), False) for k in range(self.random.randint(1, 3))]
                yield pa.field(f"f{i}", pa.struct(inside), metadata=PACKED)
            else:
                yield pa.field(f"f{i}", kind)

    def struct_list(self, depth):
        """Fixed-size lists of structs; the peer takes no other lists in or around them."""
        leaf = lambda: self.struct_list(depth - 1) if depth > 0 and self.random.random() < 0.3 else self.random.choice(self.leaves)
        return pa.list_(pa.struct(list(self.fields(leaf() for _ in range(self.random.randint(1, 3))))), self.random.randint(1, 4))

    def type(self, depth):
        kinds = ["list", "large_list", "struct", "struct"] + (["map"] if self.version >= "2.2" else [])
        if depth == 0 or (depth < 3 and self.random.random() < 0.3):
            return self.random.choice(self.leaves)
        kind = self.random.choice(kinds)
        if kind == "struct":
            return pa.struct(list(self.fields(self.type(depth - 1) for _ in range(self.random.randint(1, 3)))))
        if kind == "map":
            return pa.map_(self.random.choice([pa.string(), pa.int32()]), self.type(depth - 1))
        return (pa.list_ if kind == "list" else pa.large_list)(self.type(depth - 1))

    def leaf(self, kind):
        number = self.random.choice([self.random.randrange(5), self.random.getrandbits(7), self.random.getrandbits(30)])
        if pa.types.is_dictionary(kind):
            kind, number = kind.value_type, number % 100
        if pa.types.is_boolean(kind):
            return number % 2 == 1
        if pa.types.is_null(kind):
            return None
        if pa.types.is_fixed_size_list(kind):
            return self.vector(kind, number)
        if pa.types.is_date64(kind):
            return datetime.date.fromordinal(number % 100000 + 1)
        if pa.types.is_date32(kind):
            return datetime.date.fromordinal(number % 1000000 + 1)
        if pa.types.is_float16(kind):
            return np.float16(number % 1000) * (-1) ** (number % 2)
        if pa.types.is_fixed_size_binary(kind):
            return str(number % 100000).rjust(5).encode()
        if pa.types.is_binary(kind) or pa.types.is_large_binary(kind):
            return b"b%d" % number
        if pa.types.is_string(kind) or pa.types.is_large_string(kind):
            return "x" * (number % 2000) if number % 50 == 0 else f"text {number % 100}"
        if pa.types.is_floating(kind):
            return number % 2**20 / 4 * (-1) ** (number % 2)
        if pa.types.is_decimal(kind):
            import decimal
            return decimal.Decimal(number % 100000).scaleb(-3)
        return number % 100 if kind in (pa.int8(), pa.int16()) else number

    def vector(self, kind, number):
        """A list of fixed size, now and then with nulls among its items."""
        item = kind.value_type
        if pa.types.is_fixed_size_list(item):
            return [self.vector(item, number + i) for i in range(kind.list_size)]
        items = [self.leaf(item)] * kind.list_size
        return [None if number % 3 == 0 and self.random.random() < 0.3 else value for value in items]

    def values(self, kind, count, nullable=True):
        nulls = self.random.choice([0, 0, 0.1, 0.9, 1.0]) if nullable else 0
        null = lambda: nulls > 0 and self.random.random() < nulls
        if pa.types.is_struct(kind):
            children = [self.values(field.type, count, field.nullable) for field in kind]
            if self.version == "2.0":  # which has no null structs
                nulls = 0
            return [None if null() else {field.name: child[i] for field, child in zip(kind, children)} for i in range(count)]
        if pa.types.is_map(kind) or pa.types.is_list(kind) or pa.types.is_large_list(kind):
            empty, most = self.random.choice([0, 0.3, 1.0]), self.random.choice([1, 3, 8])
            sizes = [None if null() else 0 if self.random.random() < empty else self.random.randint(1, most) for _ in range(count)]
            total = sum(size or 0 for size in sizes)
            if pa.types.is_map(kind):
                keys = [f"key {i}" if pa.types.is_string(kind.key_type) else i for i in range(total)]
                items = list(zip(keys, self.values(kind.item_type, total)))
            else:
                items = self.values(kind.value_type, total)
            source = iter(items)
            return [None if size is None else [next(source) for _ in range(size)] for size in sizes]
        if pa.types.is_fixed_size_list(kind) and pa.types.is_struct(kind.value_type):
            items, size = self.values(kind.value_type, count * kind.list_size), kind.list_size
            return [None if null() else items[i * size : (i + 1) * size] for i in range(count)]
        return [None if null() else self.leaf(kind) for _ in range(count)]

    def table(self, length):
        columns = {}
        for i in range(COLUMNS):
            kind = self.type(self.random.randint(1, 3))
            while kind in LEAVES and not pa.types.is_dictionary(kind):
                kind = self.type(2)
            columns[f"c{i}"] = pa.array(self.values(kind, length), kind)
        # From 2.1 on the peer reads nothing but nulls in columns behind structs without fields.
        kind = self.random.choice([EMPTY, pa.struct([("x", pa.int32()), ("e", EMPTY)])])
        columns["last"] = pa.array([{} if kind == EMPTY else {"x": i, "e": {}} for i in range(length)], kind)
        return pa.table(columns)


def random_tables(version, seed, dictionaries=True):
    for number in range(FILES):
        nested = Nested(f"{SEED}/{seed}/{version}/{number}", version, dictionaries)
        if version >= "2.2" and number % 4 == 3:  # alone: the peer does not read it with other columns
            kind = nested.struct_list(2)
            yield number, pa.table({"pairs": pa.array(nested.values(kind, 300), kind)})
            continue
        yield number, nested.table(nested.random.choice([1, 3, 40, 300, 300, 1500]))


@pytest.mark.parametrize("version", ["2.0", "2.1", "2.2"])
def test_nested_files_of_the_peer(tool, tmp_path, version):
    tables, jobs = {}, []
    for number, table in random_tables(version, "theirs"):
        path = tmp_path / f"{number}.lance"
        tables[path] = table
        jobs.append({"arrow": save(table, tmp_path / f"{number}.arrow", chunk=max(1, table.num_rows * 2 // 3)), "out": str(path),
                     "version": version})
    answers = peer("write", jobs)
    # The peer cannot write what pyarrow makes of a null around a dictionary without items: index 0.
    written = {path: answer for path, answer in zip(tables, answers) if "Value at position 0 out of bounds" not in answer.get("error", "")}
    assert len(written) > FILES // 2 and all(answer == {"ok": True} for answer in written.values()), written
    for path in written:
        check_we_read(tool, tmp_path, path, tables[path])


@pytest.mark.parametrize("version", ["2.1", "2.2"])
def test_slices_of_large_values_in_lists(tool, tmp_path, version):
    """A slice has room for nulls although it may hold none: the peer then writes no definition levels for its layers."""
    vector, text = [1.0] * 100, "x" * 300
    vectors = pa.list_(pa.float32(), 100)
    columns = {
        "vectors": pa.array([[vector], [vector, vector], None, [vector], []], pa.list_(vectors)),
        "texts": pa.array([[text + "1"], [text], None, [text], []], pa.list_(pa.string())),
        "structs": pa.array([[{"v": text}], [{"v": text + "1"}], None, [None], []], pa.list_(pa.struct([("v", pa.string())]))),
        "lists": pa.array([[[text]], [[text + "2"]], None, [None], [[]]], pa.list_(pa.large_list(pa.string()))),
    }
    if version >= "2.2":
        columns["map"] = pa.array([[("a", text)], [("a", text + "2")], None, [("b", None)], []], pa.map_(pa.string(), pa.string()))
    table = pa.table(columns)
    uri = str(tmp_path / "sliced")
    job = {"arrow": save(table, tmp_path / "sliced.arrow"), "uri": uri, "version": version, "rows_per_file": 2}
    [answer] = peer("dataset", [job])
    files = answer["ok"]
    assert len(files) == 3
    for number, path in enumerate(files):
        check_we_read(tool, tmp_path, path, table.slice(2 * number, 2))


@pytest.mark.parametrize("version", WRITTEN)
@pytest.mark.parametrize("page_bytes", [8 << 20, 20000, 700])
def test_our_nested_files_in_the_peer(tool, tmp_path, page_bytes, version):
    files = {}
    # In 2.0 a null is an item of each page's dictionary, and pyarrow has no way to save such dictionaries as one.
    dictionaries = version > "2.0" or page_bytes == 8 << 20
    for number, table in random_tables(version, f"ours/{page_bytes}", dictionaries):
        path = tmp_path / f"{number}.lance"
        save(table, tmp_path / "in.arrow", chunk=max(1, table.num_rows * 2 // 3))
        result = ours(tool, "write", tmp_path / "in.arrow", path, "--page-bytes", page_bytes, "--version", version)
        assert isinstance(result, str), result
        files[path] = table
    check_both_read(tool, files)


# ---- kinds with a form of their own ----


def special_columns(length, version):
    """Fields with values, of those that the peer writes in a version."""
    words = [None if i % 7 == 3 else f"word {i * 5 % 11}" for i in range(length)]
    numbers = [None if i % 5 == 0 else i * 3 % 17 for i in range(length)]
    dictionary = lambda index, value: pa.dictionary(index, value)
    yield pa.field("words", dictionary(pa.int32(), pa.string())), words
    yield pa.field("few", dictionary(pa.int8(), pa.string())), words
    yield pa.field("numbers", dictionary(pa.int16(), pa.int64())), numbers
    yield pa.field("binary", dictionary(pa.int32(), pa.binary())), [None if word is None else word.encode() for word in words]
    yield pa.field("booleans", dictionary(pa.int8(), pa.bool_())), [None if number is None else number % 2 == 1 for number in numbers]
    yield pa.field("in_struct", pa.struct([pa.field("d", dictionary(pa.int32(), pa.string())), pa.field("n", pa.int32())])), [
        {"d": word, "n": number} for word, number in zip(words, numbers)]
    yield pa.field("in_list", pa.list_(dictionary(pa.int32(), pa.string()))), [
        None if i % 6 == 5 else words[i : i + i % 3] for i in range(length)]
    yield pa.field("empty", pa.struct([])), [{}] * length
    solid = pa.struct([pa.field("x", pa.int32(), False), pa.field("y", pa.float64(), False)])
    yield pa.field("packed", solid, metadata=PACKED), [{"x": i, "y": i / 2} for i in range(length)]
    yield pa.field("packed_in_list", pa.list_(pa.field("item", solid, metadata=PACKED))), [
        None if i % 6 == 5 else [{"x": i, "y": j / 2} for j in range(1 + i % 3)] for i in range(length)]
    if version != "2.1":
        vector = pa.struct([pa.field("x", pa.int32(), False), pa.field("v", pa.list_(pa.float32(), 4), False)])
        yield pa.field("packed_vector", vector, metadata=PACKED), [{"x": i, "v": [i, 1, 2, 3]} for i in range(length)]
    if version >= "2.2":
        text = pa.struct([pa.field("n", pa.int32()), pa.field("t", pa.string()), pa.field("b", pa.large_binary())])
        texts = [{"n": i, "t": f"text {i % 7} " * (i % 40), "b": b"k" * (i % 5)} for i in range(length)]
        yield pa.field("packed_text", text, metadata=PACKED), texts
        yield pa.field("packed_text_with_nulls", text, metadata=PACKED), [None if i % 4 == 3 else texts[i] for i in range(length)]
        yield pa.field("packed_long_text", text, metadata=PACKED), [{**texts[i], "t": texts[i]["t"] * 200} for i in range(length)]
        yield pa.field("packed_text_in_list", pa.list_(pa.field("item", text, metadata=PACKED))), [
            None if i % 6 == 5 else texts[i : i + i % 3] for i in range(length)]
        item = pa.struct([pa.field("x", pa.int64()), pa.field("y", pa.string())])
        items = [None if i % 8 == 7 else {"x": None if i % 3 == 1 else i, "y": f"text {i % 4}"} for i in range(3 * length)]
        yield pa.field("pairs", pa.list_(item, 3)), [None if i % 5 == 4 else items[3 * i : 3 * i + 3] for i in range(length)]
        yield pa.field("whole_pairs", pa.list_(item, 2)), [[{"x": i, "y": "a"}, {"x": -i, "y": "b"}] for i in range(length)]


@pytest.mark.parametrize("version", ["2.0", "2.1", "2.2"])
@pytest.mark.parametrize("length", [1, 3, 2500])
def test_kinds_with_a_form_of_their_own(tool, tmp_path, version, length):
    fields, arrays = zip(*[(field, pa.array(values, field.type)) for field, values in special_columns(length, version)])
    table = pa.table(list(arrays), schema=pa.schema(fields))
    path, out = tmp_path / "their.lance", tmp_path / "out.arrow"
    assert peer("write", [{"arrow": save(table, tmp_path / "in.arrow", chunk=max(1, length * 2 // 3)), "out": str(path),
                           "version": version}]) == [{"ok": True}]
    rows = some_rows(f"special/{length}", length)
    for more, expected in [((), table), (("--rows", ",".join(map(str, rows))), table.take(rows)),
                           (("--range", f"{length // 3},{length // 2}"), table.slice(length // 3, length // 2))]:
        assert isinstance(answer := ours(tool, "read", path, out, *more), str), answer
        found = load(out)
        assert found.schema.types == expected.schema.types
        for name in expected.column_names:
            # A dictionary may hold its values in another order.
            assert found[name].to_pylist() == expected[name].to_pylist(), (name, more)


@pytest.mark.parametrize("version", ["2.1", "2.2"])
@pytest.mark.parametrize("wish, kind", [("none", "flat"), ("zstd", "general"), ("lz4", "general")])
def test_wishes_reach_indices_and_leave_packed_structs_alone(tool, tmp_path, version, wish, kind):
    wishes = {"lance-encoding:compression": wish}
    fields = [pa.field("words", pa.dictionary(pa.int32(), pa.string()), metadata=wishes),
              pa.field("packed", pa.struct([pa.field("x", pa.int32(), False)]), metadata={**PACKED, **wishes})]
    values = [[f"word {i % 50}" for i in range(3000)], [{"x": i} for i in range(3000)]]
    table = pa.table([pa.array(column, field.type) for column, field in zip(values, fields)], schema=pa.schema(fields))
    path = tmp_path / "ours.lance"
    save(table, tmp_path / "in.arrow")
    assert isinstance(answer := ours(tool, "write", tmp_path / "in.arrow", path, "--version", version), str), answer
    found = [column["pages"][0]["encoding"]["miniBlockLayout"]["valueCompression"] for column in json.loads(ours(tool, "inspect", path))["columns"]]
    assert [next(iter(encoding)) for encoding in found] == [kind, "packedStruct"]
    check_both_read(tool, {path: table})
