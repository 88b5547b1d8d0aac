"""Answers of commands without a struct of their own, described by hand."""

from __future__ import annotations

from fonds.cli.json_answers import JSON_TYPES, AnswerDescription, FieldDescription


def build_answer(condition: str, *fields: tuple[str, str, str]) -> AnswerDescription:
    """Describe an answer by (name, type, meaning) of each field.

    A `?` after a type means that the value may be null. A `*` after a name means that the field may
    be missing. Raises ValueError for an unknown type.
    """
    return AnswerDescription(condition, tuple(_build_field(*field) for field in fields))


def _build_field(name: str, type_: str, meaning: str) -> FieldDescription:
    plain = type_.removesuffix("?")
    if plain not in JSON_TYPES:
        raise ValueError(f"{name} has the type {type_!r}; known types: {', '.join(JSON_TYPES)}")
    return FieldDescription(
        name.removesuffix("*"), plain, meaning, plain != type_, not name.endswith("*")
    )
