"""A story: a news page with its sub-objects. Field names and types of seed 004, and our own beside them."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from fonds.model.capture import Capture, RssEntry
from fonds.model.exchange import Exchange
from fonds.model.file import FileMeta
from fonds.model.rights import Statement

SCHEMA_VERSION = 1
"""The version of the form stories of ours have in messages, rows and archives."""


@dataclass(frozen=True, slots=True)
class RawHtml:
    """The page's bytes, decoded from transfer and content codings, and the charset they are in.

    On the wire `html` stays empty: the bytes are read again from the capture's place.
    """

    html: bytes | None = None
    encoding: str | None = None


@dataclass(frozen=True, slots=True)
class HttpMetadata:
    """The exchange: `fetch_timestamp` is Unix seconds UTC with a fraction."""

    response_code: int | None = None
    fetch_timestamp: float | None = None
    final_url: str | None = None
    encoding: str | None = None


@dataclass(frozen=True, slots=True)
class ContentMetadata:
    """What was learned from the page.

    `publication_date` is YYYY-MM-DD, `language` a lower-case ISO 639-1 code, `full_language` a BCP 47
    tag, `parsed_date` an ISO 8601 date-time in UTC.
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
    """What we learn of a page beyond the seed's fields; a sub-object of our own beside the seed's four.

    `unique_url_hash` is the id Media Cloud's index has for the address, None where it has none. Days are
    YYYY-MM-DD; each has the kind of place it was found in (`json-ld`, `meta`, `microdata`, `time`, `url`,
    `text`, `script`, `comment`) and how far that is to be believed, 0 to 1. Authors come from `json-ld`,
    `meta`, `markup` or `byline`. `is_paywalled` is None where the page does not say. `page_kind` is
    `article`, `front`, `listing`, `error` or `consent`. `language_confidence` is 0 to 1, None where the
    text was not asked; `charset_evidence` says in words what spoke for the charset. `rights` are licences,
    holders and preferences the page states.
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
    """The seed's four sub-objects, and ours; `exchange` None for what was not fetched by us. `unknown` keeps
    what others added, by its name: of a sub-object a dict of its further fields. `schema_version` is that
    of the form it came in, 0 for one that says none, as Media Cloud's.
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
    """A parsed page: the message of the result topic `stories`. `story_id` is the id of its URL."""

    capture: Capture
    file: FileMeta
    story: Story
    story_id: str
    extractor: str

    @property
    def about(self) -> str:
        """The file's SHA-1 in hex."""
        return self.file.sha1


@dataclass(frozen=True, slots=True)
class UnarchivedBody:
    """A body that lies in no WARC yet, or whose copy was asked for: the message of `unarchived`.

    `story` is set for pages that were parsed: a metadata record is written beside their body.
    `repeat_of` is the id of the capture that brought the same bytes first: a revisit record is written.
    """

    capture: Capture
    file: FileMeta
    story: Story | None = None
    repeat_of: str | None = None

    @property
    def about(self) -> str:
        """The file's SHA-1 in hex."""
        return self.file.sha1
