"""PDFs and articles that say nearly the same are known as stories are, whoever takes them in and when."""

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
from fonds.model.rows import FixityRow, TextBandRow, TextSketchRow
from fonds.papers.bibliography.jats import (
    read_jats_bytes,
)
from fonds.papers.jats_step import ImportJatsStep
from fonds.search.results import find_near_duplicates
from step_bench import JOURNAL, LATER, PDF, Bench, pdf_file

REPORT = " ".join(f"Finding {n} of the survey is about the bridge of year {n}." for n in range(80))
OTHER = " ".join(f"Minute {n} of the council tells who voted and how, {n}." for n in range(80))


def read(bench: Bench, number: int, text: str, *, form: str = "none") -> PdfText:
    """A PDF of its own bytes with this text, on the books and among the files."""
    body = PDF + b"%% %d\n" % number
    capture, file = replace(bench.write_file(body), id=f"p{number}"), pdf_file(body)
    noted(bench, capture, body)
    extra = {"page_count": 1, "word_count": len(text.split()), "form": form}
    facts = (file.sha1, PdfStatus.SUCCESS, text, False, None, None, extra, file, capture, "r 1")
    return PdfText(*facts)  # type: ignore[arg-type]


def noted(bench: Bench, capture: Capture, body: bytes) -> None:
    bench.enter(capture)
    persist = PersistFileStep(bench.table, bench.records, JOURNAL, False, lambda: LATER)
    persist([IdentifiedCapture(capture, describe(body, capture.mime))])


def persisted(bench: Bench, items: list[PdfText]) -> None:
    PersistPdfTextStep(bench.records, bench.blobs, bench.index, lambda: LATER, 30.0)(items)


def beside(bench: Bench, sha1hex: str) -> list[str]:
    rows = bench.records.get(TextSketchRow, [sha1hex])
    return [
        near_duplicate.sha1hex
        for near_duplicate in KIND.find_related(bench.records, rows)[sha1hex].near_duplicates
    ]


def all_rows(bench: Bench) -> tuple[list[str], list[str], list[str]]:
    rows = list(bench.records.find(TextSketchRow))
    fixity = [one for one in bench.records.find(FixityRow) if one.part == TextSketchRow.TABLE]
    assert sorted(map(str, fixity)) == sorted(str(build_row_fixity(row)) for row in rows)
    bands = list(bench.records.find(TextBandRow))
    return sorted(map(str, rows)), sorted(map(str, bands)), sorted(map(str, fixity))


def test_two_pdfs_that_say_nearly_the_same_are_beside_each_other(bench: Bench) -> None:
    items = [
        read(bench, 1, REPORT),
        read(bench, 2, f"{REPORT} Printed anew."),
        read(bench, 3, OTHER),
    ]
    persisted(bench, items)
    one, two, three = (item.sha1hex for item in items)
    assert (beside(bench, one), beside(bench, two), beside(bench, three)) == ([two], [one], [])
    documents = list(bench.index.get([one, two, three]).values())
    documents.sort(key=lambda each: [one, two, three].index(each.id))
    assert find_near_duplicates(bench.records, documents) == {two: one}
    before = all_rows(bench)
    persisted(bench, items[::-1])
    assert all_rows(bench) == before


def test_a_failure_leaves_what_a_success_left(bench: Bench) -> None:
    item = read(bench, 1, REPORT)
    persisted(bench, [item])
    before = all_rows(bench)
    failed = replace(item, status=PdfStatus.ERROR_TIMEOUT, text=None, pdf_extra=None)
    persisted(bench, [failed])
    assert all_rows(bench) == before


def test_what_has_no_text_or_a_stamp_alone_stands_for_itself(bench: Bench) -> None:
    texts = ["", "", "Kept by the library.", "Kept by the library."]
    items = [read(bench, number, text) for number, text in enumerate(texts)]
    persisted(bench, items)
    documents = list(bench.index.get([item.sha1hex for item in items]).values())
    assert len(documents) == 4
    assert find_near_duplicates(bench.records, documents) == {}


def test_forms_that_show_a_placeholder_are_not_compared_by_it(bench: Bench) -> None:
    items = [read(bench, number, REPORT, form="XFA") for number in (1, 2)]
    persisted(bench, items)
    rows = list(bench.records.find(TextSketchRow))
    assert {(row.status, row.signature) for row in rows} == {(PLACEHOLDER, "")}
    assert beside(bench, items[0].sha1hex) == []
    documents = list(bench.index.get([item.sha1hex for item in items]).values())
    assert find_near_duplicates(bench.records, documents) == {}


def test_an_article_and_its_pdf_are_beside_each_other(bench: Bench) -> None:
    body = jats(body=f"<sec><title>Begin</title><p>{REPORT}</p></sec>")
    (capture,) = bench.in_warc(body, mime="text/xml")
    noted(bench, capture, body)
    stores = (bench.archive, bench.table, bench.records, bench.blobs, bench.index)
    article = UnreadArticle(capture, describe(body, "text/xml"))
    ImportJatsStep(*stores, JOURNAL, read_jats_bytes, lambda: LATER)([article])
    item = read(bench, 1, REPORT)
    persisted(bench, [item])
    assert beside(bench, item.sha1hex) == [article.file.sha1]
    before = all_rows(bench)
    forgotten(bench)
    assert rebuild_sketches(bench.records, bench.blobs, [item.sha1hex, article.file.sha1]) == 2
    assert all_rows(bench) == before


def forgotten(bench: Bench) -> None:
    """As a home is in which no file had a sketch yet."""
    rows = list(bench.records.find(TextSketchRow))
    keys = [(band.band, band.sha1hex) for row in rows for band in build_bands(row)]
    bench.records.delete(TextBandRow, keys)
    bench.records.delete(FixityRow, [(row.sha1hex, TextSketchRow.TABLE) for row in rows])
    bench.records.delete(TextSketchRow, [row.sha1hex for row in rows])


def test_files_that_were_here_before_get_theirs_from_what_is_kept(bench: Bench) -> None:
    items = [read(bench, 1, REPORT), read(bench, 2, ""), read(bench, 3, OTHER, form="XFA")]
    persisted(bench, items)
    before, keys = all_rows(bench), [item.sha1hex for item in items]
    forgotten(bench)
    assert rebuild_sketches(bench.records, bench.blobs, keys) == 3
    assert all_rows(bench) == before
    assert rebuild_sketches(bench.records, bench.blobs, keys) == 0


def test_of_a_file_whose_text_is_gone_nothing_is_said(bench: Bench) -> None:
    item = read(bench, 1, REPORT)
    persisted(bench, [item])
    forgotten(bench)
    bench.blobs.delete([f"text/{item.sha1hex[:2]}/{item.sha1hex[2:4]}/{item.sha1hex}.txt"])
    assert rebuild_sketches(bench.records, bench.blobs, [item.sha1hex]) == 0


def test_several_who_take_in_twins_at_once_leave_them_linked(bench: Bench) -> None:
    items = [read(bench, number, f"{REPORT} Copy {number}.") for number in range(8)]
    with ThreadPoolExecutor(4) as pool:
        list(pool.map(lambda one: persisted(bench, [one]), items))
    keys = {item.sha1hex for item in items}
    assert all(set(beside(bench, key)) == keys - {key} for key in keys)


@pytest.mark.parametrize("dies_at", ["delete", "put"])
def test_killed_between_its_acts_and_done_again_it_leaves_what_it_leaves(
    dies_at: str, bench: Bench, monkeypatch: pytest.MonkeyPatch
) -> None:
    class KilledError(Exception):
        pass

    def dies(*_: object, **__: object) -> None:
        raise KilledError

    twin, item = read(bench, 2, REPORT), read(bench, 1, OTHER)
    persisted(bench, [twin, item])
    changed = replace(item, text=REPORT, extractor="r 2")
    with monkeypatch.context() as patched:
        patched.setattr(bench.records, dies_at, dies)
        with pytest.raises(KilledError):
            persisted(bench, [changed])
    persisted(bench, [changed])
    assert (beside(bench, item.sha1hex), beside(bench, twin.sha1hex)) == (
        [twin.sha1hex],
        [item.sha1hex],
    )
    all_rows(bench)
