"""restore_story: read a story from the metadata record that an archive stores with the page.

The story is the one parsed when the page was archived. Source: seed document 004, "WARC metadata
record" and Appendix A (`archive`).
"""

from __future__ import annotations

import re
from dataclasses import dataclass, replace
from datetime import UTC, datetime

from fonds.archive.warc.writer import METADATA_TYPE
from fonds.following.listings.csv_tables import NEED_CANONICAL_URL
from fonds.model.archive import Payload
from fonds.model.capture import Capture, Place, PlaceKind
from fonds.model.disposition import Reason, drop
from fonds.model.errors import DamagedInputError
from fonds.model.file import UnparsedPage
from fonds.model.step import Output, Result
from fonds.model.story import ContentMetadata, ParsedPage, RawHtml, Story
from fonds.model.story_json import decode_story
from fonds.ports import Archive
from fonds.text.language_codes import find_two_letter_code
from fonds.urls.mediacloud_id import hash_url
from fonds.urls.normalization import compute_story_id

EMITS = (Output(ParsedPage),)
EXTRACTOR = "archived-story/1"
"""Extractor name of stories that were restored, not parsed."""

RECORDS_MAX = 4
"""Maximum number of WARC records to read after the record of a page, to find its metadata record. A
request record may come first.
"""

_COMPANION_TYPES = frozenset({"metadata", "request"})
_LANGUAGE = re.compile(r"[a-z]{2,3}")


@dataclass(frozen=True, slots=True)
class RestoreStoryStep:
    """Step that restores a story from the WARC metadata record that was archived with the page.

    It reads the WARC records after the page, until the metadata record that refers to the page.
    """

    archive: Archive

    def __call__(self, item: UnparsedPage) -> Result:
        """Return a ParsedPage from the metadata record, without parsing the page.

        Raises DamagedInputError for metadata that is not JSON, and LimitError and PermanentError
        under the conditions of `Archive.read`.
        """
        metadata = self._read_metadata(item.capture)
        if metadata is None:
            return Result(drop(Reason.NO_METADATA, str(item.capture.place)))
        story = _complete_story(decode_story(metadata), item.capture)
        if not (story.content_metadata.text_content or "").strip():
            return Result(drop(Reason.NO_TEXT, "its metadata has no text"))
        url = story.content_metadata.url or item.capture.url
        parsed_page = ParsedPage(item.capture, item.file, story, compute_story_id(url), EXTRACTOR)
        return Result(items=(parsed_page,))

    def _read_metadata(self, capture: Capture) -> bytes | None:
        place = capture.place
        if place.kind is not PlaceKind.WARC:
            return None
        page = self.archive.read(place)
        record_id = page.warc_headers.get("WARC-Record-ID", "")
        size_bytes = page.size_bytes or place.size_bytes
        for _ in range(RECORDS_MAX):
            if size_bytes is None:
                return None
            place = Place(PlaceKind.WARC, place.path, place.offset + size_bytes)
            try:
                record = self.archive.read(place)
            except DamagedInputError:
                # The end of the file, or damage that was entered when the file was scanned.
                return None
            if record.warc_headers.get("WARC-Type", "").lower() not in _COMPANION_TYPES:
                return None
            if _is_metadata_record(record, record_id, capture.url):
                return record.body
            size_bytes = record.size_bytes
        return None


def _is_metadata_record(record: Payload, record_id: str, url: str) -> bool:
    """Return whether a WARC record is the metadata record of the page with this record id or URL.

    The URL counts only if the record does not refer to a record id.
    """
    headers = record.warc_headers
    if headers.get("Content-Type", "").partition(";")[0].strip().lower() != METADATA_TYPE:
        return False
    record_id_of_page = headers.get("WARC-Refers-To")
    return (
        record_id_of_page == record_id
        if record_id_of_page
        else headers.get("WARC-Target-URI") == url
    )


def _complete_story(story: Story, capture: Capture) -> Story:
    """Return a story with the fields that every story has, filled in from `capture` if the metadata
    record omits them.
    """
    content, http = story.content_metadata, story.http_metadata
    final_url = http.final_url if http.final_url != NEED_CANONICAL_URL else None
    url = content.url or final_url or capture.url
    url_hash = story.page_metadata.unique_url_hash or hash_url(url)
    return replace(
        story,
        raw_html=RawHtml(encoding=http.encoding),
        content_metadata=replace(
            content,
            url=url,
            language=_parse_language(content),
            parsed_date=content.parsed_date or _format_naive(capture.captured_at),
        ),
        page_metadata=replace(story.page_metadata, unique_url_hash=url_hash),
    )


def _parse_language(content: ContentMetadata) -> str | None:
    """Return the language code in the normalized form of parsed pages; None if it is malformed."""
    code = (content.language or "").strip().lower()
    return find_two_letter_code(code) or code if _LANGUAGE.fullmatch(code) else None


def _format_naive(moment: datetime) -> str:
    """Format a UTC time without a time zone, as Media Cloud does."""
    return moment.astimezone(UTC).replace(tzinfo=None).isoformat()
