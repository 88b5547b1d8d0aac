"""The rows a page lists as CSV: the twin of its JSON, at `/csv` and the page's path, with its parameters."""

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
TABLED: set[str] = set()
"""The paths, as routes declare them, of the pages that have such a twin."""

RouteP = ParamSpec("RouteP")
Answer = TypeVar("Answer")
RowsGetter = Callable[[Any], Sequence[Any]]


def add_csv_route(
    router: APIRouter, path: str, rows: RowsGetter
) -> Callable[[Callable[RouteP, Answer]], Callable[RouteP, Answer]]:
    """Add to what answers a page's JSON a route that gives the page's `rows` as CSV.

    A row is a dataclass: a column for each of its fields, `outer.inner` for those of a dataclass in it, JSON
    for lists and mappings, nothing for None. All columns of a row's class are there, whatever it holds, but
    in the place of a dataclass that any row holds stand those of its fields.
    """

    def with_table(twin: Callable[RouteP, Answer]) -> Callable[RouteP, Answer]:
        @wraps(twin)
        def table(*args: RouteP.args, **kwargs: RouteP.kwargs) -> Response:
            return build_csv_response(rows(twin(*args, **kwargs)))

        TABLED.add(path)
        router.add_api_route(PREFIX + path, table, include_in_schema=False, response_model=None)
        return twin

    return with_table


def build_csv_response(rows: Sequence[Any]) -> Response:
    """Rows as a file; without any an empty one."""
    flat = [dict(_iter_cells(row, _to_plain(row))) for row in rows]
    names = dict.fromkeys(name for row in flat for name in row)
    # A dataclass that a row lacks has no column beside those of its fields in other rows.
    outer = {name[:at] for name in names for at, one in enumerate(name) if one == "."}
    columns: Mapping[str, str] = {name: "text" for name in names if name not in outer}
    whole = (
        b"".join(iter_csv_lines((_fill_columns(row, columns) for row in flat), columns))
        if flat
        else b""
    )
    return Response(whole, media_type="text/csv; charset=utf-8")


def _fill_columns(row: Mapping[str, Any], columns: Mapping[str, str]) -> dict[str, Any]:
    return {name: row.get(name) for name in columns}


def _to_plain(row: Any) -> Mapping[str, Any]:
    """A row as its JSON has it."""
    plain: Mapping[str, Any] = _get_type_adapter(row.__class__).dump_python(row, mode="json")
    return plain


@cache
def _get_type_adapter(kind: Any) -> TypeAdapter[Any]:
    return TypeAdapter(kind)


def _iter_cells(row: Any, plain: Mapping[str, Any], outer: str = "") -> Iterator[tuple[str, Any]]:
    for one in fields(row):
        inner, value = getattr(row, one.name), plain[one.name]
        if is_dataclass(inner):
            yield from _iter_cells(inner, value, f"{outer}{one.name}.")
        else:
            yield f"{outer}{one.name}", _format_cell(value)


def _format_cell(value: Any) -> Any:
    return json.dumps(value, ensure_ascii=False) if isinstance(value, (list, dict, bool)) else value
