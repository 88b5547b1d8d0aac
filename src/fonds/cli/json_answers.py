"""JSON answers of commands: types that are both encoded and described in docs/json.md.

A command names its answers: `@command("list", answers={"one for each key": KeyAnswer})`. The key of
the mapping says when a command writes such an answer, and how many. An answer is a struct or a
dataclass. Each field is annotated with its meaning.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, fields, is_dataclass
from datetime import date, datetime
from enum import StrEnum
from types import NoneType, UnionType
from typing import Annotated, Any, TypeVar, Union, get_args, get_origin, get_type_hints

import click
import msgspec

from fonds.cli.names import CommandGroup, SuggestingCommand

AnswerT = TypeVar("AnswerT")
JSON_TYPES: Mapping[str, tuple[type, ...]] = {
    "boolean": (bool,),
    "integer": (int,),
    "number": (int, float),
    "time": (datetime,),
    "date": (date,),
    "text": (str, StrEnum),
    "object": (Mapping,),
    "list": (Sequence,),
}
"""Python types of a field in a JSON answer, by type name in docs/json.md; first match wins."""


@dataclass(frozen=True, slots=True)
class FieldDescription:
    """Description of a field in a command's JSON answer, for docs/json.md.

    - `name`: name of the field in JSON.
    - `type`: JSON type of the value, a key of `JSON_TYPES`.
    - `meaning`: description for users.
    - `is_nullable`: whether the value can be null.
    - `is_always`: False if the field is omitted when it has no value.
    - `members`: if the value is an object, or a list or mapping of objects: names of the object's
      fields.
    - `table`: name of the database table if these objects are its rows; None otherwise.
    """

    name: str
    type: str
    meaning: str
    is_nullable: bool = False
    is_always: bool = True
    members: Sequence[str] = ()
    table: str | None = None


@dataclass(frozen=True, slots=True)
class AnswerDescription:
    """Description of a JSON object that a command writes, for docs/json.md.

    `condition` says when the command writes such an object, and how many.
    """

    condition: str
    fields: Sequence[FieldDescription]


def define_answer(
    name: str, /, *parts: type, omit: Collection[str] = (), **extra_fields: Any
) -> type[msgspec.Struct]:
    """Return a new struct type for a command's JSON answer that combines the fields of other types.

    - `name`: name of the new type.
    - `parts`: structs or dataclasses with annotated fields, which the new type gets.
    - `omit`: names of fields of `parts` that the new type does not get.
    - `extra_fields`: annotated types of further fields, by name.
    """
    hints, names_in_json = dict[str, Any](), dict[str, str]()
    for part in parts:
        part_hints = get_type_hints(part, include_extras=True)
        for field_name, json_name in _name_fields(part).items():
            if field_name not in omit:
                hints[field_name], names_in_json[field_name] = part_hints[field_name], json_name
    members: list[Any] = [
        (key, hint, msgspec.UNSET)
        if msgspec.UnsetType in get_args(_strip_meaning(hint))
        else (key, hint)
        for key, hint in {**hints, **extra_fields}.items()
    ]
    return msgspec.defstruct(name, members, kw_only=True, frozen=True, rename=names_in_json)


def build_answer(kind: type[AnswerT], source: object, /, **values: Any) -> AnswerT:
    """Build a JSON answer of type `kind`.

    The value of each field is taken from `values`, or else from the attribute of `source` with the
    same name.
    """
    source_values = {
        name: getattr(source, name)
        for name in _name_fields(kind)
        if name not in values and hasattr(source, name)
    }
    return kind(**source_values, **values)


def describe_answer(condition: str, kind: type) -> AnswerDescription:
    """Return the description of a JSON answer from the annotations of its type.

    Raises ValueError for a field without a meaning.
    """
    hints = get_type_hints(kind, include_extras=True)
    names = _name_fields(kind)
    return AnswerDescription(
        condition,
        tuple(_describe_field(json_name, hints[name]) for name, json_name in names.items()),
    )


def list_answers(root: click.Group) -> dict[str, list[AnswerDescription]]:
    """Return descriptions of the JSON answers of each command that has some, by command name."""
    return {
        command_name: [
            describe_answer(condition, kind) for condition, kind in command.answers.items()
        ]
        for command_name, command in iter_commands(root)
        if isinstance(command, SuggestingCommand | CommandGroup) and command.answers
    }


def list_other_outputs(root: click.Group) -> dict[str, str]:
    """Return the output of each command that writes no JSON object with fixed fields, by command
    name.
    """
    return {
        command_name: command.output
        for command_name, command in iter_commands(root)
        if isinstance(command, SuggestingCommand) and command.output
    }


def iter_commands(
    root: click.Command, path: tuple[str, ...] = ()
) -> Iterator[tuple[str, click.Command]]:
    """Yield the commands of a click group and its subgroups, as (name, command).

    The name includes those of the subgroups. A group is included if it has JSON answers of its own.
    """
    if not isinstance(root, click.Group):
        yield " ".join(path), root
        return
    if isinstance(root, CommandGroup) and root.answers:
        yield " ".join(path), root
    context = click.Context(root)
    for name in root.list_commands(context):
        command = root.get_command(context, name)
        if command is not None:
            yield from iter_commands(command, (*path, name))


def _name_fields(kind: type) -> dict[str, str]:
    """Return the names of the fields of a struct or dataclass, with their names in JSON.

    Raises ValueError for any other type.
    """
    if issubclass(kind, msgspec.Struct):
        return {field.name: field.encode_name for field in msgspec.structs.fields(kind)}
    if not is_dataclass(kind):
        raise ValueError(f"{kind.__name__} is neither a struct nor a dataclass")
    return {field.name: field.name for field in fields(kind)}


def _describe_field(name: str, hint: Any) -> FieldDescription:
    metas = [item for item in getattr(hint, "__metadata__", ()) if isinstance(item, msgspec.Meta)]
    meaning = next((meta.description for meta in metas if meta.description), None)
    if meaning is None:
        raise ValueError(f"{name} has no description: annotate it with msgspec.Meta(description=…)")
    plain = _strip_meaning(hint)
    is_nullable = NoneType in get_args(plain)
    is_always = msgspec.UnsetType not in get_args(plain)
    members = [plain] if is_always and not is_nullable else get_args(plain)
    (kind,) = [member for member in members if member not in (NoneType, msgspec.UnsetType)]
    item = find_object_type(kind)
    return FieldDescription(
        name,
        name_json_type(kind),
        meaning,
        is_nullable,
        is_always,
        () if item is None else tuple(_name_fields(item).values()),
        getattr(item, "TABLE", None),
    )


def find_object_type(hint: Any) -> type | None:
    """Return the struct or dataclass in a type hint: the hint itself, or the type of list items or
    mapping values.

    Returns None if the hint has no such type, or is a union of several types.
    """
    plain = _strip_meaning(hint)
    if get_origin(plain) is None:
        is_object = isinstance(plain, type) and (
            is_dataclass(plain) or issubclass(plain, msgspec.Struct)
        )
        return plain if is_object else None
    arguments = [item for item in get_args(plain) if item not in (NoneType, msgspec.UnsetType, ...)]
    is_union = get_origin(plain) in (Union, UnionType)
    # For a mapping, use the type of its values.
    return (
        find_object_type(arguments[-1])
        if arguments and (not is_union or len(arguments) == 1)
        else None
    )


def _strip_meaning(hint: Any) -> Any:
    return get_args(hint)[0] if get_origin(hint) is Annotated else hint


def name_json_type(kind: Any) -> str:
    """Return the name in docs/json.md of the JSON type to which a Python type is encoded."""
    plain = get_origin(kind) or kind
    if hasattr(plain, "__dataclass_fields__") or issubclass(plain, msgspec.Struct):
        return "object"
    return next(name for name, types in JSON_TYPES.items() if issubclass(plain, types))
