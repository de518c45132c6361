"""What the package offers, held against itself and against the released package."""

import inspect
import json

import pyarrow.compute as pc
import pytest
from support import run_python

import javelin
from javelin._delta import DatasetDelta
from javelin._references import Branches, Tags

CLASSES = {
    "Session": javelin.Session,
    "LanceDataset": javelin.LanceDataset,
    "LanceFragment": javelin.LanceFragment,
    "BlobFile": javelin.BlobFile,
    "LanceScanner": javelin.LanceScanner,
    "MergeInsertBuilder": javelin.MergeInsertBuilder,
    "DatasetDelta": DatasetDelta,
    "Tags": Tags,
    "Branches": Branches,
    "FreshView": javelin.FreshView,
    "mem_wal.ShardWriter": javelin.mem_wal.ShardWriter,
    "mem_wal.LsmScanner": javelin.mem_wal.LsmScanner,
    "mem_wal.LsmPointLookupPlanner": javelin.mem_wal.LsmPointLookupPlanner,
    "mem_wal.ExecutionPlan": javelin.mem_wal.ExecutionPlan,
    "mem_wal.ShardSnapshot": javelin.mem_wal.ShardSnapshot,
    "mem_wal.Ticket": javelin.mem_wal.Ticket,
    "DatasetOptimizer": javelin.optimize.DatasetOptimizer,
    "optimize.Compaction": javelin.optimize.Compaction,
    "optimize.CompactionPlan": javelin.optimize.CompactionPlan,
    "optimize.CompactionTask": javelin.optimize.CompactionTask,
    "optimize.CompactionMetrics": javelin.optimize.CompactionMetrics,
    "optimize.RewriteResult": javelin.optimize.RewriteResult,
    "schema.LanceSchema": javelin.schema.LanceSchema,
    "schema.LanceField": javelin.schema.LanceField,
}
MADE_BY_USERS = ("CompactedSsTable", "LsmPointLookupPlanner", "ShardSnapshot", "ShardingField", "ShardingSpec", "evaluate_sharding_spec")
SPECIAL = {"__len__", "__arrow_c_stream__", "__enter__", "__exit__", "__await__"}


def arguments(member):
    if isinstance(member, property) or inspect.ismemberdescriptor(member):
        return ()
    member = getattr(member, "__func__", member)  # of a class
    return tuple(name for name in inspect.signature(member).parameters if name not in ("self", "_", "cls"))


def offered():
    names = {name: arguments(getattr(javelin, name)) for name in ("dataset", "write_dataset", "Session")}
    names["LanceDataset"] = arguments(javelin.LanceDataset)
    for name in MADE_BY_USERS:
        names[f"mem_wal.{name}"] = arguments(getattr(javelin.mem_wal, name))
    names["errors"] = ()
    for prefix, owner in CLASSES.items():
        areas = [part for part in owner.__mro__ if part.__module__.startswith("javelin")]
        for name, member in [item for part in reversed(areas) for item in vars(part).items()]:
            if name in SPECIAL or not name.startswith("_"):
                names[f"{prefix}.{name}"] = arguments(member)
    return names


def test_covered_and_ours_are_exactly_what_is_offered():
    listed = {
        name: set(javelin.COVERED.get(name, ())) | set(javelin.OURS.get(name, ()))
        for name in {**javelin.COVERED, **javelin.OURS}
    }
    assert listed == {name: set(names) for name, names in offered().items()}


@pytest.mark.interop
def test_the_released_package_has_everything_covered_and_nothing_of_ours():
    peer = json.loads(
        run_python(
            """
            import inspect, json, sys, lance, lance.mem_wal, lance.optimize
            lance.DatasetOptimizer = sys.modules["lance.dataset"].DatasetOptimizer
            found = {}
            for name in sys.argv[1:]:
                member = lance
                for part in name.split("."):
                    member = inspect.getattr_static(member, part, None) if inspect.isclass(member) else getattr(member, part, None)
                if member is None:
                    continue
                member = getattr(member, "__func__", member)
                try:
                    found[name] = list(inspect.signature(member).parameters)
                except (TypeError, ValueError):
                    found[name] = []
            print(json.dumps(found))
            """,
            *{**javelin.COVERED, **javelin.OURS},
        ).stdout
    )
    for name, names in javelin.COVERED.items():
        assert name in peer, name
        assert not set(names) - set(peer[name]), name
    for name, names in javelin.OURS.items():
        if name in javelin.COVERED:
            assert not set(names) & set(peer[name]), name
        else:
            assert name not in peer, name


@pytest.mark.parametrize("name", ["LanceOperation", "tokenize", "aio", "vector", "no_such_name"])
def test_a_name_that_is_not_covered_is_not_there(name):
    with pytest.raises(AttributeError):
        getattr(javelin, name)


def test_methods_that_are_not_covered_are_not_there(table, writer):
    for name in ("create_index", "sql", "join", "centroids"):
        with pytest.raises(AttributeError):
            getattr(table, name)
    with pytest.raises(AttributeError):
        table.fresh().search
    with pytest.raises(AttributeError):
        writer.tail
    with pytest.raises(AttributeError):
        writer.lsm_scanner().filter


def test_arguments_that_are_not_covered_are_refused(table, shard, uri):
    for call in (
        lambda: table.to_table(filter=pc.field("id") > 1),
        lambda: table.to_table(None, b"id > 1"),
        lambda: table.to_table(nearest={}),
        lambda: table.count_rows(1),
        lambda: table.count_rows(no_such_argument=1),
        lambda: table.scanner(prefilter=True),
        lambda: table.head(1, filter=1),
        lambda: table.to_table(columns={"a": 1}),
        lambda: table.to_table(columns={1: "id"}),
        lambda: table.to_table(late_materialization=["id"]),
        lambda: table.delete(None),
        lambda: table.delete("id = 1", retry_timeout=30),
        lambda: table.update([("id", "1")]),
        lambda: table.update({"text": "'a'"}, where=True),
        lambda: table.to_table(columns="id"),
        lambda: javelin.write_dataset([], uri, enable_stable_row_ids=True),
        lambda: table.mem_wal_writer(shard, hnsw_params={}),
        lambda: table.mem_wal_writer(shard, stats_log_interval_ms=1),
        lambda: table.initialize_mem_wal(stats_log_interval_ms=1),
        lambda: table.mem_wal_writer(shard, index_overrides={}),
        lambda: table.mem_wal_writer(shard, observer=print),
        lambda: table.mem_wal_writer(shard, warmer=print),
        lambda: table.mem_wal_writer(shard, backpressure_controller=print),
        lambda: table.mem_wal_writer(shard, may_freeze=print),
        lambda: table.fresh(at_least=b"token"),
    ):
        with pytest.raises(TypeError):
            call()


@pytest.mark.parametrize("old", ["sync_indexed_write", "async_index_buffer_rows", "async_index_interval"])
def test_knobs_of_old_releases_do_not_exist(table, shard, old):
    with pytest.raises(TypeError, match=old):
        table.mem_wal_writer(shard, **{old: 1})
    with pytest.raises(TypeError, match=old):
        table.initialize_mem_wal(**{old: 1})


def test_every_public_name_is_documented():
    for name in offered():
        owner, _, part = name.rpartition(".")
        member = inspect.getattr_static(CLASSES[owner], part) if owner in CLASSES else javelin
        for part in () if owner in CLASSES else name.split("."):
            member = getattr(member, part)
        if not name.split(".")[-1].startswith("__"):
            assert inspect.getdoc(member), name


def test_version():
    assert javelin.__version__.count(".") == 2
