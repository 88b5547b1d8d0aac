"""WARC files for Media Cloud, read as its readers do and by our own reader."""

from __future__ import annotations

import gzip
import io
import json
from hashlib import sha1
from pathlib import Path
from typing import Any

import msgspec
import pytest

from fixtures.archives import CAPTURED_AT, build_entry
from fixtures.media_cloud import ContentPart, HttpPart, RssEntryPart, read_stories
from fonds.archive.store.folder import FolderArchive
from fonds.archive.store.options import ArchiveOptions
from fonds.archive.warc.media_cloud import MediaCloudWriter
from fonds.archive.warc.reader import read_record
from fonds.archive.warc.scanner import RecordHead, read_heads
from fonds.archive.warc.writer import RecordWriter
from fonds.audit.warcs import verify
from fonds.model.archive import ArchiveEntry, OriginalCapture
from fonds.model.capture import RssEntry
from fonds.model.exchange import HttpHead
from fonds.model.restrictions import Tombstone
from fonds.model.story import ContentMetadata, HttpMetadata, PageMetadata, Story
from fonds.model.story_json import decode_story, encode_story, encode_warc_metadata

LATIN1 = "<p>größer</p>".encode("latin-1")


def make_story(number: int, code: int | None = 200, encoding: str | None = "iso-8859-1") -> Story:
    return Story(
        rss_entry=RssEntry(link=f"http://example.org/{number}", source_feed_id=7, via="x@server"),
        http_metadata=HttpMetadata(
            code, CAPTURED_AT.timestamp(), f"http://example.org/{number}", encoding
        ),
        content_metadata=ContentMetadata(
            url=f"http://example.org/{number}",
            article_title="Größer",
            text_content="Das Wasser stieg.",
            is_homepage=False,
        ),
        page_metadata=PageMetadata(authors=("A. Writer",)),
        unknown={"http_metadata": {"remote_address": "192.0.2.1"}, "queue_data": {"x": 1}},
    )


def make_entries() -> list[ArchiveEntry]:
    http = HttpHead(
        200,
        "HTTP/1.1 200 OK",
        (("Content-Type", "text/html; charset=iso-8859-1"), ("Set-Cookie", "a=b")),
    )
    archive_entries = [
        build_entry(0, body=LATIN1, http=http, metadata_json=encode_warc_metadata(make_story(0))),
        build_entry(1, mime="application/pdf", body=b"%PDF-1.4"),
        build_entry(
            2, body=LATIN1, http=http, metadata_json=encode_warc_metadata(make_story(2, None, None))
        ),
        build_entry(
            3,
            body=b"<p>loose",
            http=None,
            metadata_json=encode_warc_metadata(make_story(3, None, None)),
        ),
        build_entry(4, body=b"<p>gone", metadata_json=encode_warc_metadata(make_story(4, 404))),
    ]
    archive_entries.append(
        build_entry(
            5, body=LATIN1, http=http, original=OriginalCapture(archive_entries[0].url, CAPTURED_AT)
        )
    )
    return archive_entries


def write_warc(make_writer: Any = MediaCloudWriter) -> bytes:
    out = io.BytesIO()
    writer = make_writer(out)
    writer.write_warcinfo("mc-20240305060708-00000-here.warc.gz", CAPTURED_AT, "here")
    for archive_entry in make_entries():
        writer.write_entry(archive_entry)
    return out.getvalue()


def test_media_cloud_readers_read_every_story() -> None:
    stories = list(read_stories(io.BytesIO(write_warc())))
    assert [read_story.html for read_story in stories] == [LATIN1, LATIN1, b"<p>loose", b"<p>gone"]
    assert [read_story.rss_entry.link for read_story in stories] == [
        f"http://example.org/{n}" for n in (0, 2, 3, 4)
    ]
    assert (stories[0].encoding, stories[0].http_metadata.response_code) == ("iso-8859-1", 200)
    assert stories[0].content_metadata.article_title == "Größer"
    assert stories[0].content_metadata.is_homepage is False
    assert stories[0].http_metadata.fetch_timestamp == CAPTURED_AT.timestamp()
    assert stories[0].content_metadata.parsed_date == "2024-03-05T06:07:08"


def test_media_cloud_readers_skip_tombstones(tmp_path: Path) -> None:
    archive = FolderArchive(tmp_path, ArchiveOptions(is_for_media_cloud=True))
    archive.write(make_entries())
    archive.finish()
    (warc,) = tmp_path.glob("*.warc.gz")
    for body in (b"<p>loose", b"%PDF-1.4"):
        tombstone = Tombstone(sha1(body, usedforsecurity=False).hexdigest(), "privacy", CAPTURED_AT)
        assert archive.purge(warc.name, tombstone).records > 0
    with warc.open("rb") as stream:
        assert [read_story.html for read_story in read_stories(stream)] == [
            LATIN1,
            LATIN1,
            b"<p>gone",
        ]
    assert verify(archive, warc.name).faults == []


def test_media_cloud_readers_fail_on_ordinary_warcs() -> None:
    with pytest.raises(RuntimeError):
        list(read_stories(io.BytesIO(write_warc(RecordWriter))))


def test_records_have_the_format_of_the_seed() -> None:
    text = gzip.decompress(write_warc()).decode("latin-1")
    assert text.count("WARC/1.0\r\n") == text.count("WARC-Type: ") == 11
    head = "HTTP/1.0 200 OK\r\nContent-Type: text/html; encoding=iso-8859-1\r\nContent-Length: 13\r\n\r\n"
    assert head in text
    assert "HTTP/1.0 404 HUH?\r\n" in text
    assert "HTTP/1.0 None HUH?\r\nContent-Type: text/html\r\n" in text
    assert "WARC-Date: 2024-03-05T06:07:08Z" in text
    assert "urn:metadata:" not in text
    assert text.count("Set-Cookie") == 1  # That of the revisit, which Media Cloud skips.
    assert '{\n  "rss_entry": {\n    "link": ' in text
    assert text.count("WARC-Type: resource") == text.count("WARC-Type: revisit") == 1


def test_our_reader_reads_charset_and_metadata() -> None:
    stream = io.BytesIO(write_warc())
    heads = [head for head in read_heads(stream) if isinstance(head, RecordHead)]
    response = read_record(stream, heads[1].offset, body_max_bytes=10_000)
    assert (response.body, response.http and response.http.charset) == (LATIN1, "iso-8859-1")
    metadata = read_record(stream, heads[2].offset, body_max_bytes=10_000)
    decoded = decode_story(metadata.body)
    assert decoded.rss_entry == make_story(0).rss_entry
    assert decoded.unknown == {}
    fields = {name: tuple(part) for name, part in json.loads(metadata.body).items()}
    assert fields == {
        "rss_entry": RssEntryPart.names,
        "http_metadata": HttpPart.names,
        "content_metadata": ContentPart.names,
    }


def test_an_archive_writes_them_on_request(tmp_path: Path) -> None:
    archive = FolderArchive(tmp_path, ArchiveOptions(prefix="mc", is_for_media_cloud=True))
    archived = archive.write(make_entries())
    archive.finish()
    (path,) = tmp_path.glob("mc-*.warc.gz")
    with path.open("rb") as stream:
        assert len(list(read_stories(stream))) == 4
    assert verify(archive, path.name).faults == []
    ids = [archive.read(record.place).warc_headers["WARC-Record-ID"] for record in archived]
    assert ids == [f"<{record.record_id}>" for record in archived]
    assert [archive.read(record.place).body for record in archived][:5] == [
        record.body for record in make_entries()
    ][:5]


def read_one_story(**content: Any) -> list[Any]:
    """Write one entry with this content metadata and return the stories that their readers find."""
    story_json = encode_story(make_story(0)) | {"content_metadata": content}
    http = HttpHead(200, "HTTP/1.1 200 OK", (("Content-Type", "text/html"),))
    archive_entry = build_entry(
        0, body=b"<p>x", http=http, metadata_json=msgspec.json.encode(story_json)
    )
    out = io.BytesIO()
    writer = MediaCloudWriter(out)
    writer.write_warcinfo("mc-20240305060708-00000-here.warc.gz", CAPTURED_AT, "here")
    writer.write_entry(archive_entry)
    return list(read_stories(io.BytesIO(out.getvalue())))


@pytest.mark.parametrize("text", [None, ""])
def test_a_page_without_text_is_no_story_for_media_cloud(text: str | None) -> None:
    """The importer of their stories rejects stories without text."""
    assert read_one_story(url="http://example.org/0", text_content=text) == []


@pytest.mark.parametrize(
    ("our_time", "their_time"),
    [
        ("2024-03-05T07:00:00.000001+00:00", "2024-03-05T07:00:00.000001"),
        ("2024-03-05T08:00:00+01:00", "2024-03-05T07:00:00"),
        ("2024-03-05", "2024-03-05"),
        ("soon", "soon"),
    ],
)
def test_times_are_written_in_the_format_of_media_cloud(our_time: str, their_time: str) -> None:
    (read_story,) = read_one_story(text_content="x", parsed_date=our_time)
    assert read_story.content_metadata.parsed_date == their_time


def test_fields_have_the_types_of_the_seed() -> None:
    (read_story,) = read_one_story(
        text_content="x", url="http://a/", language="de", is_homepage=False, is_shortened=True
    )
    kinds: dict[str, type] = {
        "source_feed_id": int,
        "response_code": int,
        "fetch_timestamp": float,
        "is_homepage": bool,
        "is_shortened": bool,
    }
    for part in (read_story.rss_entry, read_story.http_metadata, read_story.content_metadata):
        for name in part.names:
            value = getattr(part, name)
            assert value is None or type(value) is kinds.get(name, str), name
    assert type(read_story.http_metadata.fetch_timestamp) is float


def test_responses_and_metadata_alternate_as_media_cloud_expects() -> None:
    """Their readers rely only on the order, not on references or the writer."""
    lines = gzip.decompress(write_warc()).split(b"\r\n")
    types = [line.partition(b": ")[2].decode() for line in lines if line.startswith(b"WARC-Type: ")]
    pairs = [kind for kind in types if kind in ("response", "metadata")]
    assert types[0] == "warcinfo"
    assert pairs == ["response", "metadata"] * (len(pairs) // 2)
    assert set(types) - {"warcinfo", "response", "metadata"} == {"resource", "revisit"}
