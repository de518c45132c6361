"""Fixtures of the tests of the Python package."""

import uuid

import pytest
from support import rows

import javelin


@pytest.fixture
def uri(tmp_path):
    return str(tmp_path / "table.lance")


@pytest.fixture
def shard():
    return str(uuid.uuid4())


@pytest.fixture
def table(uri):
    """A table with a key and MemWAL, rows 1 to 3 in the base."""
    dataset = javelin.write_dataset(rows([1, 2, 3], "base"), uri)
    dataset.initialize_mem_wal(unsharded=True)
    return dataset


@pytest.fixture
def writer(table, shard):
    with table.mem_wal_writer(shard, max_wal_flush_interval_ms=5) as writer:
        yield writer
