"""Documents of the full-text index, search queries and search results."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, date, datetime
from enum import StrEnum

from fonds.model.file import Kind

RESULTS_MAX = 10_000
"""Maximum number of results that can be paged by offset."""
IDS_MAX = 1_000
"""Maximum number of document ids in a query."""


class DateKind(StrEnum):
    """Meaning of a document's own date; closed."""

    PUBLISHED = "published"
    CREATED = "created"  # creation of the file, perhaps long after publication


class DateOf(StrEnum):
    """Which date of a document is meant."""

    PUBLISHED = "published"  # `publication_date`, of either kind
    CAPTURED = "captured"
    ADDED = "added"  # date of `indexed_date` in UTC

    @property
    def field_name(self) -> str:
        """Field of a document with this date."""
        return {"published": "publication_date", "added": "indexed_date"}.get(self, str(self))


@dataclass(frozen=True, slots=True)
class EarlierVersion:
    """Version of a story captured before the version its document shows.

    `captured` is the 14-digit time of its capture. `text` is "" if a later version has the same
    text, and in all documents read from an index, which searches texts of versions without storing
    them.
    """

    sha1hex: str
    captured: str
    title: str | None
    text: str = ""


@dataclass(frozen=True, slots=True)
class IndexDocument:
    """Document of a PDF or a story, identified by `id`.

    The id of a PDF is its SHA-1, that of a story its story id. A story is one document, even if
    many files were captured at its address; the document shows the version whose SHA-1 is
    `sha1hex`.

    The first seven text fields have the names of the Elasticsearch mapping in seed 004, so that
    existing clients work: `url canonical_domain publication_date language article_title
    text_content indexed_date`.

    - `publication_date`: None means undated; `date_kind` says what the date means.
    - `captured`: date of the capture shown.
    - `status`: how reading its file ended.
    - `doi`: in lower case.
    - `licenses`, `holders`, `prefers`: what its captures and its file state about its use
      (`rights/combined_rights.py`); licences and preferences in lower case.
    - `earlier`: versions of a story captured before, the newest first; one for each text and title
      that no later version has.
    - `earlier_left_out`: number of versions that are missing there, or whose text is missing or
      cut, because there are too many or they are too long.
    """

    id: str
    sha1hex: str
    kind: Kind
    url: str
    canonical_domain: str
    publication_date: date | None
    language: str | None
    article_title: str | None
    text_content: str
    indexed_date: datetime
    collection: str = "default"
    story_id: str | None = None
    page_count: int | None = None
    word_count: int | None = None
    has_thumbnail: bool = False
    authors: tuple[str, ...] = ()
    doi: str | None = None
    status: str | None = None
    date_kind: DateKind | None = None
    captured: date | None = None
    earlier: tuple[EarlierVersion, ...] = ()
    earlier_left_out: int = 0
    licenses: tuple[str, ...] = ()
    holders: tuple[str, ...] = ()
    prefers: tuple[str, ...] = ()

    def get_day(self, date_of: DateOf) -> date | None:
        """Return the date of this kind; None if unknown."""
        if date_of is DateOf.ADDED:
            return self.indexed_date.astimezone(UTC).date()
        return self.captured if date_of is DateOf.CAPTURED else self.publication_date


class MatchMode(StrEnum):
    """Which documents match the words of a query."""

    EXACT = "exact"  # documents that match the query as written
    BEST = "best"  # documents with any of its words, ranked; filters and exclusions apply


DAYS_COUNTED_MAX = 72


@dataclass(frozen=True, slots=True)
class SearchQuery:
    """Search query.

    - `text`: query syntax for people: words, "phrases", -excluded, OR, field:value. "" matches
      everything.
    - `kinds`, `languages`, `domains`, `collections`: filters. Values of one field are alternatives;
      all fields must match. A language or domain of `none` or "" selects documents without one.
    - `ids`: at most 1,000 document ids to search among.
    - `date_from`, `date_to`: inclusive; `undated` selects only documents without a date.
    - `dates`: kind of date for these limits, for `newest` and `oldest`, and for the counts by month
      (by day if the limits span at most 72 days).
    - `sort`: `score`, `newest`, `oldest`, `added` (last found first) or `id`.
    - `offset` + `count_max`: at most 10,000.
    - `after`: document id after which the next page starts, for `sort` `id`. That order depends
      only on the ids. It reaches all results of any number, and additions and deletions do not
      shift pages.
    - `themes`: document ids of each theme that the text names by `theme:`; an index knows no
      others.
    - `facet_values_max`: up to 1,000 values per facet; 0 turns off counts by value and month.
    - `with_snippets`, `with_notes`: return snippets, and explanations of an empty result.
    - `match`: whether all words of the text must match, or any.
    - `in_versions`: whether words match that only an earlier version of a story has; None: if the
      text contains `version:all`.
    - `cut_versions`: only documents with `earlier_left_out`.
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
        """Whether documents are counted by day instead of by month."""
        if self.date_from is None or self.date_to is None:
            return False
        return (self.date_to - self.date_from).days < DAYS_COUNTED_MAX


@dataclass(frozen=True, slots=True)
class Snippet:
    """Passage of a text.

    - `marks`: (start, end) offsets of the matched words in `text`.
    - `page`: PDF page with most matches in the passage, from 1; None without pages.
    - `begins_within`, `ends_within`: whether it begins or ends inside a sentence, since no boundary
      was near.
    """

    text: str
    marks: Sequence[tuple[int, int]] = ()
    page: int | None = None
    begins_within: bool = False
    ends_within: bool = False

    @property
    def text_with_ellipses(self) -> tuple[str, Sequence[tuple[int, int]]]:
        """Text and marks with an ellipsis where the text was cut."""
        prefix, suffix = "… " * self.begins_within, " …" * self.ends_within
        shifted_marks = [(start + len(prefix), end + len(prefix)) for start, end in self.marks]
        return f"{prefix}{self.text}{suffix}", shifted_marks


@dataclass(frozen=True, slots=True)
class VersionHit:
    """Best-matching earlier version of a story whose current version does not match.

    `captured` is the 14-digit time of its capture. `snippets` and `title_marks` are as in a hit.
    The SHA-1 and `captured` are None if the versions had too much text to be searched for one page
    of results.
    """

    sha1hex: str | None = None
    captured: str | None = None
    title: str | None = None
    title_marks: Sequence[tuple[int, int]] = ()
    snippets: Sequence[Snippet] = ()


@dataclass(frozen=True, slots=True)
class Hit:
    """Found document, without its text.

    - `snippets`: one to three passages, the densest first; none if not requested.
    - `title_marks`: offsets of matched words in the title.
    - `version`: set if `version:all` was requested and only an earlier version has the words.
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
    """Results of a search.

    - `total`: number of all matches.
    - `facets`: for `kind`, `language`, `canonical_domain` and `collection` (value, count) pairs,
      the largest first, at most as many as requested; "" is the value of documents without one.
    - `beyond`: per facet, matches with other values; with the pairs' counts they add up to `total`.
    - `dates`: document counts by `YYYY-MM` or `YYYY-MM-DD` of the requested kind of date, in order.
    - `undated`: number of documents without that date.
    - `notes`: without matches, sentences that say which requested words, languages, domains and
      collections occur in no document.
    - `meant`: without matches, the query that was probably meant, if it differs.
    - `themes`: themes used for this answer. With them the next query selects the same documents,
      even after a rebuild.
    - `generation`: identifies the contents of the index: same generation, same documents; None if
      unknown.
    - `earlier_count`: without matches, number of stories that match in an earlier version.
    - `earlier_text`: query text that finds them.
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
