"""Search results in the form that the command line, the page and the API show."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import date, datetime
from typing import Annotated

from msgspec import Meta

from fonds.model.document import DateKind
from fonds.model.file import Kind
from fonds.model.search import Hit, Snippet, VersionHit
from fonds.search.fields import read_labelled_values


@dataclass(frozen=True, slots=True)
class ThemeLink:
    """Theme (cluster of documents) that contains a found document, in one collection.

    The theme is from the clustering of the collection by its default configuration.

    - `collection`: name of the collection.
    - `label`: label of the theme.
    - `href`: URL of the page of the theme.
    - `name`: name that a curator gave to the theme; '' if none.
    """

    collection: str
    label: str
    href: str
    name: str = ""


@dataclass(frozen=True, slots=True)
class EarlierVersionHits:
    """Stories that match a search only in an earlier version.

    - `count`: number of stories.
    - `query`: query that finds these stories.
    """

    count: int
    query: str


@dataclass(frozen=True, slots=True)
class SearchHit:
    """One document of a search result. None means that a value is unknown or absent."""

    id: Annotated[str, Meta(description="SHA-1 of a PDF, or id of a story")]
    sha1hex: Annotated[str, Meta(description="SHA-1 of the file that the text is from")]
    kind: Annotated[Kind, Meta(description="pdf, story or jats")]
    title: Annotated[str | None, Meta(description="title of the document")]
    url: Annotated[str, Meta(description="URL of the capture")]
    canonical_domain: Annotated[str, Meta(description="domain of the URL; empty for none")]
    publication_date: Annotated[
        date | None, Meta(description="date of publication, or creation date of the file")
    ]
    language: Annotated[str | None, Meta(description="language code of two letters")]
    collection: Annotated[str, Meta(description="collection named when it was ingested")]
    page_count: Annotated[int | None, Meta(description="number of pages of a PDF")]
    word_count: Annotated[int | None, Meta(description="number of words")]
    has_thumbnail: Annotated[bool, Meta(description="whether there is a thumbnail of page 1")]
    score: Annotated[float, Meta(description="score of the index; higher is better")]
    authors: Annotated[Sequence[str], Meta(description="names of the authors")]
    doi: Annotated[str | None, Meta(description="DOI of the document")]
    license: Annotated[Sequence[str], Meta(description="stated licences, as in `license:`")]
    rights_holder: Annotated[Sequence[str], Meta(description="stated rights holders")]
    preferences: Annotated[
        Sequence[str], Meta(description="stated usage preferences, as in `prefers:`")
    ]
    fields: Annotated[
        Mapping[str, Sequence[str]],
        Meta(description="values of further fields, by their names in a query"),
    ]
    date_kind: Annotated[
        DateKind | None,
        Meta(description="kind of `publication_date`: published or created"),
    ]
    captured: Annotated[date | None, Meta(description="date of the capture")]
    indexed_date: Annotated[
        datetime, Meta(description="when the document was added in its current form")
    ]
    title_marks: Annotated[
        Sequence[tuple[int, int]], Meta(description="(start, end) of the matches in the title")
    ]
    snippets: Annotated[
        Sequence[Snippet],
        Meta(description="up to three passages, each with the page of a PDF on which it begins"),
    ]
    snippet: Annotated[str, Meta(description="text of the first passage")]
    snippet_marks: Annotated[
        Sequence[tuple[int, int]],
        Meta(description="(start, end) of the matches in the first passage"),
    ]
    themes: Annotated[Sequence[ThemeLink], Meta(description="themes in collections")]
    near_duplicate_of: Annotated[
        str | None,
        Meta(description="id of an earlier result on the page with nearly the same text"),
    ]
    alike: Annotated[
        int, Meta(description="number of near-duplicates that are collapsed into this result")
    ]
    version: Annotated[
        VersionHit | None,
        Meta(
            description="earlier version of a story that matches a query with `version:all`, if "
            "the current version does not"
        ),
    ]


def build_search_hit(
    hit: Hit,
    themes: Sequence[ThemeLink] = (),
    near_duplicate_of: str | None = None,
    alike: int = 0,
) -> SearchHit:
    """Return a search result for display, built from a hit of the index.

    - `themes`: themes that contain the document.
    - `near_duplicate_of`: id of an earlier result with nearly the same text; None if there is none.
    - `alike`: number of near-duplicates that are collapsed into this result.
    """
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
        fields=read_labelled_values(document),
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
