"""Write stories in the format of Media Cloud's archives: WARC/1.0, without anything that Media
Cloud's readers reject.

Source: seed document 004, "WARC file format" and its metadata fields.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from datetime import UTC, datetime

import msgspec

from fonds.archive.warc.writer import AppendableFile, RecordWriter, WrittenRecord
from fonds.model.archive import ArchiveEntry
from fonds.model.encoding import prepare_type
from fonds.model.exchange import HttpHead
from fonds.model.story import ContentMetadata, HttpMetadata, Story
from fonds.model.story_json import decode_story


@dataclass(frozen=True, slots=True)
class MediaCloudRssEntry:
    """Feed entry of a story, with the fields that Media Cloud's readers accept."""

    link: str | None
    title: str | None
    domain: str | None
    pub_date: str | None
    fetch_date: str | None
    source_url: str | None
    source_feed_id: int | None
    source_source_id: int | None
    via: str | None


@dataclass(frozen=True, slots=True)
class MediaCloudMetadata:
    """Metadata of a story, with the sub-objects and fields that Media Cloud's readers accept. They
    fail on others.
    """

    rss_entry: MediaCloudRssEntry
    http_metadata: HttpMetadata
    content_metadata: ContentMetadata


class MediaCloudWriter:
    """Writes entries as WARC records in the format of Media Cloud's archives. Not thread-safe.

    It has the same methods as `RecordWriter`. A body without metadata or text is not a story for
    Media Cloud, whose importer would reject it. It is written as a `resource` or `revisit`, which
    Media Cloud's readers skip.
    """

    def __init__(self, out: AppendableFile, *, version: str = "WARC/1.0", agent: str = "") -> None:
        """Create a writer that appends WARC records to `out`.

        `agent` is the User-Agent of a fetcher that obeys robots.txt, or "". `version` is ignored:
        files are always WARC/1.0.
        """
        self._writer = RecordWriter(out, version="WARC/1.0", metadata_uri="", agent=agent)

    def write_warcinfo(
        self, filename: str, created_at: datetime, hostname: str | None = None
    ) -> None:
        """Write the warcinfo record at the start of a WARC file: the software, host and format of
        the file.
        """
        self._writer.write_warcinfo(filename, created_at, hostname)

    def write_entry(self, entry: ArchiveEntry) -> WrittenRecord:
        """Write the WARC records of an entry. Return the first record, which has the body or is a
        revisit.
        """
        return self._writer.write_entry(convert_to_media_cloud(entry))


def convert_to_media_cloud(entry: ArchiveEntry) -> ArchiveEntry:
    """Convert an entry to the form that Media Cloud's readers accept.

    For a story, the status of the response is kept, its charset is written as `encoding`, and only
    the metadata fields that Media Cloud knows are kept. An entry without story text becomes a plain
    resource or revisit.
    """
    story = decode_story(entry.metadata_json) if entry.metadata_json else Story()
    content = story.content_metadata
    if not content.text_content:
        plain = replace(entry, exchange=None, metadata_json=None)
        return plain if entry.original else replace(plain, http=None)
    content = replace(content, parsed_date=_drop_time_zone(content.parsed_date))
    return replace(
        entry,
        http=_build_head(entry.http, story.http_metadata),
        metadata_json=_encode_metadata(replace(story, content_metadata=content)),
        original=None,
        exchange=None,
    )


def select_metadata(story: Story) -> MediaCloudMetadata:
    """Return the metadata of a story that Media Cloud knows."""
    rss_entry = msgspec.convert(
        story.rss_entry, prepare_type(MediaCloudRssEntry), from_attributes=True
    )
    return MediaCloudMetadata(rss_entry, story.http_metadata, story.content_metadata)


def _encode_metadata(story: Story) -> bytes:
    return msgspec.json.format(msgspec.json.encode(select_metadata(story)), indent=2)


def _drop_time_zone(text: str | None) -> str | None:
    """Convert a time in ISO 8601 to UTC and remove its time zone, as Media Cloud writes times.

    Text that is not a time is returned unchanged.
    """
    try:
        moment = datetime.fromisoformat(text or "")
    except ValueError:
        return text
    return moment.astimezone(UTC).replace(tzinfo=None).isoformat() if moment.tzinfo else text


def _build_head(http: HttpHead | None, http_metadata: HttpMetadata) -> HttpHead:
    code = http_metadata.response_code
    if code is None and http is not None:
        code = http.status
    encoding = http_metadata.encoding or (http.charset if http else None)
    content_type = f"text/html; encoding={encoding}" if encoding else "text/html"
    line = "HTTP/1.0 200 OK" if code == 200 else f"HTTP/1.0 {code} HUH?"
    return HttpHead(code or 0, line, (("Content-Type", content_type),))
