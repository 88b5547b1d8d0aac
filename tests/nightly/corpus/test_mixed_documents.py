"""Folders of mixed documents: every file that is given is accounted for, and the audit is clean."""

from __future__ import annotations

from pathlib import Path

import pytest

from e2e.running import fonds
from filled_home import open_home
from fonds.model.rows import EntryRow, InputRow

CORPUS = Path(__file__).parents[3].parent / "shared" / "corpus"


@pytest.mark.parametrize("name", ["cases", "documents", "landing", "papers", "scans", "warc"])
def test_every_file_that_is_given_ends_in_a_record(name: str, tmp_path: Path) -> None:
    folder = CORPUS / name
    if not folder.is_dir():
        pytest.skip(f"{folder} is not here")
    given = sorted(str(path) for path in folder.rglob("*") if path.is_file())
    fonds(tmp_path / "home", "ingest", "-q", folder)
    with open_home(tmp_path / "home") as stores:
        inputs = {row.input_id: row for row in stores.records.find(InputRow)}
        told = {row.input_id for row in stores.records.find(EntryRow)}
    told |= {one for one, row in inputs.items() if sum(row.tally.values())}
    assert sorted(inputs[one].path for one in told) == given
    audited = fonds(tmp_path / "home", "audit")
    assert audited.code == 0, audited.out
