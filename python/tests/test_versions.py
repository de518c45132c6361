"""Going to versions and back, names for them, and what a table says about itself."""

import datetime
import os
import pickle
import random
import warnings

import pytest
from support import ids_of, rows

import javelin
from javelin import errors


@pytest.fixture
def history(uri):
    """A table whose version n holds ids 1 to n, n up to 3."""
    dataset = javelin.write_dataset(rows([1]), uri)
    dataset.insert(rows([2]))
    dataset.insert(rows([3]))
    return dataset


def held(dataset):
    return ids_of(dataset.to_table(columns=["id"]))


# ---- versions ----


def test_what_says_versions(history, uri):
    assert [entry["version"] for entry in history.versions()] == [1, 2, 3]
    assert history.version_refs() == [{"version": 1}, {"version": 2}, {"version": 3}]
    old = history.checkout_version(2)
    assert old.get_version() == history.versions()[1]
    assert old.latest_version == 3 and old.version == 2


def test_a_version_by_time(history, uri):
    first, second, third = (entry["timestamp"] for entry in history.versions())
    assert javelin.dataset(uri, asof=second).version == 1  # from before that moment, as with the released package
    assert javelin.dataset(uri, asof=second + datetime.timedelta(microseconds=1)).version == 2
    assert javelin.dataset(uri, asof=datetime.datetime.now()).version == 3
    assert javelin.dataset(uri, None, "2999-12-31").version == 3
    assert javelin.dataset(uri, asof="2999-12-31 23:59:59").version == 3
    aware = second.astimezone(datetime.timezone(datetime.timedelta(hours=5)))
    assert javelin.dataset(uri, asof=aware).version == 1
    assert javelin.dataset(uri, version=1, asof="no time").version == 1
    assert held(javelin.dataset(uri, asof=second)) == [1]
    with pytest.raises(errors.NotFound, match="after the given time"):
        javelin.dataset(uri, asof=first)
    with pytest.raises(errors.InvalidInput, match="asof.*'soon'"):
        javelin.dataset(uri, asof="soon")
    with pytest.raises(errors.InvalidInput, match="asof"):
        javelin.dataset(uri, asof=datetime.datetime.min)
    for wrong in (5, 1.5, b"2020-01-01", datetime.date(2020, 1, 1)):
        with pytest.raises(errors.WrongType, match="asof"):
            javelin.dataset(uri, asof=wrong)


def test_restore(history, uri):
    old = history.checkout_version(1)
    assert old.restore() is None
    assert old.version == 4 and held(old) == [1]
    assert held(javelin.dataset(uri)) == [1] and held(javelin.dataset(uri, 3)) == [1, 2, 3]
    old.insert(rows([9]))
    assert held(javelin.dataset(uri)) == [1, 9]


def test_a_restore_that_would_lose_rows_of_shards(table, writer, uri):
    before = table.version
    writer.put(rows([4]))
    writer.flush()
    table.compact_shards()
    old = table.checkout_version(before)
    with pytest.raises(errors.InvalidInput, match="generation 1 was retired") as raised:
        old.restore()
    assert raised.value.fields["shard"] == writer.shard_id and raised.value.fields["generation"] == "1"
    assert old.version == before and javelin.dataset(uri).version == table.version
    old.restore(force=True)
    assert held(javelin.dataset(uri)) == [1, 2, 3]
    with pytest.raises(errors.Corruption, match="generation 1"):
        javelin.dataset(uri).fresh()
    javelin.dataset(uri, table.version).restore()
    assert ids_of(javelin.dataset(uri).fresh().to_table()) == [1, 2, 3, 4]


# ---- tags ----


def test_tags(history, uri):
    tags = history.tags
    before = datetime.datetime.now(datetime.timezone.utc)
    assert tags.create("first", 1) is None
    tags.create("now")
    tags.create("same", "first")
    tags.create("second", ("main", 2))
    tags.create("newest", (None, None))
    assert {name: tag["version"] for name, tag in tags.list().items()} == {
        "first": 1, "now": 3, "same": 1, "second": 2, "newest": 3}
    first = tags.list()["first"]
    assert first["branch"] is None and first["metadata"] == {}
    assert first["manifest_size"] == os.path.getsize(f"{uri}/_versions/{2**64 - 2}.manifest")
    assert first["created_at"] == first["updated_at"] and before <= first["created_at"] <= before + datetime.timedelta(minutes=1)
    assert [name for name, _ in tags.list_ordered()] == ["newest", "now", "second", "first", "same"]
    assert [name for name, _ in tags.list_ordered("asc")] == ["first", "same", "second", "newest", "now"]
    assert tags.get_version("second") == 2
    assert held(history.checkout_version("second")) == [1, 2]
    assert held(javelin.dataset(uri, "first")) == held(javelin.LanceDataset(uri, "first")) == [1]
    history.checkout_version(2).tags.update("first")
    moved = tags.list()["first"]
    assert moved["version"] == 2 and moved["created_at"] == first["created_at"] < moved["updated_at"]
    tags.replace_metadata("first", {"a": "b"})
    assert tags.list()["first"] == {**moved, "metadata": {"a": "b"}}
    tags.delete("first")
    assert "first" not in tags.list()


def test_tags_that_are_refused(history, uri):
    history.tags.create("release", 1)
    with pytest.raises(errors.AlreadyExists, match="release") as raised:
        history.tags.create("release")
    assert isinstance(raised.value, ValueError) and isinstance(raised.value, OSError)
    for call in (
        lambda: history.tags.get_version("releas"),
        lambda: history.tags.update("releas", 1),
        lambda: history.tags.delete("releas"),
        lambda: history.tags.replace_metadata("releas", {}),
        lambda: history.tags.create("x", "releas"),
        lambda: history.checkout_version("releas"),
        lambda: javelin.dataset(uri, "releas"),
    ):
        with pytest.raises(errors.NotFound, match="no tag 'releas'; did you mean 'release'"):
            call()
    with pytest.raises(errors.NotFound, match="version 9"):
        history.tags.create("x", 9)
    with pytest.raises(errors.NotFound, match="no branch 'b'"):
        history.tags.create("x", ("b", 1))
    for name in ("a/b", "", ".a", "a b", "a.lock"):
        with pytest.raises(errors.InvalidInput, match="name for a tag"):
            history.tags.create(name)
    with pytest.raises(errors.InvalidInput, match="order"):
        history.tags.list_ordered("up")
    with pytest.raises(errors.InvalidInput, match="at least 0"):
        history.checkout_version(-1)
    assert list(history.tags.list()) == ["release"]


def test_times_of_other_writers(history, uri):
    os.makedirs(f"{uri}/_refs/tags")
    utc = datetime.timezone.utc
    for text, time in {
        '"2026-01-02T03:04:05Z"': datetime.datetime(2026, 1, 2, 3, 4, 5, tzinfo=utc),
        '"2026-01-02T03:04:05.123456789Z"': datetime.datetime(2026, 1, 2, 3, 4, 5, 123456, tzinfo=utc),
        '"2026-01-02T03:04:05.5+02:00"': datetime.datetime(2026, 1, 2, 1, 4, 5, 500000, tzinfo=utc),
        "null": None,
    }.items():
        with open(f"{uri}/_refs/tags/t.json", "w", encoding="utf-8") as file:
            file.write(f'{{"branch": null, "version": 1, "createdAt": {text}, "manifestSize": 5}}')
        tag = history.tags.list()["t"]
        assert tag["created_at"] == time and tag["updated_at"] is None
    with open(f"{uri}/_refs/tags/t.json", "w", encoding="utf-8") as file:
        file.write('{"version": 1, "createdAt": "yesterday"}')
    with pytest.raises(errors.Corruption, match="yesterday"):
        history.tags.list()


# ---- branches and clones ----


def test_a_branch_goes_its_own_way(history, uri):
    branch = history.create_branch("feature/a", 2)
    assert branch.version == 2 and branch.uri == f"{uri}/tree/feature/a" and held(branch) == [1, 2]
    branch.insert(rows([20]))
    assert branch.version == 3 and held(branch) == [1, 2, 20]
    assert held(javelin.dataset(uri)) == [1, 2, 3]
    for found in (
        history.checkout_version(("feature/a", None)),
        branch.checkout_version(("feature/a", 3)),
        branch.checkout_version(3),
        javelin.dataset(uri, ("feature/a", None)),
        javelin.dataset(branch.uri),
        pickle.loads(pickle.dumps(history.checkout_version(("feature/a", None)))),
    ):
        assert held(found) == [1, 2, 20] and found.uri == branch.uri
    for main in (branch.checkout_version((None, 3)), branch.checkout_version(("main", None)),
                 javelin.dataset(branch.uri, ("main", 3)), pickle.loads(pickle.dumps(branch.checkout_version(("main", None))))):
        assert held(main) == [1, 2, 3] and main.uri == uri
    old = branch.checkout_version(2)
    old.checkout_latest()
    assert held(old) == [1, 2, 20]
    written = javelin.write_dataset(rows([21]), branch, mode="append")
    assert held(written) == [1, 2, 20, 21] and written.uri == branch.uri
    javelin.write_dataset(rows([22]), branch.uri, mode="append")
    branch.checkout_latest()
    assert held(branch) == [1, 2, 20, 21, 22]
    branch.checkout_version(2).restore()
    assert held(javelin.dataset(branch.uri)) == [1, 2] and held(javelin.dataset(uri)) == [1, 2, 3]
    branch.tags.create("t", 3)
    assert history.tags.list()["t"]["branch"] == "feature/a"
    assert held(javelin.dataset(uri, "t")) == held(javelin.dataset(branch.uri, "t")) == [1, 2, 20]
    assert pickle.loads(pickle.dumps(javelin.dataset(uri, "t"))).uri == branch.uri


def test_branches(history):
    history.create_branch("b", 3).create_branch("c")
    history.create_branch("a", 1)
    branches = history.branches
    assert {name: (entry["parent_branch"], entry["parent_version"]) for name, entry in branches.list().items()} == {
        "a": (None, 1), "b": (None, 3), "c": ("b", 3)}
    identifier = branches.list()["c"]["branch_identifier"]
    assert [version for version, _ in identifier] == [3, 3] and all(len(id) == 32 for _, id in identifier)
    assert set(branches.list()["a"]) == {
        "parent_branch", "branch_identifier", "parent_version", "create_at", "manifest_size", "metadata"}
    assert [name for name, _ in branches.list_ordered()] == ["b", "c", "a"]
    assert [name for name, _ in branches.list_ordered("asc")] == ["a", "b", "c"]
    branches.replace_metadata("a", {"k": "v"})
    assert branches.list()["a"]["metadata"] == {"k": "v"}
    with pytest.raises(errors.AlreadyExists, match="'a'"):
        history.create_branch("a")
    with pytest.raises(errors.InvalidInput, match="'c' started from 'b'"):
        branches.delete("b")
    for name in ("main", "a//b", "a b", ""):
        with pytest.raises(errors.InvalidInput, match="name for a branch"):
            history.create_branch(name)
    with pytest.raises(errors.NotFound, match="no branch 'd'"):
        branches.delete("d")
    with pytest.raises(errors.NotFound, match="version 9"):
        history.create_branch("d", 9)
    for name in ("c", "b", "a"):
        branches.delete(name)
    assert branches.list() == {}


def test_clones(history, uri, tmp_path):
    target = tmp_path / "clone.lance"
    clone = history.shallow_clone(target, 2)
    assert clone.uri == str(target) and clone.version == 2 and held(clone) == [1, 2]
    clone.insert(rows([30]))
    assert held(javelin.dataset(target)) == [1, 2, 30] and held(javelin.dataset(uri)) == [1, 2, 3]
    assert not os.path.exists(target / "data" / os.listdir(f"{uri}/data")[0])
    with pytest.raises(errors.AlreadyExists):
        history.shallow_clone(target, 1)
    history.tags.create("first", 1)
    assert held(history.shallow_clone(str(tmp_path / "tagged.lance"), "first", {"sync": "false"})) == [1]
    assert held(history.checkout_version(1).shallow_clone(str(tmp_path / "own.lance"), None)) == [1]


# ---- configuration and metadata ----


def test_configuration(history, uri):
    assert history.config() == {}
    assert history.update_config({"a": "1", "b": "2"}) == {"a": "1", "b": "2"} and history.version == 4
    assert history.update_config({"a": None, "c": "3"}) == {"b": "2", "c": "3"}
    assert history.update_config({"d": "4", "b": None}, replace=True) == {"d": "4"}
    assert history.delete_config_keys(["d", "e"]) is None
    assert history.config() == javelin.dataset(uri).config() == {} and held(history) == [1, 2, 3]
    history.update_config({"a": "1"})
    with pytest.raises(errors.IncompatibleConflict):
        javelin.dataset(uri, 3).update_config({"a": "2"})
    stale = javelin.dataset(uri, history.version - 1)
    assert stale.update_config({"z": "2"}) == {"a": "1", "z": "2"}


def test_metadata(history):
    assert history.update_metadata({"a": "1"}) == history.metadata == {"a": "1"}
    assert history.update_schema_metadata({"b": "2"}) == history.schema_metadata == {"b": "2"}
    assert history.schema.metadata == {b"b": b"2"} and history.to_table().schema.metadata == {b"b": b"2"}
    history.update_field_metadata({"text": {"c": "3"}})
    assert history.schema.field("text").metadata == {b"c": b"3"}
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        history.replace_schema_metadata({"d": "4"})
        history.replace_field_metadata("text", {"e": "5"})
    assert [warning.category for warning in caught] == [DeprecationWarning] * 2
    assert all(warning.filename == __file__ for warning in caught)
    assert history.schema.metadata == {b"d": b"4"} and history.schema.field("text").metadata == {b"e": b"5"}
    assert history.metadata == {"a": "1"}
    with pytest.raises(errors.InvalidInput, match="'tex' does not exist; did you mean 'text'"):
        history.update_field_metadata({"tex": {"a": "b"}})
    version = history.version
    for change in ({"lance-schema:unenforced-primary-key": None}, {"lance-schema:unenforced-primary-key": "false"}):
        with pytest.raises(errors.InvalidInput, match="key marks"):
            history.update_field_metadata({"id": change})
    assert history.version == version and history.schema.field("text").metadata == {b"e": b"5"}


# ---- what changed ----


def test_what_changed_is_asked_for_in_one_way(history):
    for wrong in ({}, {"begin_version": 1}, {"end_version": 1}, {"compared_against": 1, "begin_version": 1, "end_version": 2}):
        with pytest.raises(errors.InvalidInput, match="compared_against"):
            history.delta(**wrong)
    for rows_of in (history.delta(1).get_inserted_rows, history.delta(begin_version=1, end_version=2).get_updated_rows):
        with pytest.raises(errors.NotSupported, match="stable row ids"):
            rows_of()


# ---- a model ----


@pytest.mark.parametrize("seed", range(6))
def test_a_random_story_agrees_with_a_model(uri, seed):
    chance = random.Random(seed)
    dataset = javelin.write_dataset(rows([0]), uri)
    versions, config, tags = {1: [0]}, {1: {}}, {}
    for number in range(1, 60):
        newest = max(versions)
        step = chance.choice(["append", "append", "restore", "config", "tag", "move", "drop", "checkout"])
        picked = chance.choice(list(versions))
        if step == "append":
            dataset.checkout_latest()
            dataset.insert(rows([number]))
            versions[newest + 1], config[newest + 1] = versions[newest] + [number], config[newest]
        elif step == "restore":
            dataset = dataset.checkout_version(picked)
            dataset.restore()
            versions[newest + 1], config[newest + 1] = versions[picked], config[picked]
        elif step == "config":
            dataset.checkout_latest()
            dataset.update_config({f"k{number % 5}": str(number)})
            versions[newest + 1], config[newest + 1] = versions[newest], {**config[newest], f"k{number % 5}": str(number)}
        elif step == "tag" and f"t{number % 7}" not in tags:
            dataset.tags.create(f"t{number % 7}", picked)
            tags[f"t{number % 7}"] = picked
        elif step == "move" and tags:
            name = chance.choice(list(tags))
            dataset.tags.update(name, picked)
            tags[name] = picked
        elif step == "drop" and tags:
            name = chance.choice(list(tags))
            dataset.tags.delete(name)
            del tags[name]
        elif step == "checkout":
            name = chance.choice([picked, *tags])
            dataset = dataset.checkout_version(name)
            assert dataset.version == tags.get(name, name)
            assert held(dataset) == sorted(versions[dataset.version]) and dataset.config() == config[dataset.version]
    assert {name: tag["version"] for name, tag in dataset.tags.list().items()} == tags
    for version, ids in versions.items():
        assert held(javelin.dataset(uri, version)) == sorted(ids)
