"""CSV versions of list pages: the rows of the page's JSON at `/csv` + the page's path, with the
same parameters.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import fields, is_dataclass
from functools import cache, wraps
from typing import Any, ParamSpec, TypeVar

from fastapi import APIRouter
from pydantic import TypeAdapter
from starlette.responses import Response

from fonds.search.export_formats import iter_csv_lines

PREFIX = "/csv"
CSV_PATHS: set[str] = set()
"""Paths of the pages that have a CSV version, as routes declare them, such as
`/sources/{source_id}`.
"""

RouteP = ParamSpec("RouteP")
Answer = TypeVar("Answer")
RowsGetter = Callable[[Any], Sequence[Any]]


def add_csv_route(
    router: APIRouter, path: str, rows: RowsGetter
) -> Callable[[Callable[RouteP, Answer]], Callable[RouteP, Answer]]:
    """Decorate the JSON route of a page so that a second route returns the page's `rows` as CSV.

    A row is a dataclass with one column per field. The fields of a nested dataclass are columns
    called `outer.inner`. Lists and mappings are written as JSON, None as nothing. All columns of a
    row's class are present even if empty. If any row has a dataclass in a field, that field has no
    column of its own, only those of the dataclass's fields.
    """

    def with_table(twin: Callable[RouteP, Answer]) -> Callable[RouteP, Answer]:
        @wraps(twin)
        def table(*args: RouteP.args, **kwargs: RouteP.kwargs) -> Response:
            return build_csv_response(rows(twin(*args, **kwargs)))

        CSV_PATHS.add(path)
        router.add_api_route(PREFIX + path, table, include_in_schema=False, response_model=None)
        return twin

    return with_table


def build_csv_response(rows: Sequence[Any]) -> Response:
    """Return the rows of a page as a response with a CSV file, which is empty if there are no
    rows.
    """
    flat = [dict(_iter_cells(row, _to_plain(row))) for row in rows]
    names = dict.fromkeys(name for row in flat for name in row)
    # A field that is a dataclass in one row and None in another has only the columns of the
    # dataclass's fields.
    outer = {
        name[:index] for name in names for index, character in enumerate(name) if character == "."
    }
    columns: Mapping[str, str] = {name: "text" for name in names if name not in outer}
    content = (
        b"".join(iter_csv_lines((_fill_columns(row, columns) for row in flat), columns))
        if flat
        else b""
    )
    return Response(content, media_type="text/csv; charset=utf-8")


def _fill_columns(row: Mapping[str, Any], columns: Mapping[str, str]) -> dict[str, Any]:
    return {name: row.get(name) for name in columns}


def _to_plain(row: Any) -> Mapping[str, Any]:
    """Convert a row to a mapping of field names to the values that the row has in JSON."""
    plain: Mapping[str, Any] = _get_type_adapter(row.__class__).dump_python(row, mode="json")
    return plain


@cache
def _get_type_adapter(kind: Any) -> TypeAdapter[Any]:
    return TypeAdapter(kind)


def _iter_cells(row: Any, plain: Mapping[str, Any], outer: str = "") -> Iterator[tuple[str, Any]]:
    for field in fields(row):
        inner, value = getattr(row, field.name), plain[field.name]
        if is_dataclass(inner):
            yield from _iter_cells(inner, value, f"{outer}{field.name}.")
        else:
            yield f"{outer}{field.name}", _format_cell(value)


def _format_cell(value: Any) -> Any:
    return json.dumps(value, ensure_ascii=False) if isinstance(value, (list, dict, bool)) else value
