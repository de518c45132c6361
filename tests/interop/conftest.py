"""Shared by the interop tests: a shard, and the released peer in a process of its own."""

import uuid

import pytest

from peer import Peer


@pytest.fixture
def shard():
    return str(uuid.uuid4())


@pytest.fixture
def peer(request):
    """A peer of this test alone, which has run the `HELPERS` of the test's module if there are any."""
    with Peer() as process:
        process.run(getattr(request.module, "HELPERS", ""))
        yield process
