"""Scans with conditions, deletes and updates through the package, against the released peer: the same rows, the same table.

`JAVELIN_SEED=N` draws other random scans and changes.
"""

import os
import random

import pyarrow as pa
import pytest

import javelin
from filter_interop_test import Draw, small_table
from javelin import errors
from javelin.dataset import ColumnOrdering as javelin_ordering
from peer import PeerError

pytestmark = pytest.mark.interop

SEED = int(os.environ.get("JAVELIN_SEED", "1"))

HELPERS = """
def scan(uri, **arguments):
    return lance.dataset(uri).to_table(**arguments)

def attempt(uri, many):
    answers = []
    for arguments in many:
        try:
            table = scan(uri, **arguments)
            answers.append((table.num_rows, table))  # a table without columns loses its rows on the way
        except Exception as failure:
            answers.append(f"{type(failure).__name__}: {failure}"[:300])
    return answers
"""


def columns(table):
    """The columns as lists; NaN as a text, since it is unlike itself."""
    return {name: [repr(value) for value in table.column(name).to_pylist()] for name in table.column_names}


def ours(uri, arguments):
    try:
        return javelin.dataset(uri).to_table(**arguments)
    except errors.JavelinError as failure:
        return failure


@pytest.fixture
def uri(tmp_path):
    return str(tmp_path / "t.lance")


def many_rows(copies):
    table = small_table()
    table = pa.concat_tables([table] * copies)
    return table.set_column(0, "row", pa.array(range(table.num_rows), pa.int64()))


def compare(peer, uri, scans):
    """Whichever both answer is the same. Returns how many, and what only one side answers."""
    both, only_one = 0, []
    for arguments, theirs in zip(scans, peer.value("attempt(uri, scans)", uri=uri, scans=scans), strict=True):
        found = ours(uri, arguments)
        if isinstance(theirs, str) or isinstance(found, errors.JavelinError):
            only_one.append((arguments, theirs if isinstance(theirs, str) else str(found)))
            continue
        count, theirs = theirs
        both += 1
        assert found.num_rows == count, arguments
        assert found.schema.names == theirs.schema.names, arguments
        assert columns(found) == columns(theirs), arguments
    return both, only_one


def test_random_scans(peer, uri):
    generator = random.Random(SEED)
    draw = Draw(generator)
    peer.run("lance.write_dataset(table, uri, data_storage_version='2.1', max_rows_per_file=37)", table=many_rows(20), uri=uri)
    peer.run("ds = lance.dataset(uri); ds.delete('row % 7 = 3 or (row > 80 and row < 120)')")
    names = ["row", "s", "l", "st", "st.x", "st.y", "v", "_rowid", "_rowaddr", "dec", "bin", "dict", "b", "tags"]
    scans = []
    for _ in range(300):
        condition = draw.condition(generator.randint(0, 2))
        if condition.count(" in (") > 1:  # docs/filters.md: sets of one column are joined there, and nulls are lost by it
            continue
        arguments = {"filter": condition, "columns": generator.sample(names, generator.randint(1, 5))}
        if generator.random() < 0.5:
            arguments["limit"] = generator.randint(0, 60)
        if generator.random() < 0.5:
            arguments["offset"] = generator.randint(0, 40)
        if generator.random() < 0.3:
            arguments["batch_size"] = generator.randint(1, 20)
        if generator.random() < 0.3:
            arguments["late_materialization"] = generator.random() < 0.5
        for flag in ("with_row_id", "with_row_address"):
            if generator.random() < 0.2:
                arguments[flag] = True
        scans.append(arguments)
    both, only_one = compare(peer, uri, scans)
    assert both > 150, (both, only_one[:10])


def test_random_computed_columns(peer, uri):
    generator = random.Random(SEED)
    draw = Draw(generator)
    peer.run("lance.write_dataset(table, uri, data_storage_version='2.1', max_rows_per_file=3)", table=many_rows(2), uri=uri)
    scans = [{"columns": {"n": draw.number(2), "t": draw.string(2), "row": "row", "x": "st.x"}, "filter": "row % 3 < 2"}
             for _ in range(200)]
    both, only_one = compare(peer, uri, scans)
    assert both > 120, (both, only_one[:10])


@pytest.mark.parametrize("arguments", [
    {"columns": ["st.x", "row", "st.y"]},
    {"columns": ["st", "st.x"]},
    {"columns": ["`st`.`x`"]},
    {"columns": []},
    {"columns": [], "filter": "row > 4"},
    {"columns": [], "with_row_id": True, "filter": "_rowid > 4"},
    {"columns": {"a": "_rowid", "k": "5", "nothing": "null"}, "with_row_address": True},
    {"columns": {}},
    {"columns": ["_rowaddr", "row"], "filter": "_rowid = 5", "with_row_id": True},
    {"columns": ["row"], "filter": "_rowaddr in (1, 4294967297)"},
    {"columns": ["row"], "filter": "true"},
    {"columns": ["row"], "filter": "1 = 2"},
    {"columns": ["row"], "filter": "row > 2", "limit": 0},
    {"columns": {"dict": "dict", "st": "st", "l": "l"}},
])
def test_forms_of_scans(peer, uri, arguments):
    peer.run("lance.write_dataset(table, uri, data_storage_version='2.1', max_rows_per_file=3)", table=small_table(), uri=uri)
    theirs, = peer.value("attempt(uri, scans)", uri=uri, scans=[arguments])
    found = ours(uri, arguments)
    count, theirs = theirs
    assert found.num_rows == count
    assert found.schema.names == theirs.schema.names
    assert found.schema.types == theirs.schema.types
    assert columns(found) == columns(theirs)


@pytest.mark.parametrize("arguments", [
    {"columns": ["rows"]},
    {"columns": ["st.z"]},
    {"columns": ["Row"]},
    {"columns": ["row", "row"]},
    {"columns": ["l.item"]},
    {"columns": {"a": "nope + 1"}},
    {"columns": {"a": "sum(row)"}},
    {"filter": "nope > 1"},
    {"filter": "row"},
    {"filter": ""},
])
def test_forms_that_both_refuse(peer, uri, arguments):
    peer.run("lance.write_dataset(table, uri, data_storage_version='2.1')", table=small_table(), uri=uri)
    theirs, = peer.value("attempt(uri, scans)", uri=uri, scans=[arguments])
    assert isinstance(theirs, str)
    assert isinstance(ours(uri, arguments), (errors.InvalidInput, errors.NotSupported))


def test_counts(peer, uri):
    peer.run("lance.write_dataset(table, uri, max_rows_per_file=30)", table=many_rows(10), uri=uri)
    peer.run("lance.dataset(uri).delete('row % 9 = 0')")
    dataset = javelin.dataset(uri)
    for condition in ("row > 30", "s like '%a%'", "_rowid % 5 = 1", "st.x is null", "true", "false"):
        assert dataset.count_rows(condition) == peer.value("lance.dataset(uri).count_rows(c)", c=condition), condition
        assert dataset.scanner(filter=condition).count_rows() == dataset.count_rows(filter=condition)
    assert dataset.scanner(filter="row > 30", offset=2, limit=7).count_rows() == 7


@pytest.mark.parametrize("limit", [None, 7, 100])
def test_orders(peer, uri, limit):
    """Also floats, nulls and texts; `row` last, since the peer leaves open which of equal rows comes first."""
    generator = random.Random(SEED)
    peer.run("lance.write_dataset(table, uri, data_storage_version='2.1', max_rows_per_file=23)", table=many_rows(12), uri=uri)
    keys = ["i8", "u64", "f32", "f64", "dec", "s", "ls", "bin", "b", "d32", "ts", "tz", "st.x", "fsb", "t32", "dur"]
    peer.run("import sys; ColumnOrdering = sys.modules['lance.dataset'].ColumnOrdering")
    for key in keys + generator.sample(keys, 4):
        ascending, nulls_first, second = (generator.random() < 0.5 for _ in range(3))
        order = [(key, ascending, nulls_first)] + [(generator.choice(keys), not ascending, nulls_first)] * second + [("row", True, False)]
        condition = generator.choice([None, "row % 3 <> 1"])
        offset = generator.choice([None, 5])
        theirs = peer.value("lance.dataset(uri).to_table(order_by=[ColumnOrdering(*key) for key in order], filter=condition, "
                            "limit=limit, offset=offset)", order=order, condition=condition, limit=limit, offset=offset)
        found = javelin.dataset(uri).to_table(["row"], condition, limit, offset,
                                              order_by=[javelin_ordering(*key) for key in order])
        assert found["row"].to_pylist() == theirs["row"].to_pylist(), (order, condition)


def test_where_scans_differ(peer, uri):
    """docs/differences.md, as it is."""
    peer.run("lance.write_dataset(table, uri, data_storage_version='2.1', max_rows_per_file=3)", table=small_table(), uri=uri)
    dataset = javelin.dataset(uri)
    with pytest.raises(PeerError):
        peer.run("lance.dataset(uri).to_table(columns=['row'], order_by=['s'])")
    assert dataset.to_table(["row"], order_by=["s"])["row"].to_pylist() == [1, 3, 2, 5, 7, 6, 4, 0]
    with pytest.raises(PeerError):
        peer.run("lance.dataset(uri).to_table(order_by=['_rowid'])")
    assert dataset.to_table(["row"], order_by=[javelin_ordering("_rowid", False)])["row"].to_pylist() == list(range(7, -1, -1))
    assert peer.value("lance.dataset(uri).to_table(order_by=['l'])").num_rows == 8
    with pytest.raises(errors.NotSupported):
        dataset.scanner(order_by=["l"])
    with pytest.raises(PeerError):
        peer.run("lance.dataset(uri).scanner(filter='row > 2', limit=3).count_rows()")
    assert dataset.scanner(filter="row > 2", limit=3).count_rows() == 3


SCHEMA = pa.schema([pa.field("id", pa.int64()), pa.field("n", pa.int32()), pa.field("s", pa.string())])


def new_rows(ids):
    return pa.table({"id": ids, "n": [i % 10 for i in ids], "s": [None if i % 5 == 0 else f"s{i}" for i in ids]}, schema=SCHEMA)


class Both:
    """A table that both libraries change, and a model of it: id -> (n, s)."""

    def __init__(self, peer, uri, stable):
        self.peer, self.uri, self.model, self.next = peer, uri, {}, 0
        self.stable = stable
        first = self.some(40)
        peer.run("lance.write_dataset(table, uri, max_rows_per_file=15, enable_stable_row_ids=stable)",
                 table=first, uri=uri, stable=stable)
        self.handle = javelin.dataset(uri)
        self.ids = {}

    def some(self, count):
        ids = list(range(self.next, self.next + count))
        self.next += count
        table = new_rows(ids)
        self.model.update({row["id"]: (row["n"], row["s"]) for row in table.to_pylist()})
        return table

    def delete(self, who, condition, passes):
        gone = [i for i, row in self.model.items() if passes(i, *row)]
        answer = (self.peer.value("lance.dataset(uri).delete(c)", c=condition) if who == "peer"
                  else self.handle.delete(condition))
        assert answer == {"num_deleted_rows": len(gone)}, condition
        for i in gone:
            del self.model[i]

    def update(self, who, values, condition, passes, change):
        hit = [i for i, row in self.model.items() if passes(i, *row)]
        answer = (self.peer.value("lance.dataset(uri).update(v, where=c)", v=values, c=condition) if who == "peer"
                  else self.handle.update(values, where=condition))
        assert answer == {"num_rows_updated": len(hit)}, (values, condition)
        for i in hit:
            self.model[i] = change(i, *self.model[i])

    def check(self):
        expected = sorted((i, *row) for i, row in self.model.items())
        self.handle.checkout_latest()
        mine = self.handle.to_table(with_row_id=True)
        theirs = self.peer.value("lance.dataset(uri).to_table(with_row_id=True)")
        assert mine == theirs
        assert sorted(tuple(row.values())[:3] for row in mine.to_pylist()) == expected
        assert self.handle.count_rows() == len(expected)
        if self.stable:  # a row keeps its id for its life
            now = {row["id"]: row["_rowid"] for row in mine.to_pylist()}
            assert len(set(now.values())) == len(now)
            for key, row_id in now.items():
                assert self.ids.setdefault(key, row_id) == row_id
            versions = ["id", "_row_created_at_version", "_row_last_updated_at_version"]
            assert self.handle.to_table(versions) == self.peer.value("lance.dataset(uri).to_table(columns=names)", names=versions)


@pytest.mark.parametrize("stable", [False, True])
def test_random_changes_by_both(peer, uri, stable):
    generator = random.Random(SEED)
    both = Both(peer, uri, stable)
    for _ in range(60):
        who = generator.choice(["peer", "we"])
        if generator.random() < 0.5:  # else from an older version than the newest: rebased, or run again
            both.handle.checkout_latest()
        k, m = generator.randint(0, max(both.next, 1)), generator.randint(2, 9)
        kind = generator.choice(["append", "delete", "update", "set null", "delete all of a range"])
        if kind == "append":
            rows = both.some(generator.randint(1, 30))
            if who == "peer":
                peer.run("lance.write_dataset(rows, uri, mode='append', max_rows_per_file=7)", rows=rows)
            else:
                javelin.write_dataset(rows, uri, mode="append", max_rows_per_file=7)
                both.handle.checkout_latest()
            continue
        both.handle.checkout_latest() if who == "we" and generator.random() < 0.8 else None
        stale = javelin.dataset(uri).version != both.handle.version
        if who == "we" and stale:  # rows appended since are not among those that a stale handle finds
            both.handle.checkout_latest()
        if kind == "delete":
            both.delete(who, f"id % {m} = 1 and id < {k}", lambda i, n, s: i % m == 1 and i < k)
        elif kind == "delete all of a range":
            both.delete(who, f"id >= {k} and id < {k + 12}", lambda i, n, s: k <= i < k + 12)
        elif kind == "update":
            both.update(who, {"n": "n + 1", "s": "'u' || cast(id as string)"}, f"id % {m} = 0 and (s is null or n < 5)",
                        lambda i, n, s: i % m == 0 and (s is None or n < 5), lambda i, n, s: (n + 1, f"u{i}"))
        else:
            both.update(who, {"s": "null"}, f"id = {k} or n = {m}", lambda i, n, s: i == k or n == m, lambda i, n, s: (n, None))
        both.check()
    both.check()


def test_a_commit_of_either_says_the_same(peer, uri):
    """Operation by operation: fragments, masks, and which columns an index may go on to cover."""
    other = uri + "2"
    for place in (uri, other):
        peer.run("lance.write_dataset(table, place, max_rows_per_file=10)", table=new_rows(range(30)), place=place)
    steps = [
        ("delete", ("id % 4 = 1",)),
        ("delete", ("id > 1000",)),
        ("delete", ("id >= 10 and id < 20",)),
        ("update", ({"s": "'x'"}, "id in (3, 22)")),
        ("update", ({"n": "n * 2", "s": "null"}, "id = 1000")),
        ("update", ({"n": "1"}, "id >= 20")),
        ("update", ({"s": "'all'"},)),
        ("delete", ("true",)),
    ]
    peer.run("""
        def committed(place):
            ds = lance.dataset(place)
            operation = ds.read_transaction(ds.version).operation
            said = {"name": type(operation).__name__}
            for name in ("predicate", "removed_fragment_ids", "deleted_fragment_ids", "fields_modified",
                         "fields_for_preserving_frag_bitmap", "update_mode"):
                if hasattr(operation, name):
                    value = getattr(operation, name)
                    said[name] = sorted(value) if isinstance(value, list) else value  # some have no order there
            for name in ("updated_fragments", "new_fragments"):
                said[name] = sorted((f.id, f.physical_rows, f.num_deletions) for f in getattr(operation, name, []))
            return said, [(f.fragment_id, f.count_rows(), f.num_deletions) for f in ds.get_fragments()]
    """.replace("\n        ", "\n"))
    for name, arguments in steps:
        theirs = peer.value("getattr(lance.dataset(other), name)(*arguments)", other=other, name=name, arguments=arguments)
        assert getattr(javelin.dataset(uri), name)(*arguments) == theirs
        assert peer.value("committed(uri)", uri=uri) == peer.value("committed(other)"), (name, arguments)
        assert peer.value("lance.dataset(uri).to_table() == lance.dataset(other).to_table()", other=other)


def test_indexes_of_the_peer_stay_right(peer, uri):
    peer.run("ds = lance.write_dataset(table, uri, max_rows_per_file=20)", table=new_rows(range(60)), uri=uri)
    peer.run("ds.create_scalar_index('n', 'BTREE')")
    javelin.dataset(uri).update({"s": "'x'"}, where="id < 25")  # the column of the index is not touched
    javelin.dataset(uri).update({"n": "n + 100"}, where="id % 7 = 0")
    javelin.dataset(uri).delete("n = 3")
    found = peer.value("lance.dataset(uri).to_table(filter='n = 4 or n > 100').sort_by('id')")
    plain = peer.value("lance.dataset(uri).scanner(filter='n = 4 or n > 100', use_scalar_index=False).to_table().sort_by('id')")
    assert found == plain
    assert found.num_rows > 5
    assert javelin.dataset(uri).to_table(filter="n = 4 or n > 100").sort_by("id") == plain


def test_conflicts_of_two_handles(peer, uri):
    peer.run("ds = lance.write_dataset(table, uri)", table=new_rows(range(30)), uri=uri)
    old = javelin.dataset(uri)
    peer.run("ds.update({'s': \"'theirs'\"}, where='id = 4')")
    assert old.delete("id = 5") == {"num_deleted_rows": 1}  # other rows of the fragment
    stale = javelin.dataset(uri, version=1)
    assert stale.update({"n": "7"}, where="s = 'theirs'") == {"num_rows_updated": 0}  # there is none in that version
    stale = javelin.dataset(uri, version=1)
    assert stale.update({"n": "77"}, where="id = 4") == {"num_rows_updated": 1}  # run again on the newest
    assert stale.to_table(filter="id = 4").to_pylist() == [{"id": 4, "n": 77, "s": "theirs"}]
    with pytest.raises(errors.RetryableConflict):
        javelin.dataset(uri, version=1).delete("id = 4", conflict_retries=0)
    peer.run("old = lance.dataset(uri, version=1)")
    assert peer.value("old.delete('id = 4 or id = 6')") == {"num_deleted_rows": 2}
    assert sorted(javelin.dataset(uri).to_table(["id"])["id"].to_pylist()) == [i for i in range(30) if i not in (4, 5, 6)]


def test_the_peer_refuses_what_we_refuse(peer, uri):
    peer.run("ds = lance.write_dataset(table, uri)", table=small_table(), uri=uri)
    for name, arguments in (
        ("delete", ("nope = 1",)),
        ("delete", ("",)),
        ("update", ({},)),
        ("update", ({"nope": "1"},)),
        ("update", ({"st.x": "1"},)),
        ("update", ({"id": "'abc'"},)),
    ):
        with pytest.raises(PeerError):
            peer.value("getattr(lance.dataset(uri), name)(*arguments)", name=name, arguments=arguments)
        with pytest.raises((errors.InvalidInput, errors.NotSupported)):
            getattr(javelin.dataset(uri), name)(*arguments)
        assert javelin.dataset(uri).version == 1


@pytest.mark.parametrize("version", ["2.0", "2.1", "2.2"])
def test_every_type_survives_an_update(peer, uri, version):
    table = small_table()
    if version == "2.0":  # has no nulls of structs, and no such lists
        table = table.drop_columns(["st", "l", "tags", "v", "nul"])
    peer.run("ds = lance.write_dataset(table, uri, data_storage_version=version)", table=table, uri=uri, version=version)
    assert javelin.dataset(uri).update({"row": "row + 100"}, where="id > 2") == {"num_rows_updated": 5}
    found = peer.value("lance.dataset(uri).to_table()")
    expected = table.set_column(0, "row", pa.array([0, 1, 2, 103, 104, 105, 106, 107], pa.int64()))
    assert columns(found) == columns(expected)
    assert columns(javelin.dataset(uri).to_table()) == columns(expected)


def test_blobs_survive_an_update(uri):
    field = pa.field("b", pa.large_binary(), metadata={"lance-encoding:blob": "true"})
    schema = pa.schema([pa.field("id", pa.int64()), field])
    values = [b"x" * 100, None, b"", b"y" * 70000]
    table = javelin.write_dataset(pa.table({"id": range(4), "b": values}, schema=schema), uri)
    assert table.update({"id": "id + 10"}, where="id <> 2") == {"num_rows_updated": 3}
    found = table.to_table(blob_handling="all_binary").sort_by("id")
    assert found["id"].to_pylist() == [2, 10, 11, 13]
    assert found["b"].to_pylist() == [b"", values[0], None, values[3]]
    with pytest.raises(errors.NotSupported, match="blobs"):
        table.update({"b": "X'00'"})


def test_values_of_special_columns(peer, uri):
    """JSON, which lies in a binary form; dictionaries; extension types."""
    table = pa.table({
        "id": pa.array(range(3)),
        "j": pa.array(['{"a":1}', None, "[3]"], pa.json_()),
        "d": pa.array(["x", "y", "x"]).dictionary_encode(),
        "u": pa.array([bytes([i] * 16) for i in range(3)], pa.uuid()),
    })
    peer.run("lance.write_dataset(table, uri)", table=table, uri=uri)
    dataset = javelin.dataset(uri)
    for values in ({"j": "'{}'"}, {"j": "X'00'"}, {"d": "'z'"}):
        with pytest.raises(errors.NotSupported):
            dataset.update(values)
    assert dataset.update({"j": "null", "u": "X'" + "0a" * 16 + "'"}, where="id = 2") == {"num_rows_updated": 1}
    assert dataset.update({"j": "j", "id": "id + 10"}, where="id = 0") == {"num_rows_updated": 1}
    found = peer.value("lance.dataset(uri).to_table().sort_by('id').to_pydict()")
    assert (found["id"], found["j"], found["d"]) == ([1, 2, 10], [None, None, '{"a":1}'], ["y", "x", "x"])
    assert [value.bytes for value in found["u"]] == [bytes([1] * 16), b"\x0a" * 16, bytes(16)]


@pytest.mark.parametrize("version", ["2.0", "2.1"])
def test_conditions_on_blobs(peer, uri, version):
    """They see where a blob lies, as a scan does."""
    field = pa.field("b", pa.large_binary(), metadata={"lance-encoding:blob": "true"})
    table = pa.table({"id": range(3), "b": [b"x" * 100, None, b""]}, schema=pa.schema([pa.field("id", pa.int64()), field]))
    peer.run("lance.write_dataset(table, uri, data_storage_version=version)", table=table, uri=uri, version=version)
    for condition in ("b is null", "b is not null", "id > 0 and b is null"):
        theirs = peer.value("lance.dataset(uri).to_table(columns=['id'], filter=c)", c=condition)
        assert javelin.dataset(uri).to_table(["id"], condition) == theirs
    assert javelin.dataset(uri).to_table(["id"], "b.size > 50")["id"].to_pylist() == [0]
