"""What documents and code say about each other holds: links lead somewhere, cited headings exist."""

import os
import pathlib
import re
import subprocess
import sys

import pytest

ROOT = pathlib.Path(__file__).resolve().parents[2]
CITATION = re.compile(r'docs/(\w+)\.md,\s*((?:"[^"]+"(?:,? (?:and )?)?)+)')
CODE = re.compile(r"^```.*?^```|`[^`\n]*`", re.MULTILINE | re.DOTALL)
LINK = re.compile(r"\]\(([^)#:]+)(?:#[^)]*)?\)")


def tracked(*patterns: str) -> list[pathlib.Path]:
    listing = subprocess.run(["git", "ls-files", "-z", "--", *patterns], cwd=ROOT, capture_output=True, text=True, check=True)
    return [ROOT / name for name in listing.stdout.split("\0") if name]


def headings(document: pathlib.Path) -> set[str]:
    return {match.group(1).strip() for match in re.finditer(r"^#+ (.+)$", document.read_text(), re.MULTILINE)}


def test_cited_headings_exist():
    missing = []
    for path in tracked("*.h", "*.cc", "*.py", "*.proto", "*.md"):
        text = re.sub(r"\n\s*(?://|#)\s?", " ", path.read_text())  # a citation may be wrapped inside a comment
        for document, cited in CITATION.findall(text):
            known = headings(ROOT / "docs" / f"{document}.md")
            missing += [f'{path.relative_to(ROOT)}: docs/{document}.md has no heading "{heading}"'
                        for heading in re.findall(r'"([^"]+)"', cited) if heading not in known]
    assert not missing, "\n".join(missing)


def test_links_lead_somewhere():
    missing = []
    for path in tracked("*.md"):
        for target in LINK.findall(CODE.sub("", path.read_text())):
            if not (path.parent / target).exists():
                missing.append(f"{path.relative_to(ROOT)}: {target}")
    assert not missing, "\n".join(missing)


def test_every_difference_is_held_by_tests_that_exist():
    code = {path: path.read_text() for path in tracked("*_test.cc", "*.py")}
    rows = [line for line in (ROOT / "docs" / "differences.md").read_text().splitlines() if line.startswith("|")][2:]
    assert rows
    missing = []
    for row in rows:
        held_by = row.rstrip("|").rsplit("|", 1)[1]
        names = re.findall(r"`([^`]+)`", held_by)
        if not names:
            missing.append(f"no test is named: {row}")
        for name in names:
            if "::" in name:
                file, test = name.split("::")
                found = any(path.name == file and f"def {test}(" in text for path, text in code.items())
            else:
                suite, test = name.split(".")
                found = any(re.search(rf"TEST(_[FP])?\({suite},\s*{test}\)", text) for text in code.values())
            if not found:
                missing.append(f"no such test: {name}")
    assert not missing, "\n".join(missing)


def test_every_count_of_requests_is_held_by_a_test_that_exists():
    code = "".join(path.read_text() for path in tracked("*_test.cc"))
    section = (ROOT / "docs" / "architecture.md").read_text().split("\n## Requests\n")[1].split("\n## ")[0]
    rows = [line for line in section.splitlines() if line.startswith("|")][2:]
    assert rows
    missing = []
    for row in rows:
        names = re.findall(r"`(\w+)\.(\w*)(?:\*|\.\.\.)?`", row.rstrip("|").rsplit("|", 1)[1])
        missing += [row] if not names else []
        missing += [f"{suite}.{test}" for suite, test in names if not re.search(rf"TEST(_[FP])?\({suite},\s*{test}", code)]
    assert not missing, "\n".join(missing)


@pytest.mark.parametrize("document", ["README.md", "python/README.md"])
def test_the_example_of_a_readme_prints_what_it_says(document, tmp_path):
    examples = re.findall(r"^```python\n(.*?)^```", (ROOT / document).read_text(), re.MULTILINE | re.DOTALL)
    example = "\n".join(examples)  # each goes on from the one before
    said = re.findall(r"^\s*print\(.*\)  # (.+)$", example, re.MULTILINE)
    assert said and len(said) == example.count("print(")
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)}
    done = subprocess.run([sys.executable, "-c", example], cwd=tmp_path, env=environment, capture_output=True, text=True,
                          timeout=60, check=False)
    assert (done.returncode, done.stdout.splitlines()) == (0, said), done.stderr
