"""Declaration of a derivative kind: what reports, pages, exports and the index need to know about
it.

Reports, pages, exports and the index iterate over all declarations, so their code names no kind.
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
from fonds.model.rows.row import DerivativeRow, NotInTable, Row, TableCondition
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
"""Display names of metadata fields that Fonds and the seed documents define.

Other field names come from files and are shown unchanged.
"""
MOMENTS = frozenset({"fetch_timestamp"})
"""Names of metadata fields whose values are Unix seconds."""


def format_fact_name(name: str) -> str:
    """Return the display name of a metadata field."""
    return NAMES.get(name, name)


def format_fact_value(name: str, value: object) -> str:
    """Format the value of a metadata field for display.

    Booleans become yes or no, lists are joined by semicolons, and times are in UTC.
    """
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, list):
        return "; ".join(map(str, value))
    if name in MOMENTS and isinstance(value, int | float):
        return _format_instant(value)
    return str(value)


def _format_instant(seconds: float) -> str:
    """Format Unix seconds as a time in UTC.

    A number outside the calendar is returned unformatted.
    """
    try:
        return f"{datetime.fromtimestamp(seconds, UTC):%Y-%m-%d %H:%M:%S} UTC"
    except (OverflowError, ValueError, OSError):
        return str(seconds)


FLAT_DEPTH_MAX = 4


@dataclass(frozen=True, slots=True)
class Fact:
    """One property of a file, as the page of the file shows it.

    - `name`: display name.
    - `value`: display value; None if unknown.
    - `missing`: one or two words shown instead of a missing value, such as `unknown`.
    - `claimed`: whether the file or its server states the value. Other values were measured by
      Fonds.
    """

    name: str
    value: str | None
    missing: str = "unknown"
    claimed: bool = False


@dataclass(frozen=True, slots=True)
class ExtractorNames:
    """Names of the current extractors. Each name contains the versions and limits that affect the
    results.

    - `pdf`: name of the extractor of PDFs.
    - `page`: name of the extractor of news pages.
    - `grobid`: name of the GROBID client.
    """

    pdf: str
    page: str
    grobid: str


@dataclass(frozen=True, slots=True)
class RereadPlan:
    """How stored files of a derivative kind are extracted again.

    - `step`: pipeline step that extracts the files.
    - `payload`: type of the messages that this step receives.
    - `work`: function that builds a message from a capture, its file and a time. Stored results
      from before that time do not count as known. With None, all results count.
    - `extractor`: function that picks the name of the current extractor of this kind.
    - `statuses`: all statuses that derivative rows of this kind can have.
    - `retry_statuses`: statuses for which the same extractor may succeed the next time.
    - `kept_statuses`: statuses of a completed extraction.
    - `other_steps`: names of further steps that write the result of an extraction made
      elsewhere.
    - `is_shared`: whether `step` belongs to another kind, and must extract files again although
      their result is stored.
    """

    step: str
    payload: type[Any]
    work: Callable[[Capture, FileMeta, datetime | None], Item]
    extractor: Callable[[ExtractorNames], str]
    statuses: tuple[str, ...] = ("success",)
    retry_statuses: frozenset[str] = frozenset()
    kept_statuses: frozenset[str] = frozenset({"success"})
    other_steps: tuple[str, ...] = ()
    is_shared: bool = False

    @property
    def steps(self) -> tuple[str, ...]:
        """Names of all steps that can produce a derivative row of this kind."""
        return (self.step, *self.other_steps)


@dataclass(frozen=True, slots=True)
class RowSeries:
    """Declaration of a series: rows of which a file can have any number, such as the citations of a
    paper.

    A series is exported on its own, and the audit counts its rows.
    - `name`: name of the export.
    - `row`: table of the rows; its key begins with `sha1hex`.
    - `columns`: types of the exported columns (`fonds.model.parquet`), by name.
    - `count`: function that returns how many rows of the series a file must have, given its
      derivative row.
    - `empty`: explanation for users why an export may have no rows, without a full stop.
    """

    name: str
    row: type[Row]
    columns: Mapping[str, str]
    count: Callable[[Any], int]
    empty: str


@dataclass(frozen=True, slots=True)
class RelatedFile:
    """File related to a file by its text: another version of the same story, or a near-duplicate.

    - `sha1hex`, `story_id`, `url`: SHA-1, story id and URL of the related file.
    - `captured`: time of its capture, 14 digits.
    - `same_text`: whether the texts of both files are equal.
    - `resemblance`: estimated share of text that both files have in common, 0 to 1; None if a text
      is too short.
    """

    sha1hex: str
    story_id: str
    url: str
    captured: str
    same_text: bool
    resemblance: float | None


@dataclass(frozen=True, slots=True)
class FileRelations:
    """Files related to one file.

    - `versions`: other versions of the same story, in order of capture; at most 100.
    - `near_duplicates`: near-duplicates, the most similar first; at most 100.
    - `versions_total`, `near_duplicates_total`: number of all other versions and near-duplicates.
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


@dataclass(frozen=True, slots=True)
class DerivativeKind:
    """Declaration of one kind of derivative.

    - `name`: name on the command line.
    - `title`: name for people.
    - `mimetypes`: types of the files from which the derivative is computed.
    - `row`: table of the derivative, with the SHA-1 of the file as key.
    - `step`, `other_steps`: names of the pipeline steps that write rows.
    - `unwritten`: function of the tag of a stage. It returns the condition for the SHA-1s of files
      whose result is not stored although a message was completed, or None if no row shows that. By
      default the row must exist.
    - `build_rows`, `list_blobs`, `list_cells`: functions that return what must exist for a
      derivative row: rows of other tables, keys of blobs, and columns of the wide-row table.
    - `indexed`: how index documents of this kind are built; None if there are none.
    - `columns`: types of the export columns (`fonds.model.parquet`), by name.
    - `build_values`: function that computes the values of `columns` from a row and the index
      document, if any.
    - `series`: further rows of each file; None if there are none.
    - `build_facts`: function that returns the facts of a row for pages and `fonds show`.
    - `awaited`: name of the fact shown as missing for a file without a row; '' to show `title`
      instead.
    - `build_warc_metadata`: function that returns the JSON stored in WARC with the body; None if
      none is.
    - `find_related`: function that returns the related files of rows, by SHA-1.
    - `build_related_values`: function that computes export columns from the related files.
    - `reading`: how files are extracted again; None if another kind's step produces the derivative.
    - `rebuild`: function that restores missing data of files from other rows and blobs, without
      extraction. It returns the number of files restored.
    """

    name: str
    title: str
    mimetypes: tuple[str, ...]
    row: type[DerivativeRow]
    step: str
    other_steps: tuple[str, ...] = ()
    unwritten: Callable[[str], TableCondition | None] | None = None
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
        """Names of all steps that write rows of this kind."""
        return (self.step, *self.other_steps)

    def build_unwritten_condition(self, tag: str) -> TableCondition | None:
        """Return the condition for the SHA-1s of files whose result is not stored, or None if no
        row shows whether it is.

        `tag`: tag of the pipeline stage that completed the messages.
        """
        return NotInTable(self.row, "sha1hex") if self.unwritten is None else self.unwritten(tag)

    @property
    def has_blobs(self) -> bool:
        """Whether rows of this kind can have blobs."""
        return self.list_blobs is not _return_empty


def iter_flat_facts(
    values: Mapping[str, Any], *, is_claim: bool = False, prefix: str = "", depth: int = 0
) -> Iterator[Fact]:
    """Yield the fields of nested metadata as facts for display, down to a depth of 4.

    - `is_claim`: whether the file or its server states the values.
    - `prefix`: beginning of the display names.

    Fields without a value are skipped.
    """
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
