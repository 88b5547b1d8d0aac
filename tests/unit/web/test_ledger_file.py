"""The ledger as a file has the counts of the overview, from the page, the API and the command."""

from __future__ import annotations

import csv
import io
import json
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import pytest
from click.testing import CliRunner
from pyarrow import parquet
from starlette.testclient import TestClient

from filled_home import fill_home, open_home
from fonds.cli.main import cli
from fonds.failures.accounting.tallies import count_entries
from fonds.model.disposition import Weight
from fonds.model.parquet import parse_time
from fonds.ports import Stores
from fonds.search.export_rows import COLUMNS, iter_ledger_rows
from fonds.web.app import create_app
from page_reading import read


@pytest.fixture(scope="module")
def home(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("ledger")
    fill_home(folder)
    return folder


@pytest.fixture(scope="module")
def stores(home: Path) -> Iterator[Stores]:
    with open_home(home) as stores:
        yield stores


@pytest.fixture(scope="module")
def client(stores: Stores) -> Iterator[TestClient]:
    with TestClient(create_app(stores), base_url="http://localhost:8765") as client:
        yield client


def test_ledger_rows_add_up_to_the_tally(stores: Stores) -> None:
    tally, counts = count_entries(stores.records), Counter[tuple[str, str]]()
    for row in iter_ledger_rows(stores.records):
        assert row.keys() == COLUMNS.keys()
        counts[row["outcome"], row["reason"] or ""] += row["count"]
    assert counts.total() == tally.received
    assert counts["done", ""] == tally.done
    dropped_counts = {
        reason: count for (outcome, reason), count in counts.items() if outcome == "dropped"
    }
    assert dropped_counts == tally.dropped
    assert (
        sum(count for (outcome, _), count in counts.items() if outcome == "pending")
        == tally.pending
    )
    assert sum(tally.filter_reasons(Weight.FAILED).values()) > 0
    counted_rows = [row for row in iter_ledger_rows(stores.records) if row["kind"] == "counted"]
    assert counted_rows
    assert all(row["entry_id"] is None and row["place"] for row in counted_rows)


@pytest.mark.parametrize("path", ["/ledger", "/api/ledger"])
def test_each_format_has_the_same_rows(client: TestClient, stores: Stores, path: str) -> None:
    rows = list(iter_ledger_rows(stores.records))
    lines = client.get(f"{path}/jsonl")
    assert [json.loads(line) for line in lines.text.splitlines()] == rows
    assert lines.headers["content-disposition"] == 'attachment; filename="ledger.jsonl"'
    table = csv.DictReader(io.StringIO(client.get(f"{path}/csv").text, newline=""))
    assert [csv_row["url"] for csv_row in table] == [row["url"] or "" for row in rows]
    parquet_table = parquet.read_table(io.BytesIO(client.get(f"{path}/parquet").content))
    times = ("seen", "entered_at", "settled_at")
    assert {str(parquet_table.schema.field(name).type) for name in times} == {
        "timestamp[us, tz=UTC]"
    }
    assert parquet_table.drop_columns(times).to_pylist() == [
        {name: value for name, value in row.items() if name not in times} for row in rows
    ]
    for row, parquet_row in zip(rows, parquet_table.to_pylist(), strict=True):
        assert [parquet_row[name] for name in times] == [parse_time(row[name]) for name in times]
        assert all(parquet_row[name] is not None for name in times if row[name])


def test_an_unknown_format_returns_404_with_the_formats(client: TestClient) -> None:
    response = client.get("/api/ledger/bibtex")
    assert response.status_code == 404
    assert (
        "No format of the ledger" in response.json()["error"] or "jsonl" in response.json()["error"]
    )


def test_the_overview_links_to_the_ledger(client: TestClient) -> None:
    page = read(client, "/")
    assert {"/ledger/csv", "/ledger/jsonl", "/ledger/parquet"} <= page.links("//main").keys()


def test_the_command_writes_the_same_rows_and_a_manifest(
    home: Path, stores: Stores, tmp_path: Path
) -> None:
    out = tmp_path / "ledger.jsonl"
    words = ["export", "--home", str(home), "--kind", "ledger", "--out", str(out)]
    result = CliRunner().invoke(cli, words)
    assert result.exit_code == 0, result.output
    rows = list(iter_ledger_rows(stores.records))
    assert [json.loads(line) for line in out.read_text().splitlines()] == rows
    manifest = json.loads((tmp_path / "ledger.jsonl.manifest.json").read_text())
    assert (manifest["rows"], manifest["fields"]) == (len(rows), list(COLUMNS))
    for invalid_options in (["flood"], ["--limit", "3"], ["--format", "bibtex"]):
        assert CliRunner().invoke(cli, [*words, *invalid_options]).exit_code == 2
