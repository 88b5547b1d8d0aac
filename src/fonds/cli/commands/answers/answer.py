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
class Field:
    """A field: its type as in TYPES, whether it may be null, and what it means. `is_always` is False for
    one that is left out where it would say nothing."""

    name: str
    type: str
    meaning: str
    is_nullable: bool = False
    is_always: bool = True


@dataclass(frozen=True, slots=True)
class Answer:
    """An object a command writes; `when` says which and how many there are."""

    when: str
    fields: Sequence[Field]


def answer(when: str, *fields: tuple[str, str, str]) -> Answer:
    """An answer of (name, type, meaning); `?` behind a type says it may be null, `*` behind a name that it
    is left out at times. Raises ValueError for a type there is not."""
    return Answer(when, tuple(_field(*one) for one in fields))


def _field(name: str, type_: str, meaning: str) -> Field:
    plain = type_.removesuffix("?")
    if plain not in TYPES:
        raise ValueError(f"{name} has the type {type_!r}; there are {', '.join(TYPES)}")
    return Field(name.removesuffix("*"), plain, meaning, plain != type_, not name.endswith("*"))
