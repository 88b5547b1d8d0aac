"""Stories: news pages with their extracted content and metadata, grouped into sub-objects.

The field names and types are those of seed document 004, plus fields that Fonds adds.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from fonds.model.capture import Capture, RssEntry
from fonds.model.exchange import Exchange
from fonds.model.file import FileMeta
from fonds.model.rights import Statement

SCHEMA_VERSION = 1
"""Schema version of the stories that Fonds writes to messages, SQL rows and WARC files."""


@dataclass(frozen=True, slots=True)
class RawHtml:
    """Bytes of a news page with transfer and content codings decoded (`html`), and their charset
    (`encoding`).

    In messages `html` is empty: the bytes are read again from the location of the capture.
    """

    html: bytes | None = None
    encoding: str | None = None


@dataclass(frozen=True, slots=True)
class HttpMetadata:
    """HTTP response with which a news page was fetched.

    - `response_code`: HTTP status.
    - `fetch_timestamp`: time of the fetch in Unix seconds with a fraction.
    - `final_url`: URL after redirects.
    - `encoding`: charset of the response.
    """

    response_code: int | None = None
    fetch_timestamp: float | None = None
    final_url: str | None = None
    encoding: str | None = None


@dataclass(frozen=True, slots=True)
class ContentMetadata:
    """Content and metadata extracted from a news page; field names of seed document 004.

    - `publication_date`: YYYY-MM-DD.
    - `language`: lower-case ISO 639-1 code.
    - `full_language`: BCP 47 tag.
    - `parsed_date`: time of the extraction, ISO 8601 in UTC.

    Missing values are None.
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
    """Metadata of a news page that Fonds adds to the sub-objects of a story in seed document 004.

    - `unique_url_hash`: id of the URL in Media Cloud's index; None without one.
    - `published_on`, `modified_on`: YYYY-MM-DD.
    - `published_source`, `modified_source`: where the date was found (`json-ld`, `meta`,
      `microdata`, `time`, `url`, `text`, `script`, `comment`).
    - `published_confidence`, `modified_confidence`: confidence in the date, from 0 to 1.
    - `authors_source`: where the authors were found: `json-ld`, `meta`, `markup` or `byline`.
    - `is_paywalled`: whether the page is behind a paywall; None if the page does not say.
    - `page_kind`: `article`, `front`, `listing`, `error` or `consent`.
    - `language_confidence`: confidence in the language, from 0 to 1; None if the language was not
      found from the text.
    - `charset_evidence`: explanation of how the charset was chosen.
    - `rights`: licences, rights holders and usage preferences that the page states.
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
    """News page with the four sub-objects of seed document 004 and the sub-objects that Fonds adds.

    - `exchange`: HTTP exchange in which the page was fetched; None if Fonds did not fetch the page.
    - `unknown`: fields that other programs added, by name; for a sub-object a dict of its extra
      fields.
    - `schema_version`: schema version that the input states; 0 if it states none, as in Media
      Cloud's stories.
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
        """Subject of a message with this payload: SHA-1 of the file in hex."""
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
        """Subject of a message with this payload: SHA-1 of the file in hex."""
        return self.file.sha1
