"""The sums of scripts/test: what crashed, hung, or never ran must not look like success."""

import pathlib
import subprocess
import sys
import xml.etree.ElementTree as xml

import pytest

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "scripts" / "run"))
import benchmarks  # noqa: E402
import tests as runner  # noqa: E402

CASES = """<testsuites><testsuite name="A">
  <testcase name="Good" classname="A" status="run"/>
  <testcase name="Bad" classname="A" status="run"><failure message="no"/></testcase>
  <testcase name="Off" classname="A" status="notrun"/>
  <testcase name="Left" classname="A" status="run"><skipped/></testcase>
</testsuite></testsuites>"""


def entry(status: str) -> xml.Element:
    return xml.fromstring(f'<testcase name="base_test" status="{status}"/>')


@pytest.mark.parametrize(
    ("status", "cases", "passed", "failed", "skipped"),
    [
        ("fail", CASES, 1, ["release: base_test: A.Bad"], 2),
        ("run", None, 1, [], 0),  # no gtest executable
        ("run", "<testsuites></testsuites>", 1, [], 0),
        ("fail", None, 0, ["release: base_test: the executable failed as a whole"], 0),  # crash before the XML
        ("fail", CASES[:60], 0, ["release: base_test: the executable failed as a whole"], 0),  # crash while writing
        ("fail", CASES.replace('<failure message="no"/>', ""), 2,
         ["release: base_test: the executable failed as a whole"], 2),  # leak found at exit
        ("notrun", None, 0, ["release: base_test: the executable failed as a whole"], 0),  # not built
        ("disabled", None, 0, [], 1),
    ],
)
def test_one_ctest_entry(tmp_path, status, cases, passed, failed, skipped):
    cases_file = tmp_path / "base_test.xml"
    if cases is not None:
        cases_file.write_text(cases)
    tally = runner.ctest_entry("release", entry(status), cases_file)
    assert (tally.passed, tally.failures, tally.skipped) == (passed, failed, skipped)


def raising(error: Exception):
    def phase():
        raise error

    return phase


@pytest.mark.parametrize(
    ("phase", "may_be_empty", "exit_code", "last_line"),
    [
        (lambda: runner.Tally(passed=3), False, 0, "3 passed, 0 failed"),
        (lambda: runner.Tally(passed=3, failures=["x"]), False, 1, "3 passed, 1 failed"),
        (lambda: runner.Tally(), False, 1, "0 passed, 1 failed"),
        (lambda: runner.Tally(), True, 1, "0 passed, 0 failed"),  # a label that nothing carries: nothing ran in all
        (lambda: runner.Tally(skipped=2), False, 1, "0 passed, 1 failed"),
        (lambda: None, False, 1, "0 passed, 0 failed"),
        (raising(subprocess.CalledProcessError(2, ["cmake", "--build"])), False, 1, "0 passed, 1 failed"),
        (raising(subprocess.TimeoutExpired("pytest", 3)), False, 1, "0 passed, 1 failed"),
    ],
)
def test_phases(capsys, phase, may_be_empty, exit_code, last_line):
    phases = runner.Phases()
    phases.run("a phase", phase, may_be_empty)
    assert phases.report() == exit_code
    assert capsys.readouterr().out.rstrip("\n").split("\n")[-1] == last_line


@pytest.mark.parametrize(
    ("installed", "ci", "outcome"), [(False, False, (0, 1, 0)), (False, True, (0, 0, 1)), (True, True, (1, 0, 0))]
)
def test_a_missing_formatter_is_a_failure_in_ci_only(monkeypatch, tmp_path, installed, ci, outcome):
    scripts = tmp_path / "scripts"
    scripts.mkdir()
    (scripts / "format").write_text(f"#!/bin/sh\nexit {0 if installed else 1}\n")
    (scripts / "format").chmod(0o755)
    monkeypatch.setattr(runner, "ROOT", tmp_path)
    monkeypatch.setattr(runner, "FORMATTER", "sh" if installed else "no-such-formatter")
    monkeypatch.setenv("CI", "1") if ci else monkeypatch.delenv("CI", raising=False)
    phases = runner.Phases()
    phases.run("format", runner.format_check, may_be_empty=True)
    assert (phases.total.passed, phases.total.skipped, len(phases.total.failures)) == outcome


@pytest.mark.parametrize(("exit_code", "passed", "failed"), [(0, 1, 0), (1, 0, 1)])
def test_the_quickstart_phase_is_as_good_as_its_exit_code(monkeypatch, tmp_path, exit_code, passed, failed):
    scripts = tmp_path / "scripts"
    scripts.mkdir()
    (scripts / "quickstart").write_text(f'#!/bin/sh\ntest "$1" = --out && test -d "$2" && exit {exit_code}\nexit 9\n')
    (scripts / "quickstart").chmod(0o755)
    monkeypatch.setattr(runner, "ROOT", tmp_path)
    phases = runner.Phases()
    phases.run("quickstart", runner.quickstart)
    assert (phases.total.passed, len(phases.total.failures)) == (passed, failed)


def test_ratio_above_one_means_better_for_every_unit():
    report = benchmarks.Report("b")
    report.add("seconds", ours=2.0, peer=6.0, unit="s", better="lower")
    report.add("rows", ours=600, peer=200, unit="rows/s", better="higher")
    report.add("ours alone", ours=1, peer=None, unit="MB", better="lower")
    assert [measurement.ratio for measurement in report.measurements] == [3.0, 3.0, None]
    with pytest.raises(ValueError):
        report.add("wrong", ours=1, peer=1, unit="s", better="less")


@pytest.mark.parametrize(
    ("ours", "better", "goal", "exit_code"),
    [
        (3.0, "lower", 3.0, 0), (3.1, "lower", 3.0, 1), (28.8, "higher", 28.8, 0), (28.7, "higher", 28.8, 1),
        (float("nan"), "lower", 3.0, 1), (9.0, "lower", None, 0),
    ],
)
def test_a_missed_goal_fails_the_benchmarks(capsys, ours, better, goal, exit_code):
    report = benchmarks.Report("b")
    report.add("a figure", ours=ours, peer=None, unit="s", better=better, goal=goal)
    benchmarks.print_table(report.measurements)
    assert benchmarks.conclude(report.measurements, []) == exit_code
    assert ("MISSED" in capsys.readouterr().out) == bool(exit_code)
    assert benchmarks.conclude(report.measurements, ["another"]) == 1
    assert benchmarks.conclude([], []) == 1


@pytest.mark.parametrize(("ours", "text"), [(2.0, "<= 2 met"), (2.1, "<= 2 not yet"), (float("nan"), "<= 2 not yet")])
def test_an_aim_is_printed_and_fails_nothing(capsys, ours, text):
    report = benchmarks.Report("b")
    report.add("a figure", ours=ours, peer=4.0, unit="s", better="lower", aim=2.0)
    benchmarks.print_table(report.measurements)
    assert benchmarks.conclude(report.measurements, []) == 0
    assert text in capsys.readouterr().out


def test_a_fuzz_finding_says_what_and_for_which_input():
    log = ["#2 INITED", "==7== ERROR: libFuzzer: deadly signal", "SUMMARY: libFuzzer: deadly signal", "0x41,",
           "artifact_prefix='x/'; Test unit written to x/crash-1", "Base64: QQ=="]
    assert runner.fuzz_finding(log) == "SUMMARY: libFuzzer: deadly signal Base64: QQ=="
    assert runner.fuzz_finding([]) == "no summary"
