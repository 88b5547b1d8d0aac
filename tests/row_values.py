"""Values of the types that rows have, for tests that need any row of a type."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import fields
from datetime import UTC, date, datetime, timedelta
from enum import Enum
from types import NoneType
from typing import Any, get_args, get_origin, get_type_hints

from fonds.model.rows import Row

NOON = datetime(2026, 11, 28, 12, tzinfo=UTC)
HEX_CHARS = {"sha1hex": 40, "sha256hex": 64, "head_sha1": 40}

SIMPLE_VALUES: dict[Any, Callable[[str, int], Any]] = {
    str: lambda name, number: (
        f"{number:0{HEX_CHARS[name]}x}" if name in HEX_CHARS else f"{name} {number}"
    ),
    int: lambda _, number: number,
    float: lambda _, number: float(number),
    bool: lambda _, number: bool(number // 2 % 2),
    datetime: lambda _, number: NOON + timedelta(seconds=number),
    date: lambda _, number: NOON.date() + timedelta(days=number),
}


def build_value(name: str, hint: Any, number: int) -> Any:
    """Return a value of a type; different numbers give different values if the type has several."""
    if NoneType in get_args(hint):
        (hint,) = (option for option in get_args(hint) if option is not NoneType)
    if hint in SIMPLE_VALUES:
        return SIMPLE_VALUES[hint](name, number)
    if isinstance(hint, type) and issubclass(hint, Enum):
        return list(hint)[number // 2 % len(hint)]
    origin = get_origin(hint)
    if origin is Mapping:
        return {}
    if origin in (Sequence, tuple):
        return ()
    hints = {part: part_hint for part, part_hint in get_type_hints(hint).items() if part[0] != "_"}
    return hint(**{part: build_value(part, part_hint, number) for part, part_hint in hints.items()})


def build_row(kind: type[Row], number: int) -> Row:
    hints = get_type_hints(kind)
    return kind(
        **{
            column.name: build_value(column.name, hints[column.name], number)
            for column in fields(kind)  # type: ignore[arg-type]
        }
    )
