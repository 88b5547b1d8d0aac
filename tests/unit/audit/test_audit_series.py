"""Rows of which a file has any number: counted by the audit, and exported by themselves."""

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


def cited(number: int) -> CitationRow:
    told = (f"Brook B. Tides {number}.", "strong", "title-and-author", "doi:10.1/x", "10.1/x")
    return CitationRow(PAGE, number, LONG_AGO, *told, None, 0.9)


def with_citations(stores: Stores, count: int) -> None:
    """A match of the page that promises so many citations, and these."""
    row = MatchRow(PAGE, LONG_AGO, "none", "no-candidate", None, None, None, count, "test")
    stores.records.put([row, build_row_fixity(row), *map(cited, range(count))])
    cells = {MATCH_STATUS: b"none", MATCH_INFO: b"{}"}
    stores.table.declare(stores.journal, ["f", "file", "match0"])
    stores.table.put(stores.journal, [(build_row_key(PAGE), cells)])


def told_of(place: Workplace, library: Stores) -> list[str]:
    """What the audit says of citations."""
    return [
        fault.message
        for fault in run_sums_audit(place, library).faults
        if "rows of citations" in fault.message
    ]


def test_citations_that_are_gone_or_too_many_are_told(place: Workplace, library: Stores) -> None:
    with_citations(library, 3)
    assert told_of(place, library) == []
    library.records.delete(CitationRow, [(PAGE, 1)])
    assert told_of(place, library) == [
        f"{PAGE} has 2 rows of citations, but its row in matches gives 3"
    ]
    library.records.put([cited(1), cited(3)])
    assert told_of(place, library) == [
        f"{PAGE} has 4 rows of citations, but its row in matches gives 3"
    ]


def fonds(home: Path, *words: str) -> Result:
    return CliRunner().invoke(cli, ["--home", str(home), *words])


def test_who_cites_whom_is_exported_in_every_form_of_rows(tmp_path: Path) -> None:
    with open_home(tmp_path) as stores:
        stores.records.put([cited(number) for number in range(3)])
    rows = [json.loads(line) for line in fonds(tmp_path, *EXPORT).stdout.splitlines()]
    assert [(row["sha1hex"], row["number"], row["doi"]) for row in rows] == [
        (PAGE, number, "10.1/x") for number in range(3)
    ]
    assert fonds(tmp_path, *EXPORT, "--format", "csv").stdout.startswith("sha1hex,number,reference")
    out = tmp_path / "citations.parquet"
    assert fonds(tmp_path, *EXPORT, "--format", "parquet", "--out", str(out)).exit_code == 0
    assert parquet.read_table(out).to_pylist() == rows
    assert rows[0]["score"] == 0.9
    manifest = json.loads(Path(f"{out}.manifest.json").read_text())
    assert (manifest["rows"], manifest["fields"]) == (3, list(CITATIONS.columns))
    assert fonds(tmp_path, "verify", str(out)).exit_code == 0


@pytest.mark.parametrize(
    "words", [("flood",), ("--collection", "default"), ("--limit", "3"), ("--format", "bibtex")]
)
def test_a_series_is_exported_whole(tmp_path: Path, words: tuple[str, ...]) -> None:
    with open_home(tmp_path):
        pass
    done = fonds(tmp_path, *EXPORT, *words)
    assert done.exit_code != 0
    assert "rows of their own" in done.output + str(done.exception)


@pytest.mark.parametrize("kind", [one for one in KINDS if one.series], ids=lambda one: one.name)
def test_a_series_names_columns_its_rows_have(kind: DerivativeKind) -> None:
    assert kind.series is not None
    assert kind.series.row.KEY[0] == "sha1hex"
    names = {one.name for one in fields(kind.series.row)}  # type: ignore[arg-type]
    assert kind.series.columns.keys() <= names
