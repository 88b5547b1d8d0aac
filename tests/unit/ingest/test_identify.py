"""identify: which captures are stored, which are refused, and for which reason."""

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


def test_a_loose_pdf_is_recognized_by_content(step: IdentifyStep, bench: Bench) -> None:
    (identified,) = step(bench.write_file(PDF, mime="text/html")).items
    assert isinstance(identified, IdentifiedCapture)
    assert identified.file is not None
    assert (identified.file.kind, identified.charset) == (Kind.PDF, None)


def test_the_content_type_header_overrides_the_type_in_the_index(
    step: IdentifyStep, bench: Bench
) -> None:
    plain = b"only words, which could be anything"
    (capture,) = bench.in_warc(plain, headers=(("Content-Type", "text/plain"),))
    assert step(replace(capture, mime="text/html")).disposition == drop(
        Reason.UNSUPPORTED_TYPE, "text/plain"
    )


@pytest.mark.parametrize("status", [200, 201, 203, 299])
def test_any_success_status_is_accepted_for_archived_stories(
    step: IdentifyStep, bench: Bench, status: int
) -> None:
    (capture,) = bench.in_warc(PAGE, status_line=f"HTTP/1.0 {status} HUH?")
    assert replace(step, statuses=SUCCESSES)(capture).disposition is DONE


def test_content_codings_are_removed_before_hashing(step: IdentifyStep, bench: Bench) -> None:
    (capture,) = bench.in_records(coded_response(gzip.compress(PAGE), "gzip"))
    (identified,) = step(capture).items
    assert isinstance(identified, IdentifiedCapture)
    assert identified.file == describe(PAGE, "text/html")


@pytest.mark.parametrize(
    ("line", "expected"),
    [
        ("HTTP/1.1 200 OK", DONE),
        ("HTTP/1.1 203 Non-Authoritative Information", DONE),
        ("HTTP/1.1 226 Transfer complete", DONE),
        ("HTTP/1.1 301 Moved", drop(Reason.HTTP_STATUS, "status 301")),
        ("HTTP/1.1 404 Not Found", drop(Reason.HTTP_STATUS, "status 404")),
        ("HTTP/1.1 206 Partial Content", drop(Reason.HTTP_STATUS, "status 206")),
    ],
)
def test_only_complete_successful_responses_are_accepted(
    step: IdentifyStep, bench: Bench, line: str, expected: Disposition
) -> None:
    (capture,) = bench.in_warc(PAGE, status_line=line)
    result = step(capture)
    assert result.disposition == expected
    assert bool(result.items) == (expected is DONE)


@pytest.mark.parametrize(
    ("body", "expected"),
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
def test_a_refused_body_is_dropped_with_its_reason(
    step: IdentifyStep, bench: Bench, body: bytes, expected: Disposition
) -> None:
    (capture,) = bench.in_warc(body)
    result = step(capture)
    assert (result.disposition, result.items) == (expected, ())


def test_each_kind_has_its_own_size_limit(step: IdentifyStep, bench: Bench) -> None:
    captures = bench.in_warc(PAGE.ljust(PAGE_MAX_BYTES), PDF.ljust(PDF_MAX_BYTES))
    assert [step(capture).disposition for capture in captures] == [DONE, DONE]


def test_faults_known_from_the_source_are_reported_without_reading(
    step: IdentifyStep, bench: Bench
) -> None:
    missing = replace(bench.write_file(), place=Place(PlaceKind.FILE, str(bench.home / "gone")))
    damaged = replace(missing, damage="no such line", damage_reason=Reason.BAD_INDEX_LINE)
    assert step(damaged).disposition == quarantine(Reason.BAD_INDEX_LINE, "no such line")
    damaged = replace(missing, damage="cut off")
    assert step(damaged).disposition == quarantine(Reason.DAMAGED_RECORD, "cut off")
    damaged = replace(missing, status=503)
    assert step(damaged).disposition == drop(Reason.HTTP_STATUS, "status 503")


def test_a_revisit_is_passed_on_unread_without_a_file(step: IdentifyStep, bench: Bench) -> None:
    capture = replace(bench.write_revisit("sha1:" + "A" * 32), status=304)
    Path(capture.place.path).unlink()
    result = step(capture)
    assert result.disposition.verdict is Verdict.DONE
    assert result.items == (IdentifiedCapture(capture, None),)


def test_an_unreadable_capture_raises_with_its_reason(step: IdentifyStep, bench: Bench) -> None:
    capture = bench.write_file()
    Path(capture.place.path).unlink()
    with pytest.raises(PermanentError) as caught:
        step(capture)
    assert caught.value.reason is Reason.MISSING_SOURCE


@pytest.mark.parametrize("header", ["text/html", "text/html; charset=", "text/html; charset", ";"])
def test_a_content_type_without_charset_gives_none(
    step: IdentifyStep, bench: Bench, header: str
) -> None:
    (capture,) = bench.in_warc(PAGE, headers=(("Content-Type", header),))
    (identified,) = step(capture).items
    assert isinstance(identified, IdentifiedCapture)
    assert identified.charset is None


@pytest.mark.parametrize("charset", ["\xff\xfe", "utf-8''%00", '"', "x" * 5000])
def test_an_unusual_charset_is_accepted(step: IdentifyStep, bench: Bench, charset: str) -> None:
    (capture,) = bench.in_warc(PAGE, headers=(("Content-Type", f"text/html; charset={charset}"),))
    result = step(capture)
    assert result.disposition is DONE
    assert len(result.items) == 1


@pytest.mark.parametrize("kind", [PlaceKind.FILE, PlaceKind.REPLAY, PlaceKind.PETABOX])
def test_bytes_that_do_not_match_the_digest_are_refused_for_file_places(
    step: IdentifyStep, bench: Bench, kind: PlaceKind
) -> None:
    """A work list names a file by its SHA-1; another capture in the response has other bytes."""
    loose = bench.write_file(PAGE)
    wrong_digest = replace(loose, digest=encode_sha1_base32(bytes.fromhex("ab" * 20)))
    with pytest.raises(DamagedInputError, match=f"instead of {'ab' * 20}"):
        replace(step, archive=ConstantArchive(bench, loose.place))(
            replace(wrong_digest, place=replace(wrong_digest.place, kind=kind))
        )
    right_digest = replace(
        wrong_digest, digest=encode_sha1_base32(bytes.fromhex(describe(PAGE, None).sha1))
    )
    assert step(right_digest).items


def test_a_wrong_digest_of_a_warc_record_is_ignored(step: IdentifyStep, bench: Bench) -> None:
    """Many digests are those of the encoded body."""
    (capture,) = bench.in_warc(PAGE)
    assert step(replace(capture, digest=encode_sha1_base32(bytes.fromhex("ab" * 20)))).items


class ConstantArchive:
    """An archive that returns the same bytes for every place."""

    def __init__(self, bench: Bench, place: Place) -> None:
        self._bench, self._place = bench, place

    def read(self, place: Place, *args: object) -> Payload:
        return self._bench.archive.read(self._place)


def test_plain_text_is_a_story_only_when_links_are_followed(bench: Bench) -> None:
    text = b"The weir above the mill gave way in the night.\n"
    (capture,) = bench.in_warc(text, headers=(("content-type", "text/plain"),))
    crawl_step = IdentifyStep(bench.archive, describe, PDF_MAX_BYTES, PAGE_MAX_BYTES)
    assert crawl_step(capture).disposition == drop(Reason.UNSUPPORTED_TYPE, "text/plain")
    link_step = replace(crawl_step, takes_plain_text=True)
    (identified,) = link_step(capture).items
    assert isinstance(identified, IdentifiedCapture)
    assert identified.file is not None
    assert (identified.file.mime, identified.file.kind) == ("text/plain", Kind.STORY)
    (too_long,) = bench.in_warc(text * PAGE_MAX_BYTES, headers=(("content-type", "text/plain"),))
    assert link_step(too_long).disposition.reason is Reason.TOO_LARGE
