"""What a kind of derivative declares: all that reports, pages and the index need to know of it.

`library/`, `web/` and `cli/` iterate over the declarations and name no kind.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from types import MappingProxyType
from typing import Any

from fonds.derivatives.document_rows import IndexedKind
from fonds.model.capture import Capture
from fonds.model.document import IndexDocument
from fonds.model.file import FileMeta
from fonds.model.rows.row import DerivativeRow, Row
from fonds.model.step import Item
from fonds.ports import Blobs, Records

# What people read where metadata has a name for programs, and values for programs in words.


NAMES: Mapping[str, str] = MappingProxyType(
    {
        "arxiv_id": "arXiv id",
        "arxiv_id_from": "arXiv id taken from",
        "attachment_count": "attachments",
        "authors_from": "authors taken from",
        "doi": "DOI",
        "doi_from": "DOI taken from",
        "fetch_timestamp": "fetched",
        "final_url": "address after redirects",
        "fonts_embedded": "fonts embedded",
        "javascript": "JavaScript",
        "page0_rotation": "first page turned by degrees",
        "pages_garbled": "pages with garbled text",
        "pages_unreadable": "pages that cannot be read",
        "pmcid": "PMC id",
        "pmid": "PubMed id",
        "pub_date": "date of publication",
        "response_code": "HTTP status",
        "source_feed_id": "feed's id",
        "source_source_id": "source's id",
        "source_url": "source's address",
        "text_truncated": "text was cut",
        "title_from": "title taken from",
        "update_id": "id of this version",
        "via": "found by way of",
        "word_count_whitespace": "words between blanks",
        "xmp": "XMP",
    }
)
"""Names of ours and of the seeds. Others are the file's own and stand as they are."""
MOMENTS = frozenset({"fetch_timestamp"})
"""Names whose values are Unix seconds."""


def format_fact_name(name: str) -> str:
    """The name people read for one of metadata."""
    return NAMES.get(name, name)


def format_fact_value(name: str, value: object) -> str:
    """The value people read: yes or no, several joined by semicolons, an instant in UTC."""
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, list):
        return "; ".join(map(str, value))
    if name in MOMENTS and isinstance(value, int | float):
        return _format_instant(value)
    return str(value)


def _format_instant(seconds: float) -> str:
    """As it stands where no calendar has it."""
    try:
        return f"{datetime.fromtimestamp(seconds, UTC):%Y-%m-%d %H:%M:%S} UTC"
    except (OverflowError, ValueError, OSError):
        return str(seconds)


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
class ExtractorNames:
    """Names of what reads PDFs and pages with the settings there are: program, versions, limits. `grobid` is
    the client of the server that does."""

    pdf: str
    page: str
    grobid: str


@dataclass(frozen=True, slots=True)
class RereadPlan:
    """How files that are here already are sent to be read again.

    `step` reads them, messages of `payload` are what it takes; `work` makes one of a capture, its file
    and the moment before which nothing known counts (None: what is known counts). `extractor` picks the
    name of what would read them now. Rows have one of `statuses`; those with one of `retry_statuses` are
    worth another try by the same extractor, and a reading that is done leaves one of `kept_statuses`.
    `other_statuses` are steps that hand on what was read elsewhere before. `is_shared`: another kind owns
    the reading, so `step` has to read a file again although it knows it."""

    step: str
    payload: type[Any]
    work: Callable[[Capture, FileMeta, datetime | None], Item]
    extractor: Callable[[ExtractorNames], str]
    statuses: tuple[str, ...] = ("success",)
    retry_statuses: frozenset[str] = frozenset()
    kept_statuses: frozenset[str] = frozenset({"success"})
    other_statuses: tuple[str, ...] = ()
    is_shared: bool = False

    @property
    def steps(self) -> tuple[str, ...]:
        """All the steps a row may have come from."""
        return (self.step, *self.other_statuses)


@dataclass(frozen=True, slots=True)
class RowSeries:
    """Rows of which a file has any number beside its own, as a paper its citations: they are exported by
    themselves, under `name`, and counted by the audit.

    `row` is their table, whose key begins with `sha1hex`; `columns` are its fields that are exported, with
    their types (`fonds.model.parquet`). `count` is how many a row of the kind promises. `empty` says why
    there may be none, without a full stop.
    """

    name: str
    row: type[Row]
    columns: Mapping[str, str]
    count: Callable[[Any], int]
    empty: str


@dataclass(frozen=True, slots=True)
class RelatedFile:
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
class FileRelations:
    """What stands beside a file, as much of it as is told, and how much there is.

    `versions` are in the order of their captures, `near_duplicates` the most alike first.
    """

    versions: Sequence[RelatedFile] = ()
    near_duplicates: Sequence[RelatedFile] = ()
    versions_total: int = 0
    near_duplicates_total: int = 0


def _return_empty(row: Any) -> tuple[()]:
    return ()


def _return_no_relatives(records: Records, rows: Sequence[Any]) -> Mapping[str, FileRelations]:
    return {}


def _return_no_related_values(row: Any, relatives: FileRelations) -> Mapping[str, object]:
    return {}


def _return_no_values(row: Any, document: IndexDocument | None) -> Mapping[str, object]:
    return {}


def _is_present(row: Any | None, tag: str) -> bool:
    return row is not None


@dataclass(frozen=True, slots=True)
class DerivativeKind:
    """One kind of derivative.

    - `name` is its word on the command line, `title` what people read.
    - `mimetypes` are the types of the files it is made of.
    - `row` is the table it is kept in, by the file's SHA-1, and `step` the sink that writes the row, or one
      of `other_steps`. For each message done there `is_written(row, tag)` must hold, `tag` being that of the
      stage and `row` None where there is none.
    - `build_rows` are rows of other tables a row promises, `list_blobs` the keys, `list_cells` the columns of
      its file in the wide-row table, `indexed` says what the index has of it.
    - `columns` are those it adds to the export, with their types (`fonds.model.parquet`), and `build_values`
      fills them from a row and the file's document, if it has one.
    - `series` are further rows of each file, any number, exported by themselves.
    - `build_facts` are what the file's page and `fonds show` tell of a row; without one, a file it could be
      made of shows that the fact `awaited` (or, '', the title) is missing.
    - `build_warc_metadata` is what is archived beside a body that has such a row, as JSON.
    - `find_related` says what stands beside the files of these rows, by SHA-1, and `build_related_values`
      fills columns from that.
    - `reading` says how it is caught up, None: it is made with another kind. `rebuild` makes, without
      reading, what is missing of these files out of other rows and blobs, and says how many it made.
    """

    name: str
    title: str
    mimetypes: tuple[str, ...]
    row: type[DerivativeRow]
    step: str
    other_steps: tuple[str, ...] = ()
    is_written: Callable[[Any | None, str], bool] = _is_present
    build_rows: Callable[[Any], Sequence[Row]] = _return_empty
    list_blobs: Callable[[Any], Sequence[str]] = _return_empty
    list_cells: Callable[[Any], Sequence[str]] = _return_empty
    indexed: IndexedKind | None = None
    columns: Mapping[str, str] = field(default_factory=dict)
    build_values: Callable[[Any, IndexDocument | None], Mapping[str, object]] = _return_no_values
    series: RowSeries | None = None
    build_facts: Callable[[Any], Sequence[Fact]] = _return_empty
    awaited: str = ""
    build_warc_metadata: Callable[[Any], bytes] | None = None
    find_related: Callable[[Records, Sequence[Any]], Mapping[str, FileRelations]] = (
        _return_no_relatives
    )
    build_related_values: Callable[[Any, FileRelations], Mapping[str, object]] = (
        _return_no_related_values
    )
    reading: RereadPlan | None = None
    rebuild: Callable[[Records, Blobs, Sequence[str]], int] | None = None

    @property
    def sinks(self) -> tuple[str, ...]:
        """All steps that write its rows."""
        return (self.step, *self.other_steps)

    @property
    def has_blobs(self) -> bool:
        """Whether rows of this kind may promise any."""
        return self.list_blobs is not _return_empty


def iter_flat_facts(
    values: Mapping[str, Any], *, is_claim: bool = False, prefix: str = "", depth: int = 0
) -> Iterator[Fact]:
    """Nested metadata as facts, down to a depth of 4; what is empty says nothing and is left out."""
    for name, value in values.items():
        if isinstance(value, Mapping) and depth < FLAT_DEPTH_MAX:
            below = f"{prefix}{format_fact_name(name)}."
            yield from iter_flat_facts(value, is_claim=is_claim, prefix=below, depth=depth + 1)
        elif value not in (None, "", [], {}):
            yield Fact(
                f"{prefix}{format_fact_name(name)}",
                format_fact_value(name, value),
                claimed=is_claim,
            )


def format_count(count: int | None) -> str | None:
    """A count for people; None stays None."""
    return None if count is None else f"{count:,}"
