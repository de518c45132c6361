"""Shared by the tests of the Python package: tables, and processes of their own."""

import os
import pathlib
import subprocess
import sys
import textwrap
import uuid

import _javelin_core
import pyarrow as pa
import pytest

import javelin

KEY = {"lance-schema:unenforced-primary-key": "true"}
SCHEMA = pa.schema([pa.field("id", pa.int64(), nullable=False, metadata=KEY), pa.field("text", pa.string())])
BUILD = pathlib.Path(_javelin_core.__file__).parent
PACKAGE = pathlib.Path(javelin.__file__).parents[1]


def rows(ids, text="row"):
    """One row per id, of SCHEMA."""
    ids = list(ids)
    return pa.table({"id": ids, "text": [f"{text} {i}" for i in ids]}, schema=SCHEMA)


def ids_of(table):
    return sorted(table["id"].to_pylist())


def wal_entries(uri, shard):
    """Objects in the log of a shard."""
    folder = pathlib.Path(uri) / "_mem_wal" / shard / "wal"
    return sorted(path.name for path in folder.glob("*.arrow")) if folder.exists() else []


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


def run_python(code, *arguments, check=True, timeout=120):
    """Runs code in a new interpreter that finds the package."""
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join([str(PACKAGE), str(BUILD), str(PACKAGE / "tests")])}
    result = subprocess.run(
        [sys.executable, "-c", textwrap.dedent(code), *map(str, arguments)],
        env=environment, capture_output=True, text=True, timeout=timeout, check=False,
    )
    if check and result.returncode != 0:
        raise AssertionError(f"exit code {result.returncode}\n{result.stdout}\n{result.stderr}")
    return result
