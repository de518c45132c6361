"""The released peer in a process of its own (it can panic, and tests kill it).

    with Peer() as peer:
        peer.run("ds = lance.dataset(uri)", uri=uri)
        rows = peer.value("ds.to_table().to_pylist()")
        peer.kill()

Code runs in one namespace per process that has `lance` and `pa`; values cross as pickles. A failure there is PeerError here.
`Peer("javelin")` is a process of ours of the same kind, for tests that kill it.
"""

import importlib
import os
import pathlib
import pickle
import signal
import struct
import subprocess
import sys
import time


def built_tool(name):
    """Path of a program of this folder: what JAVELIN_<NAME> says, else the one that was built last."""
    given = os.environ.get(f"JAVELIN_{name.upper()}")
    built = pathlib.Path(__file__).resolve().parents[2].glob(f"build/*/tests/interop/{name}")
    found = [pathlib.Path(given)] if given else sorted(built, key=lambda path: path.stat().st_mtime)
    if not found:
        raise FileNotFoundError(f"build the target {name} first")
    return str(found[-1])


class PeerError(Exception):
    """An exception inside the peer's process: its class name and message."""

    def __init__(self, kind, message):
        super().__init__(f"{kind}: {message}")
        self.kind = kind


class PeerDied(Exception):
    """The peer's process ended while it should have answered."""


def _send(stream, value):
    data = pickle.dumps(value)
    stream.write(struct.pack("<Q", len(data)) + data)
    stream.flush()


def _receive(stream):
    header = stream.read(8)
    if len(header) < 8:
        raise EOFError
    return pickle.loads(stream.read(struct.unpack("<Q", header)[0]))


class Peer:
    def __init__(self, library="lance"):
        environment = {**os.environ, "PYTHONPATH": os.pathsep.join(filter(None, sys.path))}
        self.process = subprocess.Popen([sys.executable, __file__, library], stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                                        env=environment)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.kill()

    def _call(self, kind, code, names):
        try:
            _send(self.process.stdin, (kind, code, names))
            return self._answer()
        except (EOFError, BrokenPipeError) as failure:
            raise PeerDied(f"the peer's process ended with {self.process.wait()}") from failure

    def _answer(self, reports=None):
        while True:
            status, value = _receive(self.process.stdout)
            if status == "failed":
                raise PeerError(*value)
            if status == "done":
                return value
            if reports is not None:
                reports.append(value)

    def run(self, code, **names):
        """Executes statements; `names` are set in the namespace first."""
        self._call("run", code, names)

    def value(self, code, **names):
        """Evaluates an expression and returns its (pickled) value."""
        return self._call("value", code, names)

    def answer(self, code, expression, **names):
        """The value of an expression after statements."""
        self.run(code, **names)
        return self.value(expression)

    def _report(self):
        status, value = _receive(self.process.stdout)
        if status == "failed":
            raise PeerError(*value)
        assert status == "report", "the code ended before it had reported that often"
        return value

    def run_and_kill(self, code, seconds, after=0, **names):
        """Executes statements and ends the process with SIGKILL in the middle of them: `seconds` after they called
        `report(value)` for the `after`-th time. Returns what they reported, and True if they were done by then."""
        _send(self.process.stdin, ("run", code, names))
        try:
            reports = [self._report() for _ in range(after)]
            time.sleep(seconds)
            self._end()
            self._answer(reports)
            return reports, True
        except EOFError:
            return reports, False
        finally:
            self.kill()

    def _end(self):
        if self.process.poll() is None:
            self.process.send_signal(signal.SIGKILL)
        self.process.wait()

    def kill(self):
        """Ends the process with SIGKILL: nothing of it is closed."""
        self._end()
        self.process.stdin.close()
        self.process.stdout.close()


def _serve(library):
    import pyarrow as pa

    answers = os.fdopen(os.dup(1), "wb")
    os.dup2(2, 1)  # prints of the library must not mix with answers
    namespace = {library: importlib.import_module(library), "pa": pa, "report": lambda value: _send(answers, ("report", value))}
    while True:
        try:
            kind, code, names = _receive(sys.stdin.buffer)
        except EOFError:
            return
        try:
            namespace.update(names)
            if kind == "run":
                exec(code, namespace)
                answer = None
            else:
                answer = eval(code, namespace)
            _send(answers, ("done", answer))
        except BaseException as failure:  # a panic of the peer arrives as BaseException
            _send(answers, ("failed", (type(failure).__name__, str(failure))))


if __name__ == "__main__":
    _serve(sys.argv[1])
