"""Merges of rows by key through the package, against the released peer: the same rows in the same order, the same counts.

`JAVELIN_SEED=N` draws other random merges.
"""

import datetime
import decimal
import os
import random

import pyarrow as pa
import pytest

import javelin
from javelin import errors

pytestmark = pytest.mark.interop

SEED = int(os.environ.get("JAVELIN_SEED", "1"))

SCHEMA = pa.schema([pa.field("k", pa.int64()), pa.field("v", pa.string()), pa.field("w", pa.int32())])

HELPERS = """
def build(ds, on, calls):
    builder = ds.merge_insert(on)
    for name, arguments in calls:
        builder = getattr(builder, name)(*arguments)
    return builder

def merge(uri, on, calls, rows):
    try:
        return build(lance.dataset(uri), on, calls).execute(rows)
    except Exception as failure:
        return f"{type(failure).__name__}: {failure}"[:300]

def committed(place):
    ds = lance.dataset(place)
    operation = ds.read_transaction(ds.version).operation
    said = {"name": type(operation).__name__, "rows": ds.to_table()}
    for name in ("removed_fragment_ids", "fields_modified", "fields_for_preserving_frag_bitmap", "update_mode"):
        value = getattr(operation, name)
        said[name] = sorted(value) if isinstance(value, list) else value
    for name in ("updated_fragments", "new_fragments"):
        said[name] = sorted((f.id, f.physical_rows, f.num_deletions) for f in getattr(operation, name))
    return said
"""


def build(dataset, on, calls):
    builder = dataset.merge_insert(on)
    for name, arguments in calls:
        builder = getattr(builder, name)(*arguments)
    return builder


def rows(keys, names=("k", "v", "w"), text="n"):
    table = pa.table({"k": keys, "v": [f"{text}{k}" for k in keys], "w": [(k or 0) * 10 for k in keys]}, schema=SCHEMA)
    return table.select(names)


UPDATE = ("when_matched_update_all", ())
DELETE = ("when_matched_delete", ())
FAIL = ("when_matched_fail", ())
INSERT = ("when_not_matched_insert_all", ())
REST = ("when_not_matched_by_source_delete", ())


def update_if(condition):
    return ("when_matched_update_all", (condition,))


def rest_if(condition):
    return ("when_not_matched_by_source_delete", (condition,))


MERGES = {
    "upsert": ("k", [UPDATE, INSERT], rows([20, 3, 21, 4, 2])),
    "nothing to merge": ("k", [UPDATE, INSERT], rows([])),
    "update": ("k", [UPDATE], rows([20, 3, 1])),
    "insert": ("k", [INSERT], rows([20, 3, 20, 1])),
    "condition": ("k", [update_if("source.w > 20 and target.v <> 'o4'"), INSERT], rows([20, 3, 4, 2])),
    "delete": ("k", [DELETE], rows([3, 9, 2])),
    "delete by key alone": ("k", [DELETE], rows([3, 9, 2], ["k"])),
    "delete and insert": ("k", [DELETE, INSERT], rows([3, 9, 2])),
    "fail without a match": ("k", [FAIL, INSERT], rows([8, 9])),
    "fail": ("k", [FAIL, INSERT], rows([8, 3])),
    "rest goes": ("k", [UPDATE, INSERT, REST], rows([20, 3])),
    "some of the rest goes": ("k", [UPDATE, INSERT, rest_if("w > 20 or v is null")], rows([20, 3])),
    "only the rest goes": ("k", [REST], rows([20, 3])),
    "all goes": ("k", [REST], rows([])),
    "a whole fragment": ("k", [UPDATE, INSERT], rows([3, 4])),
    "fewer columns": ("k", [UPDATE, INSERT], rows([20, 3, 1], ["k", "v"])),
    "fewer columns, update": ("k", [UPDATE], rows([20, 3, 1], ["w", "k"])),
    "fewer columns, condition on another": ("k", [update_if("target.w < 30")], rows([3, 1], ["k", "v"])),
    "fewer columns, rest": ("k", [UPDATE, rest_if("w = 40")], rows([3, 1], ["k", "v"])),
    "the key alone": ("k", [UPDATE], rows([3], ["k"])),
    "several for one": ("k", [UPDATE, INSERT], rows([3, 3])),
    "several for one, delete": ("k", [DELETE], rows([3, 3])),
    "nulls": ("k", [UPDATE, INSERT], rows([None, 3, None])),
    "two columns": (["k", "v"], [UPDATE, INSERT], rows([1, 20], text="o")),
    "the last of two": ("k", [DELETE, update_if("source.w > 5")], rows([3])),
    "whole rows asked for": ("k", [UPDATE, ("write_mode", ("rewrite_rows",))], rows([3, 1], ["k", "v"])),
    "nothing to do": ("k", [], rows([3])),
    "no such column": ("kk", [INSERT], rows([3])),
    "no primary key": (None, [INSERT], rows([3])),
    "another type": ("k", [INSERT], pa.table({"k": pa.array([1], pa.int32())})),
    "a column more": ("k", [INSERT], rows([3]).append_column("x", pa.array([1]))),
    "the key is missing": ("k", [UPDATE], rows([3], ["v"])),
    "a condition of neither": ("k", [update_if("nope > 1")], rows([3])),
    "an ambiguous condition": ("k", [update_if("w > 1")], rows([3])),
    "a condition of the source for the rest": ("k", [rest_if("source.k > 1")], rows([3])),
}


def sorted_rows(dataset):
    return sorted(dataset.to_table().to_pylist(), key=repr)


@pytest.mark.parametrize("stable", [False, True])
@pytest.mark.parametrize("name", MERGES)
def test_the_same_merge_by_either(peer, tmp_path, name, stable):
    on, calls, source = MERGES[name]
    ours, theirs = str(tmp_path / "ours"), str(tmp_path / "theirs")
    for place in (ours, theirs):
        peer.run("lance.write_dataset(t, p, max_rows_per_file=2, enable_stable_row_ids=stable)",
                       t=rows([1, 2, 3, 4, None], text="o"), p=place, stable=stable)
    expected = peer.value("merge(uri, on, calls, source)", uri=theirs, on=on, calls=calls, source=source)
    dataset = javelin.dataset(ours)
    if isinstance(expected, str):
        with pytest.raises(errors.InvalidInput):
            build(dataset, on, calls).execute(source)
        assert dataset.latest_version == 1
        return
    assert build(dataset, on, calls).execute(source) == expected
    assert dataset.version == 2
    if name.startswith("fewer columns"):  # there the peer's updated rows have no fixed order
        assert sorted_rows(javelin.dataset(ours)) == sorted_rows(javelin.dataset(theirs))
        return
    assert peer.value("committed(p)", p=ours) == peer.value("committed(p)", p=theirs)
    names = ["k", "v", "w", "_rowid", "_row_created_at_version", "_row_last_updated_at_version"]
    assert dataset.to_table(names) == javelin.dataset(theirs).to_table(names)


KEYS = {
    "float": pa.array([0.5, float("nan"), 0.0]),
    "bool": pa.array([True, False, None]),
    "date": pa.array([datetime.date(2020, 1, 1), datetime.date(2021, 1, 1), None]),
    "decimal": pa.array([decimal.Decimal("1.50"), None, decimal.Decimal("2")], pa.decimal128(10, 2)),
    "fixed": pa.array([b"ab", b"cd", None], pa.binary(2)),
    "binary": pa.array([b"", b"cd", None]),
    "large text": pa.array(["a", "b", None], pa.large_string()),
    "half": pa.array([1, 2, 3], pa.float16()),
    "timestamp": pa.array([1, 2, None], pa.timestamp("us", "UTC")),
    "int8": pa.array([-1, 2, None], pa.int8()),
    "uint64": pa.array([2**64 - 1, 2, None], pa.uint64()),
    "dictionary": pa.array(["a", "b", None]).dictionary_encode(),
    "list": pa.array([[1], [2, None], None]),
    "struct": pa.array([{"x": 1}, {"x": None}, None]),
}


@pytest.mark.parametrize("name", KEYS)
def test_keys_of_types(peer, tmp_path, name):
    ours, theirs = str(tmp_path / "ours"), str(tmp_path / "theirs")
    table = pa.table({"k": KEYS[name], "v": [1, 2, 3]})
    for place in (ours, theirs):
        peer.run("lance.write_dataset(t, p, max_rows_per_file=2)", t=table, p=place)
    source = pa.table({"k": KEYS[name].take(pa.array([2, 0, 1])), "v": [30, 10, 20]})
    expected = peer.value("merge(p, 'k', c, s)", p=theirs, c=[UPDATE, INSERT], s=source)
    dataset = javelin.dataset(ours)
    assert dataset.merge_insert("k").when_matched_update_all().when_not_matched_insert_all().execute(source) == expected
    assert repr(dataset.to_table().to_pylist()) == repr(javelin.dataset(theirs).to_table().to_pylist())


@pytest.mark.parametrize("stable", [False, True])
def test_random_merges_in_turn(peer, tmp_path, stable):
    generator = random.Random(SEED)
    uri = str(tmp_path / "t")
    model = {k: (f"o{k}", k * 10) for k in range(30)}
    peer.run("lance.write_dataset(t, p, max_rows_per_file=8, enable_stable_row_ids=s)", t=rows(range(30), text="o"), p=uri, s=stable)
    dataset = javelin.dataset(uri)
    for step in range(60):
        keys = generator.sample(range(60), generator.randint(0, 9))
        names = ["k", "v"] if generator.random() < 0.4 else ["k", "v", "w"]
        matched = generator.choice([None, "update", "update if", "delete"])
        calls = {None: [], "update": [UPDATE], "update if": [update_if("source.k % 3 = 0 or target.v < 'o'")], "delete": [DELETE]}[matched]
        inserts, rest = generator.random() < 0.6, generator.random() < 0.2
        if matched == "delete" or (matched is None and not inserts):
            names = ["k", "v", "w"]
        calls = calls + [INSERT] * inserts + [rest_if("k % 7 = 3")] * (rest and matched != "delete")
        rest = rest and matched != "delete"  # the peer does not do both
        if not calls:
            continue
        expected, after = {"num_inserted_rows": 0, "num_updated_rows": 0, "num_deleted_rows": 0}, dict(model)
        for k in keys:
            if k not in model:
                if inserts:
                    after[k] = (f"s{step}_{k}", k * 10 if len(names) == 3 else None)
                    expected["num_inserted_rows"] += 1
            elif matched == "delete":
                del after[k]
                expected["num_deleted_rows"] += 1
            elif matched == "update" or (matched == "update if" and (k % 3 == 0 or model[k][0] < "o")):
                after[k] = (f"s{step}_{k}", k * 10 if len(names) == 3 else model[k][1])
                expected["num_updated_rows"] += 1
        if rest:
            for k in model:
                if k not in keys and k % 7 == 3:
                    del after[k]
                    expected["num_deleted_rows"] += 1
        source = rows(keys, names, text=f"s{step}_")
        if generator.random() < 0.5:
            assert peer.value("merge(p, 'k', c, s)", p=uri, c=calls, s=source) == expected, (step, calls)
            dataset.checkout_latest()
        else:
            assert build(dataset, "k", calls).execute(source) == expected, (step, calls)
        model = after
        mine = dataset.to_table(with_row_id=True)
        assert mine == peer.value("lance.dataset(p).to_table(with_row_id=True)", p=uri)
        assert {row["k"]: (row["v"], row["w"]) for row in mine.to_pylist()} == model
        assert mine.num_rows == len(model)


def keyed(keys, text="n"):
    fields = [pa.field("k", pa.int64(), False, {"lance-schema:unenforced-primary-key": "true"}), pa.field("v", pa.string())]
    return pa.table({"k": keys, "v": [f"{text}{k}" for k in keys]}, schema=pa.schema(fields))


@pytest.mark.parametrize("first", ["peer", "we"])
def test_a_key_that_both_insert_is_there_once(peer, tmp_path, first):
    uri = str(tmp_path / "t")
    javelin.write_dataset(keyed([1, 2]), uri)
    mine = javelin.dataset(uri)
    peer.run("handle = lance.dataset(p)", p=uri)

    def we(text):
        return mine.merge_insert().when_matched_update_all().when_not_matched_insert_all().execute(keyed([2, 100], text))

    def they(text):
        return peer.value("build(handle, None, c).execute(t)", c=[UPDATE, INSERT], t=keyed([1, 100], text))

    order = (they, we) if first == "peer" else (we, they)
    assert order[0]("a") == {"num_inserted_rows": 1, "num_updated_rows": 1, "num_deleted_rows": 0}
    assert order[1]("b") == {"num_inserted_rows": 0, "num_updated_rows": 2, "num_deleted_rows": 0}
    found = {row["k"]: row["v"] for row in javelin.dataset(uri).to_table().to_pylist()}
    assert found == ({1: "a1", 2: "b2", 100: "b100"} if first == "peer" else {1: "b1", 2: "a2", 100: "b100"})
    assert javelin.dataset(uri).count_rows() == 3


def test_without_retries_a_conflict_is_an_error(tmp_path):
    uri = str(tmp_path / "t")
    ours, other = javelin.write_dataset(keyed([1, 2]), uri), javelin.dataset(uri)
    other.merge_insert().when_not_matched_insert_all().execute(keyed([100]))
    merge = ours.merge_insert("k").when_not_matched_insert_all().conflict_retries(0)
    with pytest.raises(errors.RetryableConflict):
        merge.execute(keyed([100]))
    assert merge.conflict_retries(3).retry_timeout(datetime.timedelta(seconds=9)).execute(keyed([100]))["num_inserted_rows"] == 0


def test_arguments(tmp_path):
    dataset = javelin.write_dataset(rows([1, 2]), str(tmp_path / "t"))
    for on in (5, [1], [None]):
        with pytest.raises(errors.WrongType):
            dataset.merge_insert(on)
    builder = dataset.merge_insert("k")
    for name, value in [("when_matched_update_all", 1), ("when_not_matched_by_source_delete", True), ("conflict_retries", 1.5),
                        ("retry_timeout", 3), ("data_storage_version", 2.1), ("use_index", "no"), ("write_mode", 1)]:
        with pytest.raises(errors.WrongType):
            getattr(builder, name)(value)
    for name, value in [("conflict_retries", -1), ("retry_timeout", datetime.timedelta(seconds=-1)), ("write_mode", "columns")]:
        with pytest.raises(errors.InvalidInput):
            getattr(builder, name)(value)
    with pytest.raises(errors.NotSupported):
        builder.write_mode("rewrite_columns")
    with pytest.raises((errors.InvalidInput, errors.NotSupported)):
        builder.when_not_matched_insert_all().data_storage_version("7.3").execute(rows([5]))
    with pytest.raises(errors.InvalidInput):  # the builder changes nothing
        dataset.merge_insert("k").execute(rows([1]))
    assert dataset.latest_version == 1
    merge = dataset.merge_insert(name for name in ["k"]).when_matched_update_all().use_index(False).write_mode("auto")
    assert merge.execute([{"k": 2, "v": "plain", "w": 7}])["num_updated_rows"] == 1
    assert merge.execute(iter(rows([1]).to_batches()), schema=SCHEMA)["num_updated_rows"] == 1
    assert {row["k"]: row["v"] for row in dataset.to_table().to_pylist()} == {1: "n1", 2: "plain"}


def test_more_rows_than_memory_are_refused(tmp_path):
    session = javelin.Session(memory_limit_bytes=32 << 20)
    uri = str(tmp_path / "t")
    javelin.write_dataset(pa.table({"k": range(100), "v": ["x"] * 100}), uri)
    dataset = javelin.dataset(uri, session=session)
    batch = pa.record_batch({"k": range(10_000), "v": ["y" * 1000] * 10_000})
    with pytest.raises(errors.OutOfMemory, match="smaller parts"):
        dataset.merge_insert("k").when_matched_update_all().execute(pa.Table.from_batches([batch] * 10))
    assert session.memory_used_bytes < 32 << 20
    assert dataset.latest_version == 1
