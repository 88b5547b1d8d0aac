"""Extract text, metadata and language of one page from its bytes. Runs in a child process.

The page is also classified: as an article, or as another kind of page that may look like an
article.
"""

from __future__ import annotations

import re
from datetime import date, datetime, timedelta
from enum import StrEnum
from itertools import islice

from fonds.extract.article.classifier import load_layers
from fonds.extract.article.dates import STATED_SOURCES, DateFinding
from fonds.extract.article.extraction import Article, extract_article
from fonds.extract.article.head import find_canonical_url, normalize_title, resolve_url
from fonds.extract.charset import decode
from fonds.extract.mime import FEED_MIMES, sniff
from fonds.extract.page_extraction import PageExtraction, PageStatus
from fonds.extract.plain_text import convert_to_html
from fonds.model.story import ContentMetadata, PageMetadata
from fonds.text.language import IdentifiedLanguage, identify_page_language, load_model
from fonds.urls.mediacloud_id import hash_url
from fonds.urls.normalization import (
    find_canonical_domain,
    find_host,
    is_homepage_url,
    is_shortened_url,
    load_suffix_list,
    normalize_url,
)

PAGE_NOTICE_MAX_CHARS = 1500
"""Maximum text length of error pages and consent requests. A page with more text is neither,
whatever its title.
"""

_ERROR = re.compile(
    r"^\W*(?:(?:error|fehler|erreur)?\W*(?:40[0134]|410|429|50[0234])\b|page (?:not found|introuvable)"
    r"|not found\b|seite (?:wurde )?nicht gefunden|p[aá]gina no encontrada|p[aá]gina n[aã]o encontrada"
    r"|pagina non trovata|pagina niet gevonden|access denied|forbidden\b|zugriff verweigert|acceso denegado"
    r"|attention required|just a moment|are you a (?:human|robot)|service unavailable|bad gateway"
    r"|internal server error|site (?:is )?(?:temporarily )?unavailable|страница не найдена)"
    r"|(?:^|\W)404(?:\W|$)",
    re.IGNORECASE,
)
_CONSENT = re.compile(
    r"cookies?|consent|einwilligung|zustimm|privacy|datenschutz|consentement|consentimiento|gdpr|dsgvo|privacidad",
    re.IGNORECASE,
)
_CONSENT_TITLE = re.compile(
    r"^\W*(?:before you continue|we value your privacy|your privacy|cookie|consent|privacy (?:gate|settings)"
    r"|zustimmung|wir ben[oö]tigen ihre zustimmung|bevor sie)",
    re.IGNORECASE,
)
_LISTINGS = frozenset({"CollectionPage", "SearchResultsPage", "ProfilePage"})
_LIST = "ItemList"
_ARTICLES = re.compile(r"Article|Posting|Report|Review|Recipe|Story")
_CONSENT_WORDS_MIN = 4
PLACEHOLDER_MAX_CHARS = 200
_PLACEHOLDER = re.compile(
    r"\bjava ?script\b|\bredirect(?:ed|ing)\b|\bweiterleitung\b"
    r"|\bbuy this domain\b|\bdomain (?:name )?(?:is|may be) for sale\b|\bparked (?:free|domain)\b"
    r"|\b(?:enable|accept) cookies\b|\bcookies? (?:aktivieren|activer|habilitar)\b"
    r"|\bbrowser (?:does not|doesn.t) support\b",
    re.IGNORECASE,
)


class PageKind(StrEnum):
    """Kinds of pages: article, front page, list of articles, error page or consent form."""

    ARTICLE = "article"
    FRONT = "front"
    LISTING = "listing"
    ERROR = "error"
    CONSENT = "consent"


def is_placeholder(text: str) -> bool:
    """Return whether a text is only a notice that a server sends instead of the page, for example
    to browsers without scripts.
    """
    return len(text) <= PLACEHOLDER_MAX_CHARS and _PLACEHOLDER.search(text) is not None


def classify_page(
    title: str | None, text: str, types: frozenset[str], *, is_front: bool, is_dated: bool
) -> PageKind:
    """Return whether a page is an article or another kind of page. `text` is its text, `types` are
    its JSON-LD types.

    - `is_front`: whether the URL is that of a front page.
    - `is_dated`: whether the page states its publication date. If so, the JSON-LD type `ItemList`
      does not make the page a listing.
    """
    is_short = len(text) <= PAGE_NOTICE_MAX_CHARS
    if is_short and title and _ERROR.search(title):
        return PageKind.ERROR
    is_notice = title is not None and _CONSENT_TITLE.search(title) is not None
    if is_short and (is_notice or len(_CONSENT.findall(text)) >= _CONSENT_WORDS_MIN):
        return PageKind.CONSENT
    if is_front:
        return PageKind.FRONT
    has_list_type = bool(types & _LISTINGS) or (_LIST in types and not is_dated)
    is_listing = has_list_type and not any(map(_ARTICLES.search, types))
    return PageKind.LISTING if is_listing else PageKind.ARTICLE


BODY_MAX_BYTES = 10_000_000
TEXT_MIN_LETTERS = 25
"""Minimum number of letters in the text of a page. A shorter text is a notice, a form or a list of
links.
"""

NOTICE_MAX_CHARS = 120
_FILE_SCHEMES = ("file:", "s3:")
_LETTER = re.compile(r"[^\W\d_]")
_WEB_BEGAN = date(1995, 1, 1)
_FAR_FUTURE = date(2100, 1, 1)


def parse_page(
    body: bytes,
    url: str,
    charset: str | None,
    captured_at: datetime,
    was_fetched: bool,
    is_plain_text: bool = False,
) -> PageExtraction:
    """Extract text, title, date, language and URLs of a page.

    - `url`: URL of the page. If it is a `file:` or `s3:` URL, the canonical URL that the page
      states takes its place in the result.
    - `charset`: charset in the Content-Type header; None if the server sent none.
    - `captured_at`: time of the capture. Dates in the page that are later than the day after it are
      ignored.
    - `was_fetched`: whether the page was fetched over HTTP. If not, `captured_at` is the time of a
      file and may be wrong.
    - `is_plain_text`: whether the body is plain text instead of HTML. Each run of lines is then a
      paragraph, and a short first line followed by a blank line is the title.
    """
    if len(body) > BODY_MAX_BYTES:
        message = f"{len(body)} bytes; the limit for a page is {BODY_MAX_BYTES}"
        return _build_unread(PageStatus.TOO_LARGE, url, message)
    sniffed_type = sniff(body, None)
    if sniffed_type.magic_mime in FEED_MIMES:
        return _build_unread(PageStatus.IS_FEED, url, sniffed_type.magic)
    decoded_page = decode(body, charset, find_host(url))
    is_of_web = url.lower().startswith(("http://", "https://"))
    markup = convert_to_html(decoded_page.text) if is_plain_text else decoded_page.text
    article = extract_article(
        markup, url if is_of_web else None, _find_latest_day(captured_at, was_fetched)
    )
    language = identify_page_language(article.text or article.title or "", article.head.language)
    content = _build_content_metadata(article, url, language)
    metadata = _build_page_metadata(article, content, language, decoded_page.evidence)
    letters = _LETTER.finditer(article.text)
    if next(islice(letters, TEXT_MIN_LETTERS - 1, None), None) is None:
        message = f"the text has fewer than {TEXT_MIN_LETTERS} letters"
        return PageExtraction(PageStatus.NO_TEXT, content, decoded_page.charset, message, metadata)
    if is_placeholder(article.text):
        message = f"the page has only a notice: {article.text[:NOTICE_MAX_CHARS]}"
        return PageExtraction(PageStatus.NO_TEXT, content, decoded_page.charset, message, metadata)
    return PageExtraction(PageStatus.SUCCESS, content, decoded_page.charset, None, metadata)


def _build_unread(status: PageStatus, url: str, message: str | None) -> PageExtraction:
    """Build the result of a page that is rejected unparsed. It has only metadata from the URL."""
    metadata = PageMetadata(unique_url_hash=hash_url(url))
    return PageExtraction(status, _build_url_metadata(url, None), None, message, metadata)


def warm_up() -> None:
    """Load what every page needs: the model that identifies languages, the weights of the block
    classifier and the list of public suffixes. Called once, before child processes are forked.
    """
    load_model()
    load_layers()
    load_suffix_list()


def _find_latest_day(captured_at: datetime, was_fetched: bool) -> date:
    """Return the latest date that may be found in a page: the day after the capture.

    If the page was not fetched over HTTP (`was_fetched` is False), a capture before 1995 sets no
    limit. Archives without times give files the time at the beginning of their epoch.
    """
    captured_on = captured_at.date()
    if not was_fetched and captured_on < _WEB_BEGAN:
        return _FAR_FUTURE
    return min(captured_on, _FAR_FUTURE) + timedelta(days=1)


def _build_url_metadata(url: str, canonical: str | None) -> ContentMetadata:
    page_url = canonical if canonical and url.lower().startswith(_FILE_SCHEMES) else url
    return ContentMetadata(
        original_url=url,
        url=page_url,
        normalized_url=normalize_url(page_url),
        canonical_domain=find_canonical_domain(page_url) or None,
        is_homepage=is_homepage_url(page_url),
        is_shortened=is_shortened_url(page_url),
        canonical_url=canonical,
    )


def _build_content_metadata(
    article: Article, url: str, language: IdentifiedLanguage
) -> ContentMetadata:
    addresses = _build_url_metadata(url, find_canonical_url(article.head, url))
    return ContentMetadata(
        original_url=addresses.original_url,
        url=addresses.url,
        normalized_url=addresses.normalized_url,
        canonical_domain=addresses.canonical_domain,
        publication_date=_format_day(
            None if _is_front(article, addresses) else article.dates.published
        ),
        language=language.code,
        full_language=language.tag,
        text_extraction_method=article.method,
        article_title=article.title,
        normalized_article_title=normalize_title(article.title),
        text_content=article.text or None,
        is_homepage=addresses.is_homepage,
        is_shortened=addresses.is_shortened,
        canonical_url=addresses.canonical_url,
    )


def _is_front(article: Article, addresses: ContentMetadata) -> bool:
    kinds = (PageKind.FRONT, PageKind.LISTING)
    return _find_kind(article, bool(addresses.is_homepage)) in kinds


def _find_kind(article: Article, is_front: bool) -> PageKind:
    published_finding = article.dates.published
    is_dated = published_finding is not None and published_finding.source in STATED_SOURCES
    types = article.linked.types
    return classify_page(article.title, article.text, types, is_front=is_front, is_dated=is_dated)


def _build_page_metadata(
    article: Article, content: ContentMetadata, language: IdentifiedLanguage, evidence: str
) -> PageMetadata:
    """Build the further metadata of a page, beyond the fields that the seeds define (`content`).

    Front pages and listings have no publication date, only a modification date.
    """
    kind = _find_kind(article, bool(content.is_homepage))
    published_finding = article.dates.published if content.publication_date else None
    modified_finding = article.dates.modified
    url, meta = content.url or content.original_url or "", article.head.meta
    image = meta.get("og:image") or meta.get("twitter:image") or article.linked.image
    return PageMetadata(
        unique_url_hash=hash_url(url),
        published_on=_format_day(published_finding),
        published_source=published_finding.source if published_finding else None,
        published_confidence=published_finding.confidence if published_finding else None,
        modified_on=_format_day(modified_finding),
        modified_source=modified_finding.source if modified_finding else None,
        modified_confidence=modified_finding.confidence if modified_finding else None,
        authors=article.authors,
        authors_source=article.authors_source,
        top_image_url=resolve_url(image, url) if image else None,
        amp_url=resolve_url(article.head.amp, url) if article.head.amp else None,
        is_paywalled=_is_paywalled(article),
        page_kind=kind,
        language_confidence=language.confidence,
        charset_evidence=evidence,
        rights=article.rights,
    )


def _is_paywalled(article: Article) -> bool | None:
    """Return whether a page states that it is behind a paywall, in JSON-LD or a meta tag; None if
    it states nothing.
    """
    if article.linked.is_free is not None:
        return not article.linked.is_free
    tier = article.head.meta.get("article:content_tier", "").lower()
    return {"free": False, "metered": True, "locked": True}.get(tier)


def _format_day(finding: DateFinding | None) -> str | None:
    return finding.day.isoformat() if finding else None
