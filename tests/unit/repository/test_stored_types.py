"""Values that rows store as JSON have a type, and only the module that decodes them knows their keys."""

from __future__ import annotations

import ast
from collections.abc import Iterator, Mapping
from dataclasses import fields, is_dataclass
from typing import Any, get_args, get_type_hints

import msgspec
import pytest

from fonds.model.rows import ROWS, Row
from fonds.model.stored_json import UNKNOWN, is_stored_type
from fonds.model.story import Story
from unit.repository.tree import list_modules

EXCEPTIONS = {
    "src/fonds/ingest/bulk/extraction_rows.py": "leaves two fields out of a story's public JSON",
}
ENCODERS = frozenset({"encode_stored", "encode_story"})


def list_options(hint: Any) -> list[Any]:
    """Return a type and all types that it contains."""
    return [hint, *(inner for option in get_args(hint) for inner in list_options(option))]


def iter_untyped(kind: Any, place: str) -> Iterator[str]:
    """Yield untyped fields of a stored type and of the types in it."""
    for option in list_options(kind):
        if option in (Any, object) or option in (Mapping, dict, list, tuple):
            yield place
        elif isinstance(option, type) and (
            issubclass(option, msgspec.Struct) or is_dataclass(option)
        ):
            for name, hint in get_type_hints(option).items():
                if name != UNKNOWN:
                    yield from iter_untyped(hint, f"{place}.{name}")


def list_stored_columns(row: type[Row]) -> dict[str, Any]:
    hints = get_type_hints(row)
    return {
        column.name: hints[column.name]
        for column in fields(row)  # type: ignore[arg-type]
        if any(map(is_stored_type, list_options(hints[column.name])))
    }


COLUMNS = {(row, name): hint for row in ROWS for name, hint in list_stored_columns(row).items()}
COLUMN_NAMES = frozenset(name for _, name in COLUMNS)


@pytest.mark.parametrize("row", ROWS)
def test_no_column_of_a_row_is_untyped(row: type[Row]) -> None:
    hints = get_type_hints(row)
    untyped = [
        place
        for column in fields(row)  # type: ignore[arg-type]
        for place in iter_untyped(hints[column.name], column.name)
    ]
    assert untyped == []


def test_columns_with_stored_types_are_found() -> None:
    assert {"metadata", "story", "stated", "hints", "backfill", "paces", "rest"} <= COLUMN_NAMES
    assert Story in COLUMNS.values()
    assert list(iter_untyped(Mapping[str, Any] | None, "field")) == ["field"]


def iter_key_uses(tree: ast.AST) -> Iterator[int]:
    """Yield lines that read a stored value, or its JSON, by a literal key."""
    for scope in ast.walk(tree):
        if isinstance(scope, ast.FunctionDef | ast.Lambda | ast.Module):
            yield from _iter_uses_in(scope)


def _iter_uses_in(scope: ast.AST) -> Iterator[int]:
    names = {
        target.id
        for node in ast.walk(scope)
        if isinstance(node, ast.Assign) and _is_stored(node.value, frozenset())
        for target in node.targets
        if isinstance(target, ast.Name)
    }
    for node in ast.walk(scope):
        key: ast.expr | None = None
        if isinstance(node, ast.Subscript):
            value, key = node.value, node.slice
        elif (
            isinstance(node, ast.Call)
            and isinstance(node.func, ast.Attribute)
            and node.func.attr in ("get", "pop", "setdefault")
            and node.args
        ):
            value, key = node.func.value, node.args[0]
        is_literal = isinstance(key, ast.Constant) and isinstance(key.value, str)
        if is_literal and _is_stored(value, frozenset(names)):
            yield node.lineno


def _is_stored(value: ast.expr, names: frozenset[str]) -> bool:
    """Return whether an expression is a stored column, its JSON, or a name assigned from one."""
    if isinstance(value, ast.BoolOp):
        return any(_is_stored(option, names) for option in value.values)
    if isinstance(value, ast.Subscript):
        return _is_stored(value.value, names)
    if isinstance(value, ast.Call):
        if isinstance(value.func, ast.Attribute) and value.func.attr == "get":
            return _is_stored(value.func.value, names)
        return isinstance(value.func, ast.Name) and value.func.id in ENCODERS
    if isinstance(value, ast.Name):
        return value.id in names
    return isinstance(value, ast.Attribute) and value.attr in COLUMN_NAMES


def test_stored_values_are_not_read_by_key() -> None:
    uses = [
        f"{module.place}:{line}"
        for module in list_modules()
        if module.place.startswith("src/fonds/") and module.place not in EXCEPTIONS
        for line in iter_key_uses(module.tree)
    ]
    assert uses == []


@pytest.mark.parametrize(
    "text",
    [
        'title = (row.metadata or {}).get("title")',
        'row.story["rss_entry"]["link"]',
        'def f(row):\n    values = row.hints or {}\n    return values.get("ttl_s")',
        'def f(row):\n    values = encode_stored(row.hints)\n    return values["ttl_s"]',
        'row.rest.get("warcs", [])',
    ],
)
def test_a_use_by_literal_key_is_reported(text: str) -> None:
    assert set(iter_key_uses(ast.parse(text)))


@pytest.mark.parametrize(
    "text", ["row.days.get(day)", 'row.metadata.title["a"]', 'headers.get("etag")', "row.hints[at]"]
)
def test_other_uses_are_accepted(text: str) -> None:
    assert list(iter_key_uses(ast.parse(text))) == []


@pytest.mark.parametrize("place", EXCEPTIONS)
def test_every_exception_is_needed(place: str) -> None:
    tree = next(module.tree for module in list_modules() if module.place == place)
    assert set(iter_key_uses(tree))
