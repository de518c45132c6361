"""What the tests of the Python package share: rows, and processes of their own. Fixtures: conftest.py."""

import os
import pathlib
import subprocess
import sys
import textwrap

import _javelin_core
import pyarrow as pa

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
