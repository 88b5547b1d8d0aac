"""Pipeline step import_jats: read JATS or NLM articles and store their text and bibliography."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import TYPE_CHECKING

import msgspec

from fonds.derivatives.documents import (
    DocumentOrigin,
    build_text_blob,
    encode_text,
    index_until_stable,
)
from fonds.derivatives.fixity import TEXT, build_cells_fixity, build_fixity, build_row_fixity
from fonds.derivatives.jats import (
    SUCCESS,
    UNREADABLE,
    build_document,
    build_rights_rows,
    find_rows,
)
from fonds.derivatives.sketch import build_file_sketch, write_sketches
from fonds.model.bibliography import PaperHead, PaperSummary
from fonds.model.capture import format_datetime14
from fonds.model.errors import ChildError
from fonds.model.paper import JATS_VERSION, UnmatchedPaper, UnreadArticle
from fonds.model.rows import JatsRow
from fonds.model.step import Output, Result
from fonds.papers.article_result import ArticleResult
from fonds.papers.bibliography.jats import JatsReading
from fonds.papers.bibliography.tei import BibliographyReading
from fonds.papers.paper_cells import put_family
from fonds.ports import Archive, Blobs, Index, Records, Table
from fonds.rights.file_rights import remove_stale_rights
from fonds.stores.journal_table.cells import build_bibliography_cells
from fonds.stores.journal_table.keys import build_row_key
from fonds.urls.normalization import find_canonical_domain

if TYPE_CHECKING:
    from fonds.papers.bibliography.jats import JatsReading


EMITS = (Output(UnmatchedPaper),)
ERROR_MAX_CHARS = 1_024


@dataclass(frozen=True, slots=True)
class ImportJatsStep:
    """Step that imports JATS or NLM articles into blobs, cells, rows and the index, in this order.

    `read` parses an article in an isolated process.
    """

    archive: Archive
    table: Table
    records: Records
    blobs: Blobs
    index: Index
    journal: str
    read: Callable[[bytes], JatsReading]
    clock: Callable[[], datetime]

    def __call__(self, items: Sequence[UnreadArticle]) -> list[Result]:
        """Import each article. Importing the same article again changes nothing.

        Raises PermanentError if the bytes of an article cannot be read from the archive.
        """
        now = self.clock()
        return [self._save(item, now) for item in items]

    def _save(self, item: UnreadArticle, now: datetime) -> Result:
        article = read_article(self.archive, self.read, item)
        row, text = _build_row(item, article, now), encode_text(article.text)
        if article.text:
            self.blobs.put([build_text_blob(row.sha1hex, text)])
        parts = [build_fixity(row.sha1hex, TEXT, text)] if article.text else []
        if row.status == SUCCESS:
            cells = _build_cells(article.reading)
            put_family(self.table, self.journal, [(build_row_key(row.sha1hex), cells)])
            parts.append(build_cells_fixity(row.sha1hex, cells))
        url = item.capture.url
        datetime14 = format_datetime14(item.capture.captured_at)
        sketch = build_file_sketch(row, datetime14, url, article.text or "")
        rights = build_rights_rows(row)
        write_sketches(self.records, [sketch], [row, build_row_fixity(row), *parts, *rights])
        remove_stale_rights(self.records, [row], rights)
        day = item.capture.captured_at.astimezone(UTC).date()
        origin = DocumentOrigin(url, find_canonical_domain(url) or "", item.capture.collection, day)
        index_until_stable(
            self.records,
            self.index,
            (),
            lambda: find_rows(self.records, [row.sha1hex]),
            lambda rows: [
                build_document(document_row, text if article.text else None, origin)
                for document_row in rows
            ],
        )
        return Result(
            article.disposition, (UnmatchedPaper(row.sha1hex),) if article.reason is None else ()
        )


def read_article(
    archive: Archive, parse: Callable[[bytes], JatsReading], item: UnreadArticle
) -> JatsReading:
    """Read a JATS article from the archive and parse it with `parse`. If the child process crashes,
    the result has an error.

    Raises PermanentError if the bytes of the article cannot be read from the archive.
    """
    body = archive.read(item.capture.place, item.file.sha1).body
    try:
        return parse(body)
    except ChildError as error:
        return JatsReading(BibliographyReading(error=error.detail), reason=error.reason)


def _build_row(item: UnreadArticle, article: JatsReading, now: datetime) -> JatsRow:
    summary = _summarize(article)
    head = summary.head if summary else PaperHead()
    error = article.reading.error
    return JatsRow(
        sha1hex=item.file.sha1,
        updated=now,
        status=SUCCESS if article.reason is None else UNREADABLE,
        quality=article.reading.quality or None,
        title=head.title,
        doi=head.doi,
        published=article.date,
        language=article.language,
        word_count=len(article.text.split()) if article.reason is None else None,
        reference_count=(summary.reference_count or 0) if summary else 0,
        metadata=summary,
        error_msg=error[:ERROR_MAX_CHARS] if error else None,
        extractor=JATS_VERSION,
    )


def _summarize(article: JatsReading) -> PaperSummary | None:
    """Return the bibliographic metadata of an article, with the rights that the article states.

    Returns None if the article has neither metadata nor stated rights.
    """
    summary = article.reading.summary
    if not article.rights:
        return summary
    return msgspec.structs.replace(summary or PaperSummary(), rights=tuple(article.rights))


def _build_cells(reading: BibliographyReading) -> dict[str, bytes]:
    """Build the wide-row table cells of a JATS article.

    The cells have the same columns as those of a PDF that Fonds read without GROBID.
    """
    status = {"status": "success", "extractor": JATS_VERSION}
    return build_bibliography_cells(reading.full_json, reading.metadata, reading.quality, status)


# Reading articles outside a pipeline, without storing anything


@dataclass(frozen=True, slots=True)
class ArticleReader:
    """Step that reads JATS articles and stores nothing.

    `read` parses an article in an isolated process.
    """

    archive: Archive
    read: Callable[[bytes], JatsReading]

    def __call__(self, item: UnreadArticle) -> Result:
        """Read one article and emit an `ArticleResult`.

        Raises PermanentError if the bytes of the article cannot be read from the archive.
        """
        article = read_article(self.archive, self.read, item)
        return Result(article.disposition, (ArticleResult(item.file.sha1, article),))
