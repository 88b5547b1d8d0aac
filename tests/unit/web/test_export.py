"""Exporting all results of a search, from the page and the API."""

from __future__ import annotations

import csv
import hashlib
import io
import json
import zipfile
from pathlib import Path

import pytest
from pyarrow import parquet
from starlette.testclient import TestClient

from filled_home import FilledHome
from fonds.ports import Stores
from fonds.search.export_formats import EXPORT_FORMATS
from fonds.search.export_rows import FIELDS
from fonds.search.manifest import SUFFIX, read_manifest
from fonds.search.verification import ManifestVerifier, is_file_intact
from page_reading import read


def list_results(client: TestClient, query: str) -> set[str]:
    """Return the SHA-1s of all results, paging through the API by cursor."""
    files: list[str] = []
    after = ""
    for _ in range(100):
        page = client.get(f"/api/search?sort=id&size=3&facets=0{after}&{query}").json()
        files += [hit["sha1hex"] for hit in page["results"]]
        if page["next"] is None:
            assert len(files) == len(set(files)) == page["total"]
            return set(files)
        after = f"&after={page['next']}"
    raise AssertionError("paging does not end")


@pytest.mark.parametrize("query", ["q=flood", "q=flood&kind=story&language=en", "q=*&undated=1"])
def test_every_format_contains_all_results(client: TestClient, query: str) -> None:
    expected = list_results(client, query)
    assert expected
    lines = client.get(f"/search/export/jsonl?{query}").text.splitlines()
    assert {json.loads(line)["sha1hex"] for line in lines} == expected
    rows = list(csv.DictReader(io.StringIO(client.get(f"/search/export/csv?{query}").text)))
    assert {row["sha1hex"] for row in rows} == expected
    table = parquet.read_table(io.BytesIO(client.get(f"/search/export/parquet?{query}").content))
    assert (set(table.column("sha1hex").to_pylist()), table.column_names) == (
        expected,
        list(FIELDS),
    )
    assert client.get(f"/search/export/bibtex?{query}").text.count("note = {SHA-1 ") == len(
        expected
    )
    items = client.get(f"/api/search/export/csl?{query}").json()
    assert {item["note"].removeprefix("SHA-1 ") for item in items} == expected


def test_parquet_has_typed_dates_times_and_lists(client: TestClient) -> None:
    lines = client.get("/search/export/jsonl?q=*").text.splitlines()
    rows = {row["sha1hex"]: row for row in map(json.loads, lines)}
    table = parquet.read_table(io.BytesIO(client.get("/search/export/parquet?q=*").content))
    types = {name: str(table.schema.field(name).type) for name in table.column_names}
    assert types["publication_date"] == "date32[day]"
    assert types["datetime"] == "timestamp[us, tz=UTC]"
    assert "list" in types["authors"]
    assert "list" in types["near_duplicates"]
    for typed_row in table.to_pylist():
        row = rows[typed_row["sha1hex"]]
        assert typed_row["authors"] == row["authors"]
        assert str(typed_row["publication_date"]) == str(row["publication_date"])
        at = typed_row["datetime"]
        assert (f"{at:%Y%m%d%H%M%S}" if at else None) == row["datetime"]
    assert {type(row["authors"]) for row in rows.values()} == {list, type(None)}
    assert any(row["publication_date"] for row in rows.values())
    assert any(row["datetime"] for row in rows.values())


def test_csv_joins_the_authors_in_one_cell(client: TestClient) -> None:
    lines = client.get("/search/export/jsonl?q=*").text.splitlines()
    authors = {row["sha1hex"]: row["authors"] or [] for row in map(json.loads, lines)}
    table = csv.DictReader(io.StringIO(client.get("/search/export/csv?q=*").text))
    cells = {row["sha1hex"]: row["authors"] for row in table}
    assert cells == {key: "; ".join(names) for key, names in authors.items()}


@pytest.mark.parametrize("name", list(EXPORT_FORMATS))
def test_the_zip_contains_a_manifest_that_verifies(
    client: TestClient, stores: Stores, tmp_path: Path, name: str
) -> None:
    response = client.get(f"/search/export/{name}.zip?q=flood&kind=story")
    assert response.headers["content-disposition"] == 'attachment; filename="search.zip"'
    with zipfile.ZipFile(io.BytesIO(response.content)) as archive:
        archive.extractall(tmp_path)
    (manifest_path,) = tmp_path.glob(f"*{SUFFIX}")
    manifest = read_manifest(manifest_path)
    data = (tmp_path / manifest.file).read_bytes()
    assert hashlib.sha256(data).hexdigest() == manifest.sha256
    assert manifest.search is not None
    assert manifest.rows == manifest.search.total == len(list_results(client, "q=flood&kind=story"))
    verification = ManifestVerifier(stores)(manifest)
    assert (verification.result_is_same, verification.now) == (True, manifest.rows)
    assert verification.compared is not None
    assert verification.compared.unchanged == manifest.rows
    assert is_file_intact(manifest_path, manifest) == (str(tmp_path / manifest.file), True)
    (tmp_path / manifest.file).write_bytes(data + b" ")
    assert not is_file_intact(manifest_path, manifest)[1]


def test_the_page_shows_the_number_of_exported_results(client: TestClient) -> None:
    page = read(client, "/search?q=flood&kind=story&sort=newest")
    links = page.links("//details[@class='exports']")
    assert "/search/export/bibtex?q=flood&kind=story" in links
    assert len(links) == 2 * len(EXPORT_FORMATS) + len({"/verify"})
    total = client.get("/api/search?q=flood&kind=story").json()["total"]
    assert page.words("//details[@class='exports']/summary") == f"Export all {total}"


def test_invalid_and_empty_exports_are_refused(client: TestClient, filled_home: FilledHome) -> None:
    response = client.get("/api/search/export/xls?q=flood")
    assert response.status_code == 404
    assert "jsonl, csv, csv-raw, parquet, bibtex, csl" in response.json()["error"]
    assert client.get("/api/search/export/csv?q=kind:x").status_code == 400
    assert client.get("/api/search?after=x").status_code == 400
    empty = client.get("/api/search/export/jsonl?domain=dayly.example")
    assert empty.status_code == 404
    assert "did you mean “daily.example”?" in empty.json()["error"]
    for invalid_query in (
        "language=english",
        "sort=newst",
        "from=2024-02-01&to=2024-01-01",
        "nope=1",
    ):
        assert client.get(f"/api/search/export/jsonl?{invalid_query}").status_code == 400


ROWS = [
    {"a": '=HYPERLINK("http://x.example")', "b": "+1+cmd|' /C calc'!A0", "c": ["@SUM(1)"]},
    {"a": "-1", "b": "\t=1", "c": -1},
    {"a": "A = B", "b": "＝1", "c": None},
]


def test_csv_disarms_formulas() -> None:
    columns = dict.fromkeys("abc", "string")
    plain, raw = (
        list(csv.reader(io.StringIO(b"".join(export_rows(iter(ROWS), columns)).decode())))[1:]
        for export_rows in (EXPORT_FORMATS["csv"].rows, EXPORT_FORMATS["csv-raw"].rows)
        if export_rows is not None
    )
    assert plain == [
        ['\'=HYPERLINK("http://x.example")', "'+1+cmd|' /C calc'!A0", "'@SUM(1)"],
        ["'-1", "'\t=1", "-1"],
        ["A = B", "'＝1", ""],
    ]
    assert [[cell.removeprefix("'") for cell in row] for row in plain] == raw
