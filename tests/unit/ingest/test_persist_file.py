"""persist_file: which capture owns a file, what later captures store, and what is passed on."""

from __future__ import annotations

import json
import struct
from collections.abc import Iterator
from dataclasses import asdict, replace
from pathlib import Path

import pytest

from fonds.archive.warc.scanner import Damage, RecordHead, read_heads
from fonds.ingest.revisits import find_original
from fonds.ingest.steps.persist_file import PersistFileStep
from fonds.model.capture import REVISIT_MIME, Capture
from fonds.model.disposition import DONE, Reason, Verdict, drop
from fonds.model.file import IdentifiedCapture, RevisitReference, UnextractedPdf, UnparsedPage
from fonds.model.keys import encode_sha1_base32
from fonds.model.paper import UngrobidedPdf
from fonds.model.rows import FileMetaRow
from fonds.model.story import UnarchivedBody
from fonds.stores.journal_table.keys import build_alternate_key, build_row_key
from fonds.urls.surt import build_lookup_key, build_surt
from step_bench import (
    JOURNAL,
    LATER,
    MOMENT,
    OTHER_PAGE,
    PAGE,
    PDF,
    Bench,
    identify_capture,
    page_file,
    pdf_file,
)

KEY = page_file().sha1
PDF_KEY = pdf_file().sha1


@pytest.fixture
def step(bench: Bench) -> PersistFileStep:
    return PersistFileStep(bench.table, bench.records, JOURNAL, False, lambda: LATER)


def create_copying_step(bench: Bench) -> PersistFileStep:
    return PersistFileStep(bench.table, bench.records, JOURNAL, True, lambda: LATER)


def get_owner(bench: Bench, key: str = KEY) -> str:
    (row,) = bench.records.get(FileMetaRow, [key])
    return row.capture_id


def write_pdf_in_warc(bench: Bench) -> Capture:
    return bench.in_warc(PDF, mime="application/pdf")[0]


def test_a_page_is_passed_to_the_parser_with_the_charset_of_its_response(
    step: PersistFileStep, bench: Bench
) -> None:
    (capture,) = bench.in_warc(PAGE)
    (result,) = step([replace(identify_capture(capture), charset="utf-8")])
    assert result.disposition is DONE
    assert result.items == (UnparsedPage(capture, page_file(), "utf-8"),)


def test_a_pdf_in_a_warc_is_passed_to_extractor_and_grobid(
    step: PersistFileStep, bench: Bench
) -> None:
    capture = write_pdf_in_warc(bench)
    (result,) = step([identify_capture(capture, PDF)])
    assert (result.disposition, result.items) == (
        DONE,
        (UnextractedPdf(capture, pdf_file()), UngrobidedPdf(capture, pdf_file())),
    )


def test_a_loose_pdf_is_archived_directly_and_a_loose_page_via_the_parser(
    step: PersistFileStep, bench: Bench
) -> None:
    pdf, page = bench.write_file(PDF, "application/pdf"), bench.write_file()
    pdf_result, page_result = step([identify_capture(pdf, PDF), identify_capture(page)])
    assert pdf_result.items == (
        UnextractedPdf(pdf, pdf_file()),
        UngrobidedPdf(pdf, pdf_file()),
        UnarchivedBody(pdf, pdf_file()),
    )
    assert page_result.items == (UnparsedPage(page, page_file()),)


def test_the_row_of_a_file_has_hashes_size_and_type(step: PersistFileStep, bench: Bench) -> None:
    (capture,) = bench.in_warc(PAGE)
    step([identify_capture(capture)])
    file = page_file()
    assert bench.records.get(FileMetaRow, [KEY]) == [
        FileMetaRow(KEY, file.sha256, file.md5, len(PAGE), "text/html", capture.id, LATER)
    ]


def test_the_row_of_a_capture_in_a_warc_points_to_its_record(
    step: PersistFileStep, bench: Bench
) -> None:
    _, capture = bench.in_warc(OTHER_PAGE, PAGE)
    step([identify_capture(capture)])
    row = bench.cdx()[capture.id]
    assert (row.warc_path, row.warc_offset) == (capture.place.path, capture.place.offset)
    assert row.warc_csize == capture.place.size_bytes
    assert (row.sha1hex, row.mimetype, row.datetime) == (KEY, "text/html", "20240305060708")
    assert row.surt == build_surt(capture.url)
    assert row.surt_key == build_lookup_key(row.surt)
    assert bench.archive.read(capture.place).body == PAGE


def test_the_cells_have_the_specified_format(step: PersistFileStep, bench: Bench) -> None:
    """Seed 000: `file:cdx` has only strings, `file:meta` has seven fields, sizes are 8-byte integers."""
    _, capture = bench.in_warc(OTHER_PAGE, PAGE)
    step([identify_capture(capture)])
    ((key, cells),) = bench.cells().items()
    assert key == bytes.fromhex(KEY)
    assert len(key) == 20
    assert cells["file:size"] == struct.pack(">Q", len(PAGE))
    assert cells["file:mime"] == b"text/html"
    assert json.loads(cells["file:meta"]) == asdict(page_file())
    place = capture.place
    assert json.loads(cells["file:cdx"]) == {
        "surt": build_surt(capture.url),
        "url": capture.url,
        "dt": "20240305060708",
        "warc": place.path,
        "offset": str(place.offset),
        "c_size": str(place.size_bytes),
    }
    assert json.loads(cells["f:c"]) == {
        "u": capture.url,
        "d": "2024-03-05T06:07:08Z",
        "f": place.path.rpartition("/")[2],
        "o": place.offset,
        "c": 1,
    }
    assert set(cells) == {"file:size", "file:mime", "file:meta", "file:cdx", "f:c"}


def test_a_loose_file_has_a_table_row_without_a_place(step: PersistFileStep, bench: Bench) -> None:
    step([identify_capture(bench.write_file())])
    assert set(bench.cells()[build_row_key(KEY)]) == {"file:size", "file:mime", "file:meta"}
    assert bench.cdx() == {}


@pytest.mark.parametrize("is_one_batch", [True, False], ids=["in one batch", "one after the other"])
def test_the_first_capture_owns_the_file_and_later_captures_are_duplicates(
    step: PersistFileStep, bench: Bench, is_one_batch: bool
) -> None:
    first, second = bench.in_warc(PAGE, PAGE)
    items = [identify_capture(first), identify_capture(second)]
    results = step(items) if is_one_batch else [*step(items[:1]), *step(items[1:])]
    assert [result.disposition.verdict for result in results] == [Verdict.DONE, Verdict.DROPPED]
    assert results[1].disposition == drop(Reason.DUPLICATE, f"same bytes as capture {first.id}")
    assert (len(results[0].items), results[1].items) == (1, ())
    assert get_owner(bench) == first.id
    assert {row.sha1hex for row in bench.cdx().values()} == {KEY}
    assert bench.cdx().keys() == {first.id, second.id}
    cells = bench.cells()
    assert list(cells) == [build_row_key(KEY), build_alternate_key(KEY, second.id)]
    assert json.loads(cells[build_row_key(KEY)]["file:cdx"])["url"] == first.url
    later = cells[build_alternate_key(KEY, second.id)]
    assert set(later) == {"file:cdx"}
    assert json.loads(later["file:cdx"])["offset"] == str(second.place.offset)


def test_all_places_of_a_file_share_the_prefix_of_its_key(
    step: PersistFileStep, bench: Bench
) -> None:
    captures = bench.in_warc(PAGE, PAGE, PAGE, OTHER_PAGE)
    bodies = (PAGE, PAGE, PAGE, OTHER_PAGE)
    step([identify_capture(capture, body) for capture, body in zip(captures, bodies, strict=True)])
    assert len(bench.table.scan(JOURNAL, prefix=build_row_key(KEY))) == 3


def test_persisting_twice_gives_the_same_results_and_rows(
    step: PersistFileStep, bench: Bench
) -> None:
    captures = [*bench.in_warc(PAGE, PAGE), bench.write_file(PDF, "application/pdf")]
    bodies = (PAGE, PAGE, PDF)
    items = [
        identify_capture(capture, body) for capture, body in zip(captures, bodies, strict=True)
    ]
    first = step(items)
    before = (bench.cells(), bench.cdx(), list(bench.records.find(FileMetaRow)))
    second = PersistFileStep(bench.table, bench.records, JOURNAL, False, lambda: MOMENT)(items)
    assert second == first
    assert (bench.cells(), bench.cdx(), list(bench.records.find(FileMetaRow))) == before


def test_a_loose_repeat_is_archived_with_the_id_of_the_owner(
    step: PersistFileStep, bench: Bench
) -> None:
    first, second = bench.write_file(), bench.write_file()
    step([identify_capture(first)])
    (result,) = step([identify_capture(second)])
    assert result.disposition.reason is Reason.DUPLICATE
    assert result.items == (UnarchivedBody(second, page_file(), repeat_of=first.id),)
    assert list(bench.cells()) == [build_row_key(KEY)]


def test_a_revisit_is_dropped_and_its_place_recorded_by_digest(
    step: PersistFileStep, bench: Bench
) -> None:
    capture = bench.write_revisit(f"sha1:{encode_sha1_base32(bytes.fromhex(KEY))}")
    (result,) = step([IdentifiedCapture(capture, None)])
    assert result.disposition == drop(Reason.REVISIT, capture.digest or "")
    assert result.items == ()
    row = bench.cdx()[capture.id]
    assert (row.sha1hex, row.mimetype, row.url) == (KEY, REVISIT_MIME, capture.url)
    assert (row.warc_path, row.warc_offset) == (capture.place.path, 0)
    assert (bench.cells(), list(bench.records.find(FileMetaRow))) == ({}, [])


@pytest.mark.parametrize("digest", [None, "", "md5:0123", "sha1:short"])
def test_a_revisit_without_digest_is_dropped_and_not_recorded(
    step: PersistFileStep, bench: Bench, digest: str | None
) -> None:
    (result,) = step([IdentifiedCapture(bench.write_revisit(digest), None)])
    assert result.disposition.reason is Reason.REVISIT
    assert bench.cdx() == {}


def test_a_page_in_a_warc_is_treated_as_loose_if_bodies_are_copied(
    bench: Bench,
) -> None:
    step = create_copying_step(bench)
    pdf, (page, repeat) = write_pdf_in_warc(bench), bench.in_warc(PAGE, PAGE)
    results = step([identify_capture(pdf, PDF), identify_capture(page), identify_capture(repeat)])
    assert [result.items for result in results] == [
        (
            UnextractedPdf(pdf, pdf_file()),
            UngrobidedPdf(pdf, pdf_file()),
            UnarchivedBody(pdf, pdf_file()),
        ),
        (UnparsedPage(page, page_file()),),
        (UnarchivedBody(repeat, page_file(), repeat_of=page.id),),
    ]
    assert bench.cdx() == {}
    assert set(bench.cells()[build_row_key(PDF_KEY)]) == {"file:size", "file:mime", "file:meta"}


def test_a_file_of_an_unread_type_is_stored_with_a_reason(
    step: PersistFileStep, bench: Bench
) -> None:
    body = b"%!PS-Adobe-3.0\n%%Title: rivers\nshowpage\n"
    loose, (warc_capture,) = (
        bench.write_file(body, None),
        bench.in_warc(body + b"%", mime="text/plain"),
    )
    results = step([identify_capture(loose, body), identify_capture(warc_capture, body + b"%")])
    endings = [(result.disposition.verdict, result.disposition.reason) for result in results]
    assert endings == [("done", Reason.UNREAD_TYPE)] * 2
    assert [type(item) for result in results for item in result.items] == [UnarchivedBody]


def test_a_mixed_batch_returns_results_in_order(step: PersistFileStep, bench: Bench) -> None:
    (page,) = bench.in_warc(PAGE)
    revisit = bench.write_revisit(None)
    results = step(
        [
            IdentifiedCapture(revisit, None),
            identify_capture(write_pdf_in_warc(bench), PDF),
            identify_capture(page),
        ]
    )
    assert [ended.disposition.reason for ended in results] == [Reason.REVISIT, None, None]
    assert [type(item) for result in results for item in result.items] == [
        UnextractedPdf,
        UngrobidedPdf,
        UnparsedPage,
    ]


def test_an_empty_batch_writes_nothing(step: PersistFileStep, bench: Bench) -> None:
    assert step([]) == []
    assert bench.cells() == {}


def test_a_revisit_refers_to_the_first_capture_of_its_file_in_a_warc(
    step: PersistFileStep, bench: Bench
) -> None:
    """The first capture can be a loose file, which is not in a WARC yet."""
    (earlier_path,), (first,) = bench.in_warc(PAGE), bench.in_warc(PAGE)
    loose, (other_path,) = bench.write_file(OTHER_PAGE), bench.in_warc(OTHER_PAGE)
    for capture in (first, earlier_path):
        step([identify_capture(capture)])
    for capture in (loose, other_path):
        step([identify_capture(capture, OTHER_PAGE)])
    for body, expected in ((PAGE, first), (OTHER_PAGE, other_path)):
        revisit = IdentifiedCapture(bench.write_revisit(page_file(body).sha1), None)
        original = find_original(bench.records, revisit, lambda path: iter(()))
        assert original is not None
        assert (original.place.path, original.url) == (expected.place.path, expected.url)


def test_an_empty_response_is_not_the_original_of_a_revisit(bench: Bench) -> None:
    """Some crawlers write a revisit and an empty response with the same URL and time."""
    for body, is_expected in ((PAGE, True), (b"", False)):
        (capture,) = bench.in_warc(body)

        def scan(path: str, warc: str = capture.place.path) -> Iterator[RecordHead | Damage]:
            with Path(warc).open("rb") as stream:
                yield from read_heads(stream)

        (head,) = [
            head_or_damage for head_or_damage in scan("") if isinstance(head_or_damage, RecordHead)
        ]
        reference = RevisitReference(head.url, head.captured_at)
        revisit = IdentifiedCapture(bench.write_revisit(None), None, refers_to=reference)
        original = find_original(bench.records, revisit, scan)
        assert (original is not None) is is_expected
