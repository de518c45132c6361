"""Scans with conditions, and changes of rows by condition, through the package."""

import concurrent.futures
import threading
from datetime import timedelta

import pyarrow as pa
import pytest

import javelin
from javelin.dataset import ColumnOrdering
from javelin import errors


@pytest.fixture
def plain(uri):
    structs = [{"x": i, "y": f"y{i}"} for i in range(20)]
    table = pa.table({"id": range(20), "s": [f"s{i}" for i in range(20)], "st": structs})
    return javelin.write_dataset(table, uri, max_rows_per_file=8)


def ids(table):
    return table["id"].to_pylist()


def test_filters(plain):
    assert ids(plain.to_table(filter="id > 3 and s < 's2'")) == [10, 11, 12, 13, 14, 15, 16, 17, 18, 19]
    assert ids(plain.to_table(["id"], "id % 5 = 0", 2, 1)) == [5, 10]
    assert [batch.num_rows for batch in plain.to_batches(filter="id <> 4", batch_size=6)] == [6, 6, 6, 1]
    assert ids(plain.head(2, filter="st.x > 7")) == [8, 9]
    assert plain.to_pandas(["id"], "id > 17")["id"].tolist() == [18, 19]
    assert ids(plain.scanner(filter="id > 17").to_reader().read_all()) == [18, 19]
    assert ids(pa.table(plain.scanner(filter="id > 17"))) == [18, 19]


def test_columns(plain):
    found = plain.to_table(["st.y", "id"], "id = 3")
    assert found.to_pylist() == [{"st.y": "y3", "id": 3}]
    found = plain.to_table({"twice": "id * 2", "name": "upper(s)"}, "id = 3", with_row_id=True)
    assert found.to_pylist() == [{"twice": 6, "name": "S3", "_rowid": 3}]
    assert plain.scanner({"a": "id / 2"}).projected_schema == pa.schema([("a", pa.int64())])


def test_counts(plain):
    assert plain.count_rows() == 20
    assert plain.count_rows("id >= 15") == plain.count_rows(filter="id >= 15") == 5
    assert plain.scanner(filter="id >= 15", limit=3, offset=1).count_rows() == 3
    assert plain.scanner(limit=3, offset=18).count_rows() == 2


@pytest.mark.parametrize(("call", "part"), [
    (lambda table: table.scanner(filter="idd > 3"), "did you mean `id`"),
    (lambda table: table.scanner(["sid"]), "did you mean 'id'"),
    (lambda table: table.scanner(["st.z"]), "has no field `z`"),
    (lambda table: table.scanner(["id", "id"]), "twice"),
    (lambda table: table.scanner({"a": "idd"}), "column 'a'"),
    (lambda table: table.count_rows("id"), "condition"),
    (lambda table: table.delete("idd = 3"), "did you mean `id`"),
    (lambda table: table.update({"idd": "3"}), "did you mean 'id'"),
    (lambda table: table.update({"id": "3"}, "idd = 3"), "did you mean `id`"),
    (lambda table: table.update({}), "no column"),
    (lambda table: table.update({"id": "'three'"}), "column 'id'"),
    (lambda table: table.delete("id = 3", conflict_retries=-1), "conflict_retries"),
    (lambda table: table.delete("id = 3", retry_timeout=timedelta(seconds=-1)), "retry_timeout"),
    (lambda table: table.update({"id": "3"}, data_storage_version="7.0"), "7.0"),
])
def test_what_is_wrong_is_said_at_once_and_changes_nothing(plain, call, part):
    with pytest.raises(errors.InvalidInput, match=part):
        call(plain)
    assert plain.latest_version == plain.version == 1


def test_sql_errors_say_their_place(plain):
    with pytest.raises(errors.InvalidInput) as raised:
        plain.to_table(filter="id = 1 and idd = 2")
    assert (raised.value.fields["line"], raised.value.fields["column"]) == ("1", "12")


def test_a_failure_of_a_value_stays(plain):
    batches = plain.to_batches(filter="10 / (id - 15) > 100", batch_size=4)
    for _ in range(2):
        with pytest.raises(errors.InvalidInput, match="zero"):
            next(batches)


def test_delete(plain):
    before = plain.version
    assert plain.delete("id % 2 = 0") == {"num_deleted_rows": 10}
    assert plain.version == before + 1
    assert ids(plain.to_table()) == list(range(1, 20, 2))
    assert plain.delete("id > 100") == {"num_deleted_rows": 0}
    assert plain.version == before + 2
    assert plain.delete("true") == {"num_deleted_rows": 10}
    assert plain.to_table().num_rows == 0
    assert ids(plain.checkout_version(before).to_table()) == list(range(20))


def test_update(plain):
    assert plain.update({"s": "upper(s)", "id": "id + 100"}, where="id < 2") == {"num_rows_updated": 2}
    assert plain.to_table(["id", "s"], "id >= 100").to_pylist() == [{"id": 100, "s": "S0"}, {"id": 101, "s": "S1"}]
    assert plain.update({"s": "'all'"}) == {"num_rows_updated": 20}
    assert set(plain.to_table()["s"].to_pylist()) == {"all"}
    assert plain.to_table(["st.x"]).num_rows == 20


def test_plans(plain):
    scanner = plain.scanner(["s"], "id > 3", limit=4)
    text = scanner.explain_plan()
    assert "Filter: id > 3" in text and "columns=[s]" in text and "rows=20" in text
    assert "Fragment 2: rows=4" in scanner.explain_plan(verbose=True)
    ran = scanner.analyze_plan()
    assert "output_rows=4" in ran and "requests=0" not in ran and "bytes_read=0" not in ran
    with pytest.raises(errors.NotSupported):
        plain.initialize_mem_wal(unsharded=True)
        plain.fresh().scan().explain_plan()


def test_order(plain):
    assert ids(plain.to_table(order_by=["s"])) == sorted(range(20), key=lambda i: f"s{i}")
    down = ColumnOrdering("st.x", ascending=False)
    assert ids(plain.to_table(["id"], order_by=[down], limit=3, offset=1)) == [18, 17, 16]
    assert plain.to_table(["s"], "id > 16", order_by=[down]).to_pylist() == [{"s": "s19"}, {"s": "s18"}, {"s": "s17"}]
    assert plain.to_table({"n": "-id"}, order_by=["id"], limit=2).to_pylist() == [{"n": 0}, {"n": -1}]
    for wrong, kind in ((["nope"], errors.InvalidInput), (["st"], errors.NotSupported), ("s", TypeError), ([1], TypeError)):
        with pytest.raises(kind):
            plain.scanner(order_by=wrong)


def test_sample(plain):
    found = plain.sample(5, ["id"])
    assert found.num_rows == len(set(ids(found))) == 5
    assert ids(plain.sample(20, randomize_order=False)) == list(range(20))
    with pytest.raises(errors.InvalidInput, match="21"):
        plain.sample(21)


def test_fragments(plain):
    plain.delete("id in (1, 9)")
    fragments = plain.get_fragments()
    assert [(one.fragment_id, one.physical_rows, one.num_deletions) for one in fragments] == [(0, 8, 1), (1, 8, 1), (2, 4, 0)]
    assert ids(fragments[1].to_table(["id"], "id < 12")) == [8, 10, 11]
    assert [one.count_rows() for one in fragments] == [7, 7, 4]
    assert fragments[2].count_rows("id > 16") == 3
    assert ids(plain.scanner(["id"], fragments=[fragments[2], fragments[0]], limit=5).to_table()) == [16, 17, 18, 19, 0]
    assert ids(pa.Table.from_batches(fragments[2].to_batches(["id"]))) == ids(fragments[2].head(10)) == [16, 17, 18, 19]
    assert plain.get_fragment(2).schema == plain.schema and plain.get_fragment(7) is None
    plain.delete("true")
    assert plain.get_fragments() == [] and fragments[0].count_rows() == 7  # of its version


def test_threads_that_change_the_same_rows(uri):
    """Every change is made exactly once, whatever order they come in."""
    rows, threads, rounds = 40, 4, 6
    javelin.write_dataset(pa.table({"id": range(rows), "n": [0] * rows}), uri, max_rows_per_file=9)
    start = threading.Barrier(threads)

    def change(worker):
        start.wait()
        done = 0
        for turn in range(rounds):
            condition = f"id % {threads} = {worker}" if turn % 2 else "id % 5 = 0"
            table = javelin.dataset(uri)
            done += table.update({"n": "n + 1"}, where=condition, conflict_retries=100)["num_rows_updated"]
        return done

    with concurrent.futures.ThreadPoolExecutor(threads) as pool:
        made = sum(pool.map(change, range(threads)))
    found = javelin.dataset(uri).to_table().sort_by("id")
    assert ids(found) == list(range(rows))
    expected = [rounds // 2 + (threads * (rounds // 2) if i % 5 == 0 else 0) for i in range(rows)]
    assert found["n"].to_pylist() == expected
    assert made == sum(expected)


def test_what_is_not_supported(plain):
    for call in (
        lambda: plain.scanner({"a": "id"}, blob_handling="all_binary"),
        lambda: plain.scanner(filter="median(id) > 1"),
        lambda: plain.update({"st.x": "1"}),
        lambda: plain.scanner(order_by=["st"]),
    ):
        with pytest.raises(errors.NotSupported):
            call()


def test_rows_of_shards_are_not_the_tables(table, writer):
    """A delete or update is of the table alone: what a shard holds above it stays the newest."""
    writer.put([{"id": 2, "text": "newer"}])
    table.checkout_latest()
    assert table.delete("id in (1, 2)") == {"num_deleted_rows": 2}
    assert table.update({"text": "'changed'"}, "id = 3") == {"num_rows_updated": 1}
    view = table.fresh().to_table().sort_by("id")
    assert view.to_pydict() == {"id": [2, 3], "text": ["newer", "changed"]}
    writer.flush()
    table.compact_shards()
    assert table.to_table().sort_by("id").to_pydict() == view.to_pydict()
