"""Names of versions: what may stand for one in a call, and the tags and branches of a table."""

from __future__ import annotations

import re
from datetime import datetime, timezone
from typing import Any, Dict, List, Optional, Tuple, Union

from . import _arguments, errors
from ._table import Table

#: A version of the branch that a dataset is on, the name of a tag, or (branch, version): None or "main" is the table's own
#: branch, and no version the newest.
Reference = Union[int, str, Tuple[Optional[str], Optional[int]]]

_TIME = re.compile(r"(\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d)(?:\.(\d+))?(Z|[+-]\d\d:\d\d)")


def reference(name: str, value: Any) -> Reference:
    """`value` as what the extension takes for a version."""
    if isinstance(value, str):
        return value
    if isinstance(value, tuple):
        if len(value) != 2:
            raise errors.WrongType(f"{name} must have a branch and a version if it is a tuple, got {value!r}")
        branch, version = value
        return _arguments.optional_text(f"branch of {name}", branch), _arguments.optional_whole_number(name, version)
    try:
        return _arguments.whole_number(name, value)
    except errors.WrongType:
        raise _arguments.wrong_type(name, "an int, a str or a (branch, version) tuple", value) from None


def optional_reference(name: str, value: Any) -> Optional[Reference]:
    return None if value is None else reference(name, value)


def _time(text: str) -> Optional[datetime]:
    """A time as tags hold it; None where an older writer held none."""
    if not text:
        return None
    match = _TIME.fullmatch(text)
    if match is None:
        raise errors.Corruption(f"a tag says {text!r} for a time")
    seconds, fraction, zone = match.groups()
    zone = "+00:00" if zone == "Z" else zone
    return datetime.fromisoformat(f"{seconds}.{(fraction or '')[:6]:0<6}{zone}").astimezone(timezone.utc)


def _ordered(entries: Dict[str, Dict[str, Any]], order: Optional[str], number: str) -> List[Tuple[str, Dict[str, Any]]]:
    order = "desc" if order is None else _arguments.text("order", order)
    if order not in ("asc", "desc"):
        raise errors.InvalidInput(f"order must be 'asc' or 'desc', got '{order}'")
    sign = 1 if order == "asc" else -1
    return sorted(entries.items(), key=lambda entry: (sign * entry[1][number], entry[0]))


class Tags:
    """The tags of a table, those of versions of its branches among them; made by :attr:`LanceDataset.tags`."""

    def __init__(self, table: Table) -> None:
        self._table = table

    def list(self) -> Dict[str, Dict[str, Any]]:
        """All tags by name: dicts with ``branch`` (str, or None for the table's own), ``version`` (int), ``created_at`` and
        ``updated_at`` (datetime in UTC, or None), ``manifest_size`` (bytes) and ``metadata`` (dict of str to str)."""
        tags = self._table._core.tags()
        return {name: {**tag, "created_at": _time(tag["created_at"]), "updated_at": _time(tag["updated_at"])}
                for name, tag in tags.items()}

    def list_ordered(self, order: Optional[str] = None) -> List[Tuple[str, Dict[str, Any]]]:
        """The same as pairs, by version: newest first (``"desc"``), or oldest first (``"asc"``)."""
        return _ordered(self.list(), order, "version")

    def get_version(self, tag: str) -> int:
        """The number of the version that a tag names, on whatever branch. Raises :class:`javelin.errors.NotFound`."""
        return self._table._core.tag_version(_arguments.text("tag", tag))

    def create(self, tag: str, reference: Optional[Reference] = None) -> None:
        """Name a version.

        Parameters
        ----------
        tag : str
            Letters, digits, ``.``, ``_`` and ``-``.
        reference : int, str or tuple, optional
            A version of this dataset's branch, another tag, or (branch, version); the version of this dataset by default.

        Raises
        ------
        javelin.errors.AlreadyExists, NotFound, InvalidInput
            There is a tag of that name, there is no such version, nothing can have that name.
        """
        self._table._core.create_tag(_arguments.text("tag", tag), optional_reference("reference", reference))

    def update(self, tag: str, reference: Optional[Reference] = None) -> None:
        """Move a tag to another version; `reference` as for :meth:`create`. Raises :class:`javelin.errors.NotFound`."""
        self._table._core.update_tag(_arguments.text("tag", tag), optional_reference("reference", reference))

    def delete(self, tag: str) -> None:
        """Remove a tag; the version stays. Raises :class:`javelin.errors.NotFound`."""
        self._table._core.delete_tag(_arguments.text("tag", tag))

    def replace_metadata(self, tag: str, metadata: Dict[str, str]) -> None:
        """Set all metadata of a tag anew; where it points, and when it moved last, stays. Raises
        :class:`javelin.errors.NotFound`."""
        metadata = _arguments.string_map("metadata", metadata)
        self._table._core.replace_tag_metadata(_arguments.text("tag", tag), metadata)


class Branches:
    """The branches of a table beside its own; made by :attr:`LanceDataset.branches`. A branch is made by
    :meth:`LanceDataset.create_branch`."""

    def __init__(self, table: Table) -> None:
        self._table = table

    def list(self) -> Dict[str, Dict[str, Any]]:
        """All branches by name: dicts with ``parent_branch`` (str, or None for the table's own), ``parent_version`` (int) where
        it began, ``branch_identifier`` (version and id of each ancestor), ``create_at`` (seconds since 1970),
        ``manifest_size`` (bytes) and ``metadata`` (dict of str to str)."""
        return self._table._core.branches()

    def list_ordered(self, order: Optional[str] = None) -> List[Tuple[str, Dict[str, Any]]]:
        """The same as pairs, by the version where they began: newest first (``"desc"``), or oldest first (``"asc"``)."""
        return _ordered(self.list(), order, "parent_version")

    def delete(self, branch: str) -> None:
        """Remove a branch with its files. Raises :class:`javelin.errors.NotFound`, and InvalidInput while another branch begins
        at it or a tag names a version of it."""
        self._table._core.delete_branch(_arguments.text("branch", branch))

    def replace_metadata(self, branch: str, metadata: Dict[str, str]) -> None:
        """Set all metadata of a branch anew. Raises :class:`javelin.errors.NotFound`."""
        metadata = _arguments.string_map("metadata", metadata)
        self._table._core.replace_branch_metadata(_arguments.text("branch", branch), metadata)
