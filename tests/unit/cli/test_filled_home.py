"""The home of the page tests is as the steps leave it."""

from __future__ import annotations

from pathlib import Path

from click.testing import CliRunner

from filled_home import fill_home, open_home
from fonds.cli.main import cli
from fonds.model.rows import FileMetaRow


def test_the_audit_of_the_filled_home_finds_no_fault(tmp_path: Path) -> None:
    filled_home = fill_home(tmp_path)
    with open_home(tmp_path) as stores:
        files = stores.records.count(FileMetaRow)[()]
    result = CliRunner().invoke(cli, ["--home", str(tmp_path), "audit", "--deep"])
    # The one lost file is no fault, because its loss is recorded in the ledger.
    assert f"{files} files were read and hashed, 0 faults." in result.output
    assert "Everything adds up." in result.output
    assert filled_home.crawl.is_dir()
