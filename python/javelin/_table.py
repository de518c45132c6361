"""What every area of :class:`javelin.LanceDataset` builds on.

An area is a module with a class that derives from :class:`Table`; the dataset derives from all of them. A method that
commits sets ``self._core`` to the version that results; one that returns another version makes it with ``self._with``.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Dict

if TYPE_CHECKING:
    from typing_extensions import Self

    from .session import Session


class Table:
    """One version of a table, as the methods of an area know it."""

    _core: Any  # the extension's Dataset
    _uri: str
    _storage_options: Dict[str, str]
    _session: "Session"

    @classmethod
    def _make(cls, core: Any, uri: str, storage_options: Dict[str, str], session: "Session") -> "Self":
        made = cls.__new__(cls)
        made._core, made._uri, made._storage_options, made._session = core, uri, storage_options, session
        return made

    def _with(self, core: Any) -> "Self":
        """The same table at another version, perhaps on another branch."""
        uri = self._uri if core.uri == self._core.uri else core.uri
        return self._make(core, uri, self._storage_options, self._session)
