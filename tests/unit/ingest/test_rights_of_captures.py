"""Statements of captures and files about their use, as the steps store them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import pytest

from fixtures.jats import jats
from fixtures.pdfs import text_pdf
from fixtures.warcs import warc_record
from fonds.derivatives.kinds import KINDS
from fonds.derivatives.pdf import find_no_ending
from fonds.extract.mime import describe
from fonds.extract.page import parse_page
from fonds.extract.pdf.extraction import extract_pdf_bytes
from fonds.extract.pdf.limits import PdfLimits
from fonds.ingest.steps.extract_pdf import ExtractPdfStep
from fonds.ingest.steps.identify import IdentifyStep
from fonds.ingest.steps.import_story import ImportStoryStep
from fonds.ingest.steps.parse_story import ParseStoryStep
from fonds.ingest.steps.persist_file import PersistFileStep
from fonds.ingest.steps.persist_pdf import PersistPdfTextStep
from fonds.model.capture import Capture
from fonds.model.file import IdentifiedCapture, UnextractedPdf, UnparsedPage
from fonds.model.keys import encode_sha1_base32
from fonds.model.paper import UnreadArticle
from fonds.model.pdf import PdfText
from fonds.model.rights import StatedRights, StatementSource
from fonds.model.rows import CaptureRightsRow, FileRightsRow, TakedownRow
from fonds.model.story import ParsedPage
from fonds.papers.bibliography.jats import (
    read_jats_bytes,
)
from fonds.papers.jats_step import ImportJatsStep
from fonds.restrictions.traces import iter_file_rows
from fonds.rights.capture_rights import load_capture_rights
from fonds.wiring.steps import pass_known_work
from step_bench import JOURNAL, LATER, PAGE, PDF, Bench, page_file

CC = "https://creativecommons.org/licenses/by/4.0/"
SIGNALS = (
    ("X-Robots-Tag", "noai"),
    ("Content-Usage", "train-ai=n"),
    ("Link", f"<{CC}>;rel=license"),
)
STATED = ["noai", "cc-by-4.0", "train-ai=n"]
LICENSED = b'<link rel="license" href="%s">' + PAGE


def identify_and_persist(bench: Bench, *captures: Capture) -> list[IdentifiedCapture]:
    """Identify captures and persist what was identified."""
    identify = IdentifyStep(bench.archive, describe, 100_000, 100_000)
    items = [item for capture in captures for item in identify(capture).items]
    identified = [item for item in items if isinstance(item, IdentifiedCapture)]
    PersistFileStep(bench.table, bench.records, JOURNAL, False, lambda: LATER)(identified)
    return identified


def list_values(bench: Bench, capture_id: str, sha1hex: str) -> list[str]:
    capture_rights = load_capture_rights(bench.records, {capture_id: sha1hex})[capture_id]
    return [statement.value for statement in capture_rights.statements]


@pytest.mark.parametrize(
    ("body", "mime"), [(PAGE, "text/html"), (PDF, "application/pdf"), (jats(), "text/xml")]
)
def test_every_capture_stores_the_statements_of_its_response(
    bench: Bench, body: bytes, mime: str
) -> None:
    (first,) = bench.in_warc(body, headers=(("Content-Type", mime), *SIGNALS))
    (silent,) = bench.in_warc(body, mime=mime)
    (later,) = bench.in_warc(body, headers=(("Content-Type", mime), ("X-Robots-Tag", "none")))
    identified = identify_and_persist(bench, first, silent, later)
    sha1hex = identified[0].about
    assert list_values(bench, first.id, sha1hex) == STATED
    assert list_values(bench, later.id, sha1hex) == ["none"]
    rows = bench.records.find(CaptureRightsRow)
    assert {row.capture_id: row.sha1hex for row in rows} == {first.id: sha1hex, later.id: sha1hex}


def test_a_revisit_stores_the_statements_of_its_own_response(bench: Bench) -> None:
    (first,) = bench.in_warc(PAGE, headers=(("Content-Type", "text/html"), *SIGNALS))
    digest = encode_sha1_base32(bytes.fromhex(page_file().sha1))
    record = warc_record(
        b"HTTP/1.1 304 Not Modified\r\nX-Robots-Tag: noindex\r\n\r\n",
        record_type="revisit",
        content_type="application/http; msgtype=response",
        headers={"WARC-Payload-Digest": f"sha1:{digest}"},
    )
    (warc_capture,) = bench.in_records(record)
    revisit = replace(warc_capture, record_type="revisit", mime=None, digest=digest)
    identify_and_persist(bench, first, revisit)
    assert list_values(bench, revisit.id, page_file().sha1) == ["noindex"]


def test_a_revisit_whose_record_is_missing_states_nothing(bench: Bench) -> None:
    digest = encode_sha1_base32(bytes.fromhex(page_file().sha1))
    revisit = bench.write_revisit(digest)
    missing = replace(revisit, place=replace(revisit.place, offset=10**6))
    assert [
        identified.rights.statements for identified in identify_and_persist(bench, missing)
    ] == [()]


def test_a_repeated_capture_has_one_row(bench: Bench) -> None:
    (first,) = bench.in_warc(PAGE, headers=(("Content-Type", "text/html"), *SIGNALS))
    (identified,) = identify_and_persist(bench, first)
    repeat = replace(first, id="another-entry")
    identify_and_persist(bench, first, repeat)
    assert [row.capture_id for row in bench.records.find(CaptureRightsRow)] == [first.id]
    assert list_values(bench, first.id, identified.about) == STATED


def test_a_taken_down_file_leaves_no_rights(bench: Bench) -> None:
    (first,) = bench.in_warc(PAGE, headers=(("Content-Type", "text/html"), *SIGNALS))
    (identified,) = identify_and_persist(bench, first)
    removed = {type(row) for row in iter_file_rows(bench.records, identified.about)}
    assert CaptureRightsRow in removed
    bench.records.put([TakedownRow(identified.about, "other", "", "me", LATER)])
    identify_and_persist(bench, first)
    assert list(bench.records.find(CaptureRightsRow)) == []


def read_page(bench: Bench, body: bytes) -> str:
    (capture,) = bench.in_warc(body)
    parse = ParseStoryStep(bench.archive, parse_page, "reader 1", False, lambda: LATER)
    items = parse(UnparsedPage(capture, describe(body, "text/html"))).items
    ImportStoryStep(bench.records, bench.blobs, bench.index, lambda: LATER)(
        [item for item in items if isinstance(item, ParsedPage)]
    )
    return describe(body, "text/html").sha1


def read_pdf(bench: Bench, body: bytes) -> str:
    (capture,) = bench.in_warc(body, mime="application/pdf")
    limits = PdfLimits()

    def extract(body: bytes) -> object:
        return extract_pdf_bytes(body, limits)

    file = describe(body, "application/pdf")
    step = ExtractPdfStep(
        bench.archive, extract, extract, "reader 1", find_no_ending, pass_known_work
    )  # type: ignore[arg-type]
    items: Sequence[object] = step(UnextractedPdf(capture, file)).items
    texts = [item for item in items if isinstance(item, PdfText)]
    PersistPdfTextStep(bench.records, bench.blobs, bench.index, lambda: LATER, 30.0)(texts)
    return file.sha1


def read_article(bench: Bench, body: bytes) -> str:
    (capture,) = bench.in_warc(body, mime="text/xml")
    file = describe(body, "text/xml")
    stores = (bench.archive, bench.table, bench.records, bench.blobs, bench.index)
    ImportJatsStep(*stores, JOURNAL, read_jats_bytes, lambda: LATER)([UnreadArticle(capture, file)])
    return file.sha1


PERMISSIONS = "<permissions><license><license-p>CC BY 4.0</license-p></license></permissions>"


@pytest.mark.parametrize(
    ("read", "body", "stated_in"),
    [
        (read_page, LICENSED % CC.encode(), StatementSource.LINK),
        (read_pdf, text_pdf(info={"Copyright": "CC BY 4.0"}), StatementSource.INFO),
        (read_article, jats(meta=PERMISSIONS), StatementSource.ARTICLE),
    ],
    ids=["page", "pdf", "article"],
)
def test_statements_of_a_file_are_stored_in_a_declared_row(  # type: ignore[no-untyped-def]
    bench: Bench, read, body: bytes, stated_in: StatementSource
) -> None:
    sha1hex = read(bench, body)
    (row,) = bench.records.find(FileRightsRow)
    (statement,) = row.stated.statements
    assert (row.sha1hex, statement.value, statement.stated_in) == (sha1hex, "cc-by-4.0", stated_in)
    promised = [
        derived
        for kind in KINDS
        for stored in bench.records.get(kind.row, [sha1hex])
        for derived in kind.build_rows(stored)
        if isinstance(derived, FileRightsRow)
    ]
    assert promised == [row]
    assert list_values(bench, "any", sha1hex) == ["cc-by-4.0"]


@pytest.mark.parametrize(
    ("read", "body"),
    [(read_page, PAGE), (read_pdf, text_pdf()), (read_article, jats())],
    ids=["page", "pdf", "article"],
)
def test_a_file_without_statements_loses_its_row_when_it_is_read_again(  # type: ignore[no-untyped-def]
    bench: Bench, read, body: bytes
) -> None:
    sha1hex = read(bench, body)
    assert list(bench.records.find(FileRightsRow)) == []
    bench.records.put([FileRightsRow(sha1hex, StatedRights(()), "reader 0", LATER)])
    read(bench, body)
    assert list(bench.records.find(FileRightsRow)) == []
