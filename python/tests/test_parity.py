"""One program under the released package and under ours: the same answers, but for what is listed here on purpose."""

import json
import os
import pathlib
import subprocess
import sys

import pytest
from support import BUILD, PACKAGE, run_python

import javelin

SCRIPT = pathlib.Path(__file__).with_name("parity_script.py")

#: Steps whose answers differ on purpose, and why.
ON_PURPOSE = {"put batches without schema": "a writer knows the schema of its table"}


def run(package, folder):
    folder.mkdir()
    result = subprocess.run(
        [sys.executable, str(SCRIPT), package, str(folder)],
        env={**os.environ, "PYTHONPATH": os.pathsep.join([str(PACKAGE), str(BUILD)]), "RUST_LOG": "off"},
        capture_output=True, text=True, timeout=300, check=False,
    )
    assert result.returncode == 0, result.stderr
    return json.loads(result.stdout)


def fits(ours, theirs):
    """Equal; a failure must be of every built-in class that theirs is of."""
    if isinstance(theirs, dict) and "raised" in theirs:
        return isinstance(ours, dict) and "raised" in ours and set(theirs["raised"]) <= set(ours["raised"])
    return ours == theirs


@pytest.mark.interop
def test_existing_code_gets_the_same_answers(tmp_path):
    theirs, ours = run("lance", tmp_path / "lance"), run("javelin", tmp_path / "javelin")
    assert set(theirs) == set(ours)
    different = {name: (ours[name], theirs[name]) for name in theirs if not fits(ours[name], theirs[name])}
    assert {name: different[name] for name in different if name not in ON_PURPOSE} == {}
    assert set(ON_PURPOSE) <= set(different), "no longer different"


@pytest.mark.interop
def test_versions_of_a_table_with_deleted_rows_hold_the_same(uri):
    theirs = run_python(
        """
        import json, sys, lance, pyarrow as pa
        ds = lance.write_dataset(pa.table({"a": range(10)}), sys.argv[1], max_rows_per_file=4)
        ds.delete("a in (1, 2, 5)")
        ds.insert(pa.table({"a": range(3)}))
        ds.delete("a >= 8")
        print(json.dumps([entry["metadata"] for entry in ds.versions()]))
        """,
        uri,
    ).stdout
    ours = [entry["metadata"] for entry in javelin.dataset(uri).versions()]
    assert ours == json.loads(theirs)
    assert (ours[3]["total_rows"], ours[3]["total_deletion_file_rows"]) == ("8", "3")
