"""`fonds catchup pdf`: what is extracted again, what is left alone, and that it adds up afterwards."""

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


def rows(home: Path, kind: type[Any] = PdfMetaRow) -> list[Any]:
    stores = open_stores(home, Settings())
    try:
        return list(stores.records.find(kind))
    finally:
        close_stores(stores)


def statuses(home: Path) -> dict[str, int]:
    told: dict[str, int] = {}
    for row in rows(home):
        told[row.status] = told.get(row.status, 0) + 1
    return told


def wanted(home: Path, *words: str) -> dict[str, int]:
    by_status: dict[str, int] = call(home, "catchup", "pdf", "--dry-run", "--json", *words).last[
        "by_status"
    ]
    return by_status


def test_nothing_is_wanted_after_an_ingest(home: Path) -> None:
    assert statuses(home) == {"success": 7, "encrypted": 1, "parse-error": 1}
    assert wanted(home) == {}
    ran = fonds(home, "catchup", "pdf")
    assert (ran.code, "every PDF was read by this extractor" in ran.out) == (0, True)


def test_another_extractor_reads_everything_anew_and_once(home: Path) -> None:
    assert wanted(home, *FEWER_PAGES) == {"success": 7, "encrypted": 1, "parse-error": 1}
    ran = fonds(home, *FEWER_PAGES, "catchup", "pdf")
    assert (ran.code, "9 files will be read for pdf" in ran.out) == (1, True)
    assert statuses(home) == {"success": 6, "text-truncated": 1, "encrypted": 1, "parse-error": 1}
    name = name_pdf_extractor(Settings().replace_values(pdf_pages_max=2))
    assert {row.extractor for row in rows(home)} == {name}
    assert wanted(home, *FEWER_PAGES) == {}
    assert fonds(home, "audit").code == 0
    assert fonds(home, "catchup", "pdf").code == 1
    assert statuses(home) == {"success": 7, "encrypted": 1, "parse-error": 1}


def test_a_success_outlives_later_failures_and_what_stopped_them_is_remembered(home: Path) -> None:
    hurry = ("--set", "pdf.timeout_s=0.001")
    assert fonds(home, *hurry, "catchup", "pdf").code == 1
    assert statuses(home)["success"] == 7
    stopped = rows(home, CrashedPdfRow)
    assert {row.status for row in stopped} == {"error-timeout"}
    # A fast machine may refuse the two broken files within that time.
    assert len(stopped) >= 7
    assert fonds(home, "audit").code == 0
    # The same extractor would be stopped again: it is not even tried.
    ran = fonds(home, *hurry, "catchup", "pdf", "--json")
    assert ran.last["quarantined"]["timeout"] == len(stopped)
    assert rows(home, CrashedPdfRow) == stopped
    assert fonds(home, "catchup", "pdf", "--reextract").code == 1
    assert statuses(home)["success"] == 7
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
def test_again_goes_by_status_extractor_and_age(
    home: Path, words: tuple[str, ...], count: dict[str, int]
) -> None:
    assert wanted(home, "--reextract", *words) == count


def test_what_is_kept_of_texts_is_made_of_those_that_are_here(home: Path) -> None:
    assert fonds(home, "catchup", "sketch", "--json").last == {"remade": 0}
    stores, there = open_stores(home, Settings()), rows(home, TextSketchRow)
    stores.records.delete(TextSketchRow, [row.sha1hex for row in there])
    close_stores(stores)
    ran = fonds(home, "catchup", "sketch")
    assert (ran.code, f"{len(there)} rows derived from stored texts" in ran.out) == (0, True), (
        ran.out
    )
    assert rows(home, TextSketchRow) == there
    assert fonds(home, "catchup", "sketch", "--json").last == {"remade": 0}


@pytest.mark.parametrize(
    ("words", "told"),
    [
        (("pdf", "--status", "encrypted"), "need --reextract"),
        (("pdf", "--reextract", "--status", "nonsense"), "nonsense"),
        (("nonsense",), "No such command"),
        ((), "fonds catchup --list"),
        (("pdf", "--set", "pdf.more_thumbnails=360"), "is not a thumbnail format"),
    ],
)
def test_bad_words_are_told(home: Path, words: tuple[str, ...], told: str) -> None:
    ran = call(home, "catchup", *words)
    assert (ran.code, told in ran.err) == (2, True), ran.err
    assert "Traceback" not in ran.err


def test_further_thumbnails_are_made_for_what_is_here(home: Path) -> None:
    more = ("--set", "pdf.more_thumbnails=360px-webp,180px-png")
    assert fonds(home, *more, "catchup", "pdf").code == 1
    pictures = [path.name.split(".", 1)[1] for path in (home / "blobs/thumbnail").rglob("*.*px.*")]
    assert {form: pictures.count(form) for form in pictures} == dict.fromkeys(
        ("180px.jpg", "360px.webp", "180px.png"), 7
    )
    assert fonds(home, *more, "audit").code == 0


def test_interrupted_it_is_begun_again_and_adds_up(home: Path) -> None:
    words = [sys.executable, "-m", "fonds", "--home", str(home), *FEWER_PAGES, "catchup", "pdf"]
    for wait_s in (1.1, 1.6, 0.9, 1.3)[: kills(2, 4)]:
        running = subprocess.Popen(words, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        time.sleep(wait_s)
        running.send_signal(signal.SIGKILL)
        running.wait()
    assert fonds(home, *FEWER_PAGES, "catchup", "pdf").code in (0, 1)
    assert wanted(home, *FEWER_PAGES) == {}
    told = fonds(home, "status", "--json").last
    assert (told["pending"], told["done"]) == (0, 7)
    assert fonds(home, "audit").code == 0
