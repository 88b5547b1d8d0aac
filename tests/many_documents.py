"""A searchable library of any size, made through the ports: stories and PDFs with words as texts have them.

Each document has its rows, its place on the books, and its document in the index; of the first `WHOLE` the
body lies in a WARC of ours and the text in the blobs, so that their pages can be opened. The words of a text
are drawn by Zipf's law from 50,000, 120 a text. One entry of twenty is a duplicate, one of 500 failed, on
400 hosts. Fifty documents a second were kept. The rows are written as they are, not by the steps: this is
for volume, and reading so many documents would take hours.
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
from home_rows import NOW, PIPELINE, Body, archived, ended, enter, kept, write

WORDS, WORDS_A_TEXT, SITES, DAYS = 50_000, 120, 400, 3_000
WHOLE, AT_ONCE = 1_000, 1_000
PAGES, PDF_EACH, DUPLICATE_EACH, FAILED_EACH = 3, 10, 20, 500
A_DOCUMENT = timedelta(milliseconds=20)
LANGUAGES = ("en", "en", "en", "de", "fr", "es")
_SYLLABLES = ("ba", "ri", "to", "men", "ka", "lu", "ster", "no", "vi", "del", "pra", "fon")


def fill_many(
    stores: Stores,
    count: int,
    tell: Callable[[int], None] = lambda done: None,
    until: datetime = NOW,
) -> None:
    """So many documents into empty stores, the last of which was kept at `until`; `tell` is told how many
    there are, a thousand at a time."""
    drawn = np.random.default_rng(7)
    words = [_word(number) for number in range(WORDS)]
    for start in range(0, count, AT_ONCE):
        numbers = range(start, min(start + AT_ONCE, count))
        texts = [" ".join(words[n] for n in _drawn(drawn)) for _ in numbers]
        _put(stores, list(numbers), texts, until - count * A_DOCUMENT - NOW)
        tell(numbers[-1] + 1)
    facts = ("/crawls/many.warc.gz", "warc", "1:1", 0, count, {}, 0, True, None, NOW, PIPELINE)
    stores.ledger.enter([InputRow("input-1", *facts)], [], ())
    stores.archive.finish()


def _word(number: int) -> str:
    """A word nobody else has."""
    found, left = "", number
    while True:
        left, digit = divmod(left, len(_SYLLABLES))
        found += _SYLLABLES[digit]
        if not left:
            return found + "n" * (number % 2)


def _drawn(drawn: np.random.Generator) -> list[int]:
    return [int(n) for n in np.minimum(drawn.zipf(1.2, WORDS_A_TEXT), WORDS) - 1]


def _put(stores: Stores, numbers: Sequence[int], texts: Sequence[str], earlier: timedelta) -> None:
    bodies = [_body(number, text) for number, text in zip(numbers, texts, strict=True)]
    whole = [body for body in bodies if body.number < WHOLE]
    bodies = [*(archived(stores, whole) if whole else []), *bodies[len(whole) :]]
    rows: list[Row] = []
    documents: list[IndexDocument] = []
    for body, text in zip(bodies, texts, strict=True):
        row, document = _made(body, text)
        documents.append(document)
        steps = (
            ("extract_pdf", "persist_pdf_text")
            if _is_pdf(body)
            else ("parse_story", "import_story")
        )
        rows += _moved([*kept(body, steps), row], earlier + body.number * A_DOCUMENT)
    others = list(_others(bodies))
    for body, some in others:
        rows += _moved(some, earlier + body.number % 10**8 * A_DOCUMENT)
    stores.blobs.put(
        [
            Blob(build_text_blob_key(body.sha1hex), text.encode(), "text/plain")
            for body, text in zip(bodies, texts, strict=True)
            if body.number < WHOLE
        ]
    )
    enter(stores, [*bodies, *(body for body, _ in others)])
    write(stores, rows)
    stores.index.put(documents)


def _moved(rows: Sequence[Row], by: timedelta) -> Iterator[Row]:
    """The rows as they would have been written so much later."""
    for row in rows:
        if isinstance(row, DispositionRow):
            yield replace(row, promised_at=row.promised_at + by, settled_at=row.promised_at + by)
        elif isinstance(row, FileMetaRow):
            yield replace(row, row_created=row.row_created + by)
        else:
            yield row


def _is_pdf(body: Body) -> bool:
    return body.number % PDF_EACH == 0


def _body(number: int, text: str) -> Body:
    mime, end = ("application/pdf", ".pdf") if number % PDF_EACH == 0 else ("text/html", ".html")
    url = f"http://site{number * 7919 % SITES}.example/{number}{end}"
    at = NOW - timedelta(days=number % DAYS, seconds=number % 86_400)
    place = Place(PlaceKind.WARC, "/crawls/many.warc.gz", number * 1000, 900)
    return Body(number, url, at, mime, f"{number} {text}".encode(), place)


def _made(body: Body, text: str) -> tuple[Row, IndexDocument]:
    title = " ".join(text.split()[:8]).capitalize()
    if _is_pdf(body):
        return _pdf_row(body), _pdf_document(body, title, text)
    id_ = sha256(body.url.encode()).hexdigest()
    published = date(2018, 1, 1) + timedelta(days=body.number % DAYS)
    language = LANGUAGES[body.number % len(LANGUAGES)]
    site = body.url.split("/")[2]
    document = IndexDocument(
        id=id_, sha1hex=body.sha1hex, kind=Kind.STORY, url=body.url, canonical_domain=site,
        publication_date=published, language=language, article_title=title, text_content=text,
        indexed_date=NOW, story_id=id_, word_count=WORDS_A_TEXT, date_kind=DateKind.PUBLISHED,
    )  # fmt: skip
    row = StoryMetaRow(
        sha1hex=body.sha1hex, story_id=id_, captured=format_datetime14(body.captured_at), updated=NOW,
        status="success", url=body.url, canonical_domain=site, publication_date=published.isoformat(),
        language=language, article_title=title, word_count=WORDS_A_TEXT, story=Story(), extractor="made",
    )  # fmt: skip
    return row, document


def _pdf_row(body: Body) -> PdfMetaRow:
    return PdfMetaRow(
        sha1hex=body.sha1hex, updated=NOW, status="success", has_page0_thumbnail=False, page_count=PAGES,
        word_count=WORDS_A_TEXT, page0_height=841.9, page0_width=595.3, permanent_id=None, pdf_created=None,
        pdf_version="1.7", metadata=None, extractor="made", error_msg=None,
    )  # fmt: skip


def _pdf_document(body: Body, title: str, text: str) -> IndexDocument:
    return IndexDocument(
        id=body.sha1hex, sha1hex=body.sha1hex, kind=Kind.PDF, url=body.url,
        canonical_domain=body.url.split("/")[2], publication_date=date(2019, 4, 1), language="en",
        article_title=title, text_content=text, indexed_date=NOW, collection="reports", page_count=PAGES,
        word_count=WORDS_A_TEXT, has_thumbnail=False,
    )  # fmt: skip


def _others(bodies: Sequence[Body]) -> Iterator[tuple[Body, list[Row]]]:
    """What came in beside them and was not kept."""
    for body in bodies:
        if body.number % DUPLICATE_EACH == 1:
            copy = replace(body, number=10**8 + body.number, url=body.url + "?again")
            yield copy, ended(copy, "persist_file", Verdict.DROPPED, Reason.DUPLICATE, body.sha1hex)
        if body.number % FAILED_EACH == 2:
            failed = replace(
                body,
                number=2 * 10**8 + body.number,
                url=f"http://site{body.number // FAILED_EACH % SITES}.example/{body.number}",
                content=b"x%d" % body.number,
            )
            yield failed, ended(failed, "parse_story", Verdict.QUARANTINED, Reason.TIMEOUT)
