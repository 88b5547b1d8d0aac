"""Fill a library of any size through the ports, with stories and PDFs of natural word frequencies.

Each document has its rows, ledger entries and index document. The first `ARCHIVED_COUNT` also have a body in
a WARC of the archive and a text in the blobs, so that their pages can be opened. A text has 120
words, drawn by Zipf's law from 50,000. One entry in twenty is a duplicate, one in 500 failed, and
there are 400 hosts. Times advance by 20 ms per document. The rows are written directly: at this
volume, the steps would take hours.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from datetime import date, datetime, timedelta
from hashlib import sha256

import numpy as np

from fonds.model.archive import Blob
from fonds.model.capture import Place, PlaceKind, format_datetime14
from fonds.model.disposition import Reason, Verdict
from fonds.model.document import DateKind, IndexDocument
from fonds.model.file import Kind
from fonds.model.keys import build_text_blob_key
from fonds.model.rows import (
    DispositionRow,
    FileMetaRow,
    InputRow,
    PdfMetaRow,
    Row,
    StoryMetaRow,
)
from fonds.model.story import Story
from fonds.ports import Stores
from home_rows import (
    NOW,
    PIPELINE,
    Body,
    build_end_rows,
    build_stored_rows,
    enter,
    write,
    write_to_archive,
)

WORDS, WORDS_PER_TEXT, SITES, DAYS = 50_000, 120, 400, 3_000
ARCHIVED_COUNT, BATCH_COUNT = 1_000, 1_000
PAGES, PDF_EVERY, DUPLICATE_EVERY, FAILED_EVERY = 3, 10, 20, 500
DOCUMENT_INTERVAL = timedelta(milliseconds=20)
LANGUAGES = ("en", "en", "en", "de", "fr", "es")
_SYLLABLES = ("ba", "ri", "to", "men", "ka", "lu", "ster", "no", "vi", "del", "pra", "fon")


def fill_many(
    stores: Stores,
    count: int,
    tell: Callable[[int], None] = lambda count: None,
    until: datetime = NOW,
) -> None:
    """Put `count` documents into empty stores, the last one stored at `until`.

    `tell` receives the number of documents so far, after each thousand.
    """
    generator = np.random.default_rng(7)
    vocabulary = [_build_word(number) for number in range(WORDS)]
    for start in range(0, count, BATCH_COUNT):
        numbers = range(start, min(start + BATCH_COUNT, count))
        texts = [" ".join(vocabulary[n] for n in _draw_words(generator)) for _ in numbers]
        _store_documents(stores, list(numbers), texts, until - count * DOCUMENT_INTERVAL - NOW)
        tell(numbers[-1] + 1)
    facts = ("/crawls/many.warc.gz", "warc", "1:1", 0, count, {}, 0, True, None, NOW, PIPELINE)
    stores.ledger.enter([InputRow("input-1", *facts)], [], ())
    stores.archive.finish()


def _build_word(number: int) -> str:
    """Generate a unique word."""
    word, remainder = "", number
    while True:
        remainder, digit = divmod(remainder, len(_SYLLABLES))
        word += _SYLLABLES[digit]
        if not remainder:
            return word + "n" * (number % 2)


def _draw_words(generator: np.random.Generator) -> list[int]:
    return [int(n) for n in np.minimum(generator.zipf(1.2, WORDS_PER_TEXT), WORDS) - 1]


def _store_documents(
    stores: Stores, numbers: Sequence[int], texts: Sequence[str], offset: timedelta
) -> None:
    bodies = [_build_body(number, text) for number, text in zip(numbers, texts, strict=True)]
    archived_bodies = [body for body in bodies if body.number < ARCHIVED_COUNT]
    bodies = [
        *(write_to_archive(stores, archived_bodies) if archived_bodies else []),
        *bodies[len(archived_bodies) :],
    ]
    rows: list[Row] = []
    documents: list[IndexDocument] = []
    for body, text in zip(bodies, texts, strict=True):
        row, document = _build_document(body, text)
        documents.append(document)
        steps = (
            ("extract_pdf", "persist_pdf_text")
            if _is_pdf(body)
            else ("parse_story", "import_story")
        )
        rows += _shift_times(
            [*build_stored_rows(body, steps), row], offset + body.number * DOCUMENT_INTERVAL
        )
    rejected_entries = list(_iter_rejected(bodies))
    for body, rejected_rows in rejected_entries:
        rows += _shift_times(rejected_rows, offset + body.number % 10**8 * DOCUMENT_INTERVAL)
    stores.blobs.put(
        [
            Blob(build_text_blob_key(body.sha1hex), text.encode(), "text/plain")
            for body, text in zip(bodies, texts, strict=True)
            if body.number < ARCHIVED_COUNT
        ]
    )
    enter(stores, [*bodies, *(body for body, _ in rejected_entries)])
    write(stores, rows)
    stores.index.put(documents)


def _shift_times(rows: Sequence[Row], offset: timedelta) -> Iterator[Row]:
    """Shift the times of rows."""
    for row in rows:
        if isinstance(row, DispositionRow):
            yield replace(
                row, promised_at=row.promised_at + offset, settled_at=row.promised_at + offset
            )
        elif isinstance(row, FileMetaRow):
            yield replace(row, row_created=row.row_created + offset)
        else:
            yield row


def _is_pdf(body: Body) -> bool:
    return body.number % PDF_EVERY == 0


def _build_body(number: int, text: str) -> Body:
    mime, extension = (
        ("application/pdf", ".pdf") if number % PDF_EVERY == 0 else ("text/html", ".html")
    )
    url = f"http://site{number * 7919 % SITES}.example/{number}{extension}"
    at = NOW - timedelta(days=number % DAYS, seconds=number % 86_400)
    place = Place(PlaceKind.WARC, "/crawls/many.warc.gz", number * 1000, 900)
    return Body(number, url, at, mime, f"{number} {text}".encode(), place)


def _build_document(body: Body, text: str) -> tuple[Row, IndexDocument]:
    title = " ".join(text.split()[:8]).capitalize()
    if _is_pdf(body):
        return _build_pdf_row(body), _build_pdf_document(body, title, text)
    id_ = sha256(body.url.encode()).hexdigest()
    publication_day = date(2018, 1, 1) + timedelta(days=body.number % DAYS)
    language = LANGUAGES[body.number % len(LANGUAGES)]
    site = body.url.split("/")[2]
    document = IndexDocument(
        id=id_, sha1hex=body.sha1hex, kind=Kind.STORY, url=body.url, canonical_domain=site,
        publication_date=publication_day, language=language, article_title=title, text_content=text,
        indexed_date=NOW, story_id=id_, word_count=WORDS_PER_TEXT, date_kind=DateKind.PUBLISHED,
    )  # fmt: skip
    row = StoryMetaRow(
        sha1hex=body.sha1hex, story_id=id_, captured=format_datetime14(body.captured_at), updated=NOW,
        status="success", url=body.url, canonical_domain=site, publication_date=publication_day.isoformat(),
        language=language, article_title=title, word_count=WORDS_PER_TEXT, story=Story(), extractor="made",
    )  # fmt: skip
    return row, document


def _build_pdf_row(body: Body) -> PdfMetaRow:
    return PdfMetaRow(
        sha1hex=body.sha1hex, updated=NOW, status="success", has_page0_thumbnail=False, page_count=PAGES,
        word_count=WORDS_PER_TEXT, page0_height=841.9, page0_width=595.3, permanent_id=None, pdf_created=None,
        pdf_version="1.7", metadata=None, extractor="made", error_msg=None,
    )  # fmt: skip


def _build_pdf_document(body: Body, title: str, text: str) -> IndexDocument:
    return IndexDocument(
        id=body.sha1hex, sha1hex=body.sha1hex, kind=Kind.PDF, url=body.url,
        canonical_domain=body.url.split("/")[2], publication_date=date(2019, 4, 1), language="en",
        article_title=title, text_content=text, indexed_date=NOW, collection="reports", page_count=PAGES,
        word_count=WORDS_PER_TEXT, has_thumbnail=False,
    )  # fmt: skip


def _iter_rejected(bodies: Sequence[Body]) -> Iterator[tuple[Body, list[Row]]]:
    """Generate entries that were not stored: duplicates and failures."""
    for body in bodies:
        if body.number % DUPLICATE_EVERY == 1:
            copy = replace(body, number=10**8 + body.number, url=body.url + "?again")
            yield (
                copy,
                build_end_rows(
                    copy, "persist_file", Verdict.DROPPED, Reason.DUPLICATE, body.sha1hex
                ),
            )
        if body.number % FAILED_EVERY == 2:
            failed_body = replace(
                body,
                number=2 * 10**8 + body.number,
                url=f"http://site{body.number // FAILED_EVERY % SITES}.example/{body.number}",
                content=b"x%d" % body.number,
            )
            yield (
                failed_body,
                build_end_rows(failed_body, "parse_story", Verdict.QUARANTINED, Reason.TIMEOUT),
            )
