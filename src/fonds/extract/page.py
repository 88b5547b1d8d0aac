"""One page from bytes to what is known of it; made to be run in a process of its own."""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from datetime import date, datetime, timedelta
from enum import StrEnum
from importlib.metadata import version
from itertools import islice

from fonds.extract.article import Article, canonical_url, extract_article, normalize_title
from fonds.extract.article.dates import Dated
from fonds.extract.charset import decode_page
from fonds.extract.language import choose_language, load_model
from fonds.extract.mime import FEED_MIMES, sniff
from fonds.extract.url import (
    canonical_domain,
    is_homepage_url,
    is_shortened_url,
    normalize_url,
    unique_url_hash,
)
from fonds.model.disposition import Reason
from fonds.model.story import ContentMetadata, PageMetadata

_LIBRARIES = ("trafilatura", "py3langid", "lxml")
EXTRACTOR = f"fonds-page/2 ({', '.join(f'{name} {version(name)}' for name in _LIBRARIES)})"
"""Program and versions that decide what an extraction holds; a change means extracting again."""

BODY_BYTES_MAX = 10_000_000
TEXT_LETTERS_MIN = 25
"""Less is a notice, a form or a list of links, not a text."""

_LETTER = re.compile(r"[^\W\d_]")
_WEB_BEGAN = date(1995, 1, 1)
_FAR_FUTURE = date(2100, 1, 1)


class PageStatus(StrEnum):
    """How the reading of one page ended; closed. `reason` is None where the page was kept."""

    reason: Reason | None

    def __new__(cls, value: str, reason: Reason | None) -> PageStatus:
        """Attach the reason a message with this status ends for."""
        member = str.__new__(cls, value)
        member._value_ = value
        member.reason = reason
        return member

    SUCCESS = "success", None
    NO_TEXT = "no-text", Reason.NO_TEXT
    IS_FEED = "is-feed", Reason.IS_FEED
    TOO_LARGE = "too-large", Reason.TOO_LARGE


@dataclass(frozen=True, slots=True)
class PageExtraction:
    """What one page holds: plain values, ready to be sent from one process to another.

    `content` is complete but for `parsed_date`, which belongs to the caller; for a page that was not
    kept it holds what its address tells and what was read before. `charset` is the one the page was
    decoded with, None when it was not; `error_msg` says in a sentence why a page was not kept.
    """

    status: PageStatus
    content: ContentMetadata
    charset: str | None = None
    error_msg: str | None = None
    metadata: PageMetadata = field(default_factory=PageMetadata)


def parse_page(
    body: bytes, url: str, charset: str | None, captured_at: datetime, fetched: bool
) -> PageExtraction:
    """Read a page: text, title, date, language, addresses.

    `charset` is the Content-Type's, None when the server sent none. `fetched` says that the page came by
    HTTP at `captured_at`; else that is a file's time, which may be anything. Dates after the capture's
    next day are not believed. A page known by a `file:` URL goes by the address it states itself.
    """
    if len(body) > BODY_BYTES_MAX:
        message = f"{len(body)} bytes; at most {BODY_BYTES_MAX} of a page are read"
        return _unread(PageStatus.TOO_LARGE, url, message)
    sniffed = sniff(body, None)
    if sniffed.magic_mime in FEED_MIMES:
        return _unread(PageStatus.IS_FEED, url, sniffed.magic)
    markup, charset_used = decode_page(body, charset)
    is_of_web = url.lower().startswith(("http://", "https://"))
    article = extract_article(markup, url if is_of_web else None, _newest(captured_at, fetched))
    content = _content(article, url)
    metadata = _metadata(article, content)
    letters = _LETTER.finditer(article.text)
    if next(islice(letters, TEXT_LETTERS_MIN - 1, None), None) is None:
        message = f"fewer than {TEXT_LETTERS_MIN} letters of text were found"
        return PageExtraction(PageStatus.NO_TEXT, content, charset_used, message, metadata)
    return PageExtraction(PageStatus.SUCCESS, content, charset_used, None, metadata)


def _unread(status: PageStatus, url: str, message: str | None) -> PageExtraction:
    """A page whose markup was not looked at."""
    metadata = PageMetadata(unique_url_hash=unique_url_hash(url))
    return PageExtraction(status, _addresses(url, None), None, message, metadata)


def warm_up() -> None:
    """Load what every page needs, once for all processes forked afterwards."""
    load_model()


def _newest(captured_at: datetime, fetched: bool) -> date:
    """The last day a page may be dated; archives without times put files at the beginning of their epoch."""
    captured_on = captured_at.date()
    if not fetched and captured_on < _WEB_BEGAN:
        return _FAR_FUTURE
    return min(captured_on, _FAR_FUTURE) + timedelta(days=1)


def _addresses(url: str, canonical: str | None) -> ContentMetadata:
    own = canonical if canonical and url.lower().startswith("file:") else url
    return ContentMetadata(
        original_url=url,
        url=own,
        normalized_url=normalize_url(own),
        canonical_domain=canonical_domain(own) or None,
        is_homepage=is_homepage_url(own),
        is_shortened=is_shortened_url(own),
        canonical_url=canonical,
    )


def _content(article: Article, url: str) -> ContentMetadata:
    addresses = _addresses(url, canonical_url(article.head, url))
    language, full_language = choose_language(
        article.text or article.title or "", article.head.language
    )
    return ContentMetadata(
        original_url=addresses.original_url,
        url=addresses.url,
        normalized_url=addresses.normalized_url,
        canonical_domain=addresses.canonical_domain,
        publication_date=_day(None if addresses.is_homepage else article.dates.published),
        language=language,
        full_language=full_language,
        text_extraction_method=article.method,
        article_title=article.title,
        normalized_article_title=normalize_title(article.title),
        text_content=article.text or None,
        is_homepage=addresses.is_homepage,
        is_shortened=addresses.is_shortened,
        canonical_url=addresses.canonical_url,
    )


def _metadata(article: Article, content: ContentMetadata) -> PageMetadata:
    """What we learn beyond the seed's fields. A front page is changed, but never published."""
    published = None if content.is_homepage else article.dates.published
    modified = article.dates.modified
    return PageMetadata(
        unique_url_hash=unique_url_hash(content.url or content.original_url or ""),
        published_on=_day(published),
        published_source=published.source if published else None,
        published_confidence=published.confidence if published else None,
        modified_on=_day(modified),
        modified_source=modified.source if modified else None,
        modified_confidence=modified.confidence if modified else None,
    )


def _day(dated: Dated | None) -> str | None:
    return dated.day.isoformat() if dated else None
