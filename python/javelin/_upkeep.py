"""Upkeep of a table: larger files, and fewer old versions."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import timedelta
from typing import TYPE_CHECKING, Any, Dict, List, Optional, cast

from . import _arguments
from ._table import Table
from .optimize import DatasetOptimizer

if TYPE_CHECKING:
    from .dataset import LanceDataset


@dataclass(frozen=True)
class CleanupStats:
    """What a clean-up removed: bytes, versions, and files by their kind. Data files count with the sidecars of their blobs.
    `failed_deletes` are files that could not be removed and count nowhere else; a later clean-up takes them."""

    bytes_removed: int
    old_versions: int
    data_files_removed: int
    transaction_files_removed: int
    index_files_removed: int
    deletion_files_removed: int
    failed_deletes: int


@dataclass(frozen=True)
class CleanupCandidateFile:
    """A file that a clean-up would remove. `path`: below the table. `kind`: ``"data"``, ``"deletion"``, ``"index"``,
    ``"transaction"`` or ``"manifest"``. `unverified`: no version names it."""

    path: str
    kind: str
    unverified: bool
    size_bytes: int


@dataclass(frozen=True)
class CleanupReferencedBranch:
    """A branch because of which a version stays: the one where it starts. `cleanup_candidate` is always False: branches are
    cleaned up by themselves."""

    name: str
    referenced_version: int
    cleanup_candidate: bool = False


@dataclass(frozen=True)
class CleanupExplanation:
    """What :meth:`LanceDataset.cleanup_old_versions` would remove."""

    read_version: int
    stats: CleanupStats
    candidate_files: List[CleanupCandidateFile]
    candidate_files_truncated: bool
    candidate_file_limit: int
    referenced_branches: List[CleanupReferencedBranch]
    warnings: List[str]


def _policy(
    older_than: Optional[timedelta],
    retain_versions: Optional[int],
    versions: Optional[List[int]],
    delete_unverified: bool,
    error_if_tagged_old_versions: bool,
) -> Dict[str, Any]:
    if older_than is not None and not isinstance(older_than, timedelta):
        raise _arguments.wrong_type("older_than", "a timedelta", older_than)
    if older_than is None and retain_versions is None and versions is None:
        older_than = timedelta(days=14)
    if versions is not None and not isinstance(versions, (list, tuple)):
        raise _arguments.wrong_type("versions", "a list of int", versions)
    return dict(
        older_than_us=None if older_than is None else _microseconds(older_than),
        retain_versions=_arguments.optional_whole_number("retain_versions", retain_versions, least=1),
        versions=None if versions is None else [_arguments.whole_number("versions", number) for number in versions],
        delete_unverified=_arguments.flag("delete_unverified", delete_unverified),
        error_if_tagged_old_versions=_arguments.flag("error_if_tagged_old_versions", error_if_tagged_old_versions),
    )


def _microseconds(time: timedelta) -> int:
    most = timedelta(days=80 * 365)  # longer than there have been clocks of this kind
    return max(-most, min(most, time)) // timedelta(microseconds=1)


class Upkeep(Table):
    """The methods of a dataset that keep it fast and small."""

    @property
    def optimize(self) -> DatasetOptimizer:
        """``optimize.compact_files()``: fewer and larger data files."""
        return DatasetOptimizer(cast("LanceDataset", self))

    def cleanup_old_versions(
        self,
        older_than: Optional[timedelta] = None,
        retain_versions: Optional[int] = None,
        *,
        delete_unverified: bool = False,
        error_if_tagged_old_versions: bool = True,
        delete_rate_limit: Optional[int] = None,
        versions: Optional[List[int]] = None,
        delete_concurrency: Optional[int] = None,
    ) -> CleanupStats:
        """Remove old versions and the files that only they needed. They cannot be opened or restored afterwards.

        The version of this object and all newer ones stay, as do those with a tag or where a branch starts, and detached
        ones. What another table takes from here by a shallow clone is not known here: such a clone breaks.

        Parameters
        ----------
        older_than : timedelta, optional
            Only versions committed longer ago; two weeks if nothing is said of `retain_versions` and `versions` either.
        retain_versions : int, optional
            Not the newest so many versions.
        versions : list of int, optional
            Only these. A version goes if all three, as far as they are given, say so.
        delete_unverified : bool
            Files that no version names stay for 7 days, because a commit under way may need them. True removes them at once:
            only while nobody writes to the table.
        error_if_tagged_old_versions : bool
            Raise if a version with a tag would go; False leaves it there without a word.
        delete_rate_limit : int, optional
            Requests that remove a file, a second, at most.
        delete_concurrency : int, optional
            How many of them at the same time, at most; one is, here.

        Raises
        ------
        javelin.errors.InvalidInput
            An argument, or a tag as above. Nothing was removed.
        javelin.errors.Corruption
            A manifest does not decode, so that nobody knows which files it needs. Nothing was removed.
        """
        if delete_concurrency is not None:
            _arguments.whole_number("delete_concurrency", delete_concurrency, least=1)
        limit = _arguments.optional_whole_number("delete_rate_limit", delete_rate_limit, least=1)
        policy = _policy(older_than, retain_versions, versions, delete_unverified, error_if_tagged_old_versions)
        return CleanupStats(**self._core.cleanup(**policy, delete_rate_limit=limit))

    def explain_cleanup_old_versions(
        self,
        older_than: Optional[timedelta] = None,
        retain_versions: Optional[int] = None,
        *,
        delete_unverified: bool = False,
        error_if_tagged_old_versions: bool = True,
        delete_rate_limit: Optional[int] = None,
        versions: Optional[List[int]] = None,
        include_files: bool = False,
        max_files: int = 1000,
    ) -> CleanupExplanation:
        """What :meth:`cleanup_old_versions` with these arguments would remove; removes nothing.

        Parameters
        ----------
        include_files : bool
            List the files, in the order in which they would go.
        max_files : int
            At most so many of them; the statistics are of all.
        """
        _arguments.optional_whole_number("delete_rate_limit", delete_rate_limit, least=1)
        listed = _arguments.whole_number("max_files", max_files) if _arguments.flag("include_files", include_files) else 0
        policy = _policy(older_than, retain_versions, versions, delete_unverified, error_if_tagged_old_versions)
        version, stats, files, count, branches = self._core.explain_cleanup(**policy, max_files=listed)
        return CleanupExplanation(
            read_version=version,
            stats=CleanupStats(**stats),
            candidate_files=[CleanupCandidateFile(*file) for file in files],
            candidate_files_truncated=bool(include_files) and count > len(files),
            candidate_file_limit=max_files,
            referenced_branches=[CleanupReferencedBranch(*branch) for branch in branches],
            warnings=[],
        )
