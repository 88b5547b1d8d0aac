"""Check the output of a command with `--json` against its documented answers."""

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
"""Python types of a decoded field, by documented type."""


def check_answers(args: Sequence[str], out: str) -> list[Mapping[str, Any]]:
    """Parse the JSON lines a command wrote and check their fields and types.

    Each object must match one of the documented answers of the command; otherwise AssertionError.
    Commands without documented fields are not checked.
    """
    answers = ANSWERS.get(command_of(args))
    if answers is None:
        return []
    objects = [json.loads(line) for line in out.splitlines()]
    for answer_object in objects:
        faults = [_faults(answer, answer_object) for answer in answers]
        assert not all(faults), (
            f"fonds {' '.join(args)} wrote {answer_object}: {min(faults, key=len)}"
        )
    return objects


def command_of(args: Sequence[str]) -> str:
    """Return the name of the command in a call: one word, or two for a command of a group."""
    full_name = " ".join(args[:2])
    if full_name in ANSWERS:
        return full_name
    # `fonds clusters NS/KEY` is short for `fonds clusters show NS/KEY`.
    return args[0] if args[0] in ANSWERS else f"{args[0]} show"


def _faults(description: AnswerDescription, answer_object: Mapping[str, Any]) -> list[str]:
    fields = {field.name: field for field in description.fields}
    messages = [f"{name} is not a documented field" for name in answer_object if name not in fields]
    messages += [
        f"{f.name} is missing"
        for f in description.fields
        if f.is_always and f.name not in answer_object
    ]
    return messages + [
        f"{name} is {value!r} and not of type {fields[name].type}"
        for name, value in answer_object.items()
        if name in fields and not _fits(fields[name], value)
    ]


def _fits(field: FieldDescription, value: object) -> bool:
    if value is None:
        return field.is_nullable
    if isinstance(value, bool) and field.type != "boolean":
        return False
    return isinstance(value, TYPES[field.type]) and _is_well_formed(field.type, str(value))


def _is_well_formed(type_: str, text: str) -> bool:
    """Return whether a time has a time zone, or a date is in ISO form."""
    try:
        if type_ == "time":
            return datetime.fromisoformat(text).tzinfo is not None
        return type_ != "date" or str(date.fromisoformat(text)) == text
    except ValueError:
        return False
