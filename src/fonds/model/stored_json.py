"""Convert typed values to the JSON that SQL rows store, and back.

A stored value is a struct, a dataclass, a story, or a mapping of such values. Columns that other
programs write have a struct with a field `unknown`. It keeps every stored field that the other
fields cannot express, because its name is unknown or its value has another type. So writing the
struct again produces the same JSON. A story keeps unknown fields too. Other types ignore unknown
fields, which are lost when the column is written again.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import fields, is_dataclass
from functools import cache
from types import NoneType, UnionType
from typing import Any, Union, get_args, get_origin, get_type_hints

import msgspec

from fonds.model.encoding import prepare_type
from fonds.model.story import Story
from fonds.model.story_json import build_story, encode_story

UNKNOWN = "unknown"


def is_stored_type(kind: Any) -> bool:
    """Return whether values of a type are stored as JSON, because the type is a struct, a dataclass
    or a mapping.
    """
    if (get_origin(kind) or kind) is Mapping:
        return True
    return isinstance(kind, type) and (issubclass(kind, msgspec.Struct) or is_dataclass(kind))


def encode_stored(value: object) -> Any:
    """Return a typed value as plain JSON data: dicts, lists, texts and numbers.

    A value that is already plain is returned unchanged.
    """
    if isinstance(value, Story):
        return encode_story(value)
    if not isinstance(value, msgspec.Struct | Mapping) and not is_dataclass(value):
        return value
    if not isinstance(value, msgspec.Struct) or not _keeps_unknown(type(value)):
        return _list_tuples(
            msgspec.to_builtins(dict(value) if isinstance(value, Mapping) else value)
        )
    tuples = _list_tuples(msgspec.to_builtins(msgspec.structs.replace(value, unknown={})))
    return {**tuples, **getattr(value, UNKNOWN)}


def encode_row(row: Any) -> dict[str, Any]:
    """Return an SQL row as a mapping from column name to value, with typed values as plain JSON
    data.
    """
    return {column.name: encode_stored(getattr(row, column.name)) for column in fields(row)}


def decode_stored(kind: Any, value: Any) -> Any:
    """Convert plain JSON data from an SQL row to a value of the type `kind`.

    A field whose value has a wrong type gets its default. Invalid elements of a list or mapping are
    left out. Raises ValueError if a required field is missing.
    """
    if kind is Story:
        return build_story(value if isinstance(value, Mapping) else {})
    if isinstance(kind, type) and issubclass(kind, msgspec.Struct) and _keeps_unknown(kind):
        return _decode_with_unknown(kind, value if isinstance(value, Mapping) else {})
    converted_value = _convert(kind, value)
    if converted_value is msgspec.UNSET:
        raise ValueError(f"the stored value is not a valid {kind}")
    return converted_value


def _keeps_unknown(kind: type[msgspec.Struct]) -> bool:
    return UNKNOWN in kind.__struct_fields__


def _decode_with_unknown(kind: type[msgspec.Struct], value: Mapping[str, Any]) -> msgspec.Struct:
    decoded_value: msgspec.Struct = _convert_fields(kind, value)
    known_fields = encode_stored(decoded_value)
    unknown_fields = {
        name: item
        for name, item in value.items()
        if name not in known_fields or known_fields[name] != item
    }
    return (
        msgspec.structs.replace(decoded_value, unknown=unknown_fields)
        if unknown_fields
        else decoded_value
    )


def _convert(kind: Any, value: Any) -> Any:
    """Convert plain JSON data to the type `kind`, leaving out invalid fields and elements.

    Returns `msgspec.UNSET` if no part of the data is valid for this type.
    """
    try:
        return msgspec.convert(value, prepare_type(kind))
    except msgspec.ValidationError:
        pass
    origin, arguments = get_origin(kind), get_args(kind)
    if origin in (Union, UnionType):
        options = [option for option in arguments if option is not NoneType]
        return _convert(options[0], value) if len(options) == 1 else msgspec.UNSET
    if origin is tuple and isinstance(value, list | tuple) and arguments[1:] == (...,):
        items = [_convert(arguments[0], item) for item in value]
        return tuple(item for item in items if item is not msgspec.UNSET)
    if origin is Mapping and isinstance(value, Mapping):
        values = {name: _convert(arguments[1], item) for name, item in value.items()}
        return {name: item for name, item in values.items() if item is not msgspec.UNSET}
    if isinstance(kind, type) and issubclass(kind, msgspec.Struct) and isinstance(value, Mapping):
        return _convert_fields(kind, value)
    return msgspec.UNSET


def _convert_fields(kind: type[msgspec.Struct], value: Mapping[str, Any]) -> Any:
    """Convert the fields of a struct one by one, leaving out invalid ones.

    Returns `msgspec.UNSET` if a required field is missing or invalid.
    """
    hints = _get_hints(kind)
    values = {}
    for name, stored_name in zip(
        kind.__struct_fields__, kind.__struct_encode_fields__, strict=True
    ):
        if name == UNKNOWN or stored_name not in value:
            continue
        converted_value = _convert(hints[name], value[stored_name])
        if converted_value is not msgspec.UNSET:
            values[name] = converted_value
    try:
        return kind(**values)
    except TypeError:
        # A required field is missing.
        return msgspec.UNSET


@cache
def _get_hints(kind: type[msgspec.Struct]) -> Mapping[str, Any]:
    """Return the types of a struct's fields by name. Cached, because computing them takes longer
    than converting a value.
    """
    return get_type_hints(kind)


def _list_tuples(value: Any) -> Any:
    """Return plain JSON data with lists in place of tuples, as a JSON decoder would return it."""
    if isinstance(value, dict):
        return {name: _list_tuples(item) for name, item in value.items()}
    if isinstance(value, list | tuple):
        return [_list_tuples(item) for item in value]
    return value
