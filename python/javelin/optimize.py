"""Fewer and larger data files: :meth:`LanceDataset.optimize` ``.compact_files()``, and the same in steps that different
processes may take: :class:`Compaction`.

The name follows the released package. Elsewhere in Javelin "compact" means that the rows of shards move into the table
(:meth:`LanceDataset.compact_shards`), and this is "optimize".
"""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any, Callable, Dict, List, Literal, Mapping, Optional, Sequence, Tuple, TypedDict

from . import _arguments, _core, errors

if TYPE_CHECKING:
    from .dataset import LanceDataset

Mode = Literal["reencode", "try_binary_copy", "force_binary_copy"]


class CompactionOptions(TypedDict, total=False):
    """Options of :class:`Compaction`: the arguments of :meth:`DatasetOptimizer.compact_files`, and ``io_buffer_size``."""

    target_rows_per_fragment: Optional[int]
    max_rows_per_group: Optional[int]
    max_bytes_per_file: Optional[int]
    materialize_deletions: Optional[bool]
    materialize_deletions_threshold: Optional[float]
    num_threads: Optional[int]
    batch_size: Optional[int]
    io_buffer_size: Optional[int]
    compaction_mode: Optional[Mode]
    binary_copy_read_batch_bytes: Optional[int]
    defer_index_remap: Optional[bool]
    max_source_fragments: Optional[int]
    max_source_rows: Optional[int]
    max_source_bytes: Optional[int]
    excluded_fragment_ids: Optional[List[int]]
    data_storage_version: Optional[str]


def _count(name: str, value: Any) -> int:
    return _arguments.whole_number(name, value, least=1)


def _fraction(name: str, value: Any) -> float:
    if isinstance(value, bool) or not isinstance(value, (int, float)):
        raise _arguments.wrong_type(name, "a number from 0 to 1", value)
    return float(value)


def _fragments(name: str, value: Any) -> List[int]:
    if not isinstance(value, (list, tuple, set, frozenset)):
        raise _arguments.wrong_type(name, "a list of int", value)
    return sorted({_arguments.whole_number(name, number) for number in value})


_CHECKS: Dict[str, Callable[[str, Any], Any]] = {
    "target_rows_per_fragment": _count,
    "max_bytes_per_file": _count,
    "materialize_deletions": _arguments.flag,
    "materialize_deletions_threshold": _fraction,
    "defer_index_remap": _arguments.flag,
    "batch_size": _count,
    "compaction_mode": _arguments.text,
    "max_source_fragments": _count,
    "max_source_rows": _count,
    "max_source_bytes": _count,
    "excluded_fragment_ids": _fragments,
    "data_storage_version": _arguments.text,
}
# Upper limits for work that is done with less here, or not at all.
_LIMITS = ("max_rows_per_group", "num_threads", "io_buffer_size", "binary_copy_read_batch_bytes")


def _checked(options: Optional[Mapping[str, Any]]) -> Dict[str, Any]:
    """The options that the library takes, of what was given."""
    given = {name: value for name, value in (options or {}).items() if value is not None}
    unknown = sorted(given.keys() - _CHECKS.keys() - set(_LIMITS))
    if unknown:
        raise errors.InvalidInput(f"invalid compaction option: {', '.join(map(repr, unknown))}")
    for name in _LIMITS:
        if name in given:
            _count(name, given[name])
    return {name: check(name, given[name]) for name, check in _CHECKS.items() if name in given}


@dataclass(frozen=True)
class CompactionMetrics:
    """What a compaction did.

    Attributes
    ----------
    fragments_removed, fragments_added : int
        Fragments that were replaced, and that replaced them.
    files_removed : int
        Data and deletion files of the former. They stay for older versions until
        :meth:`LanceDataset.cleanup_old_versions` takes those.
    files_added : int
        Data files of the latter.
    """

    fragments_removed: int
    fragments_added: int
    files_removed: int
    files_added: int


class _Record:
    """Values that travel between processes as JSON."""

    def json(self) -> str:
        """As text, for ``from_json`` of the same release."""
        return json.dumps(self._values())

    @classmethod
    def from_json(cls, json: str) -> Any:
        """From what ``json()`` gave; raises :class:`javelin.errors.InvalidInput` for anything else."""
        return cls._of(_parsed(_arguments.text("json", json)))

    def _values(self) -> Dict[str, Any]:
        raise NotImplementedError

    @classmethod
    def _of(cls, values: Dict[str, Any]) -> Any:
        raise NotImplementedError

    def __reduce__(self) -> Tuple[Any, ...]:
        return type(self).from_json, (self.json(),)

    def __eq__(self, other: object) -> bool:
        return type(self) is type(other) and self._values() == other._values()  # type: ignore[attr-defined]

    __hash__ = None  # type: ignore[assignment]


def _parsed(text: str) -> Dict[str, Any]:
    try:
        values = json.loads(text)
    except ValueError as error:
        raise errors.InvalidInput(f"this is no JSON: {error}") from None
    if not isinstance(values, dict):
        raise errors.InvalidInput("this JSON is no object")
    return values


def _member(values: Dict[str, Any], name: str, kind: Any) -> Any:
    if not isinstance(values.get(name), kind):
        raise errors.InvalidInput(f"this JSON has no {name!r} of the right kind")
    return values[name]


class CompactionTask(_Record):
    """Neighbouring fragments whose rows go into new ones. Can be pickled and run anywhere that reaches the table."""

    def __init__(self, read_version: int, fragment_ids: Sequence[int], options: Mapping[str, Any]) -> None:
        self._read_version = _arguments.whole_number("read_version", read_version, least=1)
        self._fragment_ids = _fragments("fragment_ids", list(fragment_ids))
        self._options = _checked(options)

    @property
    def read_version(self) -> int:
        """The version whose rows it reads."""
        return self._read_version

    @property
    def fragment_ids(self) -> List[int]:
        """The fragments, in order."""
        return list(self._fragment_ids)

    def execute(self, dataset: "LanceDataset") -> "RewriteResult":
        """Write the new data files, which nothing refers to until the result is committed.

        Parameters
        ----------
        dataset : LanceDataset
            The table, at any version.

        Raises
        ------
        javelin.errors.NotFound
            The version, or a file of it, was cleaned up.
        """
        options = _core.OptimizeOptions(**self._options)
        return RewriteResult(dataset._core.run_optimize_task(self._read_version, self._fragment_ids, options))

    def __repr__(self) -> str:
        return f"CompactionTask(read_version={self._read_version}, fragment_ids={self._fragment_ids})"

    def _values(self) -> Dict[str, Any]:
        return {"read_version": self._read_version, "fragments": self._fragment_ids, "options": self._options}

    @classmethod
    def _of(cls, values: Dict[str, Any]) -> "CompactionTask":
        return cls(_member(values, "read_version", int), _member(values, "fragments", list), _member(values, "options", dict))


class CompactionPlan(_Record):
    """The tasks of one compaction; made by :meth:`Compaction.plan`."""

    def __init__(self, read_version: int, tasks: Sequence[CompactionTask]) -> None:
        self._read_version = read_version
        self._tasks = list(tasks)

    @property
    def read_version(self) -> int:
        """The version that was planned for."""
        return self._read_version

    @property
    def tasks(self) -> List[CompactionTask]:
        """They can run in any order, side by side."""
        return list(self._tasks)

    def num_tasks(self) -> int:
        """How many there are; 0 = nothing to do."""
        return len(self._tasks)

    def __repr__(self) -> str:
        return f"CompactionPlan(read_version={self._read_version}, tasks=<{len(self._tasks)} compaction tasks>)"

    def _values(self) -> Dict[str, Any]:
        return {"read_version": self._read_version, "tasks": [task._values() for task in self._tasks]}

    @classmethod
    def _of(cls, values: Dict[str, Any]) -> "CompactionPlan":
        tasks = [CompactionTask._of(task) for task in _member(values, "tasks", list) if isinstance(task, dict)]
        return cls(_member(values, "read_version", int), tasks)


class RewriteResult(_Record):
    """What a task wrote. Can be pickled, for :meth:`Compaction.commit` elsewhere."""

    def __init__(self, core: Tuple[int, List[int], bytes, Tuple[int, int, int, int]]) -> None:
        self._core = core

    @property
    def read_version(self) -> int:
        """The version that was read."""
        return self._core[0]

    @property
    def metrics(self) -> CompactionMetrics:
        """Of this task."""
        return CompactionMetrics(*self._core[3])

    def __repr__(self) -> str:
        return f"RewriteResult(read_version={self.read_version}, fragment_ids={self._core[1]}, metrics={self.metrics})"

    def _values(self) -> Dict[str, Any]:
        read_version, fragments, added, _ = self._core
        return {"read_version": read_version, "fragments": fragments, "added": added.hex(), "metrics": asdict(self.metrics)}

    @classmethod
    def _of(cls, values: Dict[str, Any]) -> "RewriteResult":
        try:
            metrics = CompactionMetrics(**_member(values, "metrics", dict))
            added = bytes.fromhex(_member(values, "added", str))
        except (TypeError, ValueError) as error:
            raise errors.InvalidInput(f"this JSON is no result of a compaction: {error}") from None
        numbers = (metrics.fragments_removed, metrics.fragments_added, metrics.files_removed, metrics.files_added)
        for number in numbers:
            _arguments.whole_number("metrics", number)
        version = _arguments.whole_number("read_version", _member(values, "read_version", int), least=1)
        return cls((version, _fragments("fragments", _member(values, "fragments", list)), added, numbers))


class Compaction:
    """A compaction in steps: :meth:`plan`, :meth:`CompactionTask.execute` of each task, in this process or others, and
    :meth:`commit` of the results. :meth:`execute` is all of it."""

    @staticmethod
    def plan(dataset: "LanceDataset", options: CompactionOptions) -> CompactionPlan:
        """Which fragments to rewrite together; writes nothing. Arguments and errors: :meth:`DatasetOptimizer.compact_files`."""
        checked = _checked(options)
        tasks = dataset._core.plan_optimize(_core.OptimizeOptions(**checked))
        version = dataset.version
        return CompactionPlan(version, [CompactionTask(version, fragments, checked) for fragments in tasks])

    @staticmethod
    def execute(dataset: "LanceDataset", options: CompactionOptions) -> CompactionMetrics:
        """Plan, run and commit; `dataset` moves to the version that results."""
        core, metrics = dataset._core.optimize(_core.OptimizeOptions(**_checked(options)))
        dataset._core = core
        return CompactionMetrics(*metrics)

    @staticmethod
    def commit(
        dataset: "LanceDataset", rewrites: Sequence[RewriteResult], options: Optional[CompactionOptions] = None
    ) -> CompactionMetrics:
        """Make the results of tasks of one plan, all or some, part of the table; `dataset` moves to the version that results.

        On failure the files of the results stay, so that the call can be repeated; what is never committed goes with
        :meth:`LanceDataset.cleanup_old_versions`.

        Raises
        ------
        javelin.errors.RetryableConflict
            Rows of these fragments changed since the plan; plan again.
        javelin.errors.InvalidInput
            Results of several versions, or two of one fragment.
        """
        _checked(options)
        if not isinstance(rewrites, (list, tuple)) or not all(isinstance(result, RewriteResult) for result in rewrites):
            raise errors.WrongType(f"rewrites must be a list of RewriteResult, got {rewrites!r}")
        core, metrics = dataset._core.commit_optimize([result._core for result in rewrites])
        dataset._core = core
        return CompactionMetrics(*metrics)


class DatasetOptimizer:
    """What can be done for the speed of a table: :attr:`LanceDataset.optimize`."""

    def __init__(self, dataset: "LanceDataset") -> None:
        self._dataset = dataset

    def compact_files(
        self,
        *,
        target_rows_per_fragment: Optional[int] = None,
        max_rows_per_group: Optional[int] = None,
        max_bytes_per_file: Optional[int] = None,
        materialize_deletions: Optional[bool] = None,
        materialize_deletions_threshold: Optional[float] = None,
        defer_index_remap: Optional[bool] = None,
        num_threads: Optional[int] = None,
        batch_size: Optional[int] = None,
        compaction_mode: Optional[Mode] = None,
        binary_copy_read_batch_bytes: Optional[int] = None,
        max_source_fragments: Optional[int] = None,
        max_source_rows: Optional[int] = None,
        max_source_bytes: Optional[int] = None,
        excluded_fragment_ids: Optional[List[int]] = None,
        data_storage_version: Optional[str] = None,
    ) -> CompactionMetrics:
        """Rewrite small neighbouring fragments, and those with many deleted rows, into larger ones, and move to the version
        that results. Rows keep their order, row ids and versions. Where there is nothing to do there is no new version.

        What is None is what the table's config says under ``lance.compaction.`` and the name, else the default named here.

        Parameters
        ----------
        target_rows_per_fragment : int, optional
            Rows of a new fragment, and fewer than a fragment must have to be put together with others; 1024 * 1024.
        max_bytes_per_file : int, optional
            A new data file is ended when it reaches this; that of :func:`javelin.write_dataset`.
        materialize_deletions : bool, optional
            Rewrite a fragment, also without neighbours, for its deleted rows; True.
        materialize_deletions_threshold : float, optional
            If more than this part of its rows is deleted; from 0 to 1, 0.1.
        batch_size : int, optional
            Rows that are read at a time, at most.
        max_source_fragments, max_source_rows, max_source_bytes : int, optional
            Of fragments that are rewritten in this call, oldest first: how many, live rows, bytes of data files; no limit.
        excluded_fragment_ids : list of int, optional
            They stay, and those on either side are not put together.
        data_storage_version : str, optional
            Version of the new data files; the table's own.
        compaction_mode : str, optional
            ``"reencode"``, or ``"try_binary_copy"``, which does the same here; ``"force_binary_copy"`` is refused.
        defer_index_remap : bool, optional
            True is refused.
        max_rows_per_group, num_threads, binary_copy_read_batch_bytes : int, optional
            Upper limits for what is done with less here.

        Raises
        ------
        javelin.errors.InvalidInput
            An option, also one in the table's config.
        javelin.errors.NotSupported
            An option; blobs inside structs or lists; rows that an index refers to by where they are. Nothing was written.
        javelin.errors.RetryableConflict
            Somebody changed rows of these fragments meanwhile; call again. Nothing of this call is left.
        """
        options = dict(
            target_rows_per_fragment=target_rows_per_fragment,
            max_rows_per_group=max_rows_per_group,
            max_bytes_per_file=max_bytes_per_file,
            materialize_deletions=materialize_deletions,
            materialize_deletions_threshold=materialize_deletions_threshold,
            defer_index_remap=defer_index_remap,
            num_threads=num_threads,
            batch_size=batch_size,
            compaction_mode=compaction_mode,
            binary_copy_read_batch_bytes=binary_copy_read_batch_bytes,
            max_source_fragments=max_source_fragments,
            max_source_rows=max_source_rows,
            max_source_bytes=max_source_bytes,
            excluded_fragment_ids=excluded_fragment_ids,
            data_storage_version=data_storage_version,
        )
        return Compaction.execute(self._dataset, options)  # type: ignore[arg-type]
