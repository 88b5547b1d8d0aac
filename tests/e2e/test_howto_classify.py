"""Follows `docs/howto/classify-files.md` in a copy of the repository, with the code that stands there."""

from __future__ import annotations

import json
import re
import shutil
from pathlib import Path

import pytest

from e2e.howto_copy import CODE_RULES, Copy, copy_repository, run_checks
from e2e.running import fonds
from fixtures.pdfs import encrypted_pdf, image_pdf, text_pdf

pytestmark = pytest.mark.xdist_group("howto_classify")
NO_PDF = b"%PDF-1.7 and not a word more of a PDF\n" * 20
SAID = {
    "words.pdf": ("pdf", 1.0),
    "picture.pdf": ("pdf", 1.0),
    "locked.pdf": ("likely-pdf", 0.9),
    "none.pdf": ("likely-pdf", 0.5),
}


@pytest.fixture(scope="module")
def copy(tmp_path_factory: pytest.TempPathFactory) -> Copy:
    return copy_repository(tmp_path_factory.mktemp("copy"), "classify-files.md")


@pytest.fixture(scope="module")
def home(tmp_path_factory: pytest.TempPathFactory, copy: Copy) -> Path:
    """A home from before, into which more files come when the how-to has been followed."""
    files, home = tmp_path_factory.mktemp("files"), tmp_path_factory.mktemp("home") / "home"
    (files / "early.pdf").write_bytes(text_pdf(("It was here before",)))
    assert fonds(home, "ingest", files).code == 0
    touched = copy.follow()
    assert len(touched) == len(set(touched)) + 3  # three files are changed in two places
    (files / "words.pdf").write_bytes(text_pdf(("Some words",)))
    (files / "picture.pdf").write_bytes(image_pdf())
    (files / "locked.pdf").write_bytes(encrypted_pdf(user="secret"))
    (files / "none.pdf").write_bytes(NO_PDF)
    copy.fonds(home, "ingest", files)
    return home


def classified(copy: Copy, home: Path) -> dict[str, tuple[str | None, float | None]]:
    rows = copy.fonds(home, "export", "--no-text").lines
    return {
        row["url"].rsplit("/", 1)[-1]: (row["type_status"], row["type_certainty"]) for row in rows
    }


def test_the_tests_of_the_house_hold_in_the_copy(copy: Copy, home: Path) -> None:
    run_checks(
        copy,
        *CODE_RULES,
        "tests/unit/repository/test_kinds.py",
        "tests/unit/repository/test_pipelines.py",
        "tests/unit/ingest/test_classify_file.py",
        "tests/unit/stores/test_sql_records.py",
    )


def test_the_family_of_the_table_says_what_each_file_is(copy: Copy, home: Path) -> None:
    assert classified(copy, home) == SAID | {"early.pdf": (None, None)}
    rows = copy.fonds(home, "export", "--no-text").lines
    for row in rows:
        ran = copy.fonds(home, "table", "get", row["sha1hex"], "--json")
        cells = {name: cell for name, cell in ran.last["cells"].items() if "type0" in name}
        name = row["url"].rsplit("/", 1)[-1]
        if name in SAID:
            assert cells["type0:type_status"] == SAID[name][0]
            assert json.loads(str(cells["type0:type_certainty"])) == SAID[name][1]
        else:
            assert cells == {}
    assert copy.fonds(home, "audit").code == 0


def test_the_file_is_shown_with_its_type(copy: Copy, home: Path) -> None:
    rows = copy.fonds(home, "export", "--no-text").lines
    (locked,) = [row["sha1hex"] for row in rows if row["url"].endswith("locked.pdf")]
    assert re.search(r"file type +likely-pdf \(90% certain\)", copy.fonds(home, "show", locked).out)


def test_what_is_here_already_is_caught_up_and_a_lost_cell_is_found(
    copy: Copy, home: Path, tmp_path: Path
) -> None:
    home = Path(shutil.copytree(home, tmp_path / "home"))
    counted = copy.fonds(home, "catchup", "file_type", "--dry-run", "--json").last
    assert counted == {"files": 1, "by_status": {"": 1}}
    assert copy.fonds(home, "catchup", "file_type").code == 0
    assert classified(copy, home) == SAID | {"early.pdf": ("pdf", 1.0)}
    assert copy.fonds(home, "audit").code == 0
    rows = copy.fonds(home, "export", "--no-text").lines
    ran = copy.run(LOSE, str(home), rows[0]["sha1hex"])
    assert ran.code == 0, ran.err
    audited = copy.fonds(home, "audit", "--json")
    assert audited.code == 1
    (said,) = audited.last["missing"]
    assert "has no type0:type_certainty" in said


LOSE = """
import sys
from pathlib import Path
from fonds.config import Settings
from fonds.wiring.stores import close_stores, open_stores
stores = open_stores(Path(sys.argv[1]), Settings())
key = bytes.fromhex(sys.argv[2])
stores.table.delete(stores.journal, [key], ["type0:type_certainty"])
close_stores(stores)
"""
