"""Holds what a command wrote with `--json` against the answers it is said to have."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from datetime import date, datetime
from typing import Any

from fonds.cli.json_answers import AnswerDescription, FieldDescription, list_answers
from fonds.cli.main import cli

ANSWERS = list_answers(cli)

TYPES: Mapping[str, tuple[type, ...]] = {
    "text": (str,), "time": (str,), "date": (str,), "integer": (int,), "number": (int, float),
    "boolean": (bool,), "object": (dict,), "list": (list,),
}  # fmt: skip
"""What a field of each type is once it is decoded."""


def check_answers(words: Sequence[str], out: str) -> list[Mapping[str, Any]]:
    """The objects written; each has exactly the fields of one of the command's answers, of their types.

    Raises AssertionError otherwise. Commands without answers of fixed fields are left alone.
    """
    answers = ANSWERS.get(command_of(words))
    if answers is None:
        return []
    objects = [json.loads(line) for line in out.splitlines()]
    for told in objects:
        faults = [_faults(answer, told) for answer in answers]
        assert not all(faults), f"fonds {' '.join(words)} answers {told}: {min(faults, key=len)}"
    return objects


def command_of(words: Sequence[str]) -> str:
    """The words of a call that name its command: one, or two of a group."""
    two = " ".join(words[:2])
    if two in ANSWERS:
        return two
    # `fonds clusters NS/KEY` is short for `fonds clusters show NS/KEY`.
    return words[0] if words[0] in ANSWERS else f"{words[0]} show"


def _faults(one: AnswerDescription, told: Mapping[str, Any]) -> list[str]:
    fields = {field.name: field for field in one.fields}
    found = [f"{name} is no field of it" for name in told if name not in fields]
    found += [f"{f.name} is missing" for f in one.fields if f.is_always and f.name not in told]
    return found + [
        f"{name} is {value!r} and no {fields[name].type}"
        for name, value in told.items()
        if name in fields and not _fits(fields[name], value)
    ]


def _fits(field: FieldDescription, value: object) -> bool:
    if value is None:
        return field.is_nullable
    if isinstance(value, bool) and field.type != "boolean":
        return False
    return isinstance(value, TYPES[field.type]) and _is_well_formed(field.type, str(value))


def _is_well_formed(type_: str, text: str) -> bool:
    """A time has its zone, and a date is a day."""
    try:
        if type_ == "time":
            return datetime.fromisoformat(text).tzinfo is not None
        return type_ != "date" or str(date.fromisoformat(text)) == text
    except ValueError:
        return False
