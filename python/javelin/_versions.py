"""Versions of a table."""

from __future__ import annotations

from datetime import datetime
from typing import TYPE_CHECKING, Any, Dict, List

from . import _arguments
from ._table import Table

if TYPE_CHECKING:
    from typing_extensions import Self


class Versions(Table):
    """The methods of a dataset that are about its versions."""

    @property
    def version(self) -> int:
        """The version that this object reads."""
        return self._core.version

    @property
    def latest_version(self) -> int:
        """The newest version of the table now; asks the store."""
        return self._core.latest().version

    def versions(self) -> List[Dict[str, Any]]:
        """All versions, oldest first: dicts with ``version`` (int), ``timestamp`` (datetime, local time) and ``metadata``, a dict
        of decimal texts: ``total_rows``, ``total_fragments``, ``total_data_files``, ``total_files_size`` (bytes),
        ``total_data_file_rows``, ``total_deletion_files`` and ``total_deletion_file_rows``, as far as the manifests say."""
        return [
            {
                "version": version,
                "timestamp": datetime.fromtimestamp(nanoseconds // 1000 / 1e6),
                "metadata": {name: str(number) for name, number in holds.items()},
            }
            for version, nanoseconds, holds in self._core.versions()
        ]

    def checkout_version(self, version: int) -> "Self":
        """That version of this table, as a new object. Raises :class:`javelin.errors.NotFound`."""
        return self._with(self._core.checkout(_arguments.whole_number("version", version)))

    def checkout_latest(self) -> None:
        """Move this object to the newest version."""
        self._core = self._core.latest()
