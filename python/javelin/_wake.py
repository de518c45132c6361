"""Waking asyncio when tickets are done."""

from __future__ import annotations

import asyncio
import itertools
import weakref
from typing import Any, Dict

from . import _core


class Waker:
    """One per event loop. The library announces finished tickets through a file descriptor that the loop watches, so however
    many puts one append completes, the loop wakes once, and no thread of the library runs Python code."""

    def __init__(self, loop: asyncio.AbstractEventLoop) -> None:
        self._queue = _core.WakeQueue()
        self._keys = itertools.count()
        self._waiting: Dict[int, "asyncio.Future[None]"] = {}
        loop.add_reader(self._queue.fileno(), self._wake)

    async def settled(self, ticket: Any) -> None:
        """Return when the ticket is done, however it ended."""
        key = next(self._keys)
        future = asyncio.get_running_loop().create_future()
        self._waiting[key] = future
        try:
            ticket.announce(self._queue, key)
            await future
        finally:
            self._waiting.pop(key, None)

    def _wake(self) -> None:
        for key in self._queue.take():
            future = self._waiting.get(key)
            if future is not None and not future.done():
                future.set_result(None)


_wakers: "weakref.WeakKeyDictionary[asyncio.AbstractEventLoop, Waker]" = weakref.WeakKeyDictionary()


def waker_of(loop: asyncio.AbstractEventLoop) -> Waker:
    waker = _wakers.get(loop)
    if waker is None:
        waker = _wakers[loop] = Waker(loop)
    return waker
