"""Exceptions of Javelin: one class per kind of failure.

Decide by class or by :attr:`JavelinError.kind`, never by message text. Every class also derives from the built-in exception
that the released ``lance`` package raises in the same place, so ``except ValueError`` and ``except OSError`` written for that
package keep working.
"""

from __future__ import annotations

from typing import Dict, Mapping, Type


class JavelinError(Exception):
    """Base of everything that Javelin raises about data, storage or state.

    Attributes
    ----------
    kind : str
        The kind of failure, the same word on every surface: ``"InvalidInput"``, ``"Fenced(PeerClaimedEpoch)"``, ...
    retryable : bool
        True if the same call can succeed later without any other change.
    fields : dict of str to str
        Named facts: shard, epoch, version, path, ... Which ones are there depends on the failure.
    """

    kind: str = "Internal"
    retryable: bool = False

    def __init__(self, message: str, fields: Mapping[str, str] = {}) -> None:
        super().__init__(message)
        self.fields: Dict[str, str] = dict(fields)

    def __reduce__(self):
        return type(self), (str(self), self.fields)


class InvalidInput(JavelinError, ValueError, OSError):
    """Bad data, schema, option or argument. Nothing was changed; fix the call."""

    kind = "InvalidInput"


class WrongType(InvalidInput, TypeError):
    """An argument is of another type than the call takes. Nothing was changed; fix the call."""


class NotSupported(JavelinError, NotImplementedError, ValueError, OSError):
    """Legal, but not handled: refused rather than answered in part."""

    kind = "NotSupported"


class NotFound(JavelinError, ValueError, OSError):
    """The table, version, shard or object does not exist."""

    kind = "NotFound"


class AlreadyExists(JavelinError, ValueError, OSError):
    """A create met an existing object."""

    kind = "AlreadyExists"


class Precondition(JavelinError, OSError):
    """A conditional write lost: the object changed meanwhile."""

    kind = "Precondition"


class Fenced(JavelinError, OSError):
    """This shard writer lost the right to write; base of the two reasons."""


class FencedPeerClaimedEpoch(Fenced):
    """Another writer claimed the shard. Drop this writer; open a new one only if you should own the shard."""

    kind = "Fenced(PeerClaimedEpoch)"


class FencedPersistenceFailure(Fenced):
    """This writer cannot vouch for its log any more. Open a new one; it replays what is in the log."""

    kind = "Fenced(PersistenceFailure)"


class Backpressure(JavelinError, OSError):
    """The data was not accepted because too much is waiting to be written. Retry later."""

    kind = "Backpressure"
    retryable = True


class VersionConflict(JavelinError, OSError):
    """A race for a shard manifest was lost, after retries."""

    kind = "VersionConflict"
    retryable = True


class Sealed(JavelinError, OSError):
    """The shard is sealed: no claim until it is unsealed or dropped."""

    kind = "Sealed"


class ClaimLost(JavelinError, OSError):
    """Another claimer won the shard. Give up or back off."""

    kind = "ClaimLost"


class WalGap(JavelinError, OSError):
    """A position of the log is missing below its tip: needs an operator."""

    kind = "WalGap"


class WalCorrupt(JavelinError, OSError):
    """An entry of the log does not decode: needs an operator."""

    kind = "WalCorrupt"


class IncompatibleConflict(JavelinError, OSError):
    """A concurrent commit makes this one meaningless."""

    kind = "IncompatibleConflict"


class RetryableConflict(JavelinError, OSError):
    """A concurrent commit touched the same rows. Run the operation again."""

    kind = "RetryableConflict"
    retryable = True


class OutcomeUnknown(JavelinError, OSError):
    """The answer to a conditional write was lost and reading could not tell whether it took place."""

    kind = "OutcomeUnknown"


class Corruption(JavelinError, OSError):
    """A manifest, data, deletion or index file does not decode."""

    kind = "Corruption"


class Transient(JavelinError, OSError):
    """The store failed in a way that may pass."""

    kind = "Transient"
    retryable = True


class Denied(JavelinError, PermissionError):
    """The store refused the credentials."""

    kind = "Denied"


class IO(JavelinError, OSError):
    """Any other failure of the store."""

    kind = "IO"


class OutOfMemory(JavelinError, MemoryError):
    """The memory budget does not allow it."""

    kind = "OutOfMemory"


class Cancelled(JavelinError, OSError):
    """The work was dropped before it ran."""

    kind = "Cancelled"


class Timeout(Cancelled, TimeoutError):
    """The time given passed first. The work goes on; its outcome is open."""


class Closed(JavelinError, RuntimeError, OSError):
    """The handle was closed or aborted, or crossed a fork."""

    kind = "Closed"


class ClosedFile(Closed, ValueError):
    """A blob file was closed; as with every file of Python, also a ValueError."""


class Internal(JavelinError, RuntimeError, OSError):
    """A broken invariant: a bug of Javelin. Please report it."""

    kind = "Internal"


_CLASS_OF_KIND: Dict[str, Type[JavelinError]] = {
    error.kind: error
    for error in (
        InvalidInput,
        NotSupported,
        NotFound,
        AlreadyExists,
        Precondition,
        FencedPeerClaimedEpoch,
        FencedPersistenceFailure,
        Backpressure,
        VersionConflict,
        Sealed,
        ClaimLost,
        WalGap,
        WalCorrupt,
        IncompatibleConflict,
        RetryableConflict,
        OutcomeUnknown,
        Corruption,
        Transient,
        Denied,
        IO,
        OutOfMemory,
        Cancelled,
        Closed,
        Internal,
    )
}


def _from_core(kind: str, message: str, fields: Dict[str, str]) -> JavelinError:
    return _CLASS_OF_KIND[kind](message, fields)
