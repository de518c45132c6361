"""Tables that earlier releases wrote: each folder beside this file is one, and is read for ever."""

import shutil
from pathlib import Path

import pytest

import javelin
import make

FOLDERS = sorted(folder for folder in Path(__file__).parent.iterdir() if Path(folder, "table.lance").is_dir())


def by_id(table):
    found = {row["id"]: row for row in table.to_pylist()}
    assert len(found) == table.num_rows
    return found


def expected(with_log):
    """What make.py has put, newest version of each key."""
    found = {}
    for keys, tag in ((range(1, 40), "base"), ((3, 4, 50, 51), "first"), ((4, 52), "second"), ((5, 50, 60), "third")):
        if tag == "third":
            del found[51], found[5]
        found |= by_id(make.rows(*keys, tag=tag))
    if with_log:
        found |= by_id(make.rows(60, 61, tag="log"))
        del found[1]
    return found


@pytest.fixture(params=FOLDERS, ids=lambda folder: folder.name)
def uri(request, tmp_path):
    return str(shutil.copytree(Path(request.param, "table.lance"), tmp_path / "table.lance"))


def test_there_are_golden_tables():
    assert FOLDERS


def test_base_and_sstables_read_the_same(uri):
    dataset = javelin.dataset(uri)
    assert by_id(dataset.to_table()) == by_id(make.rows(*range(1, 40), tag="base"))
    view = dataset.fresh()
    assert by_id(view.to_table()) == expected(with_log=False)
    assert by_id(view.get([60, 51, 50, 5, 4, 1])) == {key: row for key, row in expected(False).items() if key in (60, 50, 5, 4, 1)}


def test_the_log_is_replayed_and_the_shard_goes_on(uri):
    dataset = javelin.dataset(uri)
    with dataset.mem_wal_writer(make.SHARD) as writer:
        assert by_id(writer.lsm_scanner().to_table()) == expected(with_log=True)
        writer.put(make.rows(100, tag="now"))
    assert by_id(dataset.fresh().to_table()) == {**expected(with_log=True), **by_id(make.rows(100, tag="now"))}
