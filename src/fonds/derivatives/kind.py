"""Declaration of a derivative kind: all that reports, pages and the index need to know of it.

The packages above iterate over the declarations and name no kind.
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

NAMES: Mapping[str, str] = MappingProxyType(
    {
        "arxiv_id": "arXiv id",
        "arxiv_id_from": "source of the arXiv id",
        "attachment_count": "attachments",
        "authors_from": "source of the authors",
        "doi": "DOI",
        "doi_from": "source of the DOI",
        "fetch_timestamp": "fetched",
        "final_url": "final URL",
        "fonts_embedded": "fonts embedded",
        "javascript": "JavaScript",
        "page0_rotation": "first page rotation (degrees)",
        "pages_garbled": "pages with garbled text",
        "pages_unreadable": "pages that cannot be read",
        "pmcid": "PMC id",
        "pmid": "PubMed id",
        "pub_date": "publication date",
        "response_code": "HTTP status",
        "source_feed_id": "feed id",
        "source_source_id": "source id",
        "source_url": "source URL",
        "text_truncated": "text truncated",
        "title_from": "source of the title",
        "update_id": "version id",
        "via": "found through",
        "word_count_whitespace": "words separated by spaces",
        "xmp": "XMP",
    }
)
"""Display names for metadata names of Fonds and of the seeds. Names from the file itself are shown
unchanged.
"""
MOMENTS = frozenset({"fetch_timestamp"})
"""Names whose values are Unix seconds."""


def format_fact_name(name: str) -> str:
    """Return the display name of a metadata name."""
    return NAMES.get(name, name)


def format_fact_value(name: str, value: object) -> str:
    """Format a value for display: yes or no, lists joined by semicolons, times in UTC."""
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, list):
        return "; ".join(map(str, value))
    if name in MOMENTS and isinstance(value, int | float):
        return _format_instant(value)
    return str(value)


def _format_instant(seconds: float) -> str:
    """Format Unix seconds as UTC; unchanged if no calendar date matches."""
    try:
        return f"{datetime.fromtimestamp(seconds, UTC):%Y-%m-%d %H:%M:%S} UTC"
    except (OverflowError, ValueError, OSError):
        return str(seconds)


FLAT_DEPTH_MAX = 4


@dataclass(frozen=True, slots=True)
class Fact:
    """One statement about a file.

    - `value` is None if unknown; `missing` then says why in a word or two.
    - `claimed` marks what the file or its server states; other values were measured from the bytes.
    """

    name: str
    value: str | None
    missing: str = "unknown"
    claimed: bool = False


@dataclass(frozen=True, slots=True)
class ExtractorNames:
    """Names of the extractors in use, each with program, versions and limits.

    `grobid` is the name of the GROBID client.
    """

    pdf: str
    page: str
    grobid: str


@dataclass(frozen=True, slots=True)
class RereadPlan:
    """How files already stored are sent to be extracted again.

    - `step` extracts them and takes messages of type `payload`.
    - `work` builds a message from a capture, its file and a time. Results from before that time do
      not count
      (None: all results count).
    - `extractor` picks the name of the extractor that would be used now.
    - `statuses` are all statuses of rows.
    - `retry_statuses` are those worth another try by the same extractor.
    - `kept_statuses` are those a completed extraction leaves.
    - `other_statuses` are further steps, which pass on what was extracted elsewhere.
    - `is_shared`: the extraction belongs to another kind, so `step` must extract known files again.
    """

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
        """Return all steps that a row may come from."""
        return (self.step, *self.other_statuses)


@dataclass(frozen=True, slots=True)
class RowSeries:
    """Further rows of a file, any number, such as the citations of a paper.

    They are exported on their own and counted by the audit.

    - `name` is the name of the export.
    - `row` is their table, whose key begins with `sha1hex`.
    - `columns` are the exported fields with their types (`fonds.model.parquet`).
    - `count` returns the number of rows that a row of the kind promises.
    - `empty` explains why there may be none, without a full stop.
    """

    name: str
    row: type[Row]
    columns: Mapping[str, str]
    count: Callable[[Any], int]
    empty: str


@dataclass(frozen=True, slots=True)
class RelatedFile:
    """A file related to another by its text: a version of the same story, or a near-duplicate.

    - `captured` is its capture time in 14 digits.
    - `resemblance` estimates the share of text both have in common, 0 to 1; None if a text is too
      short.
    """

    sha1hex: str
    story_id: str
    url: str
    captured: str
    same_text: bool
    resemblance: float | None


@dataclass(frozen=True, slots=True)
class FileRelations:
    """Related files of a file, truncated, with the total counts.

    `versions` are in capture order, `near_duplicates` most similar first.
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

    - `name` is used on the command line, `title` is shown to people.
    - `mimetypes` are the types of the files it is computed from.
    - `row` is its table, keyed by the file's SHA-1.
    - `step` is the sink that writes the row; `other_steps` are further ones.
    - `is_written(row, tag)` must hold for each message completed there. `tag` is the stage's; `row`
      is None if
      there is no row.
    - `build_rows`, `list_blobs` and `list_cells` return what a row promises: rows of other tables,
      blob keys,
      and columns of the file in the wide-row table.
    - `indexed` says how its index documents are built.
    - `columns` are its export columns with their types (`fonds.model.parquet`). `build_values`
      fills them
      from a row and the file's document, if any.
    - `series` are further rows of each file, exported on their own.
    - `build_facts` returns the facts that the file's page and `fonds show` display. For a file
      without a row
      they show that the fact `awaited` (if '', the title) is missing.
    - `build_warc_metadata` returns the JSON archived with the body.
    - `find_related` returns the related files of these rows, by SHA-1. `build_related_values` fills
      columns
      from them.
    - `reading` says how it is extracted again; None if it is produced with another kind.
    - `rebuild` restores what is missing for these files from other rows and blobs, without
      extraction, and
      returns the number restored.
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
        """Return all steps that write its rows."""
        return (self.step, *self.other_steps)

    @property
    def has_blobs(self) -> bool:
        """Whether rows of this kind may promise blobs."""
        return self.list_blobs is not _return_empty


def iter_flat_facts(
    values: Mapping[str, Any], *, is_claim: bool = False, prefix: str = "", depth: int = 0
) -> Iterator[Fact]:
    """Yield nested metadata as facts, down to a depth of 4. Empty values are skipped."""
    for name, value in values.items():
        if isinstance(value, Mapping) and depth < FLAT_DEPTH_MAX:
            inner_prefix = f"{prefix}{format_fact_name(name)}."
            yield from iter_flat_facts(
                value, is_claim=is_claim, prefix=inner_prefix, depth=depth + 1
            )
        elif value not in (None, "", [], {}):
            yield Fact(
                f"{prefix}{format_fact_name(name)}",
                format_fact_value(name, value),
                claimed=is_claim,
            )


def format_count(count: int | None) -> str | None:
    """Format a count for display; None stays None."""
    return None if count is None else f"{count:,}"
