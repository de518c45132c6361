"""What a table says about itself: its configuration, and the metadata of the table, its schema and its columns."""

from __future__ import annotations

import warnings
from typing import Any, Dict, List, Mapping, Optional

from . import _arguments, errors
from ._table import Table

Updates = Mapping[str, Optional[str]]


def _updates(name: str, values: Any) -> Dict[str, Optional[str]]:
    if not isinstance(values, Mapping) or not all(
        isinstance(key, str) and (value is None or isinstance(value, str)) for key, value in values.items()
    ):
        raise errors.WrongType(f"{name} must map str to str or None, got {values!r}")
    return dict(values)


class Metadata(Table):
    """The methods of a dataset that are about what it says about itself. Those that change it are one commit each, and move the
    object to the version that results.

    They raise :class:`javelin.errors.IncompatibleConflict` if somebody changed the same key since, or, of schemas and columns,
    anything about them, and OutcomeUnknown."""

    def config(self) -> Dict[str, str]:
        """How programs are to treat the table."""
        return self._core.config()

    @property
    def metadata(self) -> Dict[str, str]:
        """Metadata of the table, of no meaning to the library."""
        return self._core.metadata()

    @property
    def schema_metadata(self) -> Dict[str, str]:
        """Metadata of the schema, which reads return with it."""
        return self._core.schema_metadata()

    def update_config(self, values: Updates, *, replace: bool = False) -> Dict[str, str]:
        """Set keys of the configuration, remove those whose value is None, and return all of it. With `replace` the given ones
        are all that is left."""
        self._core = self._core.update_config(_updates("values", values), _arguments.flag("replace", replace))
        return self.config()

    def delete_config_keys(self, keys: List[str]) -> None:
        """Remove keys of the configuration; one that is not there is no error."""
        self.update_config(dict.fromkeys(_arguments.names("keys", keys) or []))

    def update_metadata(self, values: Updates, *, replace: bool = False) -> Dict[str, str]:
        """The same for the metadata of the table."""
        self._core = self._core.update_metadata(_updates("values", values), _arguments.flag("replace", replace))
        return self.metadata

    def update_schema_metadata(self, values: Updates, *, replace: bool = False) -> Dict[str, str]:
        """The same for the metadata of the schema."""
        self._core = self._core.update_schema_metadata(_updates("values", values), _arguments.flag("replace", replace))
        return self.schema_metadata

    def update_field_metadata(self, field_updates: Mapping[str, Updates], *, replace: bool = False) -> None:
        """The same for the metadata of columns, by path: ``"column"``, or ``"column.part"`` for what is inside one. Raises
        :class:`javelin.errors.InvalidInput` for a column that is not there, and for the marks of the primary key, which are
        given with the table."""
        if not isinstance(field_updates, Mapping) or not all(isinstance(path, str) for path in field_updates):
            raise errors.WrongType(f"field_updates must map str to metadata, got {field_updates!r}")
        fields = {path: _updates(f"field_updates[{path!r}]", values) for path, values in field_updates.items()}
        self._core = self._core.update_field_metadata(fields, _arguments.flag("replace", replace))

    def replace_schema_metadata(self, new_metadata: Dict[str, str]) -> None:
        """Deprecated: :meth:`update_schema_metadata` with ``replace=True``."""
        warnings.warn("use update_schema_metadata(metadata, replace=True)", DeprecationWarning, stacklevel=2)
        self.update_schema_metadata(_arguments.string_map("new_metadata", new_metadata), replace=True)

    def replace_field_metadata(self, field_name: str, new_metadata: Dict[str, str]) -> None:
        """Deprecated: :meth:`update_field_metadata` with ``replace=True``."""
        warnings.warn("use update_field_metadata({field: metadata}, replace=True)", DeprecationWarning, stacklevel=2)
        metadata = _arguments.string_map("new_metadata", new_metadata)
        self.update_field_metadata({_arguments.text("field_name", field_name): metadata}, replace=True)
