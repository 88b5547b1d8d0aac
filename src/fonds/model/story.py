"""Stories: news pages with their sub-objects. Field names and types of seed 004, plus our own."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from fonds.model.capture import Capture, RssEntry
from fonds.model.exchange import Exchange
from fonds.model.file import FileMeta
from fonds.model.rights import Statement

SCHEMA_VERSION = 1
"""Schema version of our stories in messages, rows and archives."""


@dataclass(frozen=True, slots=True)
class RawHtml:
    """Bytes of the page, with transfer and content codings decoded, and their charset.

    In messages `html` is empty: the bytes are read again from the capture's location.
    """

    html: bytes | None = None
    encoding: str | None = None


@dataclass(frozen=True, slots=True)
class HttpMetadata:
    """HTTP exchange; `fetch_timestamp` is Unix seconds UTC with a fraction."""

    response_code: int | None = None
    fetch_timestamp: float | None = None
    final_url: str | None = None
    encoding: str | None = None


@dataclass(frozen=True, slots=True)
class ContentMetadata:
    """Content extracted from the page.

    `publication_date` is YYYY-MM-DD, `language` a lower-case ISO 639-1 code, `full_language` a BCP
    47 tag, `parsed_date` an ISO 8601 date-time in UTC.
    """

    original_url: str | None = None
    url: str | None = None
    normalized_url: str | None = None
    canonical_domain: str | None = None
    publication_date: str | None = None
    language: str | None = None
    full_language: str | None = None
    text_extraction_method: str | None = None
    article_title: str | None = None
    normalized_article_title: str | None = None
    text_content: str | None = None
    is_homepage: bool | None = None
    is_shortened: bool | None = None
    parsed_date: str | None = None
    canonical_url: str | None = None


@dataclass(frozen=True, slots=True)
class PageMetadata:
    """Page properties beyond the seed's fields; a sub-object of our own.

    - `unique_url_hash`: id of the address in Media Cloud's index, None without one.
    - `published_on`, `modified_on`: YYYY-MM-DD.
    - `…_source` of a date: where it was found (`json-ld`, `meta`, `microdata`, `time`, `url`,
      `text`, `script`, `comment`); `…_confidence` is 0 to 1.
    - `authors_source`: `json-ld`, `meta`, `markup` or `byline`.
    - `is_paywalled`: None if the page does not say.
    - `page_kind`: `article`, `front`, `listing`, `error` or `consent`.
    - `language_confidence`: 0 to 1, None if the text was not used.
    - `charset_evidence`: explanation of how the charset was chosen.
    - `rights`: licences, holders and preferences the page states.
    """

    unique_url_hash: str | None = None
    published_on: str | None = None
    published_source: str | None = None
    published_confidence: float | None = None
    modified_on: str | None = None
    modified_source: str | None = None
    modified_confidence: float | None = None
    authors: tuple[str, ...] = ()
    authors_source: str | None = None
    top_image_url: str | None = None
    amp_url: str | None = None
    is_paywalled: bool | None = None
    page_kind: str | None = None
    language_confidence: float | None = None
    charset_evidence: str | None = None
    rights: tuple[Statement, ...] = ()


@dataclass(frozen=True, slots=True)
class Story:
    """News page with the four sub-objects of seed 004 and the sub-objects that Fonds adds.

    - `exchange`: HTTP exchange in which the page was fetched; None if Fonds did not fetch the page.
    - `unknown`: fields that other programs added, by name; for a sub-object a dict of its extra
      fields.
    - `schema_version`: schema version that the input states; 0 if it states none, as Media Cloud's
      stories.
    """

    rss_entry: RssEntry = field(default_factory=RssEntry)
    raw_html: RawHtml = field(default_factory=RawHtml)
    http_metadata: HttpMetadata = field(default_factory=HttpMetadata)
    content_metadata: ContentMetadata = field(default_factory=ContentMetadata)
    page_metadata: PageMetadata = field(default_factory=PageMetadata)
    exchange: Exchange | None = None
    unknown: dict[str, Any] = field(default_factory=dict)
    schema_version: int = SCHEMA_VERSION


@dataclass(frozen=True, slots=True)
class ParsedPage:
    """Parsed news page: payload of the result topic `stories`.

    - `capture`: capture of the page.
    - `file`: size, type and hashes of the page.
    - `story`: extracted content and metadata.
    - `story_id`: id computed from the URL of the story.
    - `extractor`: version of the extractor that parsed the page.
    """

    capture: Capture
    file: FileMeta
    story: Story
    story_id: str
    extractor: str

    @property
    def about(self) -> str:
        """Subject of the message: SHA-1 of the file in hex."""
        return self.file.sha1


@dataclass(frozen=True, slots=True)
class UnarchivedBody:
    """Body to write to a WARC file: payload of the work topic `unarchived`.

    The body is in no WARC file yet, or is to be copied from another program's WARC file.

    - `story`: parsed page, written as a metadata record next to the body; None for other files.
    - `repeat_of`: id of the first capture of the same bytes. If set, a revisit record is written.
    """

    capture: Capture
    file: FileMeta
    story: Story | None = None
    repeat_of: str | None = None

    @property
    def about(self) -> str:
        """Subject of the message: SHA-1 of the file in hex."""
        return self.file.sha1
