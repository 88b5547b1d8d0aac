"""Series, of which a file can have any number of rows: counted by the audit, exported by
themselves."""

from __future__ import annotations

import json
from dataclasses import fields
from datetime import UTC, datetime
from pathlib import Path

import pytest
from click.testing import CliRunner, Result
from pyarrow import parquet

from audit_bench import PAGE, run_sums_audit
from filled_home import open_home
from fonds.cli.main import cli
from fonds.derivatives.fixity import build_row_fixity
from fonds.derivatives.kind import DerivativeKind
from fonds.derivatives.kinds import KINDS
from fonds.derivatives.match import CITATIONS
from fonds.model.rows import CitationRow, MatchRow
from fonds.ports import Stores
from fonds.stores.journal_table.cells import MATCH_INFO, MATCH_STATUS
from fonds.stores.journal_table.keys import build_row_key
from small_pipeline import Workplace

EXPORT = ("export", "--kind", "citations")
LONG_AGO = datetime(2024, 1, 1, tzinfo=UTC)


def make_citation(number: int) -> CitationRow:
    values = (f"Brook B. Tides {number}.", "strong", "title-and-author", "doi:10.1/x", "10.1/x")
    return CitationRow(PAGE, number, LONG_AGO, *values, None, 0.9)


def put_citations(stores: Stores, count: int) -> None:
    """Store a match of the page with a citation count of `count`, and these citations."""
    row = MatchRow(PAGE, LONG_AGO, "none", "no-candidate", None, None, None, count, "test")
    stores.records.put([row, build_row_fixity(row), *map(make_citation, range(count))])
    cells = {MATCH_STATUS: b"none", MATCH_INFO: b"{}"}
    stores.table.declare(stores.journal, ["f", "file", "match0"])
    stores.table.put(stores.journal, [(build_row_key(PAGE), cells)])


def list_messages(place: Workplace, library: Stores) -> list[str]:
    """Return the messages of the audit about citations."""
    return [
        fault.message
        for fault in run_sums_audit(place, library).faults
        if "rows of citations" in fault.message
    ]


def test_missing_and_surplus_citations_are_reported(place: Workplace, library: Stores) -> None:
    put_citations(library, 3)
    assert list_messages(place, library) == []
    library.records.delete(CitationRow, [(PAGE, 1)])
    assert list_messages(place, library) == [
        f"{PAGE} has 2 rows of citations, but its row in matches gives 3"
    ]
    library.records.put([make_citation(1), make_citation(3)])
    assert list_messages(place, library) == [
        f"{PAGE} has 4 rows of citations, but its row in matches gives 3"
    ]


def run_fonds(home: Path, *words: str) -> Result:
    return CliRunner().invoke(cli, ["--home", str(home), *words])


def test_citations_are_exported_in_every_row_format(tmp_path: Path) -> None:
    with open_home(tmp_path) as stores:
        stores.records.put([make_citation(number) for number in range(3)])
    rows = [json.loads(line) for line in run_fonds(tmp_path, *EXPORT).stdout.splitlines()]
    assert [(row["sha1hex"], row["number"], row["doi"]) for row in rows] == [
        (PAGE, number, "10.1/x") for number in range(3)
    ]
    assert run_fonds(tmp_path, *EXPORT, "--format", "csv").stdout.startswith(
        "sha1hex,number,reference"
    )
    out = tmp_path / "citations.parquet"
    assert run_fonds(tmp_path, *EXPORT, "--format", "parquet", "--out", str(out)).exit_code == 0
    assert parquet.read_table(out).to_pylist() == rows
    assert rows[0]["score"] == 0.9
    manifest = json.loads(Path(f"{out}.manifest.json").read_text())
    assert (manifest["rows"], manifest["fields"]) == (3, list(CITATIONS.columns))
    assert run_fonds(tmp_path, "verify", str(out)).exit_code == 0


@pytest.mark.parametrize(
    "words", [("flood",), ("--collection", "default"), ("--limit", "3"), ("--format", "bibtex")]
)
def test_a_series_cannot_be_filtered(tmp_path: Path, words: tuple[str, ...]) -> None:
    with open_home(tmp_path):
        pass
    result = run_fonds(tmp_path, *EXPORT, *words)
    assert result.exit_code != 0
    assert "needs a format with rows" in result.output + str(result.exception)


@pytest.mark.parametrize(
    "kind", [kind for kind in KINDS if kind.series], ids=lambda kind: kind.name
)
def test_the_columns_of_a_series_are_fields_of_its_rows(kind: DerivativeKind) -> None:
    assert kind.series is not None
    assert kind.series.row.KEY[0] == "sha1hex"
    names = {field.name for field in fields(kind.series.row)}  # type: ignore[arg-type]
    assert kind.series.columns.keys() <= names
