"""The kind `pdf`: text and metadata of a PDF. Its document is the file's.

Source: seed 003, `pdf_meta`; seed 004, "Elasticsearch" mapping.
"""

from __future__ import annotations

from collections.abc import Sequence
from datetime import UTC
from pathlib import PurePosixPath
from urllib.parse import unquote, urlsplit

from fonds.kinds.documents import Origin, cleaned, text_of
from fonds.model.document import IndexDocument
from fonds.model.file import Kind
from fonds.model.pdf import PdfStatus
from fonds.model.rows import PdfMetaRow
from fonds.ports import Records

TITLE_MAX_CHARS = 300
INDEXED = frozenset(str(status) for status in PdfStatus if status.reason is None)
"""The statuses of the PDFs that are in the index."""


def indexed_rows(records: Records, sha1hexes: Sequence[str]) -> dict[str, PdfMetaRow]:
    """The rows documents are made of, by the document's id, which is the file's SHA-1."""
    rows = records.get(PdfMetaRow, sha1hexes)
    return {row.sha1hex: row for row in rows if row.status in INDEXED}


def document(row: PdfMetaRow, blob: bytes | None, origin: Origin) -> IndexDocument:
    """The document of a PDF; `blob` None means it has no text.

    The language is the one chosen when the PDF was read, kept under `language` in `metadata`.
    """
    text = text_of(blob)
    said = row.metadata or {}
    created = row.pdf_created
    language = said.get("language")
    return IndexDocument(
        id=row.sha1hex,
        sha1hex=row.sha1hex,
        kind=Kind.PDF,
        url=cleaned(origin.url),
        canonical_domain=cleaned(origin.domain),
        publication_date=created.astimezone(UTC).date() if created else None,
        language=language if isinstance(language, str) else None,
        article_title=_title(said.get("title"), text, origin.url),
        text_content=text,
        indexed_date=row.updated,
        collection=cleaned(origin.collection),
        page_count=row.page_count,
        word_count=row.word_count,
        has_thumbnail=row.has_page0_thumbnail,
    )


def _title(stated: object, text: str, url: str) -> str:
    """The Info title, else the first line of text, else the file's name."""
    title = cleaned(stated).strip() if isinstance(stated, str) else ""
    if not title:
        lines = (cleaned(line).strip() for line in text.splitlines())
        title = next((line for line in lines if line), "")
    if not title:
        title = cleaned(PurePosixPath(unquote(_path(url))).name)
    return title[:TITLE_MAX_CHARS]


def _path(url: str) -> str:
    try:
        return urlsplit(url).path
    except ValueError:
        return url.partition("?")[0]
