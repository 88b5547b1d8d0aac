"""A search: its query, its results, and the error of a query."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import date
from enum import StrEnum

from fonds.model.document import DateOf, IndexDocument
from fonds.model.file import Kind

RESULTS_MAX = 10_000
"""So many results of a search can be reached by their number."""
IDS_MAX = 1_000
"""So many documents a query may name by id."""


class MatchMode(StrEnum):
    """Which documents match the words of a query."""

    EXACT = "exact"  # those that match the query as it is written
    BEST = "best"  # those with any of its words, ranked; filters and exclusions hold


DAYS_COUNTED_MAX = 72


@dataclass(frozen=True, slots=True)
class SearchQuery:
    """What to look for. `text` in the query syntax of people: words, "phrases", -excluded, OR, field:value.

    Empty `text` matches everything. Filters of one field are alternatives; of several, all must hold.
    `date_from` and `date_to` are inclusive; `undated` True asks for documents without a date only. They are
    days of the kind `dates`, by which `newest` and `oldest` go too, and the counts by month, or by day within
    limits of at most 72. A language or
    domain of `none` or '' asks for documents without one. `ids`, 1,000 at most, asks for documents among
    these only. `offset` + `count_max` at most 10,000. `sort` is `score`, `newest`, `oldest`, `added` (what
    came to be found last first) or `id`: an order that depends on nothing but the documents' ids, in which
    all of a result can be had, however large: the next page begins behind the document whose id is `after`,
    and what comes or goes meanwhile moves no other. `themes` has the ids of the documents of each theme the
    text asks for by `theme:`; an index knows no others. `facet_values_max`, up to 1,000, for each facet;
    with 0 nothing is counted by value or month. Without `with_snippets` hits have none, and without
    `with_notes` a search that finds nothing says nothing of why. `match` says whether all words of the text
    must match, or any of them. `in_versions` says whether words count that only an earlier version of a story
    has; None: as the text says by `version:all`. `cut_versions` asks for documents with `earlier_left_out`.
    """

    text: str = ""
    kinds: Sequence[Kind] = ()
    languages: Sequence[str] = ()
    domains: Sequence[str] = ()
    collections: Sequence[str] = ()
    ids: Sequence[str] = ()
    date_from: date | None = None
    date_to: date | None = None
    undated: bool = False
    dates: DateOf = DateOf.PUBLISHED
    sort: str = "score"
    offset: int = 0
    count_max: int = 10
    facet_values_max: int = 20
    after: str | None = None
    with_snippets: bool = True
    with_notes: bool = True
    match: MatchMode = MatchMode.EXACT
    themes: Mapping[str, Sequence[str]] = field(default_factory=dict)
    in_versions: bool | None = None
    cut_versions: bool = False

    @property
    def is_by_day(self) -> bool:
        """Whether documents are counted by day and not by month."""
        if self.date_from is None or self.date_to is None:
            return False
        return (self.date_to - self.date_from).days < DAYS_COUNTED_MAX


@dataclass(frozen=True, slots=True)
class Snippet:
    """A passage of the text. `marks` are (start, end) offsets of the matched words in `text`; `page`
    numbers the page of a PDF its densest place is on, from 1, None where there are no pages. It begins and
    ends with a sentence where one does near by: `begins_within` and `ends_within` say where not.
    """

    text: str
    marks: Sequence[tuple[int, int]] = ()
    page: int | None = None
    begins_within: bool = False
    ends_within: bool = False

    @property
    def text_with_ellipses(self) -> tuple[str, Sequence[tuple[int, int]]]:
        """Text and marks as people read them: what is cut has dots."""
        before, behind = "… " * self.begins_within, " …" * self.ends_within
        moved = [(start + len(before), end + len(before)) for start, end in self.marks]
        return f"{before}{self.text}{behind}", moved


@dataclass(frozen=True, slots=True)
class VersionHit:
    """The earlier version of a story that matches best, of a story whose current version does not match.

    `captured` is the 14-digit time of its capture; `snippets` and `title_marks` are as those of a hit. Both
    ids are None where no version was looked at, because there was too much text for one page of results.
    """

    sha1hex: str | None = None
    captured: str | None = None
    title: str | None = None
    title_marks: Sequence[tuple[int, int]] = ()
    snippets: Sequence[Snippet] = ()


@dataclass(frozen=True, slots=True)
class Hit:
    """One found document, without its text.

    `snippets` are one to three passages of it, the densest first, none where none were asked for;
    `title_marks` are offsets of matched words in its title. `version` is set where `version:all` was asked
    for, and the words are in an earlier version and not in this one.
    """

    document: IndexDocument
    score: float
    snippets: Sequence[Snippet] = ()
    title_marks: Sequence[tuple[int, int]] = ()
    version: VersionHit | None = None

    @property
    def snippet(self) -> Snippet:
        """The first passage."""
        return self.snippets[0] if self.snippets else Snippet("")


@dataclass(frozen=True, slots=True)
class SearchResults:
    """What a search found.

    `facets` maps `kind`, `language`, `canonical_domain` and `collection` to (value, count) pairs, the
    largest first, at most as many as were asked for; '' is the value of documents without one. `beyond`
    counts for each of them the matches with other values: with the pairs' counts they make `total`. `dates`
    counts documents by `YYYY-MM` of the kind of date asked for, or by `YYYY-MM-DD`, in order; `undated`
    those without. `total` counts all matches. When there are none, `notes` say in sentences which of the
    words, languages, domains and collections asked for no document has, and `meant` is the query that was
    probably meant, if it is another. `themes` are those the query was answered by: with them in the next
    query, it asks for the same documents though a rebuild gave the themes others. `generation` names all that
    the index held: the same generation, the same documents; None where it is not known. When there are no
    matches, `earlier_count` is how many stories match in an earlier version, and `earlier_text` the text that
    finds them.
    """

    total: int
    hits: Sequence[Hit]
    facets: Mapping[str, Sequence[tuple[str, int]]] = field(default_factory=dict)
    beyond: Mapping[str, int] = field(default_factory=dict)
    dates: Sequence[tuple[str, int]] = ()
    undated: int = 0
    notes: Sequence[str] = ()
    meant: str | None = None
    themes: Mapping[str, Sequence[str]] = field(default_factory=dict)
    generation: str | None = None
    match: MatchMode = MatchMode.EXACT
    earlier_count: int = 0
    earlier_text: str | None = None


class QueryError(ValueError):
    """Error in a query, with a sentence for people.

    `start` and `end` locate the bad token in the text, in characters; both are 0 if it concerns the
    whole query.
    """

    def __init__(self, message: str, start: int = 0, end: int = 0) -> None:
        super().__init__(message)
        self.start = start
        self.end = end
