"""One file: what it is, where it was seen, what was done with it, and the ways to find it."""

from __future__ import annotations

import datetime as dt
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Annotated, Any, TypeVar

from fastapi import APIRouter, HTTPException, Query, Request
from starlette.responses import HTMLResponse, RedirectResponse, Response

from fonds.library.accounting import outcomes
from fonds.library.description import Description, description, resolve
from fonds.model.disposition import Reason
from fonds.model.keys import sha1_base32, sha1_from_text
from fonds.model.rows import (
    DispositionRow,
    EntryRow,
    FileMetaRow,
    PdfMetaRow,
    StoryMetaRow,
)
from fonds.ports import Stores
from fonds.web.records import Record, record
from fonds.web.rendering import OpenStores, cut, link, page, size, web_url

TEXT_SHOWN_CHARS = 200_000
KEY_MAX_CHARS = 4_096
FACTS_MAX, FACT_MAX_CHARS = 200, 2_000
SHOWN_MAX = 50
# What the extractor found out and keeps beside what the document says of itself.
MEASURED_KEYS = frozenset(
    {
        "encrypted",
        "fonts_embedded",
        "form",
        "javascript",
        "language",
        "origin",
        "page0_rotation",
        "tagged",
        "text_truncated",
        "update_id",
        "word_count_whitespace",
    }
)

LineT = TypeVar("LineT")
router = APIRouter()


@dataclass(frozen=True, slots=True)
class Fact:
    """One thing said of a file. `value` None was not learned; `missing` then says why, in a word or two."""

    name: str
    value: str | None
    missing: str = "unknown"


@dataclass(frozen=True, slots=True)
class Seen:
    """A place in a WARC that holds the file (or, as `warc/revisit`, only notes it): a row of `cdx`."""

    capture_id: str
    url: str
    datetime: str
    mimetype: str
    warc_path: str
    warc_offset: int
    warc_csize: int | None


@dataclass(frozen=True, slots=True)
class Arrival:
    """How the file came in: a row of `entries`."""

    entry_id: str
    pipeline: str
    input_id: str
    url: str
    seen: str | None
    place: str | None
    entered_at: dt.datetime


@dataclass(frozen=True, slots=True)
class FilePage:
    """Everything known of one file. `outcome` is that of the capture that brought it, None when unknown.

    `text_chars` None: there is no text, or not yet. `text_href`, `thumbnail_href` and `body_href` are
    None where there is nothing to open. `searched` is the SHA-1 of the version of a story that is in the
    index, this one's or another's.
    """

    title: str
    sha1hex: str
    sha1base32: str
    outcome: str | None
    file: FileMetaRow | None
    pdf: PdfMetaRow | None
    story: StoryMetaRow | None
    indexed: bool
    searched: str | None
    claimed: Sequence[Fact]
    measured: Sequence[Fact]
    captures: Sequence[Seen]
    entries: Sequence[Arrival]
    history: Sequence[DispositionRow]
    text_chars: int | None
    text_href: str | None
    thumbnail_href: str | None
    body_href: str | None


def file_page(stores: Stores, sha1hex: str) -> tuple[FilePage, str] | None:
    """The page and the text of a file (empty for none); None when nothing is known of it."""
    found = description(stores, sha1hex)
    if not found.known and found.document is None:
        return None
    outcome = _outcome(stores, found)
    text = file_text(stores, found)
    return FilePage(
        title=_title(found),
        sha1hex=sha1hex,
        sha1base32=sha1_base32(bytes.fromhex(sha1hex)),
        outcome=outcome.outcome if outcome else None,
        file=found.file,
        pdf=found.pdf,
        story=found.story,
        indexed=found.document is not None,
        searched=found.searched,
        claimed=_claimed(found),
        measured=_measured(
            found, "not yet" if outcome and outcome.outcome == "pending" else "unknown"
        ),
        captures=[_as(Seen, row) for row in found.captures],
        entries=[_as(Arrival, row) for row in found.entries],
        history=found.history,
        text_chars=None if text is None else len(text),
        text_href=None if text is None else f"/file/{sha1hex}/text",
        thumbnail_href=f"/file/{sha1hex}/thumbnail" if found.thumbnail_key else None,
        body_href=f"/file/{sha1hex}/body" if found.body_place else None,
    ), text or ""


def _as(kind: type[LineT], row: object) -> LineT:
    """The fields of a row that a line of the page has."""
    return kind(**{name: getattr(row, name) for name in kind.__annotations__})


def _outcome(stores: Stores, found: Description) -> EntryRow | None:
    """The entry that brought it; of those in several pipelines one that is not over, if there is any."""
    first = found.file.capture_id if found.file else None
    if first is None and found.history:
        first = found.history[0].entry_id
    rows = list(stores.records.find(EntryRow, {"entry_id": first})) if first else []
    return next((row for row in rows if row.outcome == "pending"), rows[0] if rows else None)


def file_text(stores: Stores, found: Description) -> str | None:
    """The text as extracted; None when there is none."""
    if found.text_key:
        raw = stores.blobs.get(found.text_key)
        if raw is not None:
            return raw.decode("utf-8", "replace")
    return found.document.text_content if found.document else None


def _title(found: Description) -> str:
    """The best name there is: the article's, the PDF's, the URL, the hash."""
    named: list[Any] = [found.document.article_title if found.document else None]
    named.append(found.story.article_title if found.story else None)
    named.append((found.pdf.metadata or {}).get("title") if found.pdf else None)
    named += [row.url for row in found.captures[:1]] + [row.url for row in found.entries[:1]]
    text = next((one.strip() for one in named if isinstance(one, str) and one.strip()), None)
    return cut(" ".join(text.split())) if text else f"File {found.sha1hex}"


def _claimed(found: Description) -> list[Fact]:
    """What the file and the server say of it."""
    facts = [Fact("declared type", one) for one in sorted({row.mimetype for row in found.captures})]
    if found.pdf and found.pdf.metadata:
        said = {k: v for k, v in found.pdf.metadata.items() if k not in MEASURED_KEYS}
        facts += _flat("", said)
    if found.story:
        for part in ("http_metadata", "rss_entry"):
            inner = found.story.story.get(part)
            facts += _flat("", inner) if isinstance(inner, Mapping) else []
    return facts[:FACTS_MAX]


def _flat(prefix: str, values: Mapping[str, Any], depth: int = 0) -> Iterator[Fact]:
    """Nested metadata as lines; what is empty says nothing and is left out."""
    for name, value in values.items():
        if isinstance(value, Mapping) and depth < 4:
            yield from _flat(f"{prefix}{name}.", value, depth + 1)
        elif value not in (None, "", [], {}):
            shown = "; ".join(map(str, value)) if isinstance(value, list) else str(value)
            yield Fact(f"{prefix}{name}", cut(shown, FACT_MAX_CHARS))


def _measured(found: Description, missing: str) -> list[Fact]:
    """What Fonds found by reading the bytes; `missing` says of absent facts whether they may still come."""
    file, pdf, story = found.file, found.pdf, found.story
    facts = [
        Fact(
            "size",
            f"{size(file.size_bytes)} ({file.size_bytes:,} bytes)" if file else None,
            missing,
        ),
        Fact("type", file.mimetype if file else None, missing),
    ]
    if pdf or (file and file.mimetype == "application/pdf"):
        facts += _measured_pdf(pdf, missing)
    if story:
        facts += [
            Fact("domain", story.canonical_domain or None),
            Fact("publication date", story.publication_date),
            Fact("language", story.language),
            Fact("words", f"{story.word_count:,}"),
            Fact("story id", story.story_id),
            Fact("extractor", story.extractor),
        ]
    return facts


def _measured_pdf(pdf: PdfMetaRow | None, missing: str) -> list[Fact]:
    if pdf is None:
        return [Fact("extraction", None, missing)]
    width, height = pdf.page0_width, pdf.page0_height
    paper = None if width is None or height is None else f"{width:g} × {height:g} points"
    return [
        Fact("extraction", pdf.status),
        Fact("what went wrong", pdf.error_msg, "nothing"),
        Fact("pages", _digits(pdf.page_count)),
        Fact("words", _digits(pdf.word_count)),
        Fact("first page", paper),
        Fact("PDF version", pdf.pdf_version),
        Fact("permanent id", pdf.permanent_id, "none in the file"),
        Fact("created", pdf.pdf_created.isoformat() if pdf.pdf_created else None),
        *_flat("", {k: v for k, v in (pdf.metadata or {}).items() if k in MEASURED_KEYS}),
        Fact("extractor", pdf.extractor),
    ]


def _digits(count: int | None) -> str | None:
    return None if count is None else f"{count:,}"


def _first_url(found: FilePage) -> str | None:
    """The first URL a browser may follow."""
    urls = [row.url for row in found.captures] + [row.url for row in found.entries]
    return next((url for url in urls if web_url(url)), None)


def unknown_file(key: str) -> str:
    """What was looked for, and where."""
    return (
        f"No file “{cut(key, 100)}” is known here. It was looked for by its SHA-1 among the files, "
        "their captures, the dispositions of all steps and the index. "
        "To look for a URL or a story id instead, open /show."
    )


# Before the page's route, whose parameter would take the `.json` for a part of the key.
@router.get("/file/{sha1hex}.json", include_in_schema=False)
@router.get("/api/files/{sha1hex}", summary="Everything known of one file")
def file_json(stores: OpenStores, sha1hex: str) -> FilePage:
    """A file by its SHA-1 (hex or base32): metadata, captures, derivatives and the history of its steps."""
    raw = sha1_from_text(sha1hex[:KEY_MAX_CHARS])
    known = file_page(stores, raw.hex()) if raw is not None else None
    if known is None:
        raise HTTPException(404, unknown_file(sha1hex))
    return known[0]


@router.get("/file/{sha1hex}", include_in_schema=False)
def file_html(request: Request, stores: OpenStores, sha1hex: str) -> Response:
    """A file by its SHA-1; other spellings of it are sent to this one."""
    raw = sha1_from_text(sha1hex[:KEY_MAX_CHARS])
    if raw is not None and raw.hex() != sha1hex:
        return RedirectResponse(f"/file/{raw.hex()}", 303)
    known = file_page(stores, sha1hex) if raw is not None else None
    if known is None:
        raise HTTPException(404, unknown_file(sha1hex))
    found, text = known
    return page(
        request,
        "file.html",
        heading=found.title,
        found=found,
        pages=text[:TEXT_SHOWN_CHARS].split("\f"),
        pages_total=text.count("\f") + 1,
        text_cut=len(text) > TEXT_SHOWN_CHARS,
        shown_chars=TEXT_SHOWN_CHARS,
        reasons={str(reason): reason.explanation for reason in Reason},
        language=(found.story.language if found.story else None),
        first_url=_first_url(found),
    )


@dataclass(frozen=True, slots=True)
class Shown:
    """What a key stands for: files kept, and records with this URL whether they were kept or not."""

    key: str
    answer: str
    files: Sequence[str]
    records: Sequence[Record]


def shown(stores: Stores, key: str) -> Shown:
    """Look a key up; a URL that was never kept still has its records, which say why."""
    try:
        files = resolve(stores, key)[:SHOWN_MAX]
    except ValueError:
        files = []
    rows = outcomes(stores.records, {"url": key}, count_max=SHOWN_MAX) if web_url(key) else []
    records = [record(row) for row in rows]
    answer = f"Nothing here is known as “{cut(key, 100)}”"
    if files or records:
        answer = f"What is known as “{cut(key, 100)}”"
    return Shown(key, answer, files, records)


Key = Annotated[str, Query(max_length=KEY_MAX_CHARS, description="SHA-1, URL or story id")]


@router.get("/show", include_in_schema=False)
def show_html(request: Request, stores: OpenStores, key: Key = "") -> Response:
    """A SHA-1, URL or story id: on to its file, or to what it stands for, or where it was looked for."""
    key = key.strip()
    if not key:
        return _show(request, "Look up a file, a URL or a story", 200, None)
    found = shown(stores, key)
    if len(found.files) == 1 and len(found.records) < 2:
        return RedirectResponse(f"/file/{found.files[0]}", 303)
    return _show(request, found.answer, 200 if found.files or found.records else 404, found)


def _show(request: Request, heading: str, status: int, found: Shown | None) -> HTMLResponse:
    return page(request, "show.html", status, heading=heading, found=found, link=link)


@router.get("/show.json", include_in_schema=False)
@router.get("/api/show", summary="What a SHA-1, URL or story id stands for")
def show_json(stores: OpenStores, key: Key) -> Shown:
    """The files with this key, and the records with this URL whatever became of them."""
    found = shown(stores, key.strip())
    if not found.files and not found.records:
        raise HTTPException(404, f"{found.answer}: no file, capture, story or record has it.")
    return found
