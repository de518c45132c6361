"""What the datasets of a process share."""

from __future__ import annotations

import os
import threading
from typing import Optional

from . import _arguments, _core


class Session:
    """Threads, stores and caches that datasets share; also who sees whose writers: :meth:`LanceDataset.fresh` reads the live
    writers of its own session. Without one, datasets share the session of the process.

    Handles of a session do not survive a fork: in the child they raise :class:`javelin.errors.Closed`. A new session (the
    default one too) works there.

    Args:
        memory_limit_bytes: What reads and writes of this session may hold at once, in bytes (at least 1 MiB); what does
            not fit raises :class:`javelin.errors.OutOfMemory`. By default a quarter of the machine's memory, at most
            4 GiB. Caches hold up to half as much besides. Batches and tables that were returned are the caller's and do
            not count, nor does what shard writers buffer, which has its own limits (:meth:`LanceDataset.mem_wal_writer`).
    """

    def __init__(self, memory_limit_bytes: Optional[int] = None) -> None:
        limit = _arguments.optional_whole_number("memory_limit_bytes", memory_limit_bytes, _LEAST_MEMORY_BYTES)
        self._core = _core.Session(limit or 0)

    @property
    def memory_limit_bytes(self) -> int:
        """What reads and writes of this session may hold at once, in bytes."""
        return self._core.memory_limit_bytes

    @property
    def memory_used_bytes(self) -> int:
        """What reads and writes of this session hold now, and the metadata of files that it has open, in bytes."""
        return self._core.memory_used_bytes


_LEAST_MEMORY_BYTES = 1 << 20

_lock = threading.Lock()
_default: Optional[Session] = None


def of(session: Optional[Session]) -> Session:
    """`session`, or the one of this process."""
    if session is not None:
        if not isinstance(session, Session):
            raise _arguments.wrong_type("session", "a javelin.Session", session)
        return session
    global _default
    with _lock:
        if _default is None:
            _default = Session()
        return _default


def _forget_after_fork() -> None:
    global _default, _lock
    _lock = threading.Lock()
    _default = None


os.register_at_fork(after_in_child=_forget_after_fork)
