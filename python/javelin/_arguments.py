"""Checks of arguments that must hold before anything is asked of the library: :class:`javelin.errors.WrongType` for what is of
another type, InvalidInput for what is out of range."""

from __future__ import annotations

import numbers
import operator
import os
from datetime import timedelta
from pathlib import Path
from typing import Any, Dict, List, Mapping, Optional, Tuple

import pyarrow as pa
import pyarrow.compute  # noqa: F401  (pa.compute)

from . import errors

_LARGEST = 2**63 - 1
_MOST_SECONDS = 10**9


def wrong_type(name: str, expected: str, value: Any) -> errors.WrongType:
    """What to raise."""
    return errors.WrongType(f"{name} must be {expected}, got {type(value).__name__}")


def integer(name: str, value: Any) -> int:
    """`value` as an int; a bool is none."""
    try:
        number = operator.index(value)
    except TypeError:
        raise wrong_type(name, "an int", value) from None
    if isinstance(value, bool):
        raise wrong_type(name, "an int", value)
    return number


def whole_number(name: str, value: Any, least: int = 0, most: int = _LARGEST) -> int:
    """`value` as an int from `least` to `most`."""
    number = integer(name, value)
    if number < least:
        raise errors.InvalidInput(f"{name} must be at least {least}, got {number}")
    if number > most:
        raise errors.InvalidInput(f"{name} must be at most {most}, got {number}")
    return number


def optional_whole_number(name: str, value: Any, least: int = 0, most: int = _LARGEST) -> Optional[int]:
    return None if value is None else whole_number(name, value, least, most)


def seconds(name: str, value: Any, least: float = 0, most: float = _MOST_SECONDS) -> Optional[float]:
    """A number of seconds as a float; None stays None."""
    if value is None:
        return None
    if isinstance(value, bool) or not isinstance(value, numbers.Real):
        raise wrong_type(name, "a number of seconds", value)
    if not least <= value <= most:  # also not a number
        raise errors.InvalidInput(f"{name} must be from {least} to {most} seconds, got {value}")
    return float(min(max(value, -_MOST_SECONDS), _MOST_SECONDS))  # some ints are too large for a float


def milliseconds(name: str, value: Any) -> int:
    """A timedelta as whole milliseconds."""
    if not isinstance(value, timedelta):
        raise wrong_type(name, "a timedelta", value)
    if not timedelta(0) <= value <= timedelta(seconds=_MOST_SECONDS // 10):
        raise errors.InvalidInput(f"{name} must be from 0 to {_MOST_SECONDS // 10} seconds, got {value}")
    return value // timedelta(milliseconds=1)


def flag(name: str, value: Any) -> bool:
    """True or False, also those of numpy; nothing else counts as one of them."""
    if not isinstance(value, bool) and (type(value).__module__, type(value).__name__.rstrip("_")) != ("numpy", "bool"):
        raise wrong_type(name, "a bool", value)
    return bool(value)


def optional_flag(name: str, value: Any) -> bool:
    """None is False, as in the released package."""
    return value is not None and flag(name, value)


def text(name: str, value: Any) -> str:
    if not isinstance(value, str):
        raise wrong_type(name, "a str", value)
    return value


def optional_text(name: str, value: Any) -> Optional[str]:
    return None if value is None else text(name, value)


def names(name: str, value: Any) -> Optional[List[str]]:
    """A list of str; None stays None."""
    if value is None:
        return None
    if not isinstance(value, (list, tuple)) or not all(isinstance(item, str) for item in value):
        raise errors.WrongType(f"{name} must be a list of str, got {value!r}")
    return list(value)


def sql(name: str, value: Any) -> str:
    """A text in the language of filters."""
    if isinstance(value, pa.compute.Expression):
        raise errors.WrongType(f"{name} must be a str with an SQL condition, got a pyarrow Expression; write it as SQL")
    if not isinstance(value, str):
        raise wrong_type(name, "a str with SQL", value)
    return value


def sql_by_name(name: str, value: Any) -> List[Tuple[str, str]]:
    """A dict of names and SQL texts, in its order."""
    if not isinstance(value, Mapping) or not all(isinstance(key, str) for key in value):
        raise errors.WrongType(f"{name} must map names to SQL texts, got {value!r}")
    return [(key, sql(f"{name}[{key!r}]", text)) for key, text in value.items()]


def column_names(columns: Any) -> Optional[List[str]]:
    """A list of column names, or None for all of them."""
    return names("columns", columns)


def location(uri: Any) -> str:
    if isinstance(uri, Path):
        return os.fspath(uri)
    if not isinstance(uri, str):
        raise wrong_type("uri", "a str or Path", uri)
    return uri


def string_map(name: str, value: Optional[Mapping[str, str]]) -> Dict[str, str]:
    if value is None:
        return {}
    if not isinstance(value, Mapping) or not all(isinstance(part, str) for item in value.items() for part in item):
        raise errors.WrongType(f"{name} must map str to str, got {value!r}")
    return dict(value)
