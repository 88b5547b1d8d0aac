"""JSON answers of commands: structs that are both encoded and described in docs/json.md.

A command names its answers: `@command("list", answers={"one for each key": KeyAnswer})`. The key
of the mapping says when a command writes such an answer, and how many.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import date, datetime
from enum import StrEnum
from types import NoneType
from typing import Annotated, Any, get_args, get_origin, get_type_hints

import click
import msgspec

from fonds.cli.names import SuggestingCommand

JSON_TYPES: Mapping[str, tuple[type, ...]] = {
    "boolean": (bool,),
    "integer": (int,),
    "number": (int, float),
    "time": (datetime,),
    "text": (str, StrEnum, date),
    "object": (Mapping,),
    "list": (Sequence,),
}
"""Python types of a field, by its type name in docs/json.md. The first match counts."""


@dataclass(frozen=True, slots=True)
class FieldDescription:
    """Description of a field.

    `type` is one of JSON_TYPES. `is_always` is False for a field that is omitted when it is empty.
    """

    name: str
    type: str
    meaning: str
    is_nullable: bool = False
    is_always: bool = True


@dataclass(frozen=True, slots=True)
class AnswerDescription:
    """Description of an object that a command writes. `condition` says when, and how many."""

    condition: str
    fields: Sequence[FieldDescription]


def describe_answer(condition: str, kind: type[msgspec.Struct]) -> AnswerDescription:
    """Describe a struct from its annotations. Raises ValueError for a field without a description."""
    hints = get_type_hints(kind, include_extras=True)
    fields = msgspec.structs.fields(kind)
    return AnswerDescription(
        condition, tuple(_describe_field(field.encode_name, hints[field.name]) for field in fields)
    )


def list_answers(root: click.Group) -> dict[str, list[AnswerDescription]]:
    """Return the answers of each command that has some, by command name."""
    return {
        command_name: [
            describe_answer(condition, kind) for condition, kind in command.answers.items()
        ]
        for command_name, command in iter_commands(root)
        if isinstance(command, SuggestingCommand) and command.answers
    }


def iter_commands(
    root: click.Command, path: tuple[str, ...] = ()
) -> Iterator[tuple[str, click.Command]]:
    """Iterate over the commands of a group and its subgroups, with their names."""
    if not isinstance(root, click.Group):
        yield " ".join(path), root
        return
    context = click.Context(root)
    for name in root.list_commands(context):
        command = root.get_command(context, name)
        if command is not None:
            yield from iter_commands(command, (*path, name))


def _describe_field(name: str, hint: Any) -> FieldDescription:
    metas = [item for item in getattr(hint, "__metadata__", ()) if isinstance(item, msgspec.Meta)]
    meaning = next((meta.description for meta in metas if meta.description), None)
    if meaning is None:
        raise ValueError(f"{name} has no description: annotate it with msgspec.Meta(description=…)")
    plain = get_args(hint)[0] if get_origin(hint) is Annotated else hint
    is_nullable = NoneType in get_args(plain)
    is_always = msgspec.UnsetType not in get_args(plain)
    members = [plain] if is_always and not is_nullable else get_args(plain)
    (kind,) = [member for member in members if member not in (NoneType, msgspec.UnsetType)]
    return FieldDescription(name, name_json_type(kind), meaning, is_nullable, is_always)


def name_json_type(kind: Any) -> str:
    """Return the name of the JSON type that a value of a Python type is encoded as."""
    plain = get_origin(kind) or kind
    if hasattr(plain, "__dataclass_fields__") or issubclass(plain, msgspec.Struct):
        return "object"
    return next(name for name, types in JSON_TYPES.items() if issubclass(plain, types))
