"""Search queries, search results, and the error for an invalid query."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import date
from enum import StrEnum

from fonds.model.document import DateOf, IndexDocument
from fonds.model.file import Kind

RESULTS_MAX = 10_000
"""Maximum number of search results that paging by offset can reach."""
IDS_MAX = 1_000
"""Maximum number of document ids in one query."""
QUERY_MAX_CHARS = 4_000
"""Maximum number of characters in the text of a query."""


class MatchMode(StrEnum):
    """Whether a document must match all words of a query, or any of them."""

    EXACT = "exact"  # all words and conditions of the query
    BEST = "best"  # any of the words, ranked; filters and exclusions still apply


DAYS_COUNTED_MAX = 72


@dataclass(frozen=True, slots=True)
class SearchQuery:
    """Search query for the index, with filters, order and paging. An empty `text` matches
    everything.

    - `text`: query syntax for people: words, "phrases", -excluded, OR, field:value.
    - `kinds`, `languages`, `domains`, `collections`: filters. Values of one filter are
      alternatives, and all filters must match. The language or domain `none` or '' selects
      documents without one.
    - `ids`: only documents with these ids, at most 1,000.
    - `date_from`, `date_to`: inclusive range of dates; None for no bound.
    - `undated`: whether only documents without a date match.
    - `dates`: which date of a document is used for the range, the order and the counts. Counts are
      by month, or by day for a range of at most 72 days.
    - `sort`: `score`, `newest`, `oldest`, `added` (last added first) or `id`. The order `id`
      depends only on the ids, so that any number of results can be paged through.
    - `after`: with the order `id`, the page begins after this id. Documents that are added or
      removed meanwhile do not move others.
    - `offset`, `count_max`: first result and maximum number of results; their sum is at most
      10,000.
    - `facet_values_max`: maximum number of values per facet, at most 1,000. With 0, nothing is
      counted by value or by month.
    - `with_snippets`: whether results have passages from the text.
    - `with_notes`: whether a search without results explains why.
    - `match`: whether all words must match, or any.
    - `themes`: ids of the documents of each theme that `text` names with `theme:`. An index knows
      no other themes.
    - `in_versions`: whether earlier versions of stories are searched too; None searches them only
      if `text` contains `version:all`.
    - `cut_versions`: whether only documents match whose earlier versions are incomplete in the
      index (`earlier_left_out`).
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
        """Whether the query counts documents by day instead of by month."""
        if self.date_from is None or self.date_to is None:
            return False
        return (self.date_to - self.date_from).days < DAYS_COUNTED_MAX


@dataclass(frozen=True, slots=True)
class Snippet:
    """Passage from the text of a search result.

    - `text`: the passage, which begins and ends with a sentence if possible.
    - `marks`: (start, end) offsets of the matched words in `text`, in characters.
    - `page`: PDF page with the most matched words of the passage, from 1; None for a text without
      pages.
    - `begins_within`, `ends_within`: whether the passage begins or ends in the middle of a
      sentence.
    """

    text: str
    marks: Sequence[tuple[int, int]] = ()
    page: int | None = None
    begins_within: bool = False
    ends_within: bool = False

    @property
    def text_with_ellipses(self) -> tuple[str, Sequence[tuple[int, int]]]:
        """Passage and marks for display, with an ellipsis at each end where a sentence is cut."""
        before_mark, after_mark = "… " * self.begins_within, " …" * self.ends_within
        moved_marks = [
            (start + len(before_mark), end + len(before_mark)) for start, end in self.marks
        ]
        return f"{before_mark}{self.text}{after_mark}", moved_marks


@dataclass(frozen=True, slots=True)
class VersionHit:
    """Best matching earlier version of a story whose current version does not match the query.

    - `sha1hex`: SHA-1 of the version's file; None if no version was examined, because the earlier
      versions had too much text for one page of results.
    - `captured`: capture time of the version, 14 digits (YYYYMMDDhhmmss); None like `sha1hex`.
    - `title`: title of the version.
    - `title_marks`: (start, end) offsets of matched words in `title`, in characters.
    - `snippets`: matching passages of the version's text.
    """

    sha1hex: str | None = None
    captured: str | None = None
    title: str | None = None
    title_marks: Sequence[tuple[int, int]] = ()
    snippets: Sequence[Snippet] = ()


@dataclass(frozen=True, slots=True)
class Hit:
    """One search result, without the text of the document.

    - `document`: index entry without text.
    - `score`: relevance; higher is better.
    - `snippets`: one to three passages, the one with the most matches first; empty if the query did
      not request snippets.
    - `title_marks`: (start, end) offsets of matched words in the title, in characters.
    - `version`: matching earlier version of a story; None unless the query asks for `version:all`
      and only an earlier version matches.
    """

    document: IndexDocument
    score: float
    snippets: Sequence[Snippet] = ()
    title_marks: Sequence[tuple[int, int]] = ()
    version: VersionHit | None = None

    @property
    def snippet(self) -> Snippet:
        """First passage of the result; a Snippet with the text "" if there is no passage."""
        return self.snippets[0] if self.snippets else Snippet("")


@dataclass(frozen=True, slots=True)
class SearchResults:
    """Results of a search.

    - `total`: number of all matches.
    - `hits`: the results on the requested page.
    - `facets`: (value, count) pairs by `kind`, `language`, `canonical_domain` and `collection`,
      largest count first. The value '' counts documents without a value.
    - `beyond`: by facet, the number of matches whose value is not among the pairs. With the counts
      of the pairs, it adds up to `total`.
    - `dates`: (`YYYY-MM` or `YYYY-MM-DD`, count) pairs for the requested kind of date, in order.
    - `undated`: number of matches without a date of this kind.
    - `themes`: ids of the documents of each theme that the query names. If they are passed to the
      next query, it selects the same documents even after a rebuild of the themes.
    - `generation`: identifier of the content of the index. Equal values mean the same documents;
      None if unknown.
    - `match`: whether the results match all words or any.

    For a search without matches:
    - `notes`: sentences that name the requested words, languages, domains and collections that no
      document has.
    - `corrected_query`: the query that was probably meant, if it differs.
    - `earlier_count`: number of stories that match in an earlier version.
    - `earlier_text`: the query that finds these stories.
    """

    total: int
    hits: Sequence[Hit]
    facets: Mapping[str, Sequence[tuple[str, int]]] = field(default_factory=dict)
    beyond: Mapping[str, int] = field(default_factory=dict)
    dates: Sequence[tuple[str, int]] = ()
    undated: int = 0
    notes: Sequence[str] = ()
    corrected_query: str | None = None
    themes: Mapping[str, Sequence[str]] = field(default_factory=dict)
    generation: str | None = None
    match: MatchMode = MatchMode.EXACT
    earlier_count: int = 0
    earlier_text: str | None = None


class QueryError(ValueError):
    """Error for an invalid search query; the message is a sentence for people.

    `start` and `end` locate the invalid token in the query text, in characters. Both are 0 if the
    error concerns the whole query.
    """

    def __init__(self, message: str, start: int = 0, end: int = 0) -> None:
        super().__init__(message)
        self.start = start
        self.end = end


@dataclass(frozen=True, slots=True)
class ThemeCounts:
    """Number of documents of a search in each theme of a collection.

    - `collection`: name of the collection, NAMESPACE/KEY.
    - `themes`: labels of the themes of the first level (granularity), each with its number of
      documents, the largest theme first.
    - `unclustered`: number of documents that are in the collection but in no theme.
    - `outside`: number of documents that are not in the collection.
    - `looked_at`: number of documents counted, the first by id. All were counted if it equals
      `total`.
    - `total`: number of documents that the search finds.
    - `names`: names that people gave to themes, by label.
    """

    collection: str
    themes: Sequence[tuple[str, int]]
    unclustered: int
    outside: int
    looked_at: int
    total: int
    names: Mapping[str, str]
