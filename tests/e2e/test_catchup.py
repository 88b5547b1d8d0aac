"""`fonds catchup pdf` extracts outdated PDFs again, and the audit balances."""

from __future__ import annotations

import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest

from depth import kills
from e2e.running import call, fonds
from fixtures.pdfs import encrypted_pdf, outlined_pdf, text_pdf
from fonds.config import Settings
from fonds.model.rows import CrashedPdfRow, PdfMetaRow, TextSketchRow
from fonds.wiring.readers import name_pdf_extractor
from fonds.wiring.stores import close_stores, open_stores

FEWER_PAGES = ("--set", "pdf.pages_max=2")


@pytest.fixture(scope="module")
def home(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("catchup")
    papers = folder / "papers"
    papers.mkdir()
    for number in range(6):
        words = f"Paper number {number} is about the {number} rivers of this country."
        (papers / f"{number}.pdf").write_bytes(text_pdf((words, "second page")))
    (papers / "outlined.pdf").write_bytes(outlined_pdf())
    (papers / "locked.pdf").write_bytes(encrypted_pdf(user="secret"))
    (papers / "not.pdf").write_bytes(b"%PDF-1.4\nno more than this\n%%EOF")
    assert fonds(folder / "home", "ingest", papers).code == 1
    return folder / "home"


def load_rows(home: Path, kind: type[Any] = PdfMetaRow) -> list[Any]:
    stores = open_stores(home, Settings())
    try:
        return list(stores.records.find(kind))
    finally:
        close_stores(stores)


def count_statuses(home: Path) -> dict[str, int]:
    counts: dict[str, int] = {}
    for row in load_rows(home):
        counts[row.status] = counts.get(row.status, 0) + 1
    return counts


def plan_catchup(home: Path, *words: str) -> dict[str, int]:
    by_status: dict[str, int] = call(home, "catchup", "pdf", "--dry-run", "--json", *words).last[
        "by_status"
    ]
    return by_status


def test_an_ingest_leaves_nothing_to_catch_up(home: Path) -> None:
    assert count_statuses(home) == {"success": 7, "encrypted": 1, "parse-error": 1}
    assert plan_catchup(home) == {}
    result = fonds(home, "catchup", "pdf")
    assert (result.code, "every PDF was read by this extractor" in result.out) == (0, True)


def test_another_extractor_reads_every_pdf_again_once(home: Path) -> None:
    assert plan_catchup(home, *FEWER_PAGES) == {"success": 7, "encrypted": 1, "parse-error": 1}
    result = fonds(home, *FEWER_PAGES, "catchup", "pdf")
    assert (result.code, "9 files will be read for pdf" in result.out) == (1, True)
    assert count_statuses(home) == {
        "success": 6,
        "text-truncated": 1,
        "encrypted": 1,
        "parse-error": 1,
    }
    name = name_pdf_extractor(Settings().replace_values(pdf_pages_max=2))
    assert {row.extractor for row in load_rows(home)} == {name}
    assert plan_catchup(home, *FEWER_PAGES) == {}
    assert fonds(home, "audit").code == 0
    assert fonds(home, "catchup", "pdf").code == 1
    assert count_statuses(home) == {"success": 7, "encrypted": 1, "parse-error": 1}


def test_a_success_outlives_timeouts_which_are_remembered(home: Path) -> None:
    short_timeout = ("--set", "pdf.timeout_s=0.001")
    assert fonds(home, *short_timeout, "catchup", "pdf").code == 1
    assert count_statuses(home)["success"] == 7
    stopped = load_rows(home, CrashedPdfRow)
    assert {row.status for row in stopped} == {"error-timeout"}
    # A fast machine may refuse the two broken files before the timeout.
    assert len(stopped) >= 7
    assert fonds(home, "audit").code == 0
    # The same extractor would time out again, so it is not tried.
    result = fonds(home, *short_timeout, "catchup", "pdf", "--json")
    assert result.last["quarantined"]["timeout"] == len(stopped)
    assert load_rows(home, CrashedPdfRow) == stopped
    assert fonds(home, "catchup", "pdf", "--reextract").code == 1
    assert count_statuses(home)["success"] == 7
    assert fonds(home, "status", "--json").last["quarantined"] == {
        "broken-pdf": 1,
        "encrypted-pdf": 1,
    }


@pytest.mark.parametrize(
    ("words", "count"),
    [
        (("--status", "encrypted"), {"encrypted": 1}),
        (("--made-by", "fonds-pdf/1"), {}),
        (("--made-by", "fonds-pdf/", "--status", "success"), {"success": 7}),
        (("--older-than", "1"), {}),
        (("--older-than", "0", "--status", "parse-error"), {"parse-error": 1}),
    ],
)
def test_reextract_selects_by_status_extractor_and_age(
    home: Path, words: tuple[str, ...], count: dict[str, int]
) -> None:
    assert plan_catchup(home, "--reextract", *words) == count


def test_missing_sketches_are_computed_from_stored_texts(home: Path) -> None:
    assert fonds(home, "catchup", "sketch", "--json").last == {"remade": 0}
    stores, sketches = open_stores(home, Settings()), load_rows(home, TextSketchRow)
    stores.records.delete(TextSketchRow, [row.sha1hex for row in sketches])
    close_stores(stores)
    result = fonds(home, "catchup", "sketch")
    assert (result.code, f"{len(sketches)} rows derived from stored texts" in result.out) == (
        0,
        True,
    ), result.out
    assert load_rows(home, TextSketchRow) == sketches
    assert fonds(home, "catchup", "sketch", "--json").last == {"remade": 0}


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (("pdf", "--status", "encrypted"), "need --reextract"),
        (("pdf", "--reextract", "--status", "nonsense"), "nonsense"),
        (("nonsense",), "No such command"),
        ((), "fonds catchup --list"),
        (("pdf", "--set", "pdf.more_thumbnails=360"), "is not a thumbnail format"),
    ],
)
def test_bad_arguments_are_refused(home: Path, words: tuple[str, ...], message: str) -> None:
    result = call(home, "catchup", *words)
    assert (result.code, message in result.err) == (2, True), result.err
    assert "Traceback" not in result.err


def test_catchup_makes_further_thumbnails_of_stored_pdfs(home: Path) -> None:
    settings = ("--set", "pdf.more_thumbnails=360px-webp,180px-png")
    assert fonds(home, *settings, "catchup", "pdf").code == 1
    pictures = [path.name.split(".", 1)[1] for path in (home / "blobs/thumbnail").rglob("*.*px.*")]
    assert {form: pictures.count(form) for form in pictures} == dict.fromkeys(
        ("180px.jpg", "360px.webp", "180px.png"), 7
    )
    assert fonds(home, *settings, "audit").code == 0


def test_a_process_killed_before_it_updates_the_index_leaves_nothing_stale(home: Path) -> None:
    """The row of a document is written before its index document."""
    code = (
        "import os; from fonds.search.index.tantivy_index import TantivyIndex as Index\n"
        "put = Index.put\n"
        "def stop(documents): os._exit(9)\n"
        "Index.put = lambda index, documents: stop(documents) if any(\n"
        "    document.status == 'text-truncated' for document in documents\n"
        ") else put(index, documents)\n"
        "from fonds.cli.main import main; main()"
    )
    words = ["--home", str(home), *FEWER_PAGES, "catchup", "pdf"]
    assert fonds(home, "catchup", "pdf").code in (0, 1)
    killed = subprocess.run([sys.executable, "-c", code, *words], capture_output=True)
    assert killed.returncode == 9, killed.stderr
    assert "text-truncated" in count_statuses(home)
    assert fonds(home, *FEWER_PAGES, "catchup", "pdf").code in (0, 1)
    assert fonds(home, "audit").code == 0
    assert fonds(home, "catchup", "pdf").code in (0, 1)


def test_an_interrupted_catchup_resumes_and_balances(home: Path) -> None:
    words = [sys.executable, "-m", "fonds", "--home", str(home), *FEWER_PAGES, "catchup", "pdf"]
    for wait_s in (1.1, 1.6, 0.9, 1.3)[: kills(2, 4)]:
        process = subprocess.Popen(words, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        time.sleep(wait_s)
        process.send_signal(signal.SIGKILL)
        process.wait()
    assert fonds(home, *FEWER_PAGES, "catchup", "pdf").code in (0, 1)
    assert plan_catchup(home, *FEWER_PAGES) == {}
    summary = fonds(home, "status", "--json").last
    assert (summary["pending"], summary["done"]) == (0, 7)
    assert fonds(home, "audit").code == 0
