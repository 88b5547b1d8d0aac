"""The CSV of a page has the rows of its JSON."""

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
class NestedRow:
    name: str


@dataclass(frozen=True)
class Line:
    text: str
    count: int | None
    is_new: bool
    seen_at: datetime
    nested: NestedRow | None
    names: Sequence[str]
    counts: Mapping[str, int]


@pytest.fixture(scope="module")
def client(tmp_path_factory: pytest.TempPathFactory) -> Iterator[TestClient]:
    folder = tmp_path_factory.mktemp("tables")
    fill_with_themes(folder)
    with open_home(folder) as stores:
        writer = open_themes(stores, 1_790_100_000)
        placement = next(
            placement for placement in list_placements(writer.tables, FIVE, "d1") if placement.label
        )
        exclude(writer, FIVE, "DEFAULT", placement.label or "", ["d1"])
        with TestClient(create_app(stores), base_url="http://localhost:8765") as client:
            yield client


def parse_rows(text: str) -> list[dict[str, str]]:
    return list(csv.DictReader(io.StringIO(text, newline="")))


def build_cells(row: Mapping[str, Any]) -> dict[str, str]:
    """Return the CSV cell of each value in a JSON row. A nested value becomes JSON in one cell."""
    json_texts = {name: json.dumps(value, ensure_ascii=False) for name, value in row.items()}
    texts = {name: value for name, value in row.items() if isinstance(value, str)}
    return json_texts | texts | {name: "" for name, value in row.items() if value is None}


@pytest.mark.parametrize("path", PAGES)
def test_csv_has_each_row_of_the_json(client: TestClient, path: str) -> None:
    json_path, name = PAGES[path]
    response = client.get(f"/csv{path}")
    assert (response.status_code, response.headers["content-type"]) == (
        200,
        "text/csv; charset=utf-8",
    )
    json_rows, csv_rows = client.get(json_path).json()[name], parse_rows(response.text)
    assert len(csv_rows) == len(json_rows) > 0
    for row, csv_row in zip(json_rows, csv_rows, strict=True):
        nested_keys = {
            key for key, value in row.items() if isinstance(value, dict) and key not in csv_row
        }
        flat_row = {key: value for key, value in build_cells(row).items() if key not in nested_keys}
        assert {key: csv_row[key] for key in flat_row if key in csv_row} == {
            key: value for key, value in flat_row.items() if key in csv_row
        }
        missing_keys = set(flat_row) - set(csv_row)
        assert all(row[key] is None for key in missing_keys)
        assert not {key.rpartition(".")[0] for key in csv_row} & set(csv_row)


def test_csv_lists_the_steps_of_all_pipelines(client: TestClient) -> None:
    pipelines = client.get("/pipeline.json").json()["pipelines"]
    csv_rows = parse_rows(client.get("/csv/pipeline").text)
    assert [row["topic"] for row in csv_rows] == [
        step["topic"] for pipeline in pipelines for step in pipeline["steps"]
    ]


def test_only_pages_with_rows_link_to_csv(client: TestClient) -> None:
    assert (
        '<a href="/csv/records?reason=broken-pdf">' in client.get("/records?reason=broken-pdf").text
    )
    assert '<a href="/csv/themes/made/five">' in client.get("/themes/made/five").text
    assert "/csv/" not in client.get("/docs").text


def test_csv_refuses_what_the_page_refuses(client: TestClient) -> None:
    assert client.get("/csv/records?nonsense=1").status_code == 400
    assert client.get("/csv/records?step=nonsense").status_code == 400
    assert client.get("/csv/sources/000000000000").status_code == 404


def test_each_type_of_value_becomes_a_cell() -> None:
    seen_at = datetime(2026, 3, 14, 9, 26, tzinfo=UTC)
    lines = [
        Line(
            'a "quoted", text\nof lines', None, True, seen_at, NestedRow("x"), ["a", "ä"], {"b": 1}
        ),
        Line("=1+1", 7, False, seen_at, None, [], {}),
    ]
    first, second = parse_rows(build_csv_response(lines).body.decode())
    assert first == {
        "text": 'a "quoted", text\nof lines',
        "count": "",
        "is_new": "true",
        "seen_at": "2026-03-14T09:26:00Z",
        "nested.name": "x",
        "names": '["a", "ä"]',
        "counts": '{"b": 1}',
    }
    assert (second["text"], second["count"], second["nested.name"]) == ("'=1+1", "7", "")
    assert build_csv_response([]).body == b""
