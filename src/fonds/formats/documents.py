"""What the index holds of a file, built from its row and its text alone, without any store.

Whatever is indexed first stood in the records, so that the index can be made again from them.
Source: seed 004, "Elasticsearch" mapping; seed 003, `pdf_meta`.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, date, datetime
from pathlib import PurePosixPath
from urllib.parse import unquote, urlsplit

from fonds.model.document import IndexDocument
from fonds.model.file import Kind
from fonds.model.pdf import PdfStatus
from fonds.model.rows import PdfMetaRow, StoryMetaRow

TITLE_MAX_CHARS = 300
INDEXED = frozenset(str(status) for status in PdfStatus if status.reason is None)
"""The statuses of the PDFs that are in the index; stories are all in it."""

_NOT_IN_RECORDS = re.compile("[\x00\ud800-\udfff]")


@dataclass(frozen=True, slots=True)
class Origin:
    """What a document has of the capture that brought its file. `domain` is '' where the URL has none."""

    url: str
    domain: str
    collection: str


def text_bytes(text: str) -> bytes:
    """The text as its blob keeps it; a lone surrogate becomes a question mark."""
    return text.encode("utf-8", "replace")


def pdf_document(row: PdfMetaRow, blob: bytes | None, origin: Origin) -> IndexDocument:
    """The document of a PDF; `blob` None means it has no text.

    The language is the one chosen when the PDF was read, kept under `language` in `metadata`.
    """
    text = _text(blob)
    said = row.metadata or {}
    created = row.pdf_created
    language = said.get("language")
    return IndexDocument(
        sha1hex=row.sha1hex,
        kind=Kind.PDF,
        url=_clean(origin.url),
        canonical_domain=_clean(origin.domain),
        publication_date=created.astimezone(UTC).date() if created else None,
        language=language if isinstance(language, str) else None,
        article_title=_title(said.get("title"), text, origin.url),
        text_content=text,
        indexed_date=row.updated,
        collection=_clean(origin.collection),
        page_count=row.page_count,
        word_count=row.word_count,
        has_thumbnail=row.has_page0_thumbnail,
    )


def story_document(row: StoryMetaRow, blob: bytes | None, collection: str) -> IndexDocument:
    """The document of a page; all but text and collection stands in its row."""
    return IndexDocument(
        sha1hex=row.sha1hex,
        kind=Kind.STORY,
        url=_clean(row.url),
        canonical_domain=_clean(row.canonical_domain),
        publication_date=_day(row.publication_date),
        language=row.language,
        article_title=None if row.article_title is None else _clean(row.article_title),
        text_content=_text(blob),
        indexed_date=_parsed_at(row) or row.updated,
        collection=_clean(collection),
        story_id=row.story_id,
        word_count=row.word_count,
    )


def _clean(text: str) -> str:
    """The text as the records keep it, whether it comes from there or is on its way."""
    return _NOT_IN_RECORDS.sub("", text)


def _text(blob: bytes | None) -> str:
    return (blob or b"").decode("utf-8", "replace")


def _title(stated: object, text: str, url: str) -> str:
    """The Info title, else the first line of text, else the file's name."""
    title = _clean(stated).strip() if isinstance(stated, str) else ""
    if not title:
        lines = (_clean(line).strip() for line in text.splitlines())
        title = next((line for line in lines if line), "")
    if not title:
        title = _clean(PurePosixPath(unquote(_path(url))).name)
    return title[:TITLE_MAX_CHARS]


def _path(url: str) -> str:
    try:
        return urlsplit(url).path
    except ValueError:
        return url.partition("?")[0]


def _day(text: str | None) -> date | None:
    try:
        return date.fromisoformat(text or "")
    except ValueError:
        return None


def _parsed_at(row: StoryMetaRow) -> datetime | None:
    """When the page was parsed, None when its story does not say so."""
    content = row.story.get("content_metadata")
    said = content.get("parsed_date") if isinstance(content, Mapping) else None
    try:
        moment = datetime.fromisoformat(said) if isinstance(said, str) else None
    except ValueError:
        return None
    return moment if moment is not None and moment.tzinfo else None
