"""identify: what is kept, what is refused, and for which reason."""

from __future__ import annotations

import gzip
from dataclasses import replace
from pathlib import Path

import pytest

from fixtures.warcs import coded_response
from fonds.extract.mime import describe
from fonds.ingest.steps.identify import SUCCESSES, IdentifyStep
from fonds.model.archive import Payload
from fonds.model.capture import Place, PlaceKind
from fonds.model.disposition import (
    DONE,
    Disposition,
    Reason,
    Verdict,
    drop,
    quarantine,
)
from fonds.model.errors import DamagedInputError, PermanentError
from fonds.model.file import IdentifiedCapture, Kind
from fonds.model.keys import encode_sha1_base32
from step_bench import PAGE, PAGE_MAX_BYTES, PDF, PDF_MAX_BYTES, PICTURE, Bench

FEED = b'<?xml version="1.0"?><rss version="2.0"><channel><title>News</title></channel></rss>'


@pytest.fixture
def step(bench: Bench) -> IdentifyStep:
    return IdentifyStep(bench.archive, describe, PDF_MAX_BYTES, PAGE_MAX_BYTES)


def test_a_page_in_a_warc_is_hashed_and_keeps_its_charset(step: IdentifyStep, bench: Bench) -> None:
    headers = (("content-type", 'Text/HTML; Charset="ISO-8859-1"'),)
    (capture,) = bench.in_warc(PAGE, headers=headers)
    result = step(capture)
    assert result.disposition is DONE
    assert result.items == (IdentifiedCapture(capture, describe(PAGE, "text/html"), "ISO-8859-1"),)


def test_a_loose_pdf_is_known_by_its_bytes_whatever_it_is_called(
    step: IdentifyStep, bench: Bench
) -> None:
    (found,) = step(bench.write_file(PDF, mime="text/html")).items
    assert isinstance(found, IdentifiedCapture)
    assert found.file is not None
    assert (found.file.kind, found.charset) == (Kind.PDF, None)


def test_what_the_server_said_goes_before_what_the_index_says(
    step: IdentifyStep, bench: Bench
) -> None:
    plain = b"only words, which could be anything"
    (capture,) = bench.in_warc(plain, headers=(("Content-Type", "text/plain"),))
    assert step(replace(capture, mime="text/html")).disposition == drop(
        Reason.UNSUPPORTED_TYPE, "text/plain"
    )


@pytest.mark.parametrize("status", [200, 201, 203, 299])
def test_an_archived_story_may_have_any_status_of_success(
    step: IdentifyStep, bench: Bench, status: int
) -> None:
    (capture,) = bench.in_warc(PAGE, status_line=f"HTTP/1.0 {status} HUH?")
    assert replace(step, statuses=SUCCESSES)(capture).disposition is DONE


def test_codings_are_undone_before_hashing(step: IdentifyStep, bench: Bench) -> None:
    (capture,) = bench.in_records(coded_response(gzip.compress(PAGE), "gzip"))
    (found,) = step(capture).items
    assert isinstance(found, IdentifiedCapture)
    assert found.file == describe(PAGE, "text/html")


@pytest.mark.parametrize(
    ("line", "ended"),
    [
        ("HTTP/1.1 200 OK", DONE),
        ("HTTP/1.1 203 Non-Authoritative Information", DONE),
        ("HTTP/1.1 226 Transfer complete", DONE),
        ("HTTP/1.1 301 Moved", drop(Reason.HTTP_STATUS, "status 301")),
        ("HTTP/1.1 404 Not Found", drop(Reason.HTTP_STATUS, "status 404")),
        ("HTTP/1.1 206 Partial Content", drop(Reason.HTTP_STATUS, "status 206")),
    ],
)
def test_only_whole_answers_are_kept(
    step: IdentifyStep, bench: Bench, line: str, ended: Disposition
) -> None:
    (capture,) = bench.in_warc(PAGE, status_line=line)
    result = step(capture)
    assert result.disposition == ended
    assert bool(result.items) == (ended is DONE)


@pytest.mark.parametrize(
    ("body", "ended"),
    [
        (b"", drop(Reason.EMPTY_BODY)),
        (PICTURE, drop(Reason.UNSUPPORTED_TYPE, "image/png")),
        (FEED, drop(Reason.IS_FEED, "application/rss+xml")),
        (
            PAGE.ljust(PAGE_MAX_BYTES + 1),
            drop(Reason.TOO_LARGE, "2001 bytes; the limit for a story is 2000"),
        ),
        (
            PDF.ljust(PDF_MAX_BYTES + 1),
            drop(Reason.TOO_LARGE, "4001 bytes; the limit for a pdf is 4000"),
        ),
    ],
    ids=["empty", "picture", "feed", "large page", "large pdf"],
)
def test_what_is_not_kept_ends_here_with_its_reason(
    step: IdentifyStep, bench: Bench, body: bytes, ended: Disposition
) -> None:
    (capture,) = bench.in_warc(body)
    result = step(capture)
    assert (result.disposition, result.items) == (ended, ())


def test_each_kind_has_a_limit_of_its_own(step: IdentifyStep, bench: Bench) -> None:
    sized = bench.in_warc(PAGE.ljust(PAGE_MAX_BYTES), PDF.ljust(PDF_MAX_BYTES))
    assert [step(capture).disposition for capture in sized] == [DONE, DONE]


def test_what_the_source_knows_already_is_said_without_opening_anything(
    step: IdentifyStep, bench: Bench
) -> None:
    gone = replace(bench.write_file(), place=Place(PlaceKind.FILE, str(bench.home / "gone")))
    told = replace(gone, damage="no such line", damage_reason=Reason.BAD_INDEX_LINE)
    assert step(told).disposition == quarantine(Reason.BAD_INDEX_LINE, "no such line")
    told = replace(gone, damage="cut off")
    assert step(told).disposition == quarantine(Reason.DAMAGED_RECORD, "cut off")
    told = replace(gone, status=503)
    assert step(told).disposition == drop(Reason.HTTP_STATUS, "status 503")


def test_a_revisit_is_handed_on_without_a_file_and_without_being_read(
    step: IdentifyStep, bench: Bench
) -> None:
    capture = replace(bench.write_revisit("sha1:" + "A" * 32), status=304)
    Path(capture.place.path).unlink()
    result = step(capture)
    assert result.disposition.verdict is Verdict.DONE
    assert result.items == (IdentifiedCapture(capture, None),)


def test_what_cannot_be_read_is_raised_with_its_reason(step: IdentifyStep, bench: Bench) -> None:
    capture = bench.write_file()
    Path(capture.place.path).unlink()
    with pytest.raises(PermanentError) as caught:
        step(capture)
    assert caught.value.reason is Reason.MISSING_SOURCE


@pytest.mark.parametrize("header", ["text/html", "text/html; charset=", "text/html; charset", ";"])
def test_a_content_type_without_a_charset_gives_none(
    step: IdentifyStep, bench: Bench, header: str
) -> None:
    (capture,) = bench.in_warc(PAGE, headers=(("Content-Type", header),))
    (found,) = step(capture).items
    assert isinstance(found, IdentifiedCapture)
    assert found.charset is None


@pytest.mark.parametrize("charset", ["\xff\xfe", "utf-8''%00", '"', "x" * 5000])
def test_a_charset_of_any_kind_does_no_harm(step: IdentifyStep, bench: Bench, charset: str) -> None:
    (capture,) = bench.in_warc(PAGE, headers=(("Content-Type", f"text/html; charset={charset}"),))
    result = step(capture)
    assert result.disposition is DONE
    assert len(result.items) == 1


@pytest.mark.parametrize("kind", [PlaceKind.FILE, PlaceKind.REPLAY, PlaceKind.PETABOX])
def test_bytes_that_are_not_those_asked_for_are_refused_where_a_place_gives_whole_files(
    step: IdentifyStep, bench: Bench, kind: PlaceKind
) -> None:
    """A list of work names a file by its SHA-1; who answers with another capture gives other bytes."""
    loose = bench.write_file(PAGE)
    asked = replace(loose, digest=encode_sha1_base32(bytes.fromhex("ab" * 20)))
    with pytest.raises(DamagedInputError, match=f"instead of {'ab' * 20}"):
        replace(step, archive=Answering(bench, loose.place))(
            replace(asked, place=replace(asked.place, kind=kind))
        )
    right = replace(asked, digest=encode_sha1_base32(bytes.fromhex(describe(PAGE, None).sha1)))
    assert step(right).items


def test_the_digest_of_a_warc_record_is_not_held_against_it(
    step: IdentifyStep, bench: Bench
) -> None:
    """Many are of the body with its codings."""
    (capture,) = bench.in_warc(PAGE)
    assert step(replace(capture, digest=encode_sha1_base32(bytes.fromhex("ab" * 20)))).items


class Answering:
    """An archive that has the same bytes wherever one asks."""

    def __init__(self, bench: Bench, place: Place) -> None:
        self._bench, self._place = bench, place

    def read(self, place: Place, *args: object) -> Payload:
        return self._bench.archive.read(self._place)


def test_plain_text_is_a_story_only_where_links_lead_to_it(bench: Bench) -> None:
    text = b"The weir above the mill gave way in the night.\n"
    (capture,) = bench.in_warc(text, headers=(("content-type", "text/plain"),))
    of_crawl = IdentifyStep(bench.archive, describe, PDF_MAX_BYTES, PAGE_MAX_BYTES)
    assert of_crawl(capture).disposition == drop(Reason.UNSUPPORTED_TYPE, "text/plain")
    of_links = replace(of_crawl, takes_plain_text=True)
    (one,) = of_links(capture).items
    assert isinstance(one, IdentifiedCapture)
    assert one.file is not None
    assert (one.file.mime, one.file.kind) == ("text/plain", Kind.STORY)
    (long,) = bench.in_warc(text * PAGE_MAX_BYTES, headers=(("content-type", "text/plain"),))
    assert of_links(long).disposition.reason is Reason.TOO_LARGE
