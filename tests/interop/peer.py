"""The released peer in a process of its own (it can panic, and tests kill it).

    with Peer() as peer:
        peer.run("ds = lance.dataset(uri)", uri=uri)
        rows = peer.value("ds.to_table().to_pylist()")
        peer.kill()

Code runs in one namespace per process that has `lance` and `pa`; values cross as pickles. A failure there is PeerError here.
"""

import pickle
import signal
import struct
import subprocess
import sys


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
    def __init__(self):
        self.process = subprocess.Popen([sys.executable, __file__], stdin=subprocess.PIPE, stdout=subprocess.PIPE)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.kill()

    def _call(self, kind, code, names):
        try:
            _send(self.process.stdin, (kind, code, names))
            status, value = _receive(self.process.stdout)
        except (EOFError, BrokenPipeError) as failure:
            raise PeerDied(f"the peer's process ended with {self.process.wait()}") from failure
        if status == "failed":
            raise PeerError(*value)
        return value

    def run(self, code, **names):
        """Executes statements; `names` are set in the namespace first."""
        self._call("run", code, names)

    def value(self, code, **names):
        """Evaluates an expression and returns its (pickled) value."""
        return self._call("value", code, names)

    def kill(self):
        """Ends the process with SIGKILL: nothing of it is closed."""
        if self.process.poll() is None:
            self.process.send_signal(signal.SIGKILL)
        self.process.wait()
        self.process.stdin.close()
        self.process.stdout.close()


def _serve():
    import os

    import lance
    import pyarrow as pa

    answers = os.fdopen(os.dup(1), "wb")
    os.dup2(2, 1)  # prints of the library must not mix with answers
    namespace = {"lance": lance, "pa": pa}
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
    _serve()
