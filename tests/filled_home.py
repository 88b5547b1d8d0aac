"""A home filled through the ports with one of everything the pages have to show."""

from __future__ import annotations

import atexit
import shutil
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from datetime import date, timedelta
from functools import cache
from hashlib import sha256
from pathlib import Path

from filled_pdfs import jpeg, pdf, pdf_document, pdf_row
from fonds.config import Settings
from fonds.kinds.similarity.sketch import bands_of, sketch
from fonds.model.blob import Blob
from fonds.model.capture import to_datetime14
from fonds.model.disposition import Reason, Verdict
from fonds.model.document import IndexDocument
from fonds.model.file import Kind
from fonds.model.keys import text_blob_key, thumbnail_blob_key
from fonds.model.rows import (
    InputRow,
    Row,
    StoryMetaRow,
)
from fonds.ports import Stores
from fonds.stores.records.sql import open_sqlite
from fonds.wiring.backends import open_stores
from home_rows import (
    NOW,
    PIPELINE,
    Body,
    archived,
    cdx_row,
    ended,
    enter,
    file_row,
    kept,
    promised,
    said,
    write,
)

HOSTILE_TITLE = "<script>alert('title')</script> & \"quotes\""
HOSTILE_URL = "http://news.example/?q=<img src=x onerror=alert('url')>&a=\"b\""
HOSTILE_TEXT = "Flood <script>alert('text')</script> waters </mark><b>rose</b> on Monday. "
SCRIPT_URL = "javascript:alert('capture')"
DUPLICATES, REVISITS, REFUSED, PENDING, NOT_CAPTURES, BAD_LINES = 12, 3, 21, 4, 31, 2
BROKEN_PDFS, TIMEOUTS = 3, 1

_SUBJECTS = (
    (
        "River floods the old town after a week of rain",
        "en",
        "The flood came over the wall at night. ",
    ),
    (
        "Council votes on the new bridge",
        "en",
        "After the flood of last year the old bridge was closed. ",
    ),
    (
        "Hochwasser: Pegel steigt weiter",
        "de",
        "Das Hochwasser steigt seit dem Morgen, sagte der Sprecher. ",
    ),
    (
        "La bibliothèque rouvre ses portes",
        "fr",
        "La bibliothèque municipale rouvre après des travaux. ",
    ),
    (
        "Harvest report: a dry summer",
        "en",
        "No flood this year, but a drought that farmers remember. ",
    ),
)
_REPORTS = (
    ("Annual report of the river authority", 14),
    ("On the measurement of water levels", 9),
    ("Minutes of the archive committee", 3),
    ("A field guide to sediment", 212),
)


@dataclass(slots=True)
class Filled:
    """What lies in the home, by what it is there for."""

    stories: list[str] = field(default_factory=list)
    pdfs: list[str] = field(default_factory=list)
    hostile: str = ""
    long: str = ""
    broken: str = ""
    pending: str = ""
    story_id: str = ""
    twice_url: str = "http://daily.example/front"
    refused_url: str = "http://daily.example/missing/0"

    @property
    def kept(self) -> int:
        """How many captures were kept."""
        return len(self.stories) + len(self.pdfs)

    @property
    def searchable(self) -> int:
        """How many documents there are: the two front pages are versions of one story."""
        return self.kept - 1


@cache
def _migrated() -> Path:
    """Empty records, migrated once for a whole process."""
    folder = Path(tempfile.mkdtemp(prefix="fonds-migrated-"))
    atexit.register(shutil.rmtree, folder, ignore_errors=True)
    open_sqlite(folder / "records.sqlite").close()
    return folder / "records.sqlite"


@contextmanager
def opened(home: Path, settings: Settings | None = None) -> Iterator[Stores]:
    """The stores of a home (`settings` None: the embedded ones), closed at the end."""
    if settings is None and not home.joinpath("records.sqlite").exists():
        home.mkdir(parents=True, exist_ok=True)
        shutil.copy(_migrated(), home / "records.sqlite")
    stores = open_stores(home, settings or Settings())
    try:
        yield stores
    finally:
        for store in (
            stores.queue,
            stores.table,
            stores.records,
            stores.blobs,
            stores.index,
            stores.archive,
        ):
            close = getattr(store, "close", None)
            if close is not None:
                close()


def fill(stores: Stores) -> Filled:
    """Put one of everything into empty stores."""
    filled = Filled()
    _fill_stories(stores, filled)
    _fill_pdfs(stores, filled)
    _fill_others(stores, filled)
    stores.ledger.enter(_inputs(), [], ())
    stores.archive.finish()
    return filled


def _fill_stories(stores: Stores, filled: Filled) -> None:
    bodies, documents, rows = [], [], []
    for number in range(30):
        title, language, sentence = _SUBJECTS[number % len(_SUBJECTS)]
        url = f"http://{'daily' if number % 2 else 'weekly'}.example/{number}/{title.split()[0].lower()}"
        text = f"{title}. {sentence}Report number {number}. " + sentence * (number % 7)
        bodies.append(_page(number, url, title, text))
        published = (
            None if number % 10 == 9 else date(2016 + number % 9, 1 + number % 12, 1 + number % 28)
        )
        documents.append(_story_document(bodies[-1], title, text, language, published))
    hostile = HOSTILE_TEXT * 40
    bodies.append(_page(30, HOSTILE_URL, HOSTILE_TITLE, hostile))
    documents.append(_story_document(bodies[-1], HOSTILE_TITLE, hostile, "en", date(2024, 2, 29)))
    # The same page of two days with different bytes: one URL, two files.
    for number in (31, 32):
        bodies.append(
            _page(number, filled.twice_url, f"Front page {number}", f"Front page {number}.")
        )
        documents.append(
            _story_document(bodies[-1], f"Front page {number}", "Front page.", "en", None)
        )
    bodies = archived(stores, bodies)
    for body, document in zip(bodies, documents, strict=True):
        rows += [*kept(body, ("parse_story", "import_story")), _story_row(body, document)]
        sketched = sketch(_story_row(body, document), document.text_content)
        rows += [sketched, *bands_of(sketched)]
        stores.blobs.put(
            [Blob(text_blob_key(body.sha1hex), document.text_content.encode(), "text/plain")]
        )
    # A capture whose URL is no web address must never become a link.
    rows.append(replace(cdx_row(bodies[30]), url=SCRIPT_URL, warc_offset=10**9))
    enter(stores, bodies)
    write(stores, rows)
    # Of the two front pages the first was captured last: that one is in the index.
    stores.index.put(documents[:-1])
    filled.stories = [body.sha1hex for body in bodies]
    filled.hostile = bodies[30].sha1hex
    filled.story_id = documents[0].story_id or ""


def _page(number: int, url: str, title: str, text: str) -> Body:
    html = f"<html><title>{title}</title><p>{text}</p><script>alert(1)</script></html>"
    return Body(number, url, NOW - timedelta(days=number, hours=number), "text/html", html.encode())


def _story_document(
    body: Body, title: str, text: str, language: str, published: date | None
) -> IndexDocument:
    id_ = sha256(body.url.encode()).hexdigest()
    return IndexDocument(
        id=id_,
        sha1hex=body.sha1hex,
        kind=Kind.STORY,
        url=body.url,
        canonical_domain=body.url.split("/")[2],
        publication_date=published,
        language=language,
        article_title=title,
        text_content=text,
        indexed_date=NOW,
        story_id=id_,
        word_count=len(text.split()),
    )


def _story_row(body: Body, document: IndexDocument) -> StoryMetaRow:
    published = document.publication_date
    return StoryMetaRow(
        sha1hex=document.sha1hex,
        story_id=document.story_id or "",
        captured=to_datetime14(body.captured_at),
        updated=NOW,
        status="success",
        url=document.url,
        canonical_domain=document.canonical_domain,
        publication_date=published.isoformat() if published else None,
        language=document.language,
        article_title=document.article_title,
        word_count=document.word_count or 0,
        story={
            "http_metadata": {"response_code": 200, "encoding": "utf-8"},
            "rss_entry": {"link": document.url},
        },
        extractor="trafilatura 2.3.1",
    )


def _fill_pdfs(stores: Stores, filled: Filled) -> None:
    bodies = [
        pdf(100 + n, f"http://library.example/reports/{n}.pdf" if n else "file:///scans/0.pdf")
        for n in range(len(_REPORTS))
    ]
    bodies = archived(stores, bodies)
    rows: list[Row] = []
    documents = []
    for body, (title, pages) in zip(bodies, _REPORTS, strict=True):
        text = "\f".join(
            f"{title}, page {n}.\n\n" + _SUBJECTS[0][2] * 30 for n in range(1, pages + 1)
        )
        rows += kept(body, ("extract_pdf", "persist_pdf_text"))
        rows.append(pdf_row(body, title, pages, len(text.split())))
        stores.blobs.put([Blob(text_blob_key(body.sha1hex), text.encode(), "text/plain")])
        stores.blobs.put([Blob(thumbnail_blob_key(body.sha1hex), jpeg(body.number), "image/jpeg")])
        documents.append(pdf_document(body, title, pages, text))
    enter(stores, bodies)
    write(stores, rows)
    stores.index.put(documents)
    filled.pdfs = [body.sha1hex for body in bodies]
    filled.long = bodies[-1].sha1hex


def _fill_others(stores: Stores, filled: Filled) -> None:
    first = Body(0, "http://weekly.example/0/river", NOW, "text/html", b"")
    dropped, apart = Verdict.DROPPED, Verdict.QUARANTINED
    bodies, rows = [], list[Row]()

    def end(
        body: Body, step: str, verdict: Verdict, reason: Reason, about: str | None = None
    ) -> None:
        bodies.append(body)
        rows.extend(ended(body, step, verdict, reason, about))

    for n in range(DUPLICATES):
        copy = replace(first, number=200 + n, url=f"http://mirror.example/{n}")
        end(copy, "persist_file", dropped, Reason.DUPLICATE, filled.stories[0])
    for n in range(REVISITS):
        same = _at(300 + n, f"http://daily.example/same/{n}")
        end(same, "persist_file", dropped, Reason.REVISIT)
    for n in range(REFUSED):
        reason = (Reason.HTTP_STATUS, Reason.UNSUPPORTED_TYPE, Reason.NO_TEXT)[n % 3]
        end(_at(400 + n, f"http://daily.example/missing/{n}"), "identify", dropped, reason)
    for n in range(BROKEN_PDFS):
        broken = pdf(500 + n, f"http://library.example/broken/{n}.pdf")
        rows += [file_row(broken)]
        end(broken, "extract_pdf", apart, Reason.BROKEN_PDF, broken.sha1hex)
        filled.broken = broken.sha1hex
    for n in range(TIMEOUTS):
        end(_at(600 + n, "http://slow.example/x"), "parse_story", apart, Reason.TIMEOUT)
    for n in range(PENDING):
        waiting = pdf(700 + n, f"http://library.example/new/{n}.pdf")
        bodies.append(waiting)
        rows += [file_row(waiting), said(waiting, "identify", 0)]
        rows += [promised(waiting, "persist_file", 1, "identify")]
        filled.pending = waiting.sha1hex
    enter(stores, bodies)
    write(stores, rows)


def _at(number: int, url: str) -> Body:
    return Body(number, url, NOW - timedelta(hours=number), "text/html", b"body %d" % number)


def _inputs() -> list[InputRow]:
    whole = InputRow(
        input_id="input-1",
        path="/crawls/daily-2026.warc.gz",
        kind="warc",
        fingerprint="1:1",
        position=0,
        entries=100,
        tally={str(Reason.NOT_A_CAPTURE): NOT_CAPTURES - 1, str(Reason.BAD_INDEX_LINE): BAD_LINES},
        tally_count=NOT_CAPTURES - 1 + BAD_LINES,
        finished=True,
        error=None,
        updated=NOW,
        pipeline=PIPELINE,
    )
    damaged = replace(
        whole,
        input_id="input-2",
        path="/crawls/damaged-<2025>.warc.gz",
        tally={str(Reason.NOT_A_CAPTURE): 1},
        tally_count=1,
        error="/crawls/damaged-<2025>.warc.gz: the gzip stream ends at byte 4,096",
    )
    return [whole, damaged]
