"""Which shard a row belongs to."""

from __future__ import annotations

from dataclasses import asdict, dataclass, field, fields
from typing import Any, Dict, List, Mapping, Optional, Union

import pyarrow as pa

from . import _arguments, _core, errors
from .schema import LanceSchema


@dataclass
class ShardingField:
    """One column of a sharding spec.

    Parameters
    ----------
    field_id : str
        Name of the column that results.
    source_ids : list of int
        Id of the table's field that it is made of; none for ``"unsharded"``.
    transform : str, optional
        ``"unsharded"``, ``"identity"`` or ``"bucket"``.
    expression : str, optional
        Kept with the table; cannot be evaluated.
    result_type : str
        Type of the result by name; kept with the table.
    parameters : dict of str to str
        ``num_buckets`` for ``"bucket"``; ``column``: dotted path of the source, in place of `source_ids`.
    """

    field_id: str
    source_ids: List[int]
    transform: Optional[str] = None
    expression: Optional[str] = None
    result_type: str = ""
    parameters: Dict[str, str] = field(default_factory=dict)


@dataclass
class ShardingSpec:
    """How the rows of a table are split into shards: rows with equal values of all fields share one."""

    spec_id: int
    fields: List[ShardingField]


def evaluate_sharding_spec(
    batch: pa.RecordBatch, spec: Union[ShardingSpec, Mapping[str, object]], schema: LanceSchema
) -> pa.RecordBatch:
    """Compute the shard values of rows.

    Parameters
    ----------
    batch : pyarrow.RecordBatch
        Rows with the columns that the spec reads; others are ignored.
    spec : ShardingSpec or dict
        The spec; also as :meth:`LanceDataset.mem_wal_index_details` gives it.
    schema : LanceSchema
        Schema of the table, to find columns by the ids of the spec.

    Returns
    -------
    pyarrow.RecordBatch
        One column per field of the spec, one row per row of `batch`.

    Raises
    ------
    javelin.errors.InvalidInput
        Unknown transform, an expression, a wrong parameter, not one source, a column that is missing or of a type that the
        transform does not take.
    """
    if not isinstance(batch, pa.RecordBatch):
        raise _arguments.wrong_type("batch", "a pyarrow.RecordBatch", batch)
    if not isinstance(schema, LanceSchema):
        raise _arguments.wrong_type("schema", "a LanceSchema (LanceDataset.lance_schema)", schema)
    return pa.record_batch(_core.evaluate_sharding_spec(batch, _checked(spec), schema._core))


def _checked(spec: Union[ShardingSpec, Mapping[str, object]]) -> Dict[str, Any]:
    """The spec as a dict of values of the right types."""
    given = _members(spec, ShardingSpec)
    if not isinstance(given["fields"], (list, tuple)):
        raise _arguments.wrong_type("fields", "a list", given["fields"])
    return {
        "spec_id": _arguments.whole_number("spec_id", given["spec_id"], most=2**32 - 1),
        "fields": [_checked_field(item) for item in given["fields"]],
    }


def _checked_field(item: Any) -> Dict[str, Any]:
    given = _members(item, ShardingField)
    for name in ("field_id", "result_type"):
        _arguments.text(name, given[name])
    for name in ("transform", "expression"):
        _arguments.optional_text(name, given[name])
    if not isinstance(given["source_ids"], (list, tuple)):
        raise _arguments.wrong_type("source_ids", "a list", given["source_ids"])
    sources = [_arguments.whole_number("source_ids", number, least=-(2**31), most=2**31 - 1) for number in given["source_ids"]]
    return {**given, "source_ids": sources, "parameters": _arguments.string_map("parameters", given["parameters"])}


def _members(value: Any, kind: Any) -> Dict[str, Any]:
    if isinstance(value, kind):
        return asdict(value)
    if not isinstance(value, Mapping):
        raise errors.WrongType(f"expected a {kind.__name__} or a dict, got {type(value).__name__}")
    names = [member.name for member in fields(kind)]
    missing = [name for name in names if name not in value]
    if missing:
        raise errors.InvalidInput(f"{kind.__name__} lacks {missing[0]!r}")
    return {name: value[name] for name in names}
