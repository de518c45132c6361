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
          pa.dictionary(pa.int64(), pa.float32()), pa.dictionary(pa.uint8(), pa.int64()), pa.dictionary(pa.int16(), pa.bool_()),
          pa.list_(pa.null(), 2)]
LEAVES_OF_2_2 = [pa.binary(0)]


EMPTY = pa.struct([])
PACKED = {"lance-encoding:packed": "true"}
PACKABLE = [pa.int8(), pa.int32(), pa.float64(), pa.binary(5), pa.decimal128(20, 3)]
NARROW, WIDE = PACKABLE[:4], [pa.decimal128(20, 3), pa.list_(pa.float32(), 4), pa.list_(pa.list_(pa.int16(), 3), 2)]


class Nested:
    """Types and values; how often something is null, empty or long differs from node to node."""

    def __init__(self, seed, version, dictionaries=True):
        self.random = random.Random(seed)
        self.version = version
        self.leaves = LEAVES + (LEAVES_OF_2_2 if version >= "2.2" else [])
        self.leaves = [kind for kind in self.leaves if dictionaries or not pa.types.is_dictionary(kind)]

    def fields(self, kinds):
        """Of a struct; now and then one that is packed."""
        for i, kind in enumerate(kinds):
            if self.random.random() < 0.1:
                packable = PACKABLE if self.version > "2.0" else self.random.choice([NARROW, WIDE])
                inside = [pa.field(f"p{k}", self.random.choice(packable), False) for k in range(self.random.randint(1, 3))]
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

    def leaf(self, kind, nulls=True):
        number = self.random.choice([self.random.randrange(5), self.random.getrandbits(7), self.random.getrandbits(30)])
        if pa.types.is_dictionary(kind):
            kind, number = kind.value_type, number % 100
        if pa.types.is_boolean(kind):
            return number % 2 == 1
        if pa.types.is_null(kind):
            return None
        if pa.types.is_fixed_size_list(kind):
            return self.vector(kind, number, nulls)
        if pa.types.is_date64(kind):
            return datetime.date.fromordinal(number % 100000 + 1)
        if pa.types.is_date32(kind):
            return datetime.date.fromordinal(number % 1000000 + 1)
        if pa.types.is_float16(kind):
            return np.float16(number % 1000) * (-1) ** (number % 2)
        if pa.types.is_fixed_size_binary(kind):
            return str(number % 100000).rjust(kind.byte_width).encode()[: kind.byte_width]
        if pa.types.is_binary(kind) or pa.types.is_large_binary(kind):
            return b"b%d" % number
        if pa.types.is_string(kind) or pa.types.is_large_string(kind):
            return "x" * (number % 2000) if number % 50 == 0 else f"text {number % 100}"
        if pa.types.is_floating(kind):
            return number % 2**20 / 4 * (-1) ** (number % 2)
        if pa.types.is_decimal(kind):
            import decimal
            return decimal.Decimal(number % 100000).scaleb(-3)
        return number % 100 if kind in (pa.int8(), pa.int16(), pa.uint16()) else number

    def vector(self, kind, number, nulls):
        """A list of fixed size, now and then with nulls among its items."""
        item = kind.value_type
        if pa.types.is_fixed_size_list(item):
            return [self.vector(item, number + i, nulls) for i in range(kind.list_size)]
        items = [self.leaf(item)] * kind.list_size
        return [None if nulls and number % 3 == 0 and self.random.random() < 0.3 else value for value in items]

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
        return [None if null() else self.leaf(kind, nullable) for _ in range(count)]

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
    # The peer cannot write what pyarrow makes of a null around a dictionary without items: index 0; and of packed structs inside
    # lists in 2.0 not a page without any item.
    cannot = ["Value at position 0 out of bounds", *(["`Option::unwrap()` on a `None` value"] if version == "2.0" else [])]
    written = {path: answer for path, answer in zip(tables, answers) if not any(why in answer.get("error", "") for why in cannot)}
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


# ---- packed structs of version 2.0 ----


def packed(*kinds, nullable=True):
    return pa.struct([pa.field(f"f{i}", kind, nullable) for i, kind in enumerate(kinds)])


PACKED_2_0 = {
    "numbers": packed(pa.int32(), pa.float64(), pa.int8(), pa.uint16()), "strict": packed(pa.int64(), pa.float16(), nullable=False),
    "bytes": packed(pa.binary(9), pa.binary(1), pa.date32()), "one": packed(pa.timestamp("us", "UTC")),
    "wide": packed(pa.decimal128(20, 3), pa.list_(pa.float32(), 4), pa.list_(pa.list_(pa.int16(), 3), 2), pa.binary(10)),
    "vectors": packed(pa.list_(pa.int8(), 3), pa.int8()),
}


@pytest.mark.parametrize("page_bytes", [8 << 20, 700])
def test_packed_structs_of_2_0(tool, tmp_path, page_bytes):
    """In both directions, alone and in lists and structs, under either name of the key."""
    files, nested = {}, Nested(f"{SEED}/packed/{page_bytes}", "2.0")
    for length in [1, 3, 2500]:
        fields, arrays = [pa.field("first", pa.int8())], [pa.array([i % 100 for i in range(length)], pa.int8())]
        for number, (name, kind) in enumerate(PACKED_2_0.items()):
            metadata = PACKED if number % 2 else {"packed": "yes"}
            values = lambda count: [{field.name: nested.leaf(field.type, False) for field in kind} for _ in range(count)]
            inside = pa.field("item", kind, metadata=metadata)
            lists = [None if i % 7 == 3 else values(i % 4) for i in range(length)]
            fields += [pa.field(name, kind, metadata=metadata), pa.field(f"{name}s", pa.list_(inside)),
                       pa.field(f"{name}_in", pa.struct([inside, ("n", pa.string())])), pa.field(f"no_{name}s", pa.large_list(inside))]
            columns = [values(length), lists, [{"item": value, "n": "x" * (i % 3)} for i, value in enumerate(values(length))],
                       [None if i % 2 else [] for i in range(length)]]
            arrays += [pa.array(column, field.type) for column, field in zip(columns, fields[-4:])]
        table = pa.table(arrays, schema=pa.schema(fields))
        path = tmp_path / f"{length}.lance"
        save(table, tmp_path / "in.arrow", chunk=max(1, length * 2 // 3))
        assert isinstance(answer := ours(tool, "write", tmp_path / "in.arrow", path, "--page-bytes", page_bytes, "--version", "2.0"), str), answer
        assert ours(tool, "inspect", path).count('"packedStruct"') >= 3 * len(PACKED_2_0)
        files[path] = table
    check_both_read(tool, files)
    theirs = tmp_path / "theirs.lance"
    table = table.select([name for name in table.column_names if not name.startswith("no_")])  # the peer writes no page of none
    job = {"arrow": save(table, tmp_path / "in.arrow", chunk=len(table) * 2 // 3), "out": str(theirs), "version": "2.0"}
    assert peer("write", [job]) == [{"ok": True}]
    check_we_read(tool, tmp_path, theirs, table)


def test_packed_structs_that_2_0_has_not(tool, tmp_path):
    """The peer cannot write them, or not read them, or a filter finds other values in them."""
    refused = {"text": (packed(pa.int8(), pa.string()), "a"), "flag": (packed(pa.int8(), pa.bool_()), True),
               "flags": (packed(pa.int8(), pa.list_(pa.bool_(), 8)), [True] * 8), "null": (packed(pa.int8(), pa.null()), None),
               "struct": (packed(pa.int8(), packed(pa.int8())), {"f0": 1}), "mixed": (packed(pa.int8(), pa.binary(10)), b"0123456789")}
    for name, (kind, value) in refused.items():
        schema = pa.schema([pa.field("id", pa.int64()), pa.field("odd", kind, metadata=PACKED)])
        table = pa.table([range(20), pa.array([{"f0": i, "f1": value} for i in range(20)], kind)], schema=schema)
        answer = ours(tool, "write", save(table, tmp_path / "in.arrow"), tmp_path / "ours.lance", "--version", "2.0")
        assert isinstance(answer, dict) and answer["kind"] == "NotSupported" and "odd" in answer["message"], (name, answer)
        job = {"arrow": str(tmp_path / "in.arrow"), "uri": str(tmp_path / name), "version": "2.0", "filter": "id % 2 = 1"}
        [found] = peer("filtered", [job])
        expected = [row for row in table.to_pylist() if row["id"] % 2 == 1]
        assert "error" in found or load(found["ok"]).to_pylist() != expected, (name, "can be written now")
    nulls = pa.table([pa.array([{"f0": 1}, None], packed(pa.int8()))], schema=pa.schema([pa.field("odd", packed(pa.int8()), metadata=PACKED)]))
    answer = ours(tool, "write", save(nulls, tmp_path / "in.arrow"), tmp_path / "ours.lance", "--version", "2.0")
    assert answer["kind"] == "InvalidInput" and "null struct" in answer["message"], answer


@pytest.mark.parametrize("version", ["2.1", "2.2"])
@pytest.mark.parametrize("wish", [{"compression": "none"}, {"compression": "zstd"}, {"compression": "lz4"}, {"dict-values-compression": "zstd"},
                                  {"dict-values-compression": "none"}, {"dict-divisor": "1000000"}, {"bss": "off"}, {"structural-encoding": "fullzip"}])
def test_wishes_inside_lists_in_the_peer(tool, tmp_path, version, wish):
    metadata = {f"lance-encoding:{key}": value for key, value in wish.items()}
    length = 3000
    words = pa.DictionaryArray.from_arrays(pa.array([i * 7919 % 300 for i in range(length)], pa.int32()), pa.array([f"word {i}" for i in range(300)]))
    vectors = pa.array([[i % 100, 1, i % 7] for i in range(length)], pa.list_(pa.int32(), 3))
    numbers = pa.array([1_000_000 + i for i in range(length)], pa.int64())
    offsets = pa.array(range(0, length + 1, 3), pa.int32())
    columns = {}
    for name, items in {"words": words, "vectors": vectors, "numbers": numbers}.items():
        item = pa.field("item", items.type, metadata=metadata)
        kind = pa.list_(item)
        columns[name] = pa.Array.from_buffers(kind, length // 3, [None, offsets.buffers()[1]], children=[items])
    files = {tmp_path / "lists.lance": pa.table(columns)}
    if version >= "2.2":
        pairs = pa.StructArray.from_arrays([words, numbers], fields=[pa.field("w", words.type, metadata=metadata), pa.field("n", pa.int64(), metadata=metadata)])
        files[tmp_path / "pairs.lance"] = pa.table({"pairs": pa.FixedSizeListArray.from_arrays(pairs, 2)})
    for path, table in files.items():
        save(table, tmp_path / "in.arrow")
        assert isinstance(answer := ours(tool, "write", tmp_path / "in.arrow", path, "--version", version), str), answer
    check_both_read(tool, files)
