"""Follow `docs/howto/add-a-backend.md` in a copy of the repository."""

from __future__ import annotations

import sqlite3
from pathlib import Path

import pytest

from e2e.howto_copy import CODE_RULES, Copy, copy_repository, run_checks
from fixtures.pdfs import text_pdf

pytestmark = pytest.mark.xdist_group("howto_backend")


@pytest.fixture(scope="module")
def copy(tmp_path_factory: pytest.TempPathFactory) -> Copy:
    copy = copy_repository(tmp_path_factory.mktemp("copy"), "add-a-backend.md")
    touched = {path for path in copy.follow() if path.startswith("src/")}
    assert touched == {"src/fonds/stores/sqlite_blobs.py", "src/fonds/wiring/backends.py"}
    return copy


def test_the_contract_and_the_repository_rules_pass(copy: Copy) -> None:
    run_checks(copy, *CODE_RULES, "tests/contract/test_blobs.py", "-k", "sqlite or repository")


def test_a_home_stores_its_blobs_in_the_new_backend(copy: Copy, tmp_path: Path) -> None:
    (tmp_path / "files").mkdir()
    (tmp_path / "files" / "words.pdf").write_bytes(text_pdf(("High water at noon",)))
    home = tmp_path / "home"
    home.mkdir()
    (home / "fonds.toml").write_text('blobs = "sqlite:blobs.sqlite"\n', "utf-8")
    assert copy.fonds(home, "ingest", tmp_path / "files").code == 0
    with sqlite3.connect(home / "blobs.sqlite") as connection:
        keys = [key for (key,) in connection.execute("SELECT key FROM blobs")]
    assert any(key.endswith(".txt") for key in keys)
    assert copy.fonds(home, "search", "water", "--json").lines
    assert copy.fonds(home, "audit", "--deep").code == 0
