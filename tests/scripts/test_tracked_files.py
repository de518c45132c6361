"""What is tracked and what is ignored do not overlap: an ignored file that is tracked hides its changes from `git status`."""

import pathlib
import subprocess

import pytest

ROOT = pathlib.Path(__file__).resolve().parents[2]


@pytest.mark.skipif(not (ROOT / ".git").exists(), reason="this is no checkout of the repository")
def test_no_tracked_file_is_ignored():
    command = ["git", "ls-files", "--cached", "--ignored", "--exclude-standard"]
    listing = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=True).stdout
    assert listing.split("\n") == [""], f"tracked, though .gitignore names it:\n{listing}"
