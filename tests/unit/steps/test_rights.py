"""What captures and files state about their use, as the steps keep it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import pytest

from fixtures.jats import jats
from fixtures.pdfs import text_pdf
from fixtures.warcs import warc_record
from fonds.bibliography.jats_reading import read_jats_bytes
from fonds.extract.file_meta import describe
from fonds.extract.page import parse_page
from fonds.extract.pdf import PdfLimits, extract_pdf_bytes
from fonds.kinds import KINDS
from fonds.kinds.known_pdfs import forget
from fonds.library.tracing.traces import rows_of
from fonds.model.capture import Capture
from fonds.model.file import Identified, Unextracted, Unparsed
from fonds.model.keys import sha1_base32
from fonds.model.paper import UnreadArticle
from fonds.model.pdf import PdfText
from fonds.model.rights import StatedIn, Statement
from fonds.model.rows import CaptureRightsRow, FileRightsRow, TakedownRow
from fonds.model.story import Parsed
from fonds.ports.rights import rights_of
from fonds.steps.intake.identify import Identify
from fonds.steps.intake.persist_file import PersistFile
from fonds.steps.paper.import_jats import ImportJats
from fonds.steps.pdf.extract_pdf import ExtractPdf
from fonds.steps.pdf.persist_pdf_text import PersistPdfText
from fonds.steps.story.import_story import ImportStory
from fonds.steps.story.parse_story import ParseStory
from fonds.wiring.steps import take_known
from step_bench import JOURNAL, LATER, PAGE, PDF, Bench, page_file

CC = "https://creativecommons.org/licenses/by/4.0/"
SIGNALS = (
    ("X-Robots-Tag", "noai"),
    ("Content-Usage", "train-ai=n"),
    ("Link", f"<{CC}>;rel=license"),
)
STATED = ["noai", "cc-by-4.0", "train-ai=n"]
LICENSED = b'<link rel="license" href="%s">' + PAGE


def keep(bench: Bench, *captures: Capture) -> list[Identified]:
    """Identify captures and persist what was identified."""
    identify = Identify(bench.archive, describe, 100_000, 100_000)
    items = [item for one in captures for item in identify(one).items]
    found = [item for item in items if isinstance(item, Identified)]
    PersistFile(bench.table, bench.records, JOURNAL, False, lambda: LATER)(found)
    return found


def values(bench: Bench, capture_id: str, sha1hex: str) -> list[str]:
    found = rights_of(bench.records, {capture_id: sha1hex})[capture_id]
    return [one.value for one in found.statements]


@pytest.mark.parametrize(
    ("body", "mime"), [(PAGE, "text/html"), (PDF, "application/pdf"), (jats(), "text/xml")]
)
def test_every_capture_keeps_what_its_response_states(bench: Bench, body: bytes, mime: str) -> None:
    (first,) = bench.in_warc(body, headers=(("Content-Type", mime), *SIGNALS))
    (silent,) = bench.in_warc(body, mime=mime)
    (later,) = bench.in_warc(body, headers=(("Content-Type", mime), ("X-Robots-Tag", "none")))
    found = keep(bench, first, silent, later)
    sha1hex = found[0].about
    assert values(bench, first.id, sha1hex) == STATED
    assert values(bench, later.id, sha1hex) == ["none"]
    rows = bench.records.find(CaptureRightsRow)
    assert {row.capture_id: row.sha1hex for row in rows} == {first.id: sha1hex, later.id: sha1hex}


def test_a_revisit_keeps_what_its_own_response_states(bench: Bench) -> None:
    (first,) = bench.in_warc(PAGE, headers=(("Content-Type", "text/html"), *SIGNALS))
    digest = sha1_base32(bytes.fromhex(page_file().sha1))
    record = warc_record(
        b"HTTP/1.1 304 Not Modified\r\nX-Robots-Tag: noindex\r\n\r\n",
        record_type="revisit",
        content_type="application/http; msgtype=response",
        headers={"WARC-Payload-Digest": f"sha1:{digest}"},
    )
    (found,) = bench.in_records(record)
    known = replace(found, record_type="revisit", mime=None, digest=digest)
    keep(bench, first, known)
    assert values(bench, known.id, page_file().sha1) == ["noindex"]


def test_a_revisit_whose_record_is_gone_is_a_capture_that_states_nothing(bench: Bench) -> None:
    digest = sha1_base32(bytes.fromhex(page_file().sha1))
    known = bench.revisited(digest)
    gone = replace(known, place=replace(known.place, offset=10**6))
    assert [one.rights.statements for one in keep(bench, gone)] == [()]


def test_a_capture_that_comes_again_has_one_row(bench: Bench) -> None:
    (first,) = bench.in_warc(PAGE, headers=(("Content-Type", "text/html"), *SIGNALS))
    (found,) = keep(bench, first)
    repeat = replace(first, id="another-entry")
    keep(bench, first, repeat)
    assert [row.capture_id for row in bench.records.find(CaptureRightsRow)] == [first.id]
    assert values(bench, first.id, found.about) == STATED


def test_nothing_of_what_was_taken_down_stays(bench: Bench) -> None:
    (first,) = bench.in_warc(PAGE, headers=(("Content-Type", "text/html"), *SIGNALS))
    (found,) = keep(bench, first)
    removed = {type(row) for row in rows_of(bench.records, found.about)}
    assert CaptureRightsRow in removed
    bench.records.put([TakedownRow(found.about, "other", "", "me", LATER, {})])
    keep(bench, first)
    assert list(bench.records.find(CaptureRightsRow)) == []


def read_page(bench: Bench, body: bytes) -> str:
    (capture,) = bench.in_warc(body)
    parse = ParseStory(bench.archive, parse_page, "reader 1", False, lambda: LATER)
    items = parse(Unparsed(capture, describe(body, "text/html"))).items
    ImportStory(bench.records, bench.blobs, bench.index, lambda: LATER)(
        [item for item in items if isinstance(item, Parsed)]
    )
    return describe(body, "text/html").sha1


def read_pdf(bench: Bench, body: bytes) -> str:
    (capture,) = bench.in_warc(body, mime="application/pdf")
    limits = PdfLimits()

    def extract(body: bytes) -> object:
        return extract_pdf_bytes(body, limits)

    file = describe(body, "application/pdf")
    step = ExtractPdf(bench.archive, extract, extract, "reader 1", forget, take_known)  # type: ignore[arg-type]
    items: Sequence[object] = step(Unextracted(capture, file)).items
    texts = [item for item in items if isinstance(item, PdfText)]
    PersistPdfText(bench.records, bench.blobs, bench.index, lambda: LATER, 30.0)(texts)
    return file.sha1


def read_article(bench: Bench, body: bytes) -> str:
    (capture,) = bench.in_warc(body, mime="text/xml")
    file = describe(body, "text/xml")
    stores = (bench.archive, bench.table, bench.records, bench.blobs, bench.index)
    ImportJats(*stores, JOURNAL, read_jats_bytes, lambda: LATER)([UnreadArticle(capture, file)])
    return file.sha1


PERMISSIONS = "<permissions><license><license-p>CC BY 4.0</license-p></license></permissions>"


@pytest.mark.parametrize(
    ("read", "body", "where"),
    [
        (read_page, LICENSED % CC.encode(), StatedIn.LINK),
        (read_pdf, text_pdf(info={"Copyright": "CC BY 4.0"}), StatedIn.INFO),
        (read_article, jats(meta=PERMISSIONS), StatedIn.ARTICLE),
    ],
    ids=["page", "pdf", "article"],
)
def test_what_a_file_states_has_a_row_that_its_kind_promises(  # type: ignore[no-untyped-def]
    bench: Bench, read, body: bytes, where: StatedIn
) -> None:
    sha1hex = read(bench, body)
    (row,) = bench.records.find(FileRightsRow)
    (statement,) = (Statement.from_json(one) for one in row.stated["statements"])
    assert (row.sha1hex, statement.value, statement.stated_in) == (sha1hex, "cc-by-4.0", where)
    promised = [
        one
        for kind in KINDS
        for made in bench.records.get(kind.row, [sha1hex])
        for one in kind.rows(made)
        if isinstance(one, FileRightsRow)
    ]
    assert promised == [row]
    assert values(bench, "any", sha1hex) == ["cc-by-4.0"]


@pytest.mark.parametrize(
    ("read", "body"),
    [(read_page, PAGE), (read_pdf, text_pdf()), (read_article, jats())],
    ids=["page", "pdf", "article"],
)
def test_a_file_that_states_nothing_when_it_is_read_again_has_no_row(  # type: ignore[no-untyped-def]
    bench: Bench, read, body: bytes
) -> None:
    sha1hex = read(bench, body)
    assert list(bench.records.find(FileRightsRow)) == []
    bench.records.put([FileRightsRow(sha1hex, {"statements": []}, "reader 0", LATER)])
    read(bench, body)
    assert list(bench.records.find(FileRightsRow)) == []
