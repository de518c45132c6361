"""Runs the phases of scripts/test, prints the time of each and ends with one line `N passed, N failed`."""

import argparse
import concurrent.futures
import dataclasses
import os
import pathlib
import shutil
import subprocess
import sys
import tempfile
import time
import xml.etree.ElementTree as xml

ROOT = pathlib.Path(__file__).resolve().parents[2]
JOBS = int(os.environ.get("JOBS") or os.cpu_count() or 1)
FUZZ_SECONDS_PER_TARGET = 20
FUZZ_SECONDS_IN_ALL = 110
PYTEST_NOTHING_COLLECTED = 5
FORMATTER = "clang-format-19"


@dataclasses.dataclass
class Tally:
    """What ran: counts of test cases, and the names of those that failed."""

    passed: int = 0
    skipped: int = 0
    failures: list[str] = dataclasses.field(default_factory=list)

    def add(self, other: "Tally") -> None:
        self.passed += other.passed
        self.skipped += other.skipped
        self.failures += other.failures

    def line(self) -> str:
        return f"{self.passed} passed, {len(self.failures)} failed"


class Phases:
    """Runs phases one after another; a phase that raises or runs nothing is a failure of its own."""

    def __init__(self) -> None:
        self.total = Tally()
        self.times: list[tuple[str, float, str]] = []

    def run(self, name: str, phase, may_be_empty: bool = False) -> bool:
        """`phase` returns a Tally, or None when it only prepares. True when nothing in it failed."""
        print(f"== {name}", flush=True)
        started = time.monotonic()
        try:
            tally = phase()
        except subprocess.CalledProcessError as error:
            tally = Tally(failures=[f"{name}: exit code {error.returncode} of {' '.join(map(str, error.cmd[:4]))} ..."])
        except subprocess.TimeoutExpired as error:
            tally = Tally(failures=[f"{name}: no end after {error.timeout:.0f} s"])
        if tally is not None and not tally.passed and not tally.failures and not may_be_empty:
            tally.failures.append(f"{name}: no test ran")
        self.times.append((name, time.monotonic() - started, "" if tally is None else describe(tally)))
        if tally is None:
            return True
        self.total.add(tally)
        return not tally.failures

    def report(self) -> int:
        print("\n== times")
        for name, seconds, outcome in self.times:
            print(f"{name:<34}{seconds // 60:>4.0f}:{seconds % 60:02.0f}   {outcome}".rstrip())
        for failure in self.total.failures:
            print(f"FAILED {failure}")
        print(self.total.line(), flush=True)
        return 0 if self.total.passed and not self.total.failures else 1


def describe(tally: Tally) -> str:
    return tally.line() + (f", {tally.skipped} skipped" if tally.skipped else "")


def call(command: list, **options) -> None:
    subprocess.run([str(word) for word in command], cwd=ROOT, check=True, **options)


def emptied(folder: pathlib.Path) -> pathlib.Path:
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    return folder


def build(preset: str, *definitions: str) -> None:
    log = ROOT / "build" / "setup" / f"configure-{preset}.log"
    log.parent.mkdir(parents=True, exist_ok=True)
    with log.open("w") as out:
        try:
            call(["cmake", "--preset", preset, *definitions], stdout=out, stderr=subprocess.STDOUT)
        except subprocess.CalledProcessError:
            print(log.read_text())
            raise
    call(["cmake", "--build", "--preset", preset, "-j", JOBS])


def fixed_addresses() -> list[str]:
    """The prefix that switches address randomisation off: the sanitizers of this compiler reserve fixed ranges, and a
    kernel with many random bits maps into them ("unexpected memory mapping"). Containers may forbid the switch."""
    prefix = ["setarch", os.uname().machine, "-R"]
    probe = subprocess.run([*prefix, "true"], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, check=False)
    return prefix if probe.returncode == 0 else []


def ctest(preset: str, label: str | None, prefix: list[str] = []) -> Tally:
    """Runs the C++ tests of one build tree. Executables write their cases as XML; a test without it counts as one."""
    tree = ROOT / "build" / preset
    results = emptied(tree / "test-results")
    junit = results / "ctest.xml"
    command = [*prefix, "ctest", "--test-dir", tree, "-j", str(JOBS), "--output-on-failure", "--output-junit", junit]
    if label:
        command += ["-L", f"^{label}$"]
    environment = {**os.environ, "GTEST_OUTPUT": f"xml:{results}/"}
    exit_code = subprocess.run([str(word) for word in command], cwd=ROOT, env=environment, check=False).returncode
    tally = Tally()
    if junit.exists():
        for entry in xml.parse(junit).getroot().iter("testcase"):
            tally.add(ctest_entry(preset, entry, results / f"{entry.get('name')}.xml"))
    if exit_code != 0 and not tally.failures:
        tally.failures.append(f"{preset}: ctest ended with exit code {exit_code}")
    return tally


def ctest_entry(preset: str, entry: xml.Element, cases_file: pathlib.Path) -> Tally:
    name = f"{preset}: {entry.get('name')}"
    status = entry.get("status")
    if status == "disabled":
        return Tally(skipped=1)
    tally = gtest_cases(name, cases_file) if cases_file.exists() else Tally()
    if status != "run" and not tally.failures:  # crash, timeout, not built, a sanitizer's report at exit
        tally.failures.append(f"{name}: the executable failed as a whole")
    if status == "run" and not tally.passed and not tally.skipped:
        tally.passed = 1
    return tally


def gtest_cases(name: str, cases_file: pathlib.Path) -> Tally:
    tally = Tally()
    try:
        cases = list(xml.parse(cases_file).getroot().iter("testcase"))
    except xml.ParseError:  # the executable died while it wrote
        return tally
    for case in cases:
        if case.find("failure") is not None:
            tally.failures.append(f"{name}: {case.get('classname')}.{case.get('name')}")
        elif case.get("status") == "notrun" or case.find("skipped") is not None:
            tally.skipped += 1
        else:
            tally.passed += 1
    return tally


def python_environment() -> dict[str, str]:
    """The environment in which `import javelin` is the package of this tree with the release build of the extension."""
    search_path = [str(ROOT / "python"), str(ROOT / "build" / "release" / "python"), os.environ.get("PYTHONPATH", "")]
    return {**os.environ, "PYTHONPATH": os.pathsep.join(filter(None, search_path))}


def pytest(label: str | None) -> Tally:
    folders = [folder for folder in ("tests", "python/tests") if (ROOT / folder).is_dir()]
    junit = emptied(ROOT / "build" / "release" / "pytest-results") / "pytest.xml"
    command = [sys.executable, "-m", "pytest", "-q", "-n", str(JOBS), f"--junitxml={junit}", *folders]
    if label:
        command += ["-m", label]
    environment = {**python_environment(),
                   "JAVELIN_FILE_TOOL": str(ROOT / "build" / "release" / "tests" / "interop" / "file_tool")}
    exit_code = subprocess.run(command, cwd=ROOT, env=environment, check=False, timeout=2400).returncode
    tally = Tally()
    if junit.exists():
        for case in xml.parse(junit).getroot().iter("testcase"):
            if case.find("failure") is not None or case.find("error") is not None:
                tally.failures.append(f"python: {case.get('classname')}.{case.get('name')}")
            elif case.find("skipped") is not None:
                tally.skipped += 1
            else:
                tally.passed += 1
    if exit_code not in (0, PYTEST_NOTHING_COLLECTED) and not tally.failures:
        tally.failures.append(f"python: pytest ended with exit code {exit_code}")
    return tally


def quickstart() -> Tally:
    """The main job on real text, as a newcomer starts it; it checks itself."""
    with tempfile.TemporaryDirectory() as folder:
        call([ROOT / "scripts" / "quickstart", "--out", folder], env=python_environment(), timeout=600)
    return Tally(passed=1)


def format_check() -> Tally:
    """scripts/format --check where the formatter is installed; in CI it must be."""
    if shutil.which(FORMATTER) is None and not os.environ.get("CI"):
        print(f"{FORMATTER} is not installed (scripts/setup --with-tools)")
        return Tally(skipped=1)
    call([ROOT / "scripts" / "format", "--check"])
    return Tally(passed=1)


def fuzz_finding(log: list[str]) -> str:
    """What a target found and the input for it, in one line: where only the end of the output is kept, it is all there is."""
    wanted = ("SUMMARY:", "Base64:")
    return " ".join(line.strip() for line in log if line.strip().startswith(wanted))[:2000] or "no summary"


def fuzz(prefix: list[str]) -> Tally:
    """A short run of every fuzz target from its corpus, JOBS at a time."""
    listing = (ROOT / "build" / "fuzz" / "fuzzers.txt").read_text().split()
    targets = [tuple(map(pathlib.Path, line.split("|"))) for line in listing]
    seconds = min(FUZZ_SECONDS_PER_TARGET, FUZZ_SECONDS_IN_ALL * JOBS // max(1, len(targets)))
    results = emptied(ROOT / "build" / "fuzz" / "results")

    environment = dict(os.environ)
    seed = int(os.environ.get("JAVELIN_SEED_START", 0)) % 2**32  # 0: libFuzzer draws one
    if symbolizer := shutil.which("llvm-symbolizer-19"):
        environment["ASAN_SYMBOLIZER_PATH"] = symbolizer

    def run_one(target: tuple[pathlib.Path, pathlib.Path]) -> Tally:
        executable, corpus = target
        found = results / executable.name
        found.mkdir()
        command = [*prefix, executable, f"-max_total_time={max(1, seconds)}", "-timeout=20", "-rss_limit_mb=2048", f"-seed={seed}",
                   f"-artifact_prefix={found}/", found, *([corpus] if corpus.is_dir() else [])]
        log = results / f"{executable.name}.log"
        with log.open("w") as out:
            done = subprocess.run(list(map(str, command)), env=environment, stdout=out, stderr=subprocess.STDOUT, check=False)
        lines = log.read_text(errors="replace").splitlines()
        if done.returncode == 0:
            print(f"{executable.name}: {lines[-1] if lines else ''}", flush=True)
            return Tally(passed=1)
        print("\n".join(lines[-60:]), flush=True)
        return Tally(failures=[f"fuzz: {executable.name} (log and input under {found.relative_to(ROOT)}): {fuzz_finding(lines)}"])

    tally = Tally()
    with concurrent.futures.ThreadPoolExecutor(JOBS) as pool:
        for result in pool.map(run_one, targets):
            tally.add(result)
    return tally


def choose_simulation_seeds() -> None:
    """In CI every commit draws seeds of its own, and a second run of it the same ones (base/simulation.h)."""
    if os.environ.get("CI") and "JAVELIN_SEED_START" not in os.environ:
        commit = subprocess.run(["git", "rev-parse", "HEAD"], cwd=ROOT, capture_output=True, text=True, check=True).stdout
        os.environ["JAVELIN_SEED_START"] = str(int(commit[:8], 16) + 1)
        print(f"JAVELIN_SEED_START={os.environ['JAVELIN_SEED_START']}", flush=True)


def run_release(phases: Phases, label: str | None) -> bool:
    if not phases.run("release build", lambda: build("release")):
        return False
    phases.run("C++ tests", lambda: ctest("release", label), may_be_empty=label is not None)
    phases.run("Python tests", lambda: pytest(label), may_be_empty=label is not None)
    return True


def run_sanitizer(phases: Phases, preset: str, all_tests: bool, label: str | None) -> None:
    definitions = ["-DJAVELIN_TEST_LABEL="] if all_tests else []  # else the label that the preset names
    if phases.run(f"{preset} build", lambda: build(preset, *definitions)):
        phases.run(f"{preset} tests", lambda: ctest(preset, label, fixed_addresses()), may_be_empty=label is not None)


def run_fuzzers(phases: Phases) -> None:
    if phases.run("fuzz build", lambda: build("fuzz")):
        phases.run("fuzz runs", lambda: fuzz(fixed_addresses()))


def main() -> int:
    parser = argparse.ArgumentParser(prog="scripts/test")
    parser.add_argument("--fast", action="store_true", help="only the release build and its tests")
    parser.add_argument("--label", help="only tests with this label (C++) or marker (Python)")
    parser.add_argument("--sanitize", action="store_true", help="all C++ tests under the sanitizers, and the fuzz targets")
    options = parser.parse_args()
    if options.fast and options.sanitize:
        parser.error("--fast and --sanitize exclude each other")

    choose_simulation_seeds()
    phases = Phases()
    phases.times.append(("setup", float(os.environ.get("SETUP_SECONDS", 0)), ""))
    everything = not (options.fast or options.sanitize or options.label)
    if everything:
        phases.run("format", format_check, may_be_empty=True)
    compiles = options.sanitize or run_release(phases, options.label)
    if compiles and everything:
        phases.run("quickstart", quickstart)
    if compiles and not options.fast:
        for preset, label in (("asan-ubsan", "core"), ("tsan", "concurrency")):
            if options.sanitize or options.label in (None, label):
                run_sanitizer(phases, preset, options.sanitize, options.label)
        if options.label in (None, "fuzz"):
            run_fuzzers(phases)
    return phases.report()


if __name__ == "__main__":
    sys.exit(main())
