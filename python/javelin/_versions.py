"""Versions of a table: which there are, going to one, and going back."""

from __future__ import annotations

from datetime import datetime, timedelta, timezone
from pathlib import Path
from typing import TYPE_CHECKING, Any, Dict, List, Mapping, Optional, Union

from . import _arguments, _references, errors
from ._references import Branches, Reference, Tags
from ._table import Table

if TYPE_CHECKING:
    from typing_extensions import Self

_EPOCH = datetime(1970, 1, 1, tzinfo=timezone.utc)
_LAST = 2**63 - 1


def nanoseconds(name: str, value: Any) -> int:
    """A time as nanoseconds since 1970; one without a time zone is local. Beyond what 64 bits hold, the last one that they do."""
    if isinstance(value, str):
        try:
            value = datetime.fromisoformat(value)
        except ValueError:
            raise errors.InvalidInput(f"{name} must be a time such as '2026-01-31 23:59:59', got {value!r}") from None
    if not isinstance(value, datetime):
        raise _arguments.wrong_type(name, "a datetime or a str", value)
    try:
        exact = (value.astimezone(timezone.utc) - _EPOCH) // timedelta(microseconds=1) * 1000
    except (OverflowError, ValueError, OSError):  # what the calendar of the system cannot say
        raise errors.InvalidInput(f"{name} is out of range: {value}") from None
    return min(max(exact, -_LAST), _LAST)


def _entry(version: int, nanoseconds: int, holds: Mapping[str, int]) -> Dict[str, Any]:
    return {
        "version": version,
        "timestamp": datetime.fromtimestamp(nanoseconds // 10**9) + timedelta(microseconds=nanoseconds % 10**9 // 1000),
        "metadata": {name: str(number) for name, number in holds.items()},
    }


class Versions(Table):
    """The methods of a dataset that are about its versions."""

    @property
    def version(self) -> int:
        """The version that this object reads."""
        return self._core.version

    @property
    def latest_version(self) -> int:
        """The newest version of the table now; asks the store."""
        return self._core.latest_number()

    def versions(self) -> List[Dict[str, Any]]:
        """All versions, oldest first: dicts with ``version`` (int), ``timestamp`` (datetime, local time) and ``metadata``, a dict
        of decimal texts: ``total_rows``, ``total_fragments``, ``total_data_files``, ``total_files_size`` (bytes),
        ``total_data_file_rows``, ``total_deletion_files`` and ``total_deletion_file_rows``, as far as the manifests say."""
        return [_entry(*version) for version in self._core.versions()]

    def get_version(self) -> Dict[str, Any]:
        """The version that this object reads, as an entry of :meth:`versions`; asks nobody."""
        return _entry(*self._core.this_version())

    def version_refs(self) -> List[Dict[str, int]]:
        """All versions, oldest first, as dicts with ``version`` alone: one listing."""
        return [{"version": version} for version in self._core.version_numbers()]

    def checkout_version(self, version: Reference) -> "Self":
        """A version as a new object.

        Parameters
        ----------
        version : int, str or tuple
            A version of the branch that this object is on, the name of a tag, or (branch, version): None or ``"main"`` is the
            table's own branch, and None for the version is the newest there.

        Raises
        ------
        javelin.errors.NotFound
            There is no such version, tag or branch.
        """
        return self._with(self._core.checkout(_references.reference("version", version)))

    def checkout_latest(self) -> None:
        """Move this object to the newest version of the branch that it is on."""
        self._core = self._core.latest()

    def restore(self, force: bool = False) -> None:
        """Make what this object holds the newest version of its branch, and move to it: one commit. Nothing is lost; the
        versions in between stay.

        Parameters
        ----------
        force : bool
            Also where rows of shards are in neither place afterwards: the restored version does not hold them, and the shard
            has let go of them since (:meth:`compact_shards`). Going on with such a shard raises Corruption until a version
            that holds them is restored.

        Raises
        ------
        javelin.errors.InvalidInput
            Rows of shards would be lost, and `force` is not set; the fields ``shard`` and ``generation`` say which. Or the
            version is from before MemWAL was turned on, or before rows had ids of their own.
        javelin.errors.IncompatibleConflict, RetryableConflict, OutcomeUnknown
            The commit failed. Except for OutcomeUnknown nothing is visible of it.
        """
        self._core = self._core.restore(_arguments.flag("force", force))

    # ---- names ----

    @property
    def tags(self) -> Tags:
        """The tags of the table."""
        return Tags(self)

    @property
    def branches(self) -> Branches:
        """The branches of the table."""
        return Branches(self)

    def create_branch(self, branch: str, reference: Optional[Reference] = None) -> "Self":
        """Start a branch, whose versions go their own way, and return its first version: the one it starts at, under the same
        number. No data is copied.

        Parameters
        ----------
        branch : str
            Letters, digits, ``.``, ``_`` and ``-``, with ``/`` between words; not ``"main"``.
        reference : int, str or tuple, optional
            Where it starts, as for :meth:`checkout_version`; the version of this object by default.

        Raises
        ------
        javelin.errors.AlreadyExists, NotFound, InvalidInput
            There is such a branch, or files of one; there is no such version; nothing can have that name.
        """
        name = _arguments.text("branch", branch)
        return self._with(self._core.create_branch(name, _references.optional_reference("reference", reference)))

    def shallow_clone(
        self,
        target_path: Union[str, Path],
        reference: Optional[Reference],
        storage_options: Optional[Mapping[str, str]] = None,
    ) -> "Self":
        """Make a table of its own that begins with a version of this one, under the same number. Its data stays where it is:
        the clone cannot be read any more once those files are cleaned up here.

        Parameters
        ----------
        target_path : str or Path
            Where the new table is to be.
        reference : int, str, tuple or None
            The version, as for :meth:`checkout_version`; None is that of this object.
        storage_options : dict of str to str, optional
            Options of the new table's store; those of this one by default.

        Raises
        ------
        javelin.errors.AlreadyExists, NotFound
            There is a table at `target_path`; there is no such version.
        """
        target = _arguments.location(target_path)
        options = None if storage_options is None else _arguments.string_map("storage_options", storage_options)
        core = self._core.shallow_clone(target, _references.optional_reference("reference", reference), options)
        return self._make(core, target, self._storage_options if options is None else options, self._session)
