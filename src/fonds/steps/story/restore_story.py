"""restore_story: the story a page's metadata record holds, as it was parsed when it was archived.

Source: seed 004, "WARC metadata record" and Appendix A (`archive`).
"""

from __future__ import annotations

import re
from dataclasses import dataclass, replace
from datetime import UTC, datetime

from fonds.extract.language.codes import two_letters
from fonds.extract.url import story_id, unique_url_hash
from fonds.formats.envelope import story_from_json
from fonds.formats.listings.tables import NEED_CANONICAL_URL
from fonds.formats.warc.write import METADATA_TYPE
from fonds.model.archive import Payload
from fonds.model.capture import Capture, Place, PlaceKind
from fonds.model.disposition import Reason, dropped
from fonds.model.errors import DamagedInputError
from fonds.model.file import Unparsed
from fonds.model.step import Output, Result
from fonds.model.story import ContentMetadata, Parsed, RawHtml, Story
from fonds.ports import Archive

EMITS = (Output(Parsed),)
EXTRACTOR = "archived-story/1"
"""What stories are said to be read by that were not parsed here."""

RECORDS_MAX = 4
"""So many records behind a page's are looked at; a request may lie between the two."""

_BESIDE = frozenset({"metadata", "request"})
_LANGUAGE = re.compile(r"[a-z]{2,3}")


@dataclass(frozen=True, slots=True)
class RestoreStory:
    """Reads on behind the record of each page, to the metadata that refer to it."""

    archive: Archive

    def __call__(self, item: Unparsed) -> Result:
        """A Parsed, nothing parsed again. Raises DamagedInputError for metadata that are no JSON, LimitError
        and PermanentError as `Archive.read` does."""
        metadata = self._metadata(item.capture)
        if metadata is None:
            return Result(dropped(Reason.NO_METADATA, str(item.capture.place)))
        story = _whole(story_from_json(metadata), item.capture)
        if not (story.content_metadata.text_content or "").strip():
            return Result(dropped(Reason.NO_TEXT, "its metadata hold no text"))
        url = story.content_metadata.url or item.capture.url
        parsed = Parsed(item.capture, item.file, story, story_id(url), EXTRACTOR)
        return Result(items=(parsed,))

    def _metadata(self, capture: Capture) -> bytes | None:
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
                # The end of the file, or a damage that whoever scanned the file has entered as one.
                return None
            if record.warc_headers.get("WARC-Type", "").lower() not in _BESIDE:
                return None
            if _is_of(record, record_id, capture.url):
                return record.body
            size_bytes = record.size_bytes
        return None


def _is_of(record: Payload, record_id: str, url: str) -> bool:
    """Whether a record holds the metadata of that page."""
    told = record.warc_headers
    if told.get("Content-Type", "").partition(";")[0].strip().lower() != METADATA_TYPE:
        return False
    referred = told.get("WARC-Refers-To")
    return referred == record_id if referred else told.get("WARC-Target-URI") == url


def _whole(story: Story, capture: Capture) -> Story:
    """The story with what every story has here, wherever its archive left that out."""
    content, http = story.content_metadata, story.http_metadata
    final = http.final_url if http.final_url != NEED_CANONICAL_URL else None
    url = content.url or final or capture.url
    hashed = story.page_metadata.unique_url_hash or unique_url_hash(url)
    return replace(
        story,
        raw_html=RawHtml(encoding=http.encoding),
        content_metadata=replace(
            content,
            url=url,
            language=_language(content),
            parsed_date=content.parsed_date or _naive(capture.captured_at),
        ),
        page_metadata=replace(story.page_metadata, unique_url_hash=hashed),
    )


def _language(content: ContentMetadata) -> str | None:
    """The code of a language, the same as for pages that are read here; what is none of its form says
    nothing."""
    told = (content.language or "").strip().lower()
    return two_letters(told) or told if _LANGUAGE.fullmatch(told) else None


def _naive(moment: datetime) -> str:
    """As Media Cloud writes times: UTC without saying so."""
    return moment.astimezone(UTC).replace(tzinfo=None).isoformat()
