"""Follow `docs/howto/classify-files.md` in a copy of the repository."""

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
FILE_TYPES = {
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
    """A home with a file ingested before the how-to was followed, and more ingested after it."""
    files, home = tmp_path_factory.mktemp("files"), tmp_path_factory.mktemp("home") / "home"
    (files / "early.pdf").write_bytes(text_pdf(("It was here before",)))
    assert fonds(home, "ingest", files).code == 0
    touched = copy.follow()
    assert len(touched) == len(set(touched)) + 3  # Three files are changed in two places.
    (files / "words.pdf").write_bytes(text_pdf(("Some words",)))
    (files / "picture.pdf").write_bytes(image_pdf())
    (files / "locked.pdf").write_bytes(encrypted_pdf(user="secret"))
    (files / "none.pdf").write_bytes(NO_PDF)
    copy.fonds(home, "ingest", files)
    return home


def export_file_types(copy: Copy, home: Path) -> dict[str, tuple[str | None, float | None]]:
    rows = copy.fonds(home, "export", "--no-text").lines
    return {
        row["url"].rsplit("/", 1)[-1]: (row["type_status"], row["type_certainty"]) for row in rows
    }


def test_the_repository_rules_and_its_own_tests_pass(copy: Copy, home: Path) -> None:
    run_checks(
        copy,
        *CODE_RULES,
        "tests/unit/repository/test_kinds.py",
        "tests/unit/repository/test_pipelines.py",
        "tests/unit/ingest/test_classify_file.py",
        "tests/unit/stores/test_sql_records.py",
    )


def test_the_table_has_the_type_of_each_new_file(copy: Copy, home: Path) -> None:
    assert export_file_types(copy, home) == FILE_TYPES | {"early.pdf": (None, None)}
    rows = copy.fonds(home, "export", "--no-text").lines
    for row in rows:
        result = copy.fonds(home, "table", "get", row["sha1hex"], "--json")
        cells = {name: cell for name, cell in result.last["cells"].items() if "type0" in name}
        name = row["url"].rsplit("/", 1)[-1]
        if name in FILE_TYPES:
            assert cells["type0:type_status"] == FILE_TYPES[name][0]
            assert json.loads(str(cells["type0:type_certainty"])) == FILE_TYPES[name][1]
        else:
            assert cells == {}
    assert copy.fonds(home, "audit").code == 0


def test_show_prints_the_file_type(copy: Copy, home: Path) -> None:
    rows = copy.fonds(home, "export", "--no-text").lines
    (locked,) = [row["sha1hex"] for row in rows if row["url"].endswith("locked.pdf")]
    assert re.search(r"file type +likely-pdf \(90% certain\)", copy.fonds(home, "show", locked).out)


def test_catchup_classifies_older_files_and_the_audit_reports_a_lost_cell(
    copy: Copy, home: Path, tmp_path: Path
) -> None:
    home = Path(shutil.copytree(home, tmp_path / "home"))
    counted = copy.fonds(home, "catchup", "file_type", "--dry-run", "--json").last
    assert counted == {"files": 1, "by_status": {"": 1}}
    assert copy.fonds(home, "catchup", "file_type").code == 0
    assert export_file_types(copy, home) == FILE_TYPES | {"early.pdf": ("pdf", 1.0)}
    assert copy.fonds(home, "audit").code == 0
    rows = copy.fonds(home, "export", "--no-text").lines
    result = copy.run(DELETE_CELL, str(home), rows[0]["sha1hex"])
    assert result.code == 0, result.err
    audited = copy.fonds(home, "audit", "--json")
    assert audited.code == 1
    (fault,) = audited.last["missing"]
    assert "has no type0:type_certainty" in fault


DELETE_CELL = """
import sys
from pathlib import Path
from fonds.config import Settings
from fonds.wiring.stores import close_stores, open_stores
stores = open_stores(Path(sys.argv[1]), Settings())
key = bytes.fromhex(sys.argv[2])
stores.table.delete(stores.journal, [key], ["type0:type_certainty"])
close_stores(stores)
"""
