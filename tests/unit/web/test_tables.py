"""The rows of a page as CSV: those of its JSON, one by one."""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any

import pytest
from starlette.testclient import TestClient

from filled_home import open_home
from followed_home import GOOD
from fonds.grouping.changes.curation import exclude
from fonds.grouping.views.documents import list_placements
from fonds.web.app import create_app
from fonds.web.serving.csv_tables import build_csv_response
from themed_home import FIVE, fill_with_themes, open_themes

PAGES = {
    "/records": ("/records.json", "rows"),
    "/records?reason=broken-pdf": ("/records.json?reason=broken-pdf", "rows"),
    "/files?type=application/pdf": ("/files.json?type=application/pdf", "rows"),
    "/failures": ("/failures.json", "groups"),
    "/sources": ("/sources.json", "rows"),
    f"/sources/{GOOD.source_id}": (f"/sources/{GOOD.source_id}.json", "last_polls"),
    f"/sources/{GOOD.source_id}/links": (f"/sources/{GOOD.source_id}/links.json", "rows"),
    "/themes": ("/api/themes", "collections"),
    "/themes/made/five": ("/api/themes/made/five", "themes"),
    "/themes/made/five/excluded": ("/api/themes/made/five/excluded", "excluded"),
    "/themes/made/five/unclustered": ("/api/themes/made/five/unclustered", "documents"),
    "/themes/made/five/unclustered/outlier": (
        "/api/themes/made/five/unclustered/outlier",
        "documents",
    ),
}


@dataclass(frozen=True)
class Inner:
    name: str


@dataclass(frozen=True)
class Line:
    text: str
    count: int | None
    is_new: bool
    at: datetime
    inner: Inner | None
    listed: Sequence[str]
    told: Mapping[str, int]


@pytest.fixture(scope="module")
def client(tmp_path_factory: pytest.TempPathFactory) -> Iterator[TestClient]:
    folder = tmp_path_factory.mktemp("tables")
    fill_with_themes(folder)
    with open_home(folder) as stores:
        changes = open_themes(stores, 1_790_100_000)
        one = next(
            placement
            for placement in list_placements(changes.tables, FIVE, "d1")
            if placement.label
        )
        exclude(changes, FIVE, "DEFAULT", one.label or "", ["d1"])
        with TestClient(create_app(stores), base_url="http://localhost:8765") as found:
            yield found


def rows_of(text: str) -> list[dict[str, str]]:
    return list(csv.DictReader(io.StringIO(text, newline="")))


def cells(row: Mapping[str, Any], outer: str = "") -> dict[str, str]:
    """What a row of JSON is in a table, where it holds no row in it."""
    plain = {name: json.dumps(one, ensure_ascii=False) for name, one in row.items()}
    texts = {name: one for name, one in row.items() if isinstance(one, str)}
    return plain | texts | {name: "" for name, one in row.items() if one is None}


@pytest.mark.parametrize("path", PAGES)
def test_each_row_of_the_page_is_there(client: TestClient, path: str) -> None:
    twin, name = PAGES[path]
    answer = client.get(f"/csv{path}")
    assert (answer.status_code, answer.headers["content-type"]) == (200, "text/csv; charset=utf-8")
    told, found = client.get(twin).json()[name], rows_of(answer.text)
    assert len(found) == len(told) > 0
    for row, table in zip(told, found, strict=True):
        nested = {one for one, value in row.items() if isinstance(value, dict) and one not in table}
        flat = {one: value for one, value in cells(row).items() if one not in nested}
        assert {one: table[one] for one in flat if one in table} == {
            one: value for one, value in flat.items() if one in table
        }
        missing = set(flat) - set(table)
        assert all(row[one] is None for one in missing)
        assert not {one.rpartition(".")[0] for one in table} & set(table)


def test_steps_of_all_pipelines(client: TestClient) -> None:
    told = client.get("/pipeline.json").json()["pipelines"]
    found = rows_of(client.get("/csv/pipeline").text)
    assert [one["topic"] for one in found] == [
        step["topic"] for line in told for step in line["steps"]
    ]


def test_a_page_leads_to_its_table_and_one_without_rows_does_not(client: TestClient) -> None:
    assert (
        '<a href="/csv/records?reason=broken-pdf">' in client.get("/records?reason=broken-pdf").text
    )
    assert '<a href="/csv/themes/made/five">' in client.get("/themes/made/five").text
    assert "/csv/" not in client.get("/docs").text


def test_what_cannot_be_asked_of_the_page_cannot_be_asked_of_its_table(client: TestClient) -> None:
    assert client.get("/csv/records?nonsense=1").status_code == 400
    assert client.get("/csv/records?step=nonsense").status_code == 400
    assert client.get("/csv/sources/000000000000").status_code == 404


def test_cells_of_every_kind() -> None:
    when = datetime(2026, 3, 14, 9, 26, tzinfo=UTC)
    lines = [
        Line('a "quoted", text\nof lines', None, True, when, Inner("x"), ["a", "ä"], {"b": 1}),
        Line("=1+1", 7, False, when, None, [], {}),
    ]
    first, second = rows_of(build_csv_response(lines).body.decode())
    assert first == {
        "text": 'a "quoted", text\nof lines',
        "count": "",
        "is_new": "true",
        "at": "2026-03-14T09:26:00Z",
        "inner.name": "x",
        "listed": '["a", "ä"]',
        "told": '{"b": 1}',
    }
    assert (second["text"], second["count"], second["inner.name"]) == ("=1+1", "7", "")
    assert build_csv_response([]).body == b""
