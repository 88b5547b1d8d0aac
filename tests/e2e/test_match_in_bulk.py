"""`fonds match` records its results, so that the audit is clean, however often it runs."""

from __future__ import annotations

import shutil
from pathlib import Path
from typing import Any

import pytest

from e2e.running import CommandResult, fonds
from fixtures.pdfs import text_pdf
from journeys.material import PAPER, write_material


@pytest.fixture
def home(tmp_path: Path) -> Path:
    write_material(tmp_path)
    return tmp_path / "home"


def check_success(result: CommandResult) -> CommandResult:
    assert result.code == 0, result.out + result.err
    return result


def read_step_counts(home: Path) -> dict[str, Any]:
    counts: dict[str, Any] = check_success(fonds(home, "audit", "--json")).last["steps"]["match"][
        "match"
    ]
    return counts


def test_the_audit_is_clean_after_bulk_matches_and_more_papers(home: Path, tmp_path: Path) -> None:
    (tmp_path / "first.pdf").write_bytes(PAPER)
    check_success(fonds(home, "ingest", tmp_path / "first.pdf"))
    check_success(fonds(home, "catalog", "load", tmp_path / "crossref"))
    check_success(fonds(home, "audit"))
    for _ in range(2):
        check_success(fonds(home, "match"))
        assert read_step_counts(home) == {
            "in": 1,
            "done": 1,
            "dropped": 0,
            "quarantined": 0,
            "pending": 0,
        }
    second_paper = text_pdf(
        ["Tides and the banks they leave behind\nBen Brook\nThe tides come and go."]
    )
    (tmp_path / "second.pdf").write_bytes(second_paper)
    check_success(fonds(home, "ingest", tmp_path / "second.pdf"))
    check_success(fonds(home, "match", "papers"))
    assert read_step_counts(home)["done"] == 2
    # The step has nothing left to do, and a repair finds no faults.
    check_success(fonds(home, "catchup", "match", "--pipeline", "match"))
    assert read_step_counts(home)["done"] == 2
    assert "Nothing to repair" in check_success(fonds(home, "repair")).out


def test_a_bulk_match_keeps_the_outcomes_of_the_step(home: Path, tmp_path: Path) -> None:
    check_success(fonds(home, "catalog", "load", tmp_path / "crossref"))
    (tmp_path / "one").mkdir()
    shutil.copy(tmp_path / "paper.pdf", tmp_path / "one" / "paper.pdf")
    check_success(fonds(home, "ingest", tmp_path / "one", FONDS_MATCH="true"))
    before = check_success(fonds(home, "status", "--json")).last
    check_success(fonds(home, "match"))
    after = check_success(fonds(home, "status", "--json")).last
    assert (after["in"], after["done"]) == (before["in"], before["done"])
    check_success(fonds(home, "audit"))
