"""One program under the released package and under ours: the same answers, but for what is listed here on purpose."""

import json
import os
import pathlib
import subprocess
import sys

import pytest
from conftest import BUILD, PACKAGE

SCRIPT = pathlib.Path(__file__).with_name("parity_script.py")

#: Steps whose answers differ on purpose, and why.
ON_PURPOSE = {}


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
