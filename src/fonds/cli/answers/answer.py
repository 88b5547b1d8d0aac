"""One object a command writes with `--json`, and its fields."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from types import MappingProxyType

TYPES: Mapping[str, tuple[type, ...]] = MappingProxyType(
    {
        "text": (str,),
        "time": (str,),
        "integer": (int,),
        "number": (int, float),
        "boolean": (bool,),
        "object": (dict,),
        "list": (list,),
    }
)
"""The types of JSON by the words of the page; a time is text."""


@dataclass(frozen=True, slots=True)
class FieldDescription:
    """A field: its type as in TYPES, whether it may be null, and what it means. `is_always` is False for
    one that is left out where it would say nothing."""

    name: str
    type: str
    meaning: str
    is_nullable: bool = False
    is_always: bool = True


@dataclass(frozen=True, slots=True)
class AnswerDescription:
    """An object a command writes; `condition` says which and how many there are."""

    condition: str
    fields: Sequence[FieldDescription]


def build_answer(condition: str, *fields: tuple[str, str, str]) -> AnswerDescription:
    """An answer of (name, type, meaning); `?` behind a type says it may be null, `*` behind a name that it
    is left out at times. Raises ValueError for a type there is not."""
    return AnswerDescription(condition, tuple(_build_field(*one) for one in fields))


def _build_field(name: str, type_: str, meaning: str) -> FieldDescription:
    plain = type_.removesuffix("?")
    if plain not in TYPES:
        raise ValueError(f"{name} has the type {type_!r}; there are {', '.join(TYPES)}")
    return FieldDescription(
        name.removesuffix("*"), plain, meaning, plain != type_, not name.endswith("*")
    )
