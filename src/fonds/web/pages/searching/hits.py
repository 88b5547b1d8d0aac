"""One result of a search, as the page and the API show it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import date, datetime

from fonds.model.document import DateKind, Hit, Snippet, VersionHit
from fonds.model.file import Kind
from fonds.web.themes.tagged import ThemeLink


@dataclass(frozen=True, slots=True)
class SearchHit:
    """One result; `id` is a PDF's SHA-1 or a story's id, `sha1hex` the file its text is of.

    `date_kind` says whether `publication_date` is the day it was published or the day its file was made,
    `captured` is the day of its capture, `license`, `rights_holder` and `preferences` are stated about its
    use, `indexed_date` when it came to be found as it is. `snippets` are up
    to three passages with the pages of a PDF they begin on; `snippet` is the first, `snippet_marks` are
    (start, end) offsets in it, `title_marks` in `title`. `themes` are those of collections it is in.
    `near_duplicate_of` is the id of an earlier result of the same page that says nearly the same; `alike` is
    how many documents of the search this one stands for, where near-duplicates are one. `version` is the
    earlier version that matches, of a story found by `version:all` whose current version does not match. None
    means unknown, or none.
    """

    id: str
    sha1hex: str
    kind: Kind
    title: str | None
    url: str
    canonical_domain: str
    publication_date: date | None
    language: str | None
    collection: str
    page_count: int | None
    word_count: int | None
    has_thumbnail: bool
    score: float
    authors: Sequence[str]
    doi: str | None
    license: Sequence[str]
    rights_holder: Sequence[str]
    preferences: Sequence[str]
    date_kind: DateKind | None
    captured: date | None
    indexed_date: datetime
    title_marks: Sequence[tuple[int, int]]
    snippets: Sequence[Snippet]
    snippet: str
    snippet_marks: Sequence[tuple[int, int]]
    themes: Sequence[ThemeLink]
    near_duplicate_of: str | None
    alike: int
    version: VersionHit | None


def found_hit(
    hit: Hit, themes: Sequence[ThemeLink], near_duplicate_of: str | None, alike: int
) -> SearchHit:
    """A hit of the index, the themes its document is in, what it repeats, and how many it stands for."""
    document = hit.document
    return SearchHit(
        id=document.id,
        sha1hex=document.sha1hex,
        kind=document.kind,
        title=document.article_title,
        url=document.url,
        canonical_domain=document.canonical_domain,
        publication_date=document.publication_date,
        language=document.language,
        collection=document.collection,
        page_count=document.page_count,
        word_count=document.word_count,
        has_thumbnail=document.has_thumbnail,
        score=hit.score,
        authors=document.authors,
        doi=document.doi,
        license=document.licenses,
        rights_holder=document.holders,
        preferences=document.prefers,
        date_kind=document.date_kind,
        captured=document.captured,
        indexed_date=document.indexed_date,
        title_marks=hit.title_marks,
        snippets=hit.snippets,
        snippet=hit.snippet.text,
        snippet_marks=hit.snippet.marks,
        themes=themes,
        near_duplicate_of=near_duplicate_of,
        alike=alike,
        version=hit.version,
    )
