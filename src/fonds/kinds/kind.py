"""What a kind of derivative declares: all that reports, pages and the index need to know of it.

`library/`, `web/` and `cli/` iterate over the declarations and name no kind.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any

from fonds.kinds.fact_names import fact_name, fact_value
from fonds.kinds.indexed import Indexed
from fonds.model.capture import Capture
from fonds.model.document import IndexDocument
from fonds.model.file import FileMeta
from fonds.model.rows.row import DerivativeRow, Row
from fonds.model.step import Item
from fonds.ports import Blobs, Records

FLAT_DEPTH_MAX = 4


@dataclass(frozen=True, slots=True)
class Fact:
    """One thing said of a file. `value` None was not learned; `missing` then says why, in a word or two.

    `claimed` is what the file or its server says, else it was measured by reading the bytes.
    """

    name: str
    value: str | None
    missing: str = "unknown"
    claimed: bool = False


@dataclass(frozen=True, slots=True)
class Extractors:
    """Names of what reads PDFs and pages with the settings there are: program, versions, limits. `grobid` is
    the client of the server that does."""

    pdf: str
    page: str
    grobid: str


@dataclass(frozen=True, slots=True)
class Reading:
    """How files that are here already are sent to be read again.

    `step` reads them, messages of `payload` are what it takes; `work` makes one of a capture, its file and
    the moment before which nothing known counts (None: what is known counts). `extractor` picks the
    name of what would read them now. Rows have one of `statuses`; those with one of `again` are worth
    another try by the same extractor, and a reading that is done leaves one of `kept`. `others` are steps
    that hand on what was read elsewhere before. `is_shared`: another kind owns the reading, so `step` has to
    read a file again although it knows it.
    """

    step: str
    payload: type[Any]
    work: Callable[[Capture, FileMeta, datetime | None], Item]
    extractor: Callable[[Extractors], str]
    statuses: tuple[str, ...] = ("success",)
    again: frozenset[str] = frozenset()
    kept: frozenset[str] = frozenset({"success"})
    others: tuple[str, ...] = ()
    is_shared: bool = False

    @property
    def steps(self) -> tuple[str, ...]:
        """All the steps a row may have come from."""
        return (self.step, *self.others)


@dataclass(frozen=True, slots=True)
class Series:
    """Rows of which a file has any number beside its own, as a paper its citations: they are exported by
    themselves, under `name`, and counted by the audit.

    `row` is their table, whose key begins with `sha1hex`; `columns` are its fields that are exported, with
    their types (`fonds.formats.parquet`). `count` is how many a row of the kind promises. `empty` says why
    there may be none, without a full stop.
    """

    name: str
    row: type[Row]
    columns: Mapping[str, str]
    count: Callable[[Any], int]
    empty: str


@dataclass(frozen=True, slots=True)
class Related:
    """A file whose text stands beside another's: a version of the same story, or a near-duplicate.

    `captured` is the 14-digit time it is dated by; `resemblance` estimates how much of their texts the two
    have in common, 0 to 1, None where a text is too short to tell.
    """

    sha1hex: str
    story_id: str
    url: str
    captured: str
    same_text: bool
    resemblance: float | None


@dataclass(frozen=True, slots=True)
class Relatives:
    """What stands beside a file, as much of it as is told, and how much there is.

    `versions` are in the order of their captures, `near_duplicates` the most alike first.
    """

    versions: Sequence[Related] = ()
    near_duplicates: Sequence[Related] = ()
    versions_total: int = 0
    near_duplicates_total: int = 0


def _nothing(row: Any) -> tuple[()]:
    return ()


def _no_relatives(records: Records, rows: Sequence[Any]) -> Mapping[str, Relatives]:
    return {}


def _no_related_values(row: Any, told: Relatives) -> Mapping[str, object]:
    return {}


def _no_values(row: Any, document: IndexDocument | None) -> Mapping[str, object]:
    return {}


def _is_there(row: Any | None, tag: str) -> bool:
    return row is not None


@dataclass(frozen=True, slots=True)
class DerivativeKind:
    """One kind of derivative.

    - `name` is its word on the command line, `title` what people read.
    - `mimetypes` are the types of the files it is made of.
    - `row` is the table it is kept in, by the file's SHA-1, and `step` the sink that writes the row, or one
      of `other_steps`. For each message done there `written(row, tag)` must hold, `tag` being that of the
      stage and `row` None where there is none.
    - `rows` are rows of other tables a row promises, `blobs` the keys, `cells` the columns of its file in
      the wide-row table, `indexed` says what the index has of it.
    - `columns` are those it adds to the export, with their types (`fonds.formats.parquet`), and `values`
      fills them from a row and the file's document, if it has one.
    - `series` are further rows of each file, any number, exported by themselves.
    - `facts` are what the file's page and `fonds show` tell of a row; without one, a file it could be made
      of shows that the fact `awaited` (or, '', the title) is missing.
    - `beside` is what is archived beside a body that has such a row, as JSON.
    - `related` says what stands beside the files of these rows, by SHA-1, and `related_values` fills columns
      from that.
    - `reading` says how it is caught up, None: it is made with another kind. `made_again` makes, without
      reading, what is missing of these files out of other rows and blobs, and says how many it made.
    """

    name: str
    title: str
    mimetypes: tuple[str, ...]
    row: type[DerivativeRow]
    step: str
    other_steps: tuple[str, ...] = ()
    written: Callable[[Any | None, str], bool] = _is_there
    rows: Callable[[Any], Sequence[Row]] = _nothing
    blobs: Callable[[Any], Sequence[str]] = _nothing
    cells: Callable[[Any], Sequence[str]] = _nothing
    indexed: Indexed | None = None
    columns: Mapping[str, str] = field(default_factory=dict)
    values: Callable[[Any, IndexDocument | None], Mapping[str, object]] = _no_values
    series: Series | None = None
    facts: Callable[[Any], Sequence[Fact]] = _nothing
    awaited: str = ""
    beside: Callable[[Any], bytes] | None = None
    related: Callable[[Records, Sequence[Any]], Mapping[str, Relatives]] = _no_relatives
    related_values: Callable[[Any, Relatives], Mapping[str, object]] = _no_related_values
    reading: Reading | None = None
    made_again: Callable[[Records, Blobs, Sequence[str]], int] | None = None

    @property
    def sinks(self) -> tuple[str, ...]:
        """All steps that write its rows."""
        return (self.step, *self.other_steps)

    @property
    def has_blobs(self) -> bool:
        """Whether rows of this kind may promise any."""
        return self.blobs is not _nothing


def flat(
    values: Mapping[str, Any], *, claimed: bool = False, prefix: str = "", depth: int = 0
) -> Iterator[Fact]:
    """Nested metadata as facts, down to a depth of 4; what is empty says nothing and is left out."""
    for name, value in values.items():
        if isinstance(value, Mapping) and depth < FLAT_DEPTH_MAX:
            below = f"{prefix}{fact_name(name)}."
            yield from flat(value, claimed=claimed, prefix=below, depth=depth + 1)
        elif value not in (None, "", [], {}):
            yield Fact(f"{prefix}{fact_name(name)}", fact_value(name, value), claimed=claimed)


def digits(count: int | None) -> str | None:
    """A count for people; None stays None."""
    return None if count is None else f"{count:,}"
