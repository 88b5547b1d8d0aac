"""Follow `docs/howto/add-a-flavour.md` in a copy of the repository."""

from __future__ import annotations

from pathlib import Path

import pytest

from e2e.crawls import page
from e2e.howto_copy import CODE_RULES, Copy, copy_repository, run_checks
from fixtures.pdfs import text_pdf

pytestmark = pytest.mark.xdist_group("howto_flavour")


@pytest.fixture(scope="module")
def copy(tmp_path_factory: pytest.TempPathFactory) -> Copy:
    copy = copy_repository(tmp_path_factory.mktemp("copy"), "add-a-flavour.md")
    assert copy.follow() == ["src/fonds/pipelines/flavours/papers_only.py"]
    return copy


def test_the_repository_rules_pass(copy: Copy) -> None:
    run_checks(copy, *CODE_RULES, "tests/unit/repository/test_pipelines.py")


def test_the_flavour_reads_pdfs_and_archives_nothing(copy: Copy, tmp_path: Path) -> None:
    home, files = tmp_path / "home", tmp_path / "files"
    files.mkdir()
    (files / "words.pdf").write_bytes(text_pdf(("High water at noon",)))
    (files / "page.html").write_bytes(page(1))
    result = copy.fonds(home, "ingest", "--pipeline", "papers-only", files, "--json")
    assert (result.code, result.last["done"]) == (0, 1), result.err
    assert result.last["dropped"] == {"not-wanted": 1}
    (row,) = copy.fonds(home, "export", "--no-text").lines
    assert row["mimetype"] == "application/pdf"
    assert not list((home / "archive").glob("*.warc.gz"))
    assert copy.fonds(home, "search", "water", "--json").lines
    assert copy.fonds(home, "audit").code == 0
