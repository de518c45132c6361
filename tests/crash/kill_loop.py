"""Kills a writer process again and again on real files and checks after each kill what it left behind.

Alone:  python tests/crash/kill_loop.py --kills 200 --seed 7 --folder /tmp/kill_loop
"""

import argparse
import dataclasses
import json
import os
import pathlib
import random
import signal
import subprocess
import sys
import time
import uuid

ROOT = pathlib.Path(__file__).resolve().parents[2]


def writer_program() -> pathlib.Path:
    """The built crash_writer: of JAVELIN_BUILD_DIR, else of the newest build tree that has one."""
    given = os.environ.get("JAVELIN_BUILD_DIR")
    trees = [pathlib.Path(given)] if given else [ROOT / "build" / preset for preset in ("release", "debug")]
    found = [tree / "tests" / "crash" / "crash_writer" for tree in trees]
    found = [program for program in found if program.exists()]
    if not found:
        raise FileNotFoundError(f"crash_writer is not built in {', '.join(map(str, trees))}")
    return max(found, key=lambda program: program.stat().st_mtime)


@dataclasses.dataclass
class Loop:
    """One table with one shard, and the journal of every writer process that it had."""

    folder: pathlib.Path
    seed: int
    durability: str = "durable"  # or "pretended"

    def __post_init__(self) -> None:
        self.random = random.Random(self.seed)
        self.table = self.folder / "table"
        self.journal = self.folder / "journal"
        self.shard = str(uuid.UUID(int=self.random.getrandbits(128), version=4))
        self.program = writer_program()
        self.kills = 0

    def call(self, *words, check: bool = True) -> subprocess.CompletedProcess:
        done = subprocess.run([str(word) for word in (self.program, *words)], capture_output=True, text=True, timeout=120)
        if check and done.returncode != 0:
            raise AssertionError(f"{words[0]} ended with {done.returncode}:\n{done.stdout}{done.stderr}")
        return done

    def create(self) -> None:
        self.call("create", self.table)

    def kill_once(self) -> None:
        """Starts a writer and kills it at a random moment: while it opens, replays or writes."""
        words = ["write", self.table, self.shard, self.journal, self.durability,
                 self.random.choice(["interval", "eager"]), self.random.getrandbits(32)]
        before = self.journal_lines()
        process = subprocess.Popen([str(word) for word in (self.program, *words)], stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True)
        # No line: while it starts. One: while it opens. More: while it writes.
        self.wait_for_journal(process, before + self.random.choice([0, 1, 1, self.random.randint(2, 200), self.random.randint(2, 200)]))
        time.sleep(self.random.choice([0.001, 0.01, 0.1]) * self.random.random())
        process.send_signal(signal.SIGKILL)
        _, errors = process.communicate(timeout=60)
        if process.returncode != -signal.SIGKILL:
            raise AssertionError(f"the writer ended by itself with {process.returncode}: {errors}")
        self.kills += 1

    def wait_for_journal(self, process: subprocess.Popen, lines: int) -> None:
        while process.poll() is None and self.journal_lines() < lines:
            time.sleep(0.001)

    def journal_lines(self) -> int:
        return self.journal.read_bytes().count(b"\n") if self.journal.exists() else 0

    def check(self) -> dict:
        """Opens the shard again and compares; the writer program's report. Raises if it could not even open."""
        done = self.call("check", self.table, self.shard, self.journal, check=False)
        if done.returncode not in (0, 1):
            raise AssertionError(f"check ended with {done.returncode} after {self.kills} kills: {done.stdout}{done.stderr}")
        return json.loads(done.stdout)

    def rows(self) -> dict[int, tuple[int, int]]:
        """What a reader of the log must see: key -> (operation, ordinal)."""
        lines = self.call("rows", self.table, self.shard, self.journal).stdout.splitlines()
        return {int(key): (int(operation), int(ordinal)) for key, operation, ordinal in map(str.split, lines)}

    def rows_of_the_released_peer(self) -> dict[int, tuple[int, int]]:
        """The same through pylance in a process of its own, which claims the shard and replays it."""
        script = pathlib.Path(__file__).with_name("read_with_pylance.py")
        done = subprocess.run([sys.executable, str(script), str(self.table), self.shard], capture_output=True, text=True, timeout=120)
        if done.returncode != 0:
            raise AssertionError(f"the released peer failed: {done.stdout}{done.stderr}")
        rows = json.loads(done.stdout)
        assert len({row[0] for row in rows}) == len(rows), f"the released peer reads a key twice: {rows}"
        return {key: (operation, ordinal) for key, operation, ordinal in rows}


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--kills", type=int, default=25)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--folder", type=pathlib.Path, required=True)
    parser.add_argument("--durability", choices=["durable", "pretended"], default="durable")
    arguments = parser.parse_args()
    loop = Loop(arguments.folder, arguments.seed, arguments.durability)
    loop.create()
    for _ in range(arguments.kills):
        loop.kill_once()
        report = loop.check()
        print(json.dumps(report))
        if report["violations"]:
            return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
