"""restore_story: the metadata record of a page becomes its story without parsing."""

from __future__ import annotations

import gzip
import io
import json
from dataclasses import replace
from typing import Any

import pytest

from fixtures.archives import CAPTURED_AT, build_entry
from fixtures.warcs import http_response, join_records, warc_record
from fonds.archive.warc.media_cloud import MediaCloudWriter
from fonds.archive.warc.scanner import RecordHead, read_heads
from fonds.archive.warc.writer import METADATA_TYPE, RecordWriter
from fonds.ingest.steps.restore_story import EXTRACTOR, RestoreStoryStep
from fonds.model.archive import ArchiveEntry
from fonds.model.capture import Capture, Place, PlaceKind
from fonds.model.disposition import DONE, Reason
from fonds.model.errors import DamagedInputError
from fonds.model.exchange import Exchange, Hop
from fonds.model.file import UnparsedPage
from fonds.model.step import Result
from fonds.model.story import ParsedPage
from fonds.urls.mediacloud_id import hash_url
from fonds.urls.normalization import compute_story_id
from step_bench import MOMENT, Bench, page_file

URL = "http://example.org/0"
METADATA: dict[str, Any] = {
    "rss_entry": {"link": URL, "source_feed_id": 7, "via": "x@server"},
    "http_metadata": {"response_code": 200, "final_url": URL, "encoding": "iso-8859-1"},
    "content_metadata": {
        "url": URL,
        "canonical_domain": "example.org",
        "language": "de",
        "article_title": "Größer",
        "text_content": "Das Wasser stieg über die Mauer.",
        "parsed_date": "2024-01-05T01:02:03.000004",
    },
}


def write_and_list_captures(bench: Bench, data: bytes) -> list[Capture]:
    """Write a WARC with these bytes and return the captures of its pages."""
    path = bench.home / "mc-20240305060708-1-a.warc.gz"
    path.write_bytes(data)
    page_captures = []
    for head in read_heads(io.BytesIO(data)):
        if isinstance(head, RecordHead) and head.type == "response":
            place = Place(PlaceKind.WARC, str(path), head.offset, head.size_bytes)
            page_captures.append(
                Capture(f"c{head.offset}", "i", place, head.url, MOMENT, "response", mime=head.mime)
            )
    return page_captures


def write_warc(writer_of: Any, *metadata_parts: object, **changed: Any) -> bytes:
    out = io.BytesIO()
    writer = writer_of(out)
    writer.write_warcinfo("mc.warc.gz", CAPTURED_AT)
    for number, part in enumerate(metadata_parts):
        body = b"<p>%d" % number
        archive_entry: ArchiveEntry = build_entry(
            number, body=body, metadata_json=json.dumps(part).encode(), **changed
        )
        writer.write_entry(archive_entry)
    return out.getvalue()


def restore(bench: Bench, capture: Capture, body: bytes = b"<p>0") -> Result:
    return RestoreStoryStep(bench.archive)(UnparsedPage(capture, page_file(body)))


def get_parsed(result: Result) -> ParsedPage:
    (page,) = result.items
    assert isinstance(page, ParsedPage)
    return page


def test_a_story_of_a_media_cloud_archive_is_restored_unchanged(bench: Bench) -> None:
    (capture,) = write_and_list_captures(bench, write_warc(MediaCloudWriter, METADATA))
    result = restore(bench, capture)
    assert result.disposition is DONE
    page = get_parsed(result)
    content = page.story.content_metadata
    assert content.text_content == "Das Wasser stieg über die Mauer."
    assert (content.article_title, content.language) == ("Größer", "de")
    assert content.parsed_date == "2024-01-05T01:02:03.000004"
    assert page.story.rss_entry.source_feed_id == 7
    assert page.story.raw_html.encoding == "iso-8859-1"
    assert page.story.page_metadata.unique_url_hash == hash_url(URL)
    assert (page.story_id, page.extractor) == (compute_story_id(URL), EXTRACTOR)


def test_each_page_gets_its_own_story(bench: Bench) -> None:
    metadata_parts = [
        {
            **METADATA,
            "content_metadata": {"url": f"http://example.org/{n}", "text_content": f"N {n}."},
        }
        for n in range(5)
    ]
    pages = [
        get_parsed(restore(bench, capture, b"<p>%d" % number))
        for number, capture in enumerate(
            write_and_list_captures(bench, write_warc(MediaCloudWriter, *metadata_parts))
        )
    ]
    texts = [page.story.content_metadata.text_content for page in pages]
    assert texts == [f"N {number}." for number in range(5)]


def test_missing_fields_are_taken_from_the_capture(bench: Bench) -> None:
    metadata = {"content_metadata": {"text_content": "Some text.", "language": "x" * 5_000}}
    (capture,) = write_and_list_captures(bench, write_warc(MediaCloudWriter, metadata))
    content = get_parsed(restore(bench, capture)).story.content_metadata
    assert content.url == capture.url
    assert content.parsed_date == MOMENT.replace(tzinfo=None).isoformat()
    assert content.language is None


def test_unknown_fields_of_our_metadata_are_restored(bench: Bench) -> None:
    metadata = {
        **METADATA,
        "http_metadata": {**METADATA["http_metadata"], "remote_address": "192.0.2.1"},
        "queue_data": {"x": [1]},
        "flags": [1, 2],
        "schema_version": 3,
    }
    hop = Hop(URL, CAPTURED_AT, 200, "HTTP/1.1 200 OK", (), request_head="GET / HTTP/1.1\r\n\r\n")
    data = write_warc(RecordWriter, metadata, exchange=Exchange((hop,)))
    (capture,) = write_and_list_captures(bench, data)
    story = get_parsed(restore(bench, capture)).story
    assert story.unknown["http_metadata"] == {"remote_address": "192.0.2.1"}
    assert (story.unknown["queue_data"], story.unknown["flags"]) == ({"x": [1]}, [1, 2])
    assert story.schema_version == 3


def test_a_request_record_between_page_and_metadata_is_skipped(bench: Bench) -> None:
    body = json.dumps(METADATA).encode()
    request = warc_record(b"GET / HTTP/1.1\r\n\r\n", record_type="request", url=URL)
    about = warc_record(body, record_type="metadata", content_type=METADATA_TYPE, url=URL)
    for pack in (
        join_records,
        lambda records: b"".join(compress_member(record) for record in records),
    ):
        data = pack([http_response(b"<p>0", url=URL), request, about])
        (capture,) = write_and_list_captures(bench, data)
        assert get_parsed(restore(bench, capture)).story.rss_entry.link == URL


def compress_member(record: bytes) -> bytes:
    return gzip.compress(record)


@pytest.mark.parametrize(
    "next_record",
    [
        warc_record(b"fetchTimeMs: 5", record_type="metadata", url=URL),
        warc_record(
            json.dumps(METADATA).encode(),
            record_type="metadata",
            content_type=METADATA_TYPE,
            headers={"WARC-Refers-To": "<urn:uuid:00000000-0000-0000-0000-000000000000>"},
            url=URL,
        ),
        http_response(b"<p>1", url="http://example.org/1"),
    ],
    ids=["other-metadata", "of-another-record", "the-next-page"],
)
def test_a_page_without_its_metadata_is_refused(next_record: bytes, bench: Bench) -> None:
    data = join_records(
        [http_response(b"<p>0", url=URL), next_record, *[http_response(url=URL)] * 2]
    )
    result = restore(bench, write_and_list_captures(bench, data)[0])
    assert (result.disposition.reason, result.items) == (Reason.NO_METADATA, ())


def test_metadata_without_text_is_refused(bench: Bench) -> None:
    (capture,) = write_and_list_captures(
        bench, write_warc(RecordWriter, {"rss_entry": {"link": URL}})
    )
    assert restore(bench, capture).disposition.reason is Reason.NO_TEXT


def test_metadata_that_is_not_json_raises(bench: Bench) -> None:
    about = warc_record(b"{", record_type="metadata", content_type=METADATA_TYPE, url=URL)
    (capture,) = write_and_list_captures(
        bench, join_records([http_response(b"<p>0", url=URL), about])
    )
    with pytest.raises(DamagedInputError):
        restore(bench, capture)


def test_a_page_without_a_following_record_is_refused(bench: Bench) -> None:
    about = warc_record(b"{}", record_type="metadata", content_type=METADATA_TYPE, url=URL)
    shared = compress_member(http_response(b"<p>0", url=URL) + about)
    (capture,) = write_and_list_captures(bench, shared)
    assert restore(bench, capture).disposition.reason is Reason.NO_METADATA
    loose = replace(capture, place=Place(PlaceKind.FILE, str(bench.home / "a.html")))
    assert restore(bench, loose).disposition.reason is Reason.NO_METADATA
    bench.archive.finish()


def test_a_page_at_the_end_of_its_file_has_no_metadata(bench: Bench) -> None:
    for data in (
        join_records([http_response(b"<p>0", url=URL)]),
        compress_member(http_response(b"<p>0")),
    ):
        (capture,) = write_and_list_captures(bench, data)
        assert restore(bench, capture).disposition.reason is Reason.NO_METADATA
        bench.archive.finish()
