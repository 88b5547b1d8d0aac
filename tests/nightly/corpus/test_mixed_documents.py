"""Folders of mixed documents: every ingested file is accounted for, and the audit is clean."""

from __future__ import annotations

from pathlib import Path

import pytest

from e2e.running import fonds
from filled_home import open_home
from fonds.model.rows import EntryRow, InputRow

CORPUS = Path(__file__).parents[3].parent / "shared" / "corpus"


@pytest.mark.parametrize("name", ["cases", "documents", "landing", "papers", "scans", "warc"])
def test_every_ingested_file_has_a_record(name: str, tmp_path: Path) -> None:
    folder = CORPUS / name
    if not folder.is_dir():
        pytest.skip(f"{folder} is not here")
    paths = sorted(str(path) for path in folder.rglob("*") if path.is_file())
    fonds(tmp_path / "home", "ingest", "-q", folder)
    with open_home(tmp_path / "home") as stores:
        inputs = {row.input_id: row for row in stores.records.find(InputRow)}
        input_ids = {row.input_id for row in stores.records.find(EntryRow)}
    input_ids |= {input_id for input_id, row in inputs.items() if sum(row.tally.values())}
    assert sorted(inputs[input_id].path for input_id in input_ids) == paths
    audit = fonds(tmp_path / "home", "audit")
    assert audit.code == 0, audit.out
