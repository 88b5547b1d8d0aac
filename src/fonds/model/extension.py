"""Build a value of a dataclass from a value of the dataclass that it extends.

A page or a route of the API answers with the value that a command writes as JSON, and adds fields
such as links. The type of the answer is a dataclass that extends the type of the command's value,
so that the names of the shared fields are declared once.
"""

from __future__ import annotations

from dataclasses import fields
from typing import TYPE_CHECKING, Any, TypeVar

if TYPE_CHECKING:
    from _typeshed import DataclassInstance

T = TypeVar("T")


def extend(kind: type[T], value: DataclassInstance, /, **more: object) -> T:
    """Return a value of `kind` with the fields of `value` and the fields `more`.

    - `kind`: dataclass that extends the class of `value`.
    - `more`: the fields that `kind` adds, and those whose value differs.
    """
    shared_fields: dict[str, Any] = {
        field.name: getattr(value, field.name) for field in fields(value) if field.name not in more
    }
    return kind(**shared_fields, **more)
