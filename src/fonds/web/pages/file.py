"""One file: what it is, where it was seen, what was done with it, and the ways to find it."""

from __future__ import annotations

import datetime as dt
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Annotated, Any, TypeVar

from fastapi import APIRouter, HTTPException, Query, Request
from markupsafe import Markup, escape
from pydantic import PlainSerializer
from starlette.responses import RedirectResponse, Response

from fonds.archive.replay.memento import escape_link_url
from fonds.derivatives.kind import Fact, FileRelations
from fonds.derivatives.kinds import KINDS, iter_kinds_with_rows
from fonds.derivatives.visibility import find_active_embargoes
from fonds.model.disposition import Reason
from fonds.model.keys import encode_sha1_base32, parse_sha1
from fonds.model.rows import DispositionRow, EntryRow, FileMetaRow
from fonds.model.search import QueryError
from fonds.model.stored_json import encode_row
from fonds.ports import Stores
from fonds.text.words import compose_text
from fonds.viewer.description import CitedReference, FileDescription, build_description
from fonds.viewer.pdf_pages import PageStrip, TextQuery, find_page_strip
from fonds.viewer.rights import (
    NO_RIGHTS_MESSAGE,
    RECORDED,
    FileRights,
    describe_robots,
    describe_source,
    describe_tdmrep,
    iter_by_subject,
)
from fonds.viewer.story_versions import StoryHead, StoryVersions, load_story_head, load_versions
from fonds.web.access.roles import READS
from fonds.web.html.rendering import (
    OpenStores,
    build_url,
    describe_embargo,
    filter_web_url,
    format_size,
    render_page,
)
from fonds.web.pages.capture_timeline import StoryCaptures, capture_words, story_captures
from fonds.web.pages.file_neighbours import NeighbourGroup, build_neighbour_groups
from fonds.web.pages.theme_links import ThemeLink, find_document_themes
from fonds.web.serving.json_requests import TheService
from fonds.web.serving.parameters import shorten
from fonds.web.serving.problems import RefusedError
from fonds.wiring.collections import CollectionService
from fonds.wiring.stores import build_marker

# What a search looks for, marked in the text of a file on its own page.
#
# Limits: the first 500 hits of a text are marked; a page says so where there may be more.


QUERY_MAX_CHARS = 1_000
HITS_MAX = 500
"""As many as are looked for at once, so that fewer are all there are."""

Find = Annotated[
    str,
    Query(
        max_length=QUERY_MAX_CHARS, description="What to mark in the text, in the words of a search"
    ),
]


@dataclass(frozen=True, slots=True)
class TextHits:
    """`marks` are (start, end) of the hits of `find` in the first `looked_chars` characters of a text whose
    accents are composed; `is_cut`: there may be more hits in these than the 500 that are told."""

    find: str
    marks: Sequence[tuple[int, int]]
    is_cut: bool
    looked_chars: int


def parse_find(query: str, language: str | None, parameter: str) -> TextQuery:
    """What is to be marked. Raises RefusedError 400 for a query that cannot be understood."""
    try:
        return TextQuery(build_marker(query, language) if query.strip() else None)
    except QueryError as error:
        raise RefusedError(
            400, str(error), parameter=parameter, start=error.start, end=error.end
        ) from error
    except ValueError as error:
        raise RefusedError(400, str(error), parameter=parameter) from error


def find_text_hits(find: str, language: str | None, text: str) -> TextHits | None:
    """The hits in a text; None where nothing is looked for. Raises RefusedError 400 as above."""
    if not find.strip():
        return None
    whole = compose_text(text)
    marks = parse_find(find, language, "find").find_in_text(whole)
    return TextHits(find, marks[:HITS_MAX], len(marks) >= HITS_MAX, len(whole))


def mark_lines(text: str, hits: TextHits | None, separator: str) -> list[Markup]:
    """The pieces of a text between separators, escaped; each hit has an address of its own, and behind it
    stand the ways to the ones before and after it."""
    whole = compose_text(text) if hits else text
    marks = list(hits.marks) if hits else []
    lines, at, first = list[Markup](), 0, 0
    for line in whole.split(separator):
        end = at + len(line)
        behind = first
        while behind < len(marks) and marks[behind][0] < end:
            behind += 1
        inside = [(n, max(marks[n][0], at), min(marks[n][1], end)) for n in range(first, behind)]
        lines.append(Markup("").join(_iter_pieces(whole, at, end, inside, len(marks))))
        at, first = end + len(separator), behind
    return lines


def _iter_pieces(
    text: str, position: int, end: int, inside: Sequence[tuple[int, int, int]], count: int
) -> Iterator[Markup]:
    for number, start, stop in inside:
        yield escape(text[position:start])
        yield Markup('<mark id="hit-{}">{}</mark>').format(number + 1, text[start:stop])
        yield _build_navigation(number + 1, count)
        position = stop
    yield escape(text[position:end])


def _build_navigation(number: int, count: int) -> Markup:
    before = Markup(' <a href="#hit-{}">previous</a>').format(number - 1) if number > 1 else ""
    behind = Markup(' <a href="#hit-{}">next</a>').format(number + 1) if number < count else ""
    said = (number, count, before, behind)
    return Markup('<span class="hit-ways" lang="en" dir="ltr">{} of {}{}{}</span>').format(*said)


TEXT_MAX_CHARS = 200_000
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
class FileArrival:
    """How the file came in: a row of `entries`."""

    entry_id: str
    pipeline: str
    input_id: str
    url: str
    seen: str | None
    place: str | None
    entered_at: dt.datetime


SerializedRow = Annotated[Any, PlainSerializer(encode_row, return_type=Any)]
"""Row whose typed values are plain JSON in an answer."""


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
    None for all. `neighbours` are the documents nearest to it, by sorts. `story` is what
    stands above a story, `versions` are its versions, None for other files. `strip` tells which pages of
    a PDF have text, None for other files and where pages were not counted. `hits` are told where
    something is looked for, `story_captures` of stories. `rights` is what the file and its captures state
    about its use."""

    title: str
    sha1hex: str
    sha1base32: str
    outcome: str | None
    file: FileMetaRow | None
    derivatives: Mapping[str, SerializedRow]
    language: str | None
    indexed: bool
    searched: str | None
    claimed: Sequence[Fact]
    measured: Sequence[Fact]
    relatives: FileRelations
    citations: Sequence[CitedReference]
    citations_total: int
    captures: Sequence[ArchivedCopy]
    captures_total: int
    entries: Sequence[FileArrival]
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
    versions: StoryVersions | None
    strip: PageStrip | None
    rights: FileRights
    story_captures: StoryCaptures | None = None
    hits: TextHits | None = None


def build_file_page(
    stores: Stores, collections: CollectionService, sha1hex: str
) -> tuple[FilePage, str] | None:
    """The page and the text of a file (empty for none); None when nothing is known of it."""
    found = build_description(stores, sha1hex)
    if not found.is_known and found.document is None:
        return None
    outcome = _find_outcome(stores, found)
    text = load_file_text(stores, found)
    title, language = find_file_title(found)
    links, looked_in = _find_themes(collections, found)
    head = load_story_head(stores.records, sha1hex)
    return FilePage(
        title=title,
        sha1hex=sha1hex,
        sha1base32=encode_sha1_base32(bytes.fromhex(sha1hex)),
        outcome=outcome.outcome if outcome else None,
        file=found.file,
        derivatives=found.derivatives,
        language=language,
        indexed=found.document is not None,
        searched=found.searched,
        claimed=_list_claimed(found),
        measured=_list_measured(found, outcome),
        relatives=found.relatives,
        citations=found.citations,
        citations_total=found.citations_total,
        captures=[_build_from_row(ArchivedCopy, row) for row in found.captures],
        captures_total=found.captures_total,
        entries=[_build_from_row(FileArrival, row) for row in found.entries],
        history=found.history,
        history_total=found.history_total,
        text_chars=None if text is None else len(text),
        text_href=None if text is None else f"/file/{sha1hex}/text",
        thumbnail_href=f"/file/{sha1hex}/thumbnail" if found.thumbnail_key else None,
        body_href=f"/file/{sha1hex}/body" if found.body_place else None,
        themes=links,
        themes_looked_in=looked_in,
        neighbours=build_neighbour_groups(
            stores.index, collections, found.document, found.relatives, links
        ),
        story=head,
        versions=load_versions(stores.records, head.story_id) if head else None,
        strip=find_page_strip(found.derivatives, text),
        rights=found.rights,
    ), text or ""


def _find_themes(
    collections: CollectionService, description: FileDescription
) -> tuple[list[ThemeLink], int | None]:
    """The themes its document is in, and of how many collections, None for all."""
    known = find_document_themes(
        collections, [description.document.id] if description.document else []
    )
    return [one for some in known.themes.values() for one in some], known.looked_in


def find_file_title(description: FileDescription) -> tuple[str, str | None]:
    """The best name of a file, and the language of its text, None where it is not known."""
    values = {
        name: value
        for kind in KINDS
        if kind.name in description.derivatives
        for name, value in kind.build_values(
            description.derivatives[kind.name], description.document
        ).items()
    }
    return _choose_title(description, values), _get_text(values.get("language"))


def _build_from_row(kind: type[LineT], row: object) -> LineT:
    """The fields of a row that a line of the page has."""
    return kind(**{name: getattr(row, name) for name in kind.__annotations__})


def _find_outcome(stores: Stores, description: FileDescription) -> EntryRow | None:
    """The entry that brought it; of those in several pipelines one that is not over, if there is any."""
    first = description.file.capture_id if description.file else None
    if first is None and description.history:
        first = description.history[0].entry_id
    rows = list(stores.records.find(EntryRow, {"entry_id": first})) if first else []
    return next((row for row in rows if row.outcome == "pending"), rows[0] if rows else None)


def load_file_text(stores: Stores, description: FileDescription) -> str | None:
    """The text as extracted; None when there is none."""
    if description.text_key:
        raw = stores.blobs.get(description.text_key)
        if raw is not None:
            return raw.decode("utf-8", "replace")
    return description.document.text_content if description.document else None


def _choose_title(description: FileDescription, values: Mapping[str, object]) -> str:
    """The best name there is: the document's, that of a derivative, the URL, the hash."""
    named: list[object] = [description.title, values.get("title")]
    named += [row.url for row in description.captures[:1]] + [
        row.url for row in description.entries[:1]
    ]
    text = next((one.strip() for one in named if isinstance(one, str) and one.strip()), None)
    return shorten(" ".join(text.split())) if text else f"File {description.sha1hex}"


def _get_text(value: object) -> str | None:
    return value if isinstance(value, str) else None


def _list_claimed(description: FileDescription) -> list[Fact]:
    """What the file and the server say of it."""
    types = sorted({row.mimetype for row in description.captures})
    facts = [Fact("declared type", one, claimed=True) for one in types]
    return _limit_facts([*facts, *(fact for fact in _iter_facts(description, "") if fact.claimed)])


def _list_measured(description: FileDescription, outcome: EntryRow | None) -> list[Fact]:
    """What Fonds found by reading the bytes; of absent facts it is said whether they may still come."""
    missing = "not yet" if outcome and outcome.outcome == "pending" else "unknown"
    file = description.file
    length = f"{format_size(file.size_bytes)} ({file.size_bytes:,} bytes)" if file else None
    return _limit_facts(
        [
            Fact("size", length, missing),
            Fact("type", file.mimetype if file else None, missing),
            *(fact for fact in _iter_facts(description, missing) if not fact.claimed),
        ]
    )


def _limit_facts(facts: list[Fact]) -> list[Fact]:
    """So many as a page shows, the last of which says how many more there are."""
    left = len(facts) - FACTS_MAX
    return facts if left <= 0 else [*facts[:FACTS_MAX], Fact("not shown", f"{left:,} more")]


def _iter_facts(description: FileDescription, missing: str) -> Iterator[Fact]:
    """What is told of each derivative there is, and that one there could be is missing."""
    for kind in iter_kinds_with_rows():
        row = description.derivatives.get(kind.name)
        if row is not None:
            yield from (_shorten_fact(fact) for fact in kind.build_facts(row))
        elif description.file and description.file.mimetype in kind.mimetypes:
            yield Fact(kind.awaited or kind.title, None, missing)


def _shorten_fact(fact: Fact) -> Fact:
    return fact if fact.value is None else replace(fact, value=shorten(fact.value, FACT_MAX_CHARS))


def _find_first_url(page: FilePage) -> str | None:
    """The first URL a browser may follow."""
    urls = [row.url for row in page.captures] + [row.url for row in page.entries]
    return next((url for url in urls if filter_web_url(url)), None)


def link_to_replay(row: ArchivedCopy) -> str:
    """Where a capture is replayed; from there it goes on to an origin of its own."""
    return f"/web/{row.datetime}/{escape_link_url(row.url)}"


def _list_distinct(values: Sequence[str]) -> list[str]:
    return list(dict.fromkeys(values))


def explain_unknown_file(key: str) -> str:
    """What was looked for, and where."""
    return (
        f"No file “{shorten(key, 100)}” is known here. It was looked for by its SHA-1 among the files, "
        "their captures, the dispositions of all steps and the index. "
        "To look for a URL or a story id instead, open /show."
    )


def _add_hits(stores: Stores, page: FilePage, text: str, find: str) -> FilePage:
    """With the hits in as much of the text as its page shows, and of a story its captures."""
    hits = find_text_hits(find, page.language, text[:TEXT_MAX_CHARS])
    if page.versions is None:
        return replace(page, hits=hits)
    met_at = [row.url for row in page.captures] + [row.url for row in page.entries]
    captures = story_captures(stores.records, page.versions, met_at)
    return replace(page, hits=hits, story_captures=captures)


def _split_pages(page: FilePage, text: str) -> list[list[Markup]]:
    """The text as it is shown: a story's paragraphs, anything else page by page."""
    shown = text[:TEXT_MAX_CHARS]
    if page.story:
        return [mark_lines(shown, page.hits, "\n")]
    return [[one] for one in mark_lines(shown, page.hits, "\f")]


# Before the page's route, whose parameter would take the `.json` for a part of the key.
@router.get("/file/{sha1hex}.json", include_in_schema=False)
@router.get("/api/files/{sha1hex}", summary="Everything known of one file")
def file_json(
    stores: OpenStores, collections: TheService, sha1hex: str, find: Find = ""
) -> FilePage:
    """A file by its SHA-1 (hex or base32): metadata, captures, derivatives and the history of its steps. With
    `find` the places of these words in the first 200,000 characters of its text."""
    raw = parse_sha1(sha1hex[:KEY_MAX_CHARS])
    known = build_file_page(stores, collections, raw.hex()) if raw is not None else None
    if known is None:
        raise HTTPException(404, explain_unknown_file(sha1hex))
    return _add_hits(stores, *known, find)


@router.get("/file/{sha1hex}", include_in_schema=False)
def file_html(
    request: Request, stores: OpenStores, collections: TheService, sha1hex: str, find: Find = ""
) -> Response:
    """A file by its SHA-1; other spellings of it are sent to this one. With `find` these words are marked."""
    raw = parse_sha1(sha1hex[:KEY_MAX_CHARS])
    if raw is not None and raw.hex() != sha1hex:
        return RedirectResponse(build_url(f"/file/{raw.hex()}", find=find), 303)
    known = build_file_page(stores, collections, sha1hex) if raw is not None else None
    if known is None:
        raise HTTPException(404, explain_unknown_file(sha1hex))
    found, text = _add_hits(stores, *known, find), known[1]
    return render_page(
        request,
        "file.html",
        heading=found.title,
        found=found,
        embargo=next(
            map(describe_embargo, find_active_embargoes(stores.records, [sha1hex]).values()), None
        ),
        find=find,
        pages=_split_pages(found, text),
        pages_total=1 if found.story else text.count("\f") + 1,
        text_cut=len(text) > TEXT_MAX_CHARS,
        shown_chars=TEXT_MAX_CHARS,
        extractors=_list_distinct([row.extractor for row in found.derivatives.values()]),
        reasons={str(reason): reason.explanation for reason in Reason},
        language=found.language,
        pdf=found.file is not None and found.file.mimetype == "application/pdf",
        first_url=_find_first_url(found),
        replays=request.app.state.replay.resolve(request) is not None,
        replay_href=link_to_replay,
        capture_words=capture_words,
        by_subject=iter_by_subject,
        robots_answer=describe_robots,
        tdmrep_answer=describe_tdmrep,
        where_stated=describe_source,
        web_url=filter_web_url,
        nothing_stated=NO_RIGHTS_MESSAGE,
        only_recorded=RECORDED,
    )


# The file a page is about, and what all pages of reading ask of it.


PDF_TYPE = "application/pdf"

Words = Annotated[
    str, Query(max_length=QUERY_MAX_CHARS, description="What to mark, in the words of a search")
]


def load_file(stores: Stores, sha1hex: str) -> FileDescription:
    """What is known of a file. Raises HTTPException 404 where nothing is."""
    raw = parse_sha1(sha1hex[:KEY_MAX_CHARS])
    found = build_description(stores, raw.hex()) if raw is not None else None
    if found is None or not found.is_known:
        raise HTTPException(404, explain_unknown_file(sha1hex))
    return found


def redirect_spelling(sha1hex: str, path_rest: str) -> Response | None:
    """On to the address with the SHA-1 in hex, of one that has it in base32 or capitals."""
    raw = parse_sha1(sha1hex[:KEY_MAX_CHARS])
    if raw is None or raw.hex() == sha1hex:
        return None
    return RedirectResponse(f"/file/{raw.hex()}{path_rest}", 303)


def is_pdf(description: FileDescription) -> bool:
    """Whether its bytes were found to be a PDF."""
    return description.file is not None and description.file.mimetype == PDF_TYPE


def parse_words(query: str, description: FileDescription) -> TextQuery:
    """What is to be marked. Raises RefusedError 400 for a query that cannot be understood."""
    return parse_find(query, find_file_title(description)[1], "q")
