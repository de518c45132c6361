"""Runs bench/<name>.py, each in a process of its own, and prints what they measured as a table; see bench/README.md."""

import argparse
import dataclasses
import importlib.metadata
import importlib.util
import json
import os
import pathlib
import platform
import statistics
import subprocess
import sys
import tempfile
import time

ROOT = pathlib.Path(__file__).resolve().parents[2]
FOLDER = ROOT / "bench"


@dataclasses.dataclass
class Measurement:
    """One line of the table. `ratio` says how many times better ours is: above 1 = better than the peer. `goal` is what ours
    must reach, `aim` what it should: at most where lower is better, at least where higher is."""

    bench: str
    case: str
    unit: str
    better: str  # "lower" or "higher"
    ours: float
    peer: float | None
    ratio: float | None
    goal: float | None = None
    aim: float | None = None

    def reaches(self, target: float) -> bool:
        return self.ours <= target if self.better == "lower" else self.ours >= target

    def missed(self) -> bool:
        return self.goal is not None and not self.reaches(self.goal)


class Report:
    """What a benchmark's `run(report)` fills in."""

    def __init__(self, bench: str) -> None:
        self.bench = bench
        self.measurements: list[Measurement] = []

    def add(self, case: str, ours: float, peer: float | None, unit: str, better: str, goal: float | None = None,
            aim: float | None = None) -> None:
        """One figure of ours against the peer's; `peer` is None where the peer has no such thing. A `goal` that ours misses
        makes scripts/bench fail; whether it reaches its `aim` is printed only."""
        if better not in ("lower", "higher"):
            raise ValueError(f"better is '{better}', not 'lower' or 'higher'")
        ratio = None
        if peer is not None:
            over, under = (peer, ours) if better == "lower" else (ours, peer)
            ratio = over / under if under else None
        self.measurements.append(Measurement(self.bench, case, unit, better, ours, peer, ratio, goal, aim))

    def time(self, case: str, ours, peer=None, repeats: int = 5) -> None:
        """Median seconds of the two callables, run in turn so that both meet the same state of the machine."""
        seconds: dict[str, list[float]] = {"ours": [], "peer": []}
        for _ in range(repeats):
            for side, function in (("ours", ours), ("peer", peer)):
                if function is not None:
                    started = time.perf_counter()
                    function()
                    seconds[side].append(time.perf_counter() - started)
        median_of_peer = statistics.median(seconds["peer"]) if peer is not None else None
        self.add(case, statistics.median(seconds["ours"]), median_of_peer, unit="s", better="lower")


def discover() -> list[str]:
    return sorted(path.stem for path in FOLDER.glob("*.py") if not path.stem.startswith("_"))


def run_here(name: str, output: pathlib.Path) -> None:
    """Runs one benchmark in this process and writes its measurements to `output`."""
    sys.path.insert(0, str(FOLDER))
    spec = importlib.util.spec_from_file_location(f"bench_{name}", FOLDER / f"{name}.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    report = Report(name)
    module.run(report)
    output.write_text(json.dumps([dataclasses.asdict(measurement) for measurement in report.measurements]))


def run_in_child(name: str) -> list[Measurement] | None:
    """None if the benchmark failed; what it printed about that is on the terminal."""
    search_path = [str(ROOT / "python"), str(ROOT / "build" / "release" / "python"), os.environ.get("PYTHONPATH", "")]
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(filter(None, search_path))}
    with tempfile.TemporaryDirectory() as folder:
        output = pathlib.Path(folder) / "measurements.json"
        command = [sys.executable, __file__, "--run-here", str(output), name]
        if subprocess.run(command, cwd=ROOT, env=environment, check=False).returncode != 0 or not output.exists():
            return None
        return [Measurement(**values) for values in json.loads(output.read_text())]


def number(value: float | None) -> str:
    if value is None:
        return "-"
    return f"{value:,.0f}" if abs(value) >= 10_000 else f"{value:.4g}"


def target_text(measurement: Measurement, target: float | None, miss: str) -> str:
    """Of a goal or an aim; `miss` is the word for a figure that does not reach it."""
    if target is None:
        return "-"
    sign = "<=" if measurement.better == "lower" else ">="
    return f"{sign} {number(target)} {'met' if measurement.reaches(target) else miss}"


def goal_text(measurement: Measurement) -> str:
    return target_text(measurement, measurement.goal, "MISSED")


def aim_text(measurement: Measurement) -> str:
    return target_text(measurement, measurement.aim, "not yet")


def print_table(measurements: list[Measurement]) -> None:
    rows = [("case", "ours", "peer", "unit", "ratio", "goal", "aim")]
    for measurement in measurements:
        ratio = "-" if measurement.ratio is None else f"{measurement.ratio:.2f}x"
        rows.append((measurement.case, number(measurement.ours), number(measurement.peer), measurement.unit, ratio,
                     goal_text(measurement), aim_text(measurement)))
    widths = [max(len(row[column]) for row in rows) for column in range(len(rows[0]))]
    for row in rows:
        cells = [row[0].ljust(widths[0]), *(cell.rjust(width) for cell, width in zip(row[1:], widths[1:]))]
        print("  ".join(cells))


def conclude(measured: list[Measurement], failed: list[str]) -> int:
    """The last lines and the exit code: 0 only if something was measured, every benchmark ran and every goal was met."""
    missed = [measurement for measurement in measured if measurement.missed()]
    for measurement in missed:
        print(f"MISSED {measurement.bench}: {measurement.case}: {number(measurement.ours)} {measurement.unit}, goal "
              f"{goal_text(measurement)}")
    print(f"{len(measured)} figures measured, {len(failed)} benchmarks failed, {len(missed)} goals missed")
    return 0 if measured and not failed and not missed else 1


def version_of(package: str) -> str | None:
    try:
        return importlib.metadata.version(package)
    except importlib.metadata.PackageNotFoundError:
        return None


def surroundings() -> dict:
    commit = subprocess.run(["git", "rev-parse", "HEAD"], cwd=ROOT, capture_output=True, text=True, check=False)
    return {
        "commit": commit.stdout.strip() or None,
        "cores": os.cpu_count(),
        "machine": platform.machine(),
        "system": platform.platform(),
        "python": platform.python_version(),
        "pyarrow": version_of("pyarrow"),
        "pylance": version_of("pylance"),
    }


def main() -> int:
    parser = argparse.ArgumentParser(prog="scripts/bench", description="Benchmarks against the released peer.")
    parser.add_argument("names", nargs="*", metavar="NAME", help="bench/NAME.py (default: all)")
    parser.add_argument("--json", type=pathlib.Path, metavar="FILE", help="also write the measurements to FILE")
    parser.add_argument("--run-here", type=pathlib.Path, help=argparse.SUPPRESS)
    options = parser.parse_args()
    known = discover()
    unknown = sorted(set(options.names) - set(known))
    if unknown:
        parser.error(f"no benchmark named {', '.join(unknown)}; there are: {', '.join(known) or 'none'}")
    if options.run_here:
        run_here(options.names[0], options.run_here)
        return 0

    measured: list[Measurement] = []
    failed = []
    for name in options.names or known:
        print(f"== {name}", flush=True)
        measurements = run_in_child(name)
        if not measurements:
            failed.append(name)
            print(f"{name}: {'failed' if measurements is None else 'measured nothing'}", flush=True)
            continue
        print_table(measurements)
        measured += measurements
    if options.json:
        document = {"surroundings": surroundings(), "failed": failed,
                    "measurements": [dataclasses.asdict(measurement) for measurement in measured]}
        options.json.write_text(json.dumps(document, indent=2) + "\n")
    return conclude(measured, failed)


if __name__ == "__main__":
    sys.exit(main())
