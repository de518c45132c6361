"""Upkeep of tables: :meth:`LanceDataset.optimize` and clean-up of old versions."""

import pathlib
from datetime import timedelta

import pytest
from support import ids_of, rows

import javelin
from javelin import errors
from javelin.optimize import Compaction, CompactionMetrics, CompactionPlan, CompactionTask, RewriteResult


@pytest.fixture
def parts(uri):
    """Rows 0 to 39 in eight fragments."""
    return javelin.write_dataset(rows(range(40)), uri, max_rows_per_file=5)


def data_files(uri):
    return sorted(path.name for path in pathlib.Path(uri, "data").iterdir())


def test_fewer_files(parts, uri):
    metrics = parts.optimize.compact_files(target_rows_per_fragment=20, max_source_fragments=4)
    assert metrics == CompactionMetrics(fragments_removed=4, fragments_added=1, files_removed=4, files_added=1)
    assert parts.version == 3 == javelin.dataset(uri).version
    assert ids_of(parts.to_table()) == list(range(40))
    parts.optimize.compact_files()
    assert parts.optimize.compact_files() == CompactionMetrics(0, 0, 0, 0)
    assert parts.version == 5
    assert ids_of(parts.to_table()) == list(range(40))  # new fragments come behind the others


def test_steps(parts, uri):
    plan = Compaction.plan(parts, {"target_rows_per_fragment": 10, "num_threads": 2, "io_buffer_size": 1 << 20})
    assert [task.fragment_ids for task in plan.tasks] == [[0, 1], [2, 3], [4, 5], [6, 7]]
    assert repr(plan) == "CompactionPlan(read_version=1, tasks=<4 compaction tasks>)"
    results = [task.execute(parts) for task in plan.tasks]
    assert all(result.metrics == CompactionMetrics(2, 1, 2, 1) for result in results)
    assert Compaction.commit(parts, []) == CompactionMetrics(0, 0, 0, 0) and parts.version == 1
    assert Compaction.commit(parts, results) == CompactionMetrics(8, 4, 8, 4)
    assert parts.to_table()["id"].to_pylist() == list(range(40))
    with pytest.raises(errors.InvalidInput):
        Compaction.commit(javelin.dataset(uri, version=1), [results[0], results[0]])


@pytest.mark.parametrize("options", [
    {"target_rows_per_fragment": 0}, {"max_rows_per_group": 0}, {"max_bytes_per_file": 0}, {"num_threads": 0}, {"batch_size": 0},
    {"materialize_deletions_threshold": 1.5}, {"materialize_deletions_threshold": float("nan")}, {"max_source_fragments": 0},
    {"max_source_rows": 0}, {"max_source_bytes": -1}, {"compaction_mode": "copy"}, {"excluded_fragment_ids": [-1]},
    {"binary_copy_read_batch_bytes": 0}, {"data_storage_version": "9.9"},
    {"target_rows_per_fragment": "10"}, {"materialize_deletions": 1}, {"materialize_deletions_threshold": "half"},
    {"excluded_fragment_ids": 3}, {"defer_index_remap": "yes"},
], ids=str)
def test_options_that_are_refused(parts, uri, options):
    files = data_files(uri)
    for call in (lambda: parts.optimize.compact_files(**options), lambda: Compaction.plan(parts, options)):
        with pytest.raises((errors.InvalidInput, errors.NotSupported)):
            call()
    assert data_files(uri) == files and javelin.dataset(uri).version == 1


@pytest.mark.parametrize("options", [{"compaction_mode": "force_binary_copy"}, {"defer_index_remap": True}], ids=str)
def test_options_that_are_not_there(parts, uri, options):
    with pytest.raises(errors.NotSupported, match=next(iter(options))):
        parts.optimize.compact_files(**options)
    assert len(data_files(uri)) == 8


def test_unknown_options(parts):
    with pytest.raises(TypeError):
        parts.optimize.compact_files(no_such_option=1)
    with pytest.raises(errors.InvalidInput, match="no_such_option"):
        Compaction.plan(parts, {"no_such_option": 1})


@pytest.mark.parametrize("kind", [CompactionPlan, CompactionTask, RewriteResult])
@pytest.mark.parametrize("text", ["", "[]", "{}", '{"read_version": "x", "tasks": [], "fragments": [], "options": {}}'])
def test_json_of_something_else(kind, text):
    with pytest.raises(errors.InvalidInput):
        kind.from_json(text)


def test_results_that_were_changed(parts):
    task = Compaction.plan(parts, {}).tasks[0]
    good = task.execute(parts).json()
    for bad in (good.replace('"added": "', '"added": "ff'), good.replace('"fragments": [0, ', '"fragments": [')):
        with pytest.raises(errors.JavelinError):
            Compaction.commit(parts, [RewriteResult.from_json(bad)])
    with pytest.raises(errors.WrongType):
        Compaction.commit(parts, [good])
    Compaction.commit(parts, [RewriteResult.from_json(good)])
    assert parts.to_table()["id"].to_pylist() == list(range(40))


# ---- old versions ----


def test_old_versions_go(parts, uri):
    parts.optimize.compact_files()
    explanation = parts.explain_cleanup_old_versions(timedelta(0), include_files=True, max_files=3)
    assert len(explanation.candidate_files) == 3 and explanation.candidate_files_truncated and explanation.read_version == 3
    assert not parts.explain_cleanup_old_versions(timedelta(0)).candidate_files_truncated
    stats = parts.cleanup_old_versions(timedelta(0), delete_rate_limit=1000, delete_concurrency=4)
    assert stats == explanation.stats
    assert (stats.old_versions, stats.data_files_removed, stats.transaction_files_removed, stats.failed_deletes) == (2, 8, 2, 0)
    assert [version["version"] for version in parts.versions()] == [3]
    assert len(data_files(uri)) == 1
    with pytest.raises(errors.NotFound):
        javelin.dataset(uri, version=1)


def test_two_weeks_by_default(parts):
    parts.optimize.compact_files()
    assert parts.cleanup_old_versions().old_versions == 0
    assert parts.cleanup_old_versions(timedelta(days=10**6)).old_versions == 0
    assert parts.cleanup_old_versions(retain_versions=2).old_versions == 1
    assert parts.cleanup_old_versions(versions=[2, 3, 99]).old_versions == 1


@pytest.mark.parametrize("arguments", [
    {"retain_versions": 0}, {"versions": []}, {"versions": 3}, {"versions": ["1"]}, {"older_than": 3}, {"delete_rate_limit": 0},
    {"delete_concurrency": 0}, {"delete_unverified": "no"},
], ids=str)
def test_clean_ups_that_are_refused(parts, arguments):
    with pytest.raises(errors.InvalidInput):
        parts.cleanup_old_versions(**arguments)
