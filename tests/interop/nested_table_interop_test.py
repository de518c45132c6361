"""Tables with columns of structs, lists and maps between us and the released peer: rows, changes, filters, compaction."""

import functools
import random

import pyarrow as pa
import pyarrow.compute as pc
import pytest

import javelin
from file_interop_test import same as same_values
from nested_file_interop_test import PACKED, Nested, SEED
from table_interop_test import ours, peer_process, plain, theirs, tool  # noqa: F401 (fixtures)

pytestmark = pytest.mark.interop

VECTOR, WIDE = pa.list_(pa.float32(), 4), pa.list_(pa.float32(), 100)
STRUCT = pa.struct([("x", pa.int32()), ("y", pa.struct([("z", pa.string())]))])
KINDS = {
    "struct": STRUCT, "list": pa.list_(pa.int32()), "large_list": pa.large_list(pa.string()), "map": pa.map_(pa.string(), pa.float64()),
    "list_of_struct": pa.list_(STRUCT), "list_of_list": pa.list_(pa.list_(pa.bool_())), "list_of_vector": pa.list_(VECTOR),
    "list_of_wide": pa.list_(WIDE), "struct_of_list": pa.struct([("l", pa.list_(pa.int64())), ("n", pa.int8())]),
    "very_strict": pa.struct([pa.field("s", pa.struct([pa.field("x", pa.int32(), nullable=False)]), nullable=False)]),
    "strict": pa.struct([pa.field("x", pa.int32(), nullable=False),
                         pa.field("l", pa.list_(pa.field("item", pa.string(), nullable=False)), nullable=False)]),
    "list_of_strict": pa.list_(pa.struct([pa.field("x", pa.float64(), nullable=False), pa.field("y", pa.string())])),
    "dictionary": pa.dictionary(pa.int32(), pa.string()), "few": pa.dictionary(pa.int8(), pa.large_binary()),
    "list_of_dictionary": pa.list_(pa.dictionary(pa.uint16(), pa.string())),
    "packed": pa.struct([pa.field("p", pa.struct([pa.field("x", pa.int32(), False), pa.field("y", pa.float64(), False)]), metadata=PACKED)]),
    "list_of_map": pa.list_(pa.map_(pa.int32(), STRUCT)), "map_of_list": pa.map_(pa.string(), pa.list_(pa.timestamp("us", "UTC"))),
}


class Values(Nested):
    """One share of nulls for everything."""

    def __init__(self, seed, share):
        super().__init__(seed, "2.2")
        self.share = share

    def present(self, field, count):
        """Values of a field that must not be null."""
        share, self.share = self.share, 0
        values = self.values(field.type, count)
        self.share = share
        return values

    def values(self, kind, count, nullable=True):
        values = super().values(kind, count, nullable)
        if pa.types.is_struct(kind):
            strict = {field.name: self.present(field, count) for field in kind if not field.nullable}
            values = [None if value is None else {**value, **{name: given[i] for name, given in strict.items()}} for i, value in enumerate(values)]
        elif pa.types.is_list(kind) and not kind.value_field.nullable:
            values = [value and self.present(kind.value_field, len(value)) for value in values]
        if self.share is None or not nullable:
            return values
        fill = (lambda: {f.name: None if f.nullable else self.present(f, 1)[0] for f in kind}) if pa.types.is_struct(kind) else (lambda: self.leaf(kind))
        if pa.types.is_map(kind) or pa.types.is_list(kind) or pa.types.is_large_list(kind):
            fill = list
        present = [fill() if value is None else value for value in values]
        return [None if self.random.random() < self.share else value for value in present]

    def table(self, length, first=0):
        columns = {"id": pa.array(range(first, first + length), pa.int64())}
        for name, kind in KINDS.items():
            columns[name] = pa.array(self.values(kind, length), kind)
        return pa.table(columns)


def same(left, right):
    assert left.num_rows == right.num_rows
    for name in right.column_names:
        assert left[name].type == right[name].type, name
        assert same_values(left[name].combine_chunks(), right[name].combine_chunks()), name


@pytest.mark.parametrize("share", [0, 0.3, 1, None])
@pytest.mark.parametrize("length", [0, 1, 3, 5000])
def test_our_rows_in_the_peer(ours, theirs, length, share):
    table = Values(f"{SEED}/{length}/{share}", share).table(length)
    ours.write("create", table, "--max-rows", 2000)
    same(ours.scan(), table)
    same(theirs.scan(), table)
    for name in KINDS:
        expected = pc.sum(pc.is_null(table[name])).as_py() or 0
        assert theirs.value(f"ds.count_rows(filter='{name} is null')") == expected, name
    nested = pc.sum(pc.is_null(pc.struct_field(table["struct"].combine_chunks(), "x"))).as_py() or 0
    assert theirs.value("ds.count_rows(filter='struct.x is null')") == nested
    for field, name in [("strict.x", "strict"), ("very_strict.s.x", "very_strict")]:
        expected = pc.sum(pc.is_null(table[name])).as_py() or 0
        assert theirs.value(f"ds.count_rows(filter='{field} is null')") == expected, field
    if length == 0:
        return
    rows = [random.Random(length).randrange(length) for _ in range(10)]
    same(theirs.value("ds.take(rows)", rows=rows), table.take(rows))
    same(ours.take(rows), table.take(rows))
    columns = ["list_of_struct", "id"]
    same(ours.scan("--columns", ",".join(columns)), table.select(columns))


def test_turns_and_compaction(ours, theirs):
    parts = [Values(f"{SEED}/turn/{i}", [None, 0.3, 0, 1][i % 4]).table(300, 300 * i) for i in range(6)]
    # The peer does not write a null among packed structs of one width, also where it was in the file before.
    packed = pa.array([{"p": {"x": i, "y": i / 2}} for i in range(300)], KINDS["packed"])
    parts = [part.set_column(part.schema.get_field_index("packed"), "packed", packed) for part in parts]
    ours.write("create", parts[0])
    for i, part in enumerate(parts[1:], 1):
        if i % 2:
            theirs.write(part, mode="append")
        else:
            ours.write("append", part)
    table = pa.concat_tables(parts)
    same(ours.scan(), table)
    same(theirs.scan(), table)
    theirs.run("ds.delete('id % 5 = 0')")
    left = table.filter(pc.not_equal(pc.subtract(table["id"], pc.multiply(pc.divide(table["id"], 5), 5)), 0))
    same(ours.scan(), left)
    theirs.run("ds.optimize.compact_files()")
    same(ours.scan(), left)
    same(theirs.scan(), left)
    rows = [0, 7, 500, left.num_rows - 1]
    same(ours.take(rows), left.take(rows))


def dictionaries(first, count):
    """Rows whose dictionaries differ from piece to piece, in part only: words of three numbers in common, or none."""
    words = [None if i % 7 == 3 else f"word {i * i % 23 + first // 100}" for i in range(first, first + count)]
    word, text = pa.dictionary(pa.int16(), pa.string()), pa.dictionary(pa.int32(), pa.large_string())
    return pa.table({
        "id": pa.array(range(first, first + count), pa.int64()), "word": pa.array(words, word),
        "words": pa.array([None if i % 6 == 5 else words[i : i + i % 4] for i in range(count)], pa.list_(text)),
        "in_struct": pa.array([{"d": word, "n": i} for i, word in enumerate(words)], pa.struct([("d", word), ("n", pa.int32())])),
        "number": pa.array([i * i % 19 for i in range(count)], pa.dictionary(pa.uint8(), pa.float64())),
    })


@pytest.mark.parametrize("version", ["2.0", "2.1", "2.2"])
@pytest.mark.parametrize("writer", ["ours", "theirs"])
def test_dictionaries_of_pieces_that_differ(tmp_path, peer, version, writer):
    """Batches in one page and over several, rows taken from several fragments: always the values of the table."""
    table = pa.concat_tables([dictionaries(first, 400) for first in range(0, 4800, 400)])
    uri = str(tmp_path / "t.lance")
    if writer == "ours":
        javelin.write_dataset(table, uri, data_storage_version=version, max_rows_per_file=1100)
    else:
        peer.run("lance.write_dataset(table, uri, data_storage_version=version, max_rows_per_file=1100)", table=table, uri=uri,
                 version=version)
    expected = table.to_pylist()
    ours = javelin.dataset(uri)
    for batch_size in [7, 400, 1000, None]:
        found = ours.to_table(batch_size=batch_size, with_row_id=True)
        found.validate(full=True)
        assert found.schema.types[:-1] == table.schema.types
        assert found.drop_columns("_rowid").to_pylist() == expected, batch_size
        assert len(set(found["_rowid"].to_pylist())) == len(expected)
    rows = [4799, 3, 3, 1099, 1100, 2500, *range(200, 300)]
    for columns in [table.column_names, ["word"], ["words", "number"]]:
        taken = ours.take(rows, columns=columns)
        taken.validate(full=True)
        assert taken.to_pylist() == table.select(columns).take(rows).to_pylist()
    assert ours.to_table(columns=["word"], offset=390, limit=20).to_pylist() == table.select(["word"]).slice(390, 20).to_pylist()
    assert peer.value("lance.dataset(uri).to_table().to_pylist()", uri=uri) == expected


def test_packed_structs_in_tables_of_2_0(tmp_path, peer):
    """Rows of both, deletions, filters and compaction by both; booleans by number and lists without items beside them."""
    fields = [pa.field("id", pa.int64()), pa.field("pair", pa.struct([("x", pa.int32()), ("y", pa.float64())]), metadata=PACKED),
              pa.field("wide", pa.struct([("v", VECTOR), ("d", pa.decimal128(20, 2))]), metadata=PACKED),
              pa.field("pairs", pa.list_(pa.field("item", pa.struct([("x", pa.int8())]), metadata=PACKED))),
              pa.field("flag", pa.dictionary(pa.int8(), pa.bool_())), pa.field("nothing", pa.list_(pa.null(), 2))]
    rows = lambda first, count: pa.Table.from_pylist([{
        "id": i, "pair": {"x": i, "y": i / 2}, "wide": {"v": [i, 1, 2, 3], "d": i}, "pairs": [{"x": k} for k in range(i % 3)] if i % 5 else None,
        "flag": None if i % 7 == 0 else i % 2 == 0, "nothing": [None, None] if i % 3 else None} for i in range(first, first + count)], schema=pa.schema(fields))
    uri = str(tmp_path / "t.lance")
    expected = pa.concat_tables([rows(0, 900), rows(900, 900), rows(1800, 900)]).to_pylist()
    javelin.write_dataset(rows(0, 900), uri, data_storage_version="2.0", max_rows_per_file=400)
    peer.run("lance.write_dataset(rows, uri, mode='append')", uri=uri, rows=rows(900, 900))
    javelin.write_dataset(rows(1800, 900), uri, mode="append")
    found = lambda: [javelin.dataset(uri).to_table().to_pylist(), peer.value("lance.dataset(uri).to_table()", uri=uri).to_pylist()]
    assert all(table == expected for table in found())
    odd = [row for row in expected if row["id"] % 2]
    assert peer.value("lance.dataset(uri).to_table(filter='id % 2 = 1')", uri=uri).to_pylist() == odd
    assert peer.value("lance.dataset(uri).take([1, 901, 2000])", uri=uri).to_pylist() == [expected[i] for i in (1, 901, 2000)]
    peer.run("d = lance.dataset(uri); d.delete('id % 2 = 0'); d.optimize.compact_files()", uri=uri)
    assert all(table == odd for table in found())


@pytest.mark.parametrize("version", ["2.0", "2.1", "2.2"])
def test_narrow_dictionaries_that_one_batch_cannot_hold(tmp_path, peer, version):
    """Indices of 8 bits tell 128 items apart; the table holds 200: conditions, updates and deletes go by pieces."""
    word = pa.dictionary(pa.int8(), pa.string())

    def rows(first):
        words = [f"a{i}" for i in range(first, first + 100)]
        return pa.table({"id": pa.array(range(first, first + 100), pa.int64()), "d": pa.array(words, word),
                         "l": pa.array([[w] * (i % 3) for i, w in enumerate(words)], pa.list_(word)),
                         "s": pa.array([{"d": w} for w in words], pa.struct([("d", word)]))})

    uri = str(tmp_path / "t.lance")
    javelin.write_dataset(rows(0), uri, data_storage_version=version)
    dataset = javelin.write_dataset(rows(100), uri, mode="append")
    expected = rows(0).to_pylist() + rows(100).to_pylist()
    assert dataset.to_table(filter="id >= 0").to_pylist() == expected
    with pytest.raises(javelin.errors.InvalidInput) as refused:
        dataset.to_table(order_by=["id"])
    assert refused.value.fields["column"] == "d"
    dataset.update({"id": "id + 1000"})
    expected = [{**row, "id": row["id"] + 1000} for row in expected]
    for options in [{}, {"batch_size": 50}, {"filter": "id >= 0"}, {"filter": "d <> 'zz'", "late_materialization": False}]:
        assert dataset.to_table(**options).to_pylist() == expected
    assert peer.value("lance.dataset(uri).to_table(batch_size=50).to_pylist()", uri=uri) == expected
    dataset.delete("d = 'a5'")
    assert dataset.to_table().to_pylist() == [row for row in expected if row["d"] != "a5"]


# ---- shards ----

KEY = {"lance-schema:unenforced-primary-key": "true"}
IN_SHARDS = pa.schema([
    pa.field("id", pa.int64(), nullable=False, metadata=KEY), pa.field("word", pa.dictionary(pa.int32(), pa.string())),
    pa.field("words", pa.list_(pa.dictionary(pa.uint32(), pa.string()))),
    pa.field("pair", pa.struct([pa.field("x", pa.int32()), pa.field("y", pa.float64())]), metadata=PACKED),
    pa.field("named", pa.struct([("t", pa.string()), ("d", pa.dictionary(pa.int64(), pa.int32()))])),
    pa.field("flag", pa.dictionary(pa.int32(), pa.bool_())), pa.field("nothing", pa.list_(pa.null(), 2)),
])


def in_shards(*ids, tag, version="2.2"):
    null = lambda i: i % 5 == 4 and version > "2.0"  # which has no null structs
    return pa.Table.from_pylist([{
        "id": i, "word": f"{tag} {i % 3}", "words": [f"{tag} {k}" for k in range(i % 4)] + [None],
        "pair": {"x": i, "y": i / 2}, "named": None if null(i) else {"t": tag, "d": i % 2},
        "flag": None if i % 3 == 2 else i % 2 == 0, "nothing": [None, None] if i % 4 else None,
    } for i in ids], schema=IN_SHARDS)


def by_id(table):
    found = table.select(IN_SHARDS.names).to_pylist()
    assert len({row["id"] for row in found}) == len(found)
    return {row["id"]: row for row in found}


@pytest.mark.parametrize("version", ["2.0", "2.1", "2.2"])
def test_shards_hold_dictionaries(tmp_path, peer, shard, version):
    """Puts of both, whose dictionaries differ, in the log, in SSTables, and compacted."""
    uri = str(tmp_path / "t.lance")
    rows = functools.partial(in_shards, version=version)
    javelin.write_dataset(rows(*range(6), tag="base"), uri, data_storage_version=version).initialize_mem_wal(unsharded=True)
    parts = [rows(1, 7, 8, tag="ours"), rows(2, 8, 9, tag="again"), rows(3, 9, 10, tag="peer")]
    expected = by_id(rows(*range(6), tag="base"))
    with javelin.dataset(uri).mem_wal_writer(shard, commit_mode="eager") as writer:
        for part in parts[:2]:
            writer.put(part)
            expected |= by_id(part)
        writer.delete(pa.table({"id": pa.array([4], pa.int64())}))
        del expected[4]
        assert by_id(writer.lsm_scanner().to_table()) == expected
    peer.run("w = lance.dataset(uri).mem_wal_writer(shard, max_wal_flush_interval_ms=5)", uri=uri, shard=shard)
    assert by_id(peer.value("w.lsm_scanner().to_table()")) == expected
    peer.run("w.put(batch)", batch=parts[2])
    expected |= by_id(parts[2])
    assert by_id(peer.value("w.lsm_scanner().to_table()")) == expected
    peer.run("w.close()")
    assert by_id(javelin.dataset(uri).fresh().to_table()) == expected
    (entry,) = javelin.dataset(uri).compact_shards()["shards"]
    assert entry["generations"], "something was compacted"
    assert by_id(javelin.dataset(uri).to_table()) == expected
    assert by_id(peer.value("lance.dataset(uri).to_table()", uri=uri)) == expected


@pytest.mark.parametrize("kind", [pa.dictionary(pa.int8(), pa.string()), pa.struct([]), pa.list_(pa.dictionary(pa.int16(), pa.string()))])
def test_shards_refuse_what_they_cannot_bring_together(tmp_path, kind):
    schema = pa.schema([IN_SHARDS.field("id"), pa.field("odd", kind)])
    table = javelin.write_dataset(pa.Table.from_pylist([], schema=schema), str(tmp_path / "t.lance"))
    with pytest.raises(javelin.errors.NotSupported, match="odd|item"):
        table.initialize_mem_wal(unsharded=True)
    assert table.latest_version == 1
