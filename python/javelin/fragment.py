"""Fragments: the pieces that a version of a table is made of."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Iterator, List, Optional, Sequence

import pyarrow as pa

from . import _arguments
from ._scan import LanceScanner

if TYPE_CHECKING:
    from ._reading import Columns, Reading


class LanceFragment:
    """One fragment of one version. Made by :meth:`LanceDataset.get_fragments`."""

    def __init__(self, dataset: "Reading", fragment_id: int, physical_rows: int, num_deletions: int) -> None:
        # As it is now: the dataset may move to other versions.
        self._dataset = dataset._with(dataset._core)
        self._id, self._physical_rows, self._num_deletions = fragment_id, physical_rows, num_deletions

    def __repr__(self) -> str:
        return f"LanceFragment(id={self._id}, physical_rows={self._physical_rows}, num_deletions={self._num_deletions})"

    @property
    def fragment_id(self) -> int:
        """Its number in the table, which no other fragment ever has."""
        return self._id

    @property
    def physical_rows(self) -> int:
        """Rows in its files, deleted ones too."""
        return self._physical_rows

    @property
    def num_deletions(self) -> int:
        """How many of them are deleted."""
        return self._num_deletions

    @property
    def schema(self) -> pa.Schema:
        """Schema of the table."""
        return self._dataset.schema

    def scanner(self, *, columns: "Columns" = None, filter: Optional[str] = None, **kwargs: Any) -> LanceScanner:
        """Prepare a scan of this fragment. Arguments: :meth:`LanceDataset.scanner`."""
        return self._dataset.scanner(columns, filter, fragments=[self], **kwargs)

    def to_table(self, columns: "Columns" = None, filter: Optional[str] = None, **kwargs: Any) -> pa.Table:
        """Its rows in memory. Arguments: :meth:`LanceDataset.scanner`."""
        return self.scanner(columns=columns, filter=filter, **kwargs).to_table()

    def to_batches(self, columns: "Columns" = None, filter: Optional[str] = None, **kwargs: Any) -> Iterator[pa.RecordBatch]:
        """Its rows batch by batch. Arguments: :meth:`LanceDataset.scanner`."""
        return self.scanner(columns=columns, filter=filter, **kwargs).to_batches()

    def head(self, num_rows: int) -> pa.Table:
        """Its first rows."""
        return self.scanner(limit=num_rows).to_table()

    def count_rows(self, filter: Optional[str] = None) -> int:
        """Number of its rows that are not deleted; with a `filter`, for which it is true."""
        return self.scanner(columns=[], filter=filter).count_rows()


def ids_of(fragments: Sequence[LanceFragment]) -> List[int]:
    if not isinstance(fragments, (list, tuple)) or not all(isinstance(one, LanceFragment) for one in fragments):
        raise _arguments.wrong_type("fragments", "a list of LanceFragment", fragments)
    return [one.fragment_id for one in fragments]
