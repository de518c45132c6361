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
    """

    def __init__(self) -> None:
        self._core = _core.Session()


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
