"""Near-duplicates among PDFs and articles, in any order of processing."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace

import pytest

from fixtures.jats import jats
from fonds.derivatives.fixity import build_row_fixity
from fonds.derivatives.sketch import KIND, PLACEHOLDER, build_bands, rebuild_sketches
from fonds.extract.mime import describe
from fonds.ingest.steps.persist_file import PersistFileStep
from fonds.ingest.steps.persist_pdf import PersistPdfTextStep
from fonds.model.capture import Capture
from fonds.model.file import IdentifiedCapture
from fonds.model.paper import UnreadArticle
from fonds.model.pdf import PdfStatus, PdfText
from fonds.model.pdf_extra import PdfExtra
from fonds.model.rows import FixityRow, TextBandRow, TextSketchRow
from fonds.papers.bibliography.jats import (
    read_jats_bytes,
)
from fonds.papers.jats_step import ImportJatsStep
from fonds.search.results import find_near_duplicates
from step_bench import JOURNAL, LATER, PDF, Bench, pdf_file

REPORT = " ".join(f"Finding {n} of the survey is about the bridge of year {n}." for n in range(80))
OTHER = " ".join(f"Minute {n} of the council tells who voted and how, {n}." for n in range(80))


def make_pdf_text(bench: Bench, number: int, text: str, *, form: str = "none") -> PdfText:
    """Return the extraction of a PDF with its own bytes and this text; its capture and file are
    stored."""
    body = PDF + b"%% %d\n" % number
    capture, file = replace(bench.write_file(body), id=f"p{number}"), pdf_file(body)
    store_file(bench, capture, body)
    extra = PdfExtra(page_count=1, word_count=len(text.split()), form=form)
    facts = (file.sha1, PdfStatus.SUCCESS, text, False, None, None, extra, file, capture, "r 1")
    return PdfText(*facts)  # type: ignore[arg-type]


def store_file(bench: Bench, capture: Capture, body: bytes) -> None:
    bench.enter(capture)
    persist = PersistFileStep(bench.table, bench.records, JOURNAL, False, lambda: LATER)
    persist([IdentifiedCapture(capture, describe(body, capture.mime))])


def persist_items(bench: Bench, items: list[PdfText]) -> None:
    PersistPdfTextStep(bench.records, bench.blobs, bench.index, lambda: LATER, 30.0)(items)


def list_near_duplicates(bench: Bench, sha1hex: str) -> list[str]:
    rows = bench.records.get(TextSketchRow, [sha1hex])
    return [
        near_duplicate.sha1hex
        for near_duplicate in KIND.find_related(bench.records, rows)[sha1hex].near_duplicates
    ]


def list_all_rows(bench: Bench) -> tuple[list[str], list[str], list[str]]:
    rows = list(bench.records.find(TextSketchRow))
    fixity = [
        fixity_row
        for fixity_row in bench.records.find(FixityRow)
        if fixity_row.part == TextSketchRow.TABLE
    ]
    assert sorted(map(str, fixity)) == sorted(str(build_row_fixity(row)) for row in rows)
    bands = list(bench.records.find(TextBandRow))
    return sorted(map(str, rows)), sorted(map(str, bands)), sorted(map(str, fixity))


def test_two_similar_pdfs_are_near_duplicates(bench: Bench) -> None:
    items = [
        make_pdf_text(bench, 1, REPORT),
        make_pdf_text(bench, 2, f"{REPORT} Printed anew."),
        make_pdf_text(bench, 3, OTHER),
    ]
    persist_items(bench, items)
    first, second, third = (item.sha1hex for item in items)
    assert (
        list_near_duplicates(bench, first),
        list_near_duplicates(bench, second),
        list_near_duplicates(bench, third),
    ) == ([second], [first], [])
    documents = list(bench.index.get([first, second, third]).values())
    documents.sort(key=lambda document: [first, second, third].index(document.id))
    assert find_near_duplicates(bench.records, documents) == {second: first}
    before = list_all_rows(bench)
    persist_items(bench, items[::-1])
    assert list_all_rows(bench) == before


def test_a_failure_keeps_the_rows_of_a_success(bench: Bench) -> None:
    item = make_pdf_text(bench, 1, REPORT)
    persist_items(bench, [item])
    before = list_all_rows(bench)
    failed = replace(item, status=PdfStatus.ERROR_TIMEOUT, text=None, pdf_extra=None)
    persist_items(bench, [failed])
    assert list_all_rows(bench) == before


def test_files_without_text_or_with_short_text_have_no_near_duplicates(bench: Bench) -> None:
    texts = ["", "", "Kept by the library.", "Kept by the library."]
    items = [make_pdf_text(bench, number, text) for number, text in enumerate(texts)]
    persist_items(bench, items)
    documents = list(bench.index.get([item.sha1hex for item in items]).values())
    assert len(documents) == 4
    assert find_near_duplicates(bench.records, documents) == {}


def test_placeholders_of_forms_are_not_compared(bench: Bench) -> None:
    items = [make_pdf_text(bench, number, REPORT, form="XFA") for number in (1, 2)]
    persist_items(bench, items)
    rows = list(bench.records.find(TextSketchRow))
    assert {(row.status, row.signature) for row in rows} == {(PLACEHOLDER, "")}
    assert list_near_duplicates(bench, items[0].sha1hex) == []
    documents = list(bench.index.get([item.sha1hex for item in items]).values())
    assert find_near_duplicates(bench.records, documents) == {}


def test_an_article_and_its_pdf_are_near_duplicates(bench: Bench) -> None:
    body = jats(body=f"<sec><title>Begin</title><p>{REPORT}</p></sec>")
    (capture,) = bench.in_warc(body, mime="text/xml")
    store_file(bench, capture, body)
    stores = (bench.archive, bench.table, bench.records, bench.blobs, bench.index)
    article = UnreadArticle(capture, describe(body, "text/xml"))
    ImportJatsStep(*stores, JOURNAL, read_jats_bytes, lambda: LATER)([article])
    item = make_pdf_text(bench, 1, REPORT)
    persist_items(bench, [item])
    assert list_near_duplicates(bench, item.sha1hex) == [article.file.sha1]
    before = list_all_rows(bench)
    delete_sketches(bench)
    assert rebuild_sketches(bench.records, bench.blobs, [item.sha1hex, article.file.sha1]) == 2
    assert list_all_rows(bench) == before


def delete_sketches(bench: Bench) -> None:
    """Delete all sketches, as in a home that had none yet."""
    rows = list(bench.records.find(TextSketchRow))
    keys = [(band.band, band.sha1hex) for row in rows for band in build_bands(row)]
    bench.records.delete(TextBandRow, keys)
    bench.records.delete(FixityRow, [(row.sha1hex, TextSketchRow.TABLE) for row in rows])
    bench.records.delete(TextSketchRow, [row.sha1hex for row in rows])


def test_sketches_of_older_files_are_built_from_stored_texts(bench: Bench) -> None:
    items = [
        make_pdf_text(bench, 1, REPORT),
        make_pdf_text(bench, 2, ""),
        make_pdf_text(bench, 3, OTHER, form="XFA"),
    ]
    persist_items(bench, items)
    before, keys = list_all_rows(bench), [item.sha1hex for item in items]
    delete_sketches(bench)
    assert rebuild_sketches(bench.records, bench.blobs, keys) == 3
    assert list_all_rows(bench) == before
    assert rebuild_sketches(bench.records, bench.blobs, keys) == 0


def test_a_file_without_stored_text_gets_no_sketch(bench: Bench) -> None:
    item = make_pdf_text(bench, 1, REPORT)
    persist_items(bench, [item])
    delete_sketches(bench)
    bench.blobs.delete([f"text/{item.sha1hex[:2]}/{item.sha1hex[2:4]}/{item.sha1hex}.txt"])
    assert rebuild_sketches(bench.records, bench.blobs, [item.sha1hex]) == 0


def test_twins_that_are_stored_in_parallel_are_linked(bench: Bench) -> None:
    items = [make_pdf_text(bench, number, f"{REPORT} Copy {number}.") for number in range(8)]
    with ThreadPoolExecutor(4) as pool:
        list(pool.map(lambda item: persist_items(bench, [item]), items))
    keys = {item.sha1hex for item in items}
    assert all(set(list_near_duplicates(bench, key)) == keys - {key} for key in keys)


@pytest.mark.parametrize("dies_at", ["delete", "put"])
def test_a_killed_step_that_is_repeated_has_the_same_rows(
    dies_at: str, bench: Bench, monkeypatch: pytest.MonkeyPatch
) -> None:
    class KilledError(Exception):
        pass

    def die(*_: object, **__: object) -> None:
        raise KilledError

    twin, item = make_pdf_text(bench, 2, REPORT), make_pdf_text(bench, 1, OTHER)
    persist_items(bench, [twin, item])
    changed = replace(item, text=REPORT, extractor="r 2")
    with monkeypatch.context() as patched:
        patched.setattr(bench.records, dies_at, die)
        with pytest.raises(KilledError):
            persist_items(bench, [changed])
    persist_items(bench, [changed])
    assert (
        list_near_duplicates(bench, item.sha1hex),
        list_near_duplicates(bench, twin.sha1hex),
    ) == (
        [twin.sha1hex],
        [item.sha1hex],
    )
    list_all_rows(bench)
