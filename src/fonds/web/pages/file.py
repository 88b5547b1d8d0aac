"""Page of a file: its metadata, captures, derivatives, history and text, with search hits marked.

Limits: the first 500 hits in a text are marked; the page says if there may be more.
"""

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
from fonds.model.search import QUERY_MAX_CHARS, QueryError
from fonds.model.stored_json import encode_row
from fonds.ports import Stores
from fonds.search.hits import ThemeLink
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
from fonds.web.pages.capture_timeline import StoryCaptures, build_story_captures, describe_capture
from fonds.web.pages.document_themes import find_document_themes
from fonds.web.pages.file_neighbours import NeighbourGroup, build_neighbour_groups
from fonds.web.serving.json_requests import TheService
from fonds.web.serving.parameters import shorten
from fonds.web.serving.problems import RefusedError
from fonds.wiring.collections import CollectionService
from fonds.wiring.index import build_marker

# Search hits in the text of a file.


HITS_MAX = 500
"""Maximum number of search hits that are marked in a text. If fewer are marked, the text has no
other hits.
"""

Find = Annotated[
    str,
    Query(
        max_length=QUERY_MAX_CHARS, description="Words to highlight in the text, as a search query"
    ),
]


@dataclass(frozen=True, slots=True)
class TextHits:
    """Hits of a search within the text of one file.

    `find`: the search, as the user wrote it.
    `marks`: (start, end) of each hit, in characters from 0, in the text with composed accents.
    `looked_chars`: number of characters, from the start of the text, that were searched.
    `is_cut`: whether the searched characters may contain more hits than the 500 listed.
    """

    find: str
    marks: Sequence[tuple[int, int]]
    is_cut: bool
    looked_chars: int


def parse_find(query: str, language: str | None, parameter: str) -> TextQuery:
    """Parse a search for words to mark in a text. Raises RefusedError 400 for an invalid search."""
    try:
        return TextQuery(build_marker(query, language) if query.strip() else None)
    except QueryError as error:
        raise RefusedError(
            400, str(error), parameter=parameter, start=error.start, end=error.end
        ) from error
    except ValueError as error:
        raise RefusedError(400, str(error), parameter=parameter) from error


def find_text_hits(find: str, language: str | None, text: str) -> TextHits | None:
    """Find the hits of a search in the text of a file. Return None if the search is empty.

    Raises RefusedError 400 for an invalid search.
    """
    if not find.strip():
        return None
    composed_text = compose_text(text)
    marks = parse_find(find, language, "find").find_in_text(composed_text)
    return TextHits(find, marks[:HITS_MAX], len(marks) >= HITS_MAX, len(composed_text))


def mark_lines(text: str, hits: TextHits | None, separator: str) -> list[Markup]:
    """Split a text at each `separator`; return the pieces as HTML with marked hits.

    Each hit has an HTML anchor, and links to the previous and the next hit.
    """
    composed_text = compose_text(text) if hits else text
    marks = list(hits.marks) if hits else []
    lines, position, first = list[Markup](), 0, 0
    for line in composed_text.split(separator):
        end = position + len(line)
        next_first = first
        while next_first < len(marks) and marks[next_first][0] < end:
            next_first += 1
        inside = [
            (n, max(marks[n][0], position), min(marks[n][1], end)) for n in range(first, next_first)
        ]
        lines.append(
            Markup("").join(_iter_pieces(composed_text, position, end, inside, len(marks)))
        )
        position, first = end + len(separator), next_first
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
    previous_link = (
        Markup(' <a href="#hit-{}">previous</a>').format(number - 1) if number > 1 else ""
    )
    following = Markup(' <a href="#hit-{}">next</a>').format(number + 1) if number < count else ""
    values = (number, count, previous_link, following)
    return Markup('<span class="hit-ways" lang="en" dir="ltr">{} of {}{}{}</span>').format(*values)


TEXT_MAX_CHARS = 200_000
KEY_MAX_CHARS = 4_096
FACTS_MAX, FACT_MAX_CHARS = 200, 2_000

LineT = TypeVar("LineT")
router = APIRouter(tags=["files"], dependencies=[READS])


@dataclass(frozen=True, slots=True)
class ArchivedCopy:
    """Location of a capture of the file in a WARC: a row of the CDX table.

    The WARC record at this location holds the bytes of the file. A record with the media type
    `warc/revisit` only refers to another record that holds the bytes.
    """

    capture_id: str
    url: str
    datetime: str
    mimetype: str
    warc_path: str
    warc_offset: int
    warc_csize: int | None


@dataclass(frozen=True, slots=True)
class FileArrival:
    """How a file arrived: the entry of one of the file's captures, as stored in the SQL table
    `entries`.
    """

    entry_id: str
    pipeline: str
    input_id: str
    url: str
    seen: str | None
    place: str | None
    entered_at: dt.datetime


SerializedRow = Annotated[Any, PlainSerializer(encode_row, return_type=Any)]
"""Row of a derivative, whose typed values are written as plain JSON values in a response."""


@dataclass(frozen=True, slots=True)
class FilePage:
    """Content of the page of a file: everything that Fonds knows about the file.

    `outcome`: outcome of the primary capture (the one recorded first), None if unknown.
    `derivatives`: rows of the derivatives by derivative kind.
    `language`: language of the text, None if unknown.
    `searched`: SHA-1 of the version of the story that is in the index; it may be another version.
    `relatives`: other versions of the story, and near-duplicates.
    `citations`: the first 1,000 of `citations_total` entries of a paper's reference list, as
        printed, with the works that they were matched to.
    `captures`, `history`: the oldest 1,000 captures, and dispositions of messages about the file;
        `captures_total` and `history_total` are the numbers of all.
    `text_chars`: length of the text in characters; None if there is no text, or not yet.
    `text_href`, `thumbnail_href`, `body_href`: download addresses; None if there is no such
        download.
    `themes`: themes of the file's document.
    `themes_looked_in`: number of collections, first by name, that were searched for `themes`; None
        if all were searched.
    `neighbours`: documents near the file's document: near-duplicates, same domain, same theme.
    `story`, `versions`: metadata and versions of a story, None for other files.
    `strip`: which pages of a PDF have text; None for other files, and if the pages were not
        counted.
    `rights`: what the file and its captures state about the use of the file.
    `story_captures`: the captures of a story, None for other files.
    `hits`: hits of a search within the text of the file; None without a search.
    """

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
    """Build the page of a file.

    Return the page and the extracted text of the file ('' if none). Return None for an unknown
    file.
    """
    description = build_description(stores, sha1hex)
    if not description.is_known and description.document is None:
        return None
    outcome = _find_outcome(stores, description)
    text = load_file_text(stores, description)
    title, language = find_file_title(description)
    links, searched_count = _find_themes(collections, description)
    head = load_story_head(stores.records, sha1hex)
    return FilePage(
        title=title,
        sha1hex=sha1hex,
        sha1base32=encode_sha1_base32(bytes.fromhex(sha1hex)),
        outcome=outcome.outcome if outcome else None,
        file=description.file,
        derivatives=description.derivatives,
        language=language,
        indexed=description.document is not None,
        searched=description.searched,
        claimed=_list_claimed(description),
        measured=_list_measured(description, outcome),
        relatives=description.relatives,
        citations=description.citations,
        citations_total=description.citations_total,
        captures=[_build_from_row(ArchivedCopy, row) for row in description.captures],
        captures_total=description.captures_total,
        entries=[_build_from_row(FileArrival, row) for row in description.entries],
        history=description.history,
        history_total=description.history_total,
        text_chars=None if text is None else len(text),
        text_href=None if text is None else f"/file/{sha1hex}/text",
        thumbnail_href=f"/file/{sha1hex}/thumbnail" if description.thumbnail_key else None,
        body_href=f"/file/{sha1hex}/body" if description.body_place else None,
        themes=links,
        themes_looked_in=searched_count,
        neighbours=build_neighbour_groups(
            stores.index, collections, description.document, description.relatives, links
        ),
        story=head,
        versions=load_versions(stores.records, head.story_id) if head else None,
        strip=find_page_strip(description.derivatives, text),
        rights=description.rights,
    ), text or ""


def _find_themes(
    collections: CollectionService, description: FileDescription
) -> tuple[list[ThemeLink], int | None]:
    """Return the themes of a file's document, and the number of collections that were searched;
    None if all collections were searched.
    """
    document_themes = find_document_themes(
        collections, [description.document.id] if description.document else []
    )
    return [
        link for links in document_themes.themes.values() for link in links
    ], document_themes.searched_count


def find_file_title(description: FileDescription) -> tuple[str, str | None]:
    """Return the best title of a file, and the language of its text (None if unknown)."""
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
    """Build a dataclass of type `kind` from the fields of a database row with the same names."""
    return kind(**{name: getattr(row, name) for name in kind.__annotations__})


def _find_outcome(stores: Stores, description: FileDescription) -> EntryRow | None:
    """Return the entry of the primary capture of a file, None if there is none.

    If several pipelines have an entry of that capture, a pending entry is preferred.
    """
    first = description.file.capture_id if description.file else None
    if first is None and description.history:
        first = description.history[0].entry_id
    rows = list(stores.records.find(EntryRow, {"entry_id": first})) if first else []
    return next((row for row in rows if row.outcome == "pending"), rows[0] if rows else None)


def load_file_text(stores: Stores, description: FileDescription) -> str | None:
    """Return the extracted text of a file, None if there is none."""
    if description.text_key:
        raw = stores.blobs.get(description.text_key)
        if raw is not None:
            return raw.decode("utf-8", "replace")
    return description.document.text_content if description.document else None


def _choose_title(description: FileDescription, values: Mapping[str, object]) -> str:
    """Return the best title of a file: of its document, else of a derivative, else its URL, else
    its SHA-1.
    """
    title_candidates: list[object] = [description.title, values.get("title")]
    title_candidates += [row.url for row in description.captures[:1]] + [
        row.url for row in description.entries[:1]
    ]
    text = next(
        (name.strip() for name in title_candidates if isinstance(name, str) and name.strip()), None
    )
    return shorten(" ".join(text.split())) if text else f"File {description.sha1hex}"


def _get_text(value: object) -> str | None:
    return value if isinstance(value, str) else None


def _list_claimed(description: FileDescription) -> list[Fact]:
    """List the facts that the file and the server that sent the file state about the file."""
    types = sorted({row.mimetype for row in description.captures})
    facts = [Fact("declared type", mimetype, claimed=True) for mimetype in types]
    return _limit_facts([*facts, *(fact for fact in _iter_facts(description, "") if fact.claimed)])


def _list_measured(description: FileDescription, outcome: EntryRow | None) -> list[Fact]:
    """List the facts that Fonds detected from the bytes of a file.

    The placeholder for a missing fact is `not yet` while the file is being processed, otherwise
    `unknown`.
    """
    placeholder = "not yet" if outcome and outcome.outcome == "pending" else "unknown"
    file = description.file
    length = f"{format_size(file.size_bytes)} ({file.size_bytes:,} bytes)" if file else None
    return _limit_facts(
        [
            Fact("size", length, placeholder),
            Fact("type", file.mimetype if file else None, placeholder),
            *(fact for fact in _iter_facts(description, placeholder) if not fact.claimed),
        ]
    )


def _limit_facts(facts: list[Fact]) -> list[Fact]:
    """Limit the facts about a file to the 200 that its page shows. One more fact states how many
    are left out.
    """
    n_left_out = len(facts) - FACTS_MAX
    return (
        facts
        if n_left_out <= 0
        else [*facts[:FACTS_MAX], Fact("not shown", f"{n_left_out:,} more")]
    )


def _iter_facts(description: FileDescription, missing: str) -> Iterator[Fact]:
    """Yield the facts that each derivative of a file gives, such as the page count of a PDF.

    For each derivative that the file could have but lacks, yield a fact with the placeholder
    `missing`.
    """
    for kind in iter_kinds_with_rows():
        row = description.derivatives.get(kind.name)
        if row is not None:
            yield from (_shorten_fact(fact) for fact in kind.build_facts(row))
        elif description.file and description.file.mimetype in kind.mimetypes:
            yield Fact(kind.awaited or kind.title, None, missing)


def _shorten_fact(fact: Fact) -> Fact:
    return fact if fact.value is None else replace(fact, value=shorten(fact.value, FACT_MAX_CHARS))


def _find_first_url(page: FilePage) -> str | None:
    """Return the first URL of a file that a browser may follow (http or https), None if there is
    none.
    """
    urls = [row.url for row in page.captures] + [row.url for row in page.entries]
    return next((url for url in urls if filter_web_url(url)), None)


def link_to_replay(row: ArchivedCopy) -> str:
    """Return the URL path that replays a capture, given the capture's location in a WARC."""
    return f"/web/{row.datetime}/{escape_link_url(row.url)}"


def _list_distinct(values: Sequence[str]) -> list[str]:
    return list(dict.fromkeys(values))


def explain_unknown_file(key: str) -> str:
    """Explain that no stored file matches `key`, and how to look up a URL or story id instead."""
    return (
        f"There is no file “{shorten(key, 100)}” in this library. "
        "To look up a URL or a story id, open /show."
    )


def _add_hits(stores: Stores, page: FilePage, text: str, find: str) -> FilePage:
    """Return the page of a file with the search hits in the shown part of the text, and with the
    captures of a story.
    """
    hits = find_text_hits(find, page.language, text[:TEXT_MAX_CHARS])
    if page.versions is None:
        return replace(page, hits=hits)
    urls = [row.url for row in page.captures] + [row.url for row in page.entries]
    captures = build_story_captures(stores.records, page.versions, urls)
    return replace(page, hits=hits, story_captures=captures)


def _split_pages(page: FilePage, text: str) -> list[list[Markup]]:
    """Split the shown part of a file's text into pieces with marked hits, for display.

    A story is returned as one list of its paragraphs. Any other text is returned as one list per
    page, with the page as its only piece.
    """
    shown_text = text[:TEXT_MAX_CHARS]
    if page.story:
        return [mark_lines(shown_text, page.hits, "\n")]
    return [[piece] for piece in mark_lines(shown_text, page.hits, "\f")]


# Declared before the HTML route, whose parameter would otherwise match the `.json` suffix.
@router.get("/file/{sha1hex}.json", include_in_schema=False)
@router.get("/api/files/{sha1hex}", summary="Details of a file", operation_id="get_file")
def file_json(
    stores: OpenStores, collections: TheService, sha1hex: str, find: Find = ""
) -> FilePage:
    """Return metadata, captures, derivatives and history of a file by its SHA-1 (hex or base32).

    With `find`, include the locations of the matches in the first 200,000 characters of its text.
    """
    raw = parse_sha1(sha1hex[:KEY_MAX_CHARS])
    page_and_text = build_file_page(stores, collections, raw.hex()) if raw is not None else None
    if page_and_text is None:
        raise HTTPException(404, explain_unknown_file(sha1hex))
    return _add_hits(stores, *page_and_text, find)


@router.get("/file/{sha1hex}", include_in_schema=False)
def file_html(
    request: Request, stores: OpenStores, collections: TheService, sha1hex: str, find: Find = ""
) -> Response:
    """Show a file by its SHA-1. Other spellings are redirected to the hex form. With `find`, mark
    the matches.
    """
    raw = parse_sha1(sha1hex[:KEY_MAX_CHARS])
    if raw is not None and raw.hex() != sha1hex:
        return RedirectResponse(build_url(f"/file/{raw.hex()}", find=find), 303)
    page_and_text = build_file_page(stores, collections, sha1hex) if raw is not None else None
    if page_and_text is None:
        raise HTTPException(404, explain_unknown_file(sha1hex))
    page, text = _add_hits(stores, *page_and_text, find), page_and_text[1]
    return render_page(
        request,
        "file.html",
        heading=page.title,
        page=page,
        embargo=next(
            map(describe_embargo, find_active_embargoes(stores.records, [sha1hex]).values()), None
        ),
        find=find,
        pages=_split_pages(page, text),
        pages_total=1 if page.story else text.count("\f") + 1,
        text_cut=len(text) > TEXT_MAX_CHARS,
        shown_chars=TEXT_MAX_CHARS,
        extractors=_list_distinct([row.extractor for row in page.derivatives.values()]),
        reasons={str(reason): reason.explanation for reason in Reason},
        language=page.language,
        pdf=page.file is not None and page.file.mimetype == "application/pdf",
        first_url=_find_first_url(page),
        replays=request.app.state.replay.resolve(request) is not None,
        replay_href=link_to_replay,
        capture_words=describe_capture,
        by_subject=iter_by_subject,
        robots_answer=describe_robots,
        tdmrep_answer=describe_tdmrep,
        where_stated=describe_source,
        web_url=filter_web_url,
        nothing_stated=NO_RIGHTS_MESSAGE,
        only_recorded=RECORDED,
    )


# Shared by the pages that read one file.


PDF_TYPE = "application/pdf"

Words = Annotated[
    str, Query(max_length=QUERY_MAX_CHARS, description="Words to highlight, as a search query")
]


def load_file(stores: Stores, sha1hex: str) -> FileDescription:
    """Load the description of a file. Raises HTTPException 404 if the file is unknown."""
    raw = parse_sha1(sha1hex[:KEY_MAX_CHARS])
    description = build_description(stores, raw.hex()) if raw is not None else None
    if description is None or not description.is_known:
        raise HTTPException(404, explain_unknown_file(sha1hex))
    return description


def redirect_spelling(sha1hex: str, path_rest: str) -> Response | None:
    """Redirect a SHA-1 in base32 or in capitals to the same address with the SHA-1 in lower-case
    hex.

    Return None if the SHA-1 already is lower-case hex.
    """
    raw = parse_sha1(sha1hex[:KEY_MAX_CHARS])
    if raw is None or raw.hex() == sha1hex:
        return None
    return RedirectResponse(f"/file/{raw.hex()}{path_rest}", 303)


def is_pdf(description: FileDescription) -> bool:
    """True if the bytes of the file were detected as a PDF."""
    return description.file is not None and description.file.mimetype == PDF_TYPE


def parse_words(query: str, description: FileDescription) -> TextQuery:
    """Parse the words to mark in a file's text. Raises RefusedError 400 for an invalid query."""
    return parse_find(query, find_file_title(description)[1], "q")
