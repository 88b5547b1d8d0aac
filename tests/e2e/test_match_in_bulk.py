"""`fonds match` records what it stands for: the audit is clean after it, however often it runs."""

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


def must(ran: CommandResult) -> CommandResult:
    assert ran.code == 0, ran.out + ran.err
    return ran


def steps(home: Path) -> dict[str, Any]:
    found: dict[str, Any] = must(fonds(home, "audit", "--json")).last["steps"]["match"]["match"]
    return found


def test_the_audit_is_clean_after_a_match_in_bulk_and_after_more_papers(
    home: Path, tmp_path: Path
) -> None:
    (tmp_path / "first.pdf").write_bytes(PAPER)
    must(fonds(home, "ingest", tmp_path / "first.pdf"))
    must(fonds(home, "catalog", "load", tmp_path / "crossref"))
    must(fonds(home, "audit"))
    for _ in range(2):
        must(fonds(home, "match"))
        assert steps(home) == {"in": 1, "done": 1, "dropped": 0, "quarantined": 0, "pending": 0}
    other = text_pdf(["Tides and the banks they leave behind\nBen Brook\nThe tides come and go."])
    (tmp_path / "second.pdf").write_bytes(other)
    must(fonds(home, "ingest", tmp_path / "second.pdf"))
    must(fonds(home, "match", "papers"))
    assert steps(home)["done"] == 2
    # The step itself finds nothing left to do, and a repair has nothing to mend.
    must(fonds(home, "catchup", "match", "--pipeline", "match"))
    assert steps(home)["done"] == 2
    assert "Nothing to repair" in must(fonds(home, "repair")).out


def test_a_match_in_bulk_leaves_what_the_step_was_done_with(home: Path, tmp_path: Path) -> None:
    must(fonds(home, "catalog", "load", tmp_path / "crossref"))
    (tmp_path / "one").mkdir()
    shutil.copy(tmp_path / "paper.pdf", tmp_path / "one" / "paper.pdf")
    must(fonds(home, "ingest", tmp_path / "one", FONDS_MATCH="true"))
    before = must(fonds(home, "status", "--json")).last
    must(fonds(home, "match"))
    after = must(fonds(home, "status", "--json")).last
    assert (after["in"], after["done"]) == (before["in"], before["done"])
    must(fonds(home, "audit"))
