"""The home that pages are tested over is one as the steps leave it."""

from __future__ import annotations

from pathlib import Path

from click.testing import CliRunner

from filled_home import fill_home, open_home
from fonds.cli.main import cli
from fonds.model.rows import FileMetaRow


def test_its_audit_finds_nothing_and_its_books_add_up(tmp_path: Path) -> None:
    filled = fill_home(tmp_path)
    with open_home(tmp_path) as stores:
        files = stores.records.count(FileMetaRow)[()]
    done = CliRunner().invoke(cli, ["--home", str(tmp_path), "audit", "--deep"])
    # The one file that lies nowhere is no fault: that it was lost stands on the books.
    assert f"{files} files were read and hashed, 0 faults." in done.output
    assert "Everything adds up." in done.output
    assert filled.crawl.is_dir()
