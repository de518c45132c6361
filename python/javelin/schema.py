"""Schemas as tables keep them: columns are known by id."""

from __future__ import annotations

from typing import Any, Dict, List, Optional

import pyarrow as pa

from . import _arguments, _core

__all__ = ["LanceField", "LanceSchema"]


class LanceField:
    """A column of a table, or a part of one."""

    def __init__(self, core: Any) -> None:
        self._core = core

    def name(self) -> str:
        """Name of the field; without that of its parent."""
        return self._core.name

    def id(self) -> int:
        """Id of the field: stays when the field is renamed."""
        return self._core.id

    def children(self) -> List["LanceField"]:
        """The fields of a struct, or the item of a list."""
        return [LanceField(child) for child in self._core.children]

    @property
    def metadata(self) -> Dict[str, str]:
        """Metadata of the field."""
        return self._core.metadata

    def is_unenforced_primary_key(self) -> bool:
        """True if the field is part of the primary key."""
        return self._core.primary_key

    def unenforced_primary_key_position(self) -> Optional[int]:
        """Place in the primary key, from 1, where the table says one."""
        return self._core.primary_key_position

    def to_arrow(self) -> pa.Field:
        """The field for Arrow."""
        return pa.schema(self._core.as_schema).field(0)

    def __repr__(self) -> str:
        return f"LanceField(id={self.id()}, {self.to_arrow()})"


class LanceSchema:
    """The columns of a table with their ids; made by :attr:`LanceDataset.lance_schema`."""

    def __init__(self, core: Any) -> None:
        self._core = core

    @staticmethod
    def from_pyarrow(schema: pa.Schema) -> "LanceSchema":
        """A schema with the ids that a new table would give: depth first, from 0. An existing table may have others."""
        if not isinstance(schema, pa.Schema):
            raise _arguments.wrong_type("schema", "a pyarrow.Schema", schema)
        return LanceSchema(_core.TableSchema.of_arrow(schema))

    def to_pyarrow(self) -> pa.Schema:
        """The schema for Arrow, without ids."""
        return pa.schema(self._core.arrow)

    def fields(self) -> List[LanceField]:
        """The columns."""
        return [LanceField(field) for field in self._core.fields]

    def unenforced_primary_key(self) -> List[LanceField]:
        """The columns of the primary key in its order; none without a key."""
        return [LanceField(field) for field in self._core.primary_key]

    def __eq__(self, other: object) -> bool:
        return isinstance(other, LanceSchema) and self._core == other._core

    def __repr__(self) -> str:
        return f"LanceSchema({self.fields()})"
