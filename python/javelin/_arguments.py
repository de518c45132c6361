"""Checks of arguments that must hold before anything is asked of the library."""

from __future__ import annotations

import operator
import os
from pathlib import Path
from typing import Any, Dict, List, Mapping, Optional

from . import errors

_LARGEST = 2**63 - 1
_MOST_SECONDS = 10**9


def whole_number(name: str, value: Any, least: int = 0, most: int = _LARGEST) -> int:
    """`value` as an int from `least` to `most`; TypeError for what is no integer, InvalidInput for what is out of range."""
    try:
        number = operator.index(value)
    except TypeError:
        raise TypeError(f"{name} must be an int, got {type(value).__name__}") from None
    if number < least:
        raise errors.InvalidInput(f"{name} must be at least {least}, got {number}")
    if number > most:
        raise errors.InvalidInput(f"{name} must be at most {most}, got {number}")
    return number


def optional_whole_number(name: str, value: Any, least: int = 0) -> Optional[int]:
    return None if value is None else whole_number(name, value, least)


def seconds(name: str, value: Any) -> Optional[float]:
    """A number of seconds as a float; None stays None."""
    if value is None:
        return None
    if isinstance(value, bool) or not isinstance(value, (int, float)):
        raise TypeError(f"{name} must be a number of seconds, got {type(value).__name__}")
    if not 0 <= value <= _MOST_SECONDS:
        raise errors.InvalidInput(f"{name} must be from 0 to {_MOST_SECONDS} seconds, got {value}")
    return float(value)


def column_names(columns: Any) -> Optional[List[str]]:
    """A list of column names, or None for all of them."""
    if columns is None:
        return None
    if not isinstance(columns, list) or not all(isinstance(name, str) for name in columns):
        raise TypeError(f"columns must be a list of str, got {columns!r}")
    return columns


def location(uri: Any) -> str:
    if isinstance(uri, Path):
        return os.fspath(uri)
    if not isinstance(uri, str):
        raise TypeError(f"uri must be a str or Path, got {type(uri).__name__}")
    return uri


def string_map(name: str, value: Optional[Mapping[str, str]]) -> Dict[str, str]:
    if value is None:
        return {}
    if not all(isinstance(key, str) and isinstance(text, str) for key, text in dict(value).items()):
        raise TypeError(f"{name} must map str to str")
    return dict(value)
