"""One file: what it is, where it was seen, what was done with it, and the ways to find it."""

from __future__ import annotations

import datetime as dt
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, TypeVar

from fastapi import APIRouter, HTTPException, Request
from markupsafe import Markup
from starlette.responses import RedirectResponse, Response

from fonds.kinds import KINDS, kinds_with_rows
from fonds.kinds.embargoes import embargoed
from fonds.kinds.kind import Fact, Relatives
from fonds.library.description import Cited, Description, description
from fonds.library.reading.page_strip import PageStrip, strip_of
from fonds.library.reading.rights import (
    NOTHING,
    RECORDED,
    FileRights,
    by_subject,
    robots_answer,
    tdmrep_answer,
    where_stated,
)
from fonds.library.reading.story import StoryHead, Versions, story_head, versions_of
from fonds.model.disposition import Reason
from fonds.model.keys import sha1_base32, sha1_from_text
from fonds.model.rows import DispositionRow, EntryRow, FileMetaRow
from fonds.ports import Stores
from fonds.replay.memento import in_link
from fonds.web.access.declared import READS
from fonds.web.pages.reading.found import Find, TextHits, marked_lines, text_hits
from fonds.web.pages.reading.neighbours import NeighbourGroup, neighbours
from fonds.web.pages.reading.ribbon import StoryCaptures, capture_words, story_captures
from fonds.web.parameters import shorten
from fonds.web.rendering import OpenStores, embargo_told, link, page, size, web_url
from fonds.web.rest.service import TheService
from fonds.web.themes.tagged import ThemeLink, tagged
from fonds.wiring.recurring.collections import CollectionService

TEXT_SHOWN_CHARS = 200_000
KEY_MAX_CHARS = 4_096
FACTS_MAX, FACT_MAX_CHARS = 200, 2_000

LineT = TypeVar("LineT")
router = APIRouter(dependencies=[READS])


@dataclass(frozen=True, slots=True)
class ArchivedCopy:
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
    """Everything known of one file. `derivatives` are the rows of what was made of it, by kind, `language` is
    that of its text. `outcome` is that of the capture that brought it, None when unknown.

    Of captures and history the thousand oldest are here; `captures_total` and `history_total` count all.
    `text_chars` None: there is no text, or not yet. `text_href`, `thumbnail_href` and `body_href` are
    None where there is nothing to open. `relatives` are other versions of its story, and near-duplicates;
    `citations` the entries of its list of references, as printed and matched, `citations_total` how many
    there are. `searched` is the SHA-1 of the version of a story that is in the index, this one's or
    another's. `themes` are those its document is in, of the first `themes_looked_in` collections by name,
    None for all. `neighbours` are the documents nearest to it, by sorts. `story` is what stands above a
    story, `versions` are its versions, None for other files. `strip` tells which pages of a PDF have text,
    None for other files and where pages were not counted. `hits` are told where something is looked for,
    `story_captures` of stories. `rights` is what the file and its captures state about its use.
    """

    title: str
    sha1hex: str
    sha1base32: str
    outcome: str | None
    file: FileMetaRow | None
    derivatives: Mapping[str, Any]
    language: str | None
    indexed: bool
    searched: str | None
    claimed: Sequence[Fact]
    measured: Sequence[Fact]
    relatives: Relatives
    citations: Sequence[Cited]
    citations_total: int
    captures: Sequence[ArchivedCopy]
    captures_total: int
    entries: Sequence[Arrival]
    history: Sequence[DispositionRow]
    history_total: int
    text_chars: int | None
    text_href: str | None
    thumbnail_href: str | None
    body_href: str | None
    themes: Sequence[ThemeLink]
    themes_looked_in: int | None
    neighbours: Sequence[NeighbourGroup]
    story: StoryHead | None
    versions: Versions | None
    strip: PageStrip | None
    rights: FileRights
    story_captures: StoryCaptures | None = None
    hits: TextHits | None = None


def file_page(
    stores: Stores, themes: CollectionService, sha1hex: str
) -> tuple[FilePage, str] | None:
    """The page and the text of a file (empty for none); None when nothing is known of it."""
    found = description(stores, sha1hex)
    if not found.known and found.document is None:
        return None
    outcome = _outcome(stores, found)
    text = file_text(stores, found)
    title, language = file_title(found)
    links, looked_in = _themes(themes, found)
    head = story_head(stores.records, sha1hex)
    return FilePage(
        title=title,
        sha1hex=sha1hex,
        sha1base32=sha1_base32(bytes.fromhex(sha1hex)),
        outcome=outcome.outcome if outcome else None,
        file=found.file,
        derivatives=found.derivatives,
        language=language,
        indexed=found.document is not None,
        searched=found.searched,
        claimed=_claimed(found),
        measured=_measured(found, outcome),
        relatives=found.relatives,
        citations=found.citations,
        citations_total=found.citations_total,
        captures=[_as(ArchivedCopy, row) for row in found.captures],
        captures_total=found.captures_total,
        entries=[_as(Arrival, row) for row in found.entries],
        history=found.history,
        history_total=found.history_total,
        text_chars=None if text is None else len(text),
        text_href=None if text is None else f"/file/{sha1hex}/text",
        thumbnail_href=f"/file/{sha1hex}/thumbnail" if found.thumbnail_key else None,
        body_href=f"/file/{sha1hex}/body" if found.body_place else None,
        themes=links,
        themes_looked_in=looked_in,
        neighbours=neighbours(stores.index, themes, found.document, found.relatives, links),
        story=head,
        versions=versions_of(stores.records, head.story_id) if head else None,
        strip=strip_of(found.derivatives, text),
        rights=found.rights,
    ), text or ""


def _themes(themes: CollectionService, found: Description) -> tuple[list[ThemeLink], int | None]:
    """The themes its document is in, and of how many collections, None for all."""
    known = tagged(themes, [found.document.id] if found.document else [])
    return [one for some in known.themes.values() for one in some], known.looked_in


def file_title(found: Description) -> tuple[str, str | None]:
    """The best name of a file, and the language of its text, None where it is not known."""
    values = {
        name: value
        for kind in KINDS
        if kind.name in found.derivatives
        for name, value in kind.values(found.derivatives[kind.name], found.document).items()
    }
    return _title(found, values), _text(values.get("language"))


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


def _title(found: Description, values: Mapping[str, object]) -> str:
    """The best name there is: the document's, that of a derivative, the URL, the hash."""
    named: list[object] = [found.title, values.get("title")]
    named += [row.url for row in found.captures[:1]] + [row.url for row in found.entries[:1]]
    text = next((one.strip() for one in named if isinstance(one, str) and one.strip()), None)
    return shorten(" ".join(text.split())) if text else f"File {found.sha1hex}"


def _text(value: object) -> str | None:
    return value if isinstance(value, str) else None


def _claimed(found: Description) -> list[Fact]:
    """What the file and the server say of it."""
    types = sorted({row.mimetype for row in found.captures})
    facts = [Fact("declared type", one, claimed=True) for one in types]
    return _at_most([*facts, *(fact for fact in _facts(found, "") if fact.claimed)])


def _measured(found: Description, outcome: EntryRow | None) -> list[Fact]:
    """What Fonds found by reading the bytes; of absent facts it is said whether they may still come."""
    missing = "not yet" if outcome and outcome.outcome == "pending" else "unknown"
    file = found.file
    length = f"{size(file.size_bytes)} ({file.size_bytes:,} bytes)" if file else None
    return _at_most(
        [
            Fact("size", length, missing),
            Fact("type", file.mimetype if file else None, missing),
            *(fact for fact in _facts(found, missing) if not fact.claimed),
        ]
    )


def _at_most(facts: list[Fact]) -> list[Fact]:
    """So many as a page shows, the last of which says how many more there are."""
    left = len(facts) - FACTS_MAX
    return facts if left <= 0 else [*facts[:FACTS_MAX], Fact("not shown", f"{left:,} more")]


def _facts(found: Description, missing: str) -> Iterator[Fact]:
    """What is told of each derivative there is, and that one there could be is missing."""
    for kind in kinds_with_rows():
        row = found.derivatives.get(kind.name)
        if row is not None:
            yield from (_shortened(fact) for fact in kind.facts(row))
        elif found.file and found.file.mimetype in kind.mimetypes:
            yield Fact(kind.awaited or kind.title, None, missing)


def _shortened(fact: Fact) -> Fact:
    return fact if fact.value is None else replace(fact, value=shorten(fact.value, FACT_MAX_CHARS))


def _first_url(found: FilePage) -> str | None:
    """The first URL a browser may follow."""
    urls = [row.url for row in found.captures] + [row.url for row in found.entries]
    return next((url for url in urls if web_url(url)), None)


def replay_href(row: ArchivedCopy) -> str:
    """Where a capture is replayed; from there it goes on to an origin of its own."""
    return f"/web/{row.datetime}/{in_link(row.url)}"


def _distinct(values: Sequence[str]) -> list[str]:
    return list(dict.fromkeys(values))


def unknown_file(key: str) -> str:
    """What was looked for, and where."""
    return (
        f"No file “{shorten(key, 100)}” is known here. It was looked for by its SHA-1 among the files, "
        "their captures, the dispositions of all steps and the index. "
        "To look for a URL or a story id instead, open /show."
    )


def _marked(stores: Stores, found: FilePage, text: str, find: str) -> FilePage:
    """With the hits in as much of the text as its page shows, and of a story its captures."""
    hits = text_hits(find, found.language, text[:TEXT_SHOWN_CHARS])
    if found.versions is None:
        return replace(found, hits=hits)
    met_at = [row.url for row in found.captures] + [row.url for row in found.entries]
    captures = story_captures(stores.records, found.versions, met_at)
    return replace(found, hits=hits, story_captures=captures)


def _pages(found: FilePage, text: str) -> list[list[Markup]]:
    """The text as it is shown: a story's paragraphs, anything else page by page."""
    shown = text[:TEXT_SHOWN_CHARS]
    if found.story:
        return [marked_lines(shown, found.hits, "\n")]
    return [[one] for one in marked_lines(shown, found.hits, "\f")]


# Before the page's route, whose parameter would take the `.json` for a part of the key.
@router.get("/file/{sha1hex}.json", include_in_schema=False)
@router.get("/api/files/{sha1hex}", summary="Everything known of one file")
def file_json(stores: OpenStores, themes: TheService, sha1hex: str, find: Find = "") -> FilePage:
    """A file by its SHA-1 (hex or base32): metadata, captures, derivatives and the history of its steps. With
    `find` the places of these words in the first 200,000 characters of its text."""
    raw = sha1_from_text(sha1hex[:KEY_MAX_CHARS])
    known = file_page(stores, themes, raw.hex()) if raw is not None else None
    if known is None:
        raise HTTPException(404, unknown_file(sha1hex))
    return _marked(stores, *known, find)


@router.get("/file/{sha1hex}", include_in_schema=False)
def file_html(
    request: Request, stores: OpenStores, themes: TheService, sha1hex: str, find: Find = ""
) -> Response:
    """A file by its SHA-1; other spellings of it are sent to this one. With `find` these words are marked."""
    raw = sha1_from_text(sha1hex[:KEY_MAX_CHARS])
    if raw is not None and raw.hex() != sha1hex:
        return RedirectResponse(link(f"/file/{raw.hex()}", find=find), 303)
    known = file_page(stores, themes, sha1hex) if raw is not None else None
    if known is None:
        raise HTTPException(404, unknown_file(sha1hex))
    found, text = _marked(stores, *known, find), known[1]
    return page(
        request,
        "file.html",
        heading=found.title,
        found=found,
        embargo=next(map(embargo_told, embargoed(stores.records, [sha1hex]).values()), None),
        find=find,
        pages=_pages(found, text),
        pages_total=1 if found.story else text.count("\f") + 1,
        text_cut=len(text) > TEXT_SHOWN_CHARS,
        shown_chars=TEXT_SHOWN_CHARS,
        extractors=_distinct([row.extractor for row in found.derivatives.values()]),
        reasons={str(reason): reason.explanation for reason in Reason},
        language=found.language,
        pdf=found.file is not None and found.file.mimetype == "application/pdf",
        first_url=_first_url(found),
        replays=request.app.state.replay.of(request) is not None,
        replay_href=replay_href,
        capture_words=capture_words,
        by_subject=by_subject,
        robots_answer=robots_answer,
        tdmrep_answer=tdmrep_answer,
        where_stated=where_stated,
        web_url=web_url,
        nothing_stated=NOTHING,
        only_recorded=RECORDED,
    )
