"""Build the rows of two exported tables: files of the library, and entries of the ledger.

The table of files has one row per file, ordered by SHA-1. The ledger records what became of each
entry (an item that was read from an input, such as a record of a WARC). Its table has one row per
entry. Entries that were only counted share a row, and the column `count` has their number. The
`count` values add up to the number of entries.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from functools import partial
from itertools import islice
from typing import Any

from fonds.derivatives.documents import UNKNOWN, find_origins
from fonds.derivatives.kind import DerivativeKind, RowSeries
from fonds.derivatives.kinds import KINDS, iter_kinds_with_rows
from fonds.model.capture import REVISIT_MIME
from fonds.model.disposition import Reason, Verdict
from fonds.model.document import IndexDocument
from fonds.model.file import classify_mime
from fonds.model.keys import build_text_blob_key
from fonds.model.rights import Rights, RobotsInForce
from fonds.model.rows import CaptureRightsRow, CdxRow, EntryRow, FileMetaRow, InputRow
from fonds.model.rows.row import DerivativeRow
from fonds.ports import Records, Stores
from fonds.rights.capture_rights import merge_row_rights
from fonds.rights.combined_rights import build_values, load_file_rights

COLUMNS: Mapping[str, str] = {
    "entry_id": "text",
    "pipeline": "text",
    "input_id": "text",
    "kind": "text",
    "url": "text",
    "seen": "time",
    "place": "text",
    "collection": "text",
    "entered_at": "time",
    "outcome": "text",
    "reason": "text",
    "step": "text",
    "about": "text",
    "detail": "text",
    "settled_at": "time",
    "count": "integer",
}
"""Types of the columns of the ledger export, by column name. Times are written as ISO 8601.

`count` is the number of entries that a row counts. The other names are those of fields of entries.
"""
COUNTED = "counted"


def iter_ledger_rows(records: Records) -> Iterator[dict[str, Any]]:
    """Yield rows for the entries of the ledger: one per stored entry, then one per group of entries
    that were only counted.

    Inputs count skipped entries by reason instead of storing each. The row of a group has the
    number of entries of one input with one reason, `counted` as `kind`, and the path of the input
    as `place`.
    """
    for entry in records.find(EntryRow):
        row = {name: getattr(entry, name) for name in COLUMNS if name != "count"}
        yield {name: _to_plain(value) for name, value in row.items()} | {"count": 1}
    for input_row in records.find(InputRow):
        for reason, count in sorted(input_row.tally.items()):
            yield dict.fromkeys(COLUMNS) | {
                "pipeline": input_row.pipeline,
                "input_id": input_row.input_id,
                "kind": COUNTED,
                "place": input_row.path,
                "outcome": Verdict.DROPPED.value,
                "reason": Reason(reason).value,
                "settled_at": input_row.updated.isoformat(),
                "count": count,
            }


def _to_plain(value: Any) -> Any:
    return value.isoformat() if isinstance(value, datetime) else value


CHUNK = 200
FILE_COLUMNS = {
    "sha1hex": "text",
    "sha256hex": "text",
    "md5hex": "text",
    "size_bytes": "integer",
    "mimetype": "text",
    "kind": "text",
    "url": "text",
    "datetime": "time",
    "warc_path": "text",
    "warc_offset": "integer",
    "warc_csize": "integer",
    "captures": "integer",
    "collection": "text",
    "license": "texts",
    "rights_holder": "texts",
    "preferences": "texts",
    "robots_rule": "text",
    "robots_url": "text",
}
FIELDS: Mapping[str, str] = {
    **FILE_COLUMNS,
    **{name: sort for kind in KINDS for name, sort in kind.columns.items()},
    "text": "text",
}
"""Types of the columns of the library export (`fonds.model.parquet`), by column name.

Columns of files come first, then those of each derivative kind (such as PDF), then the text.
"""


def iter_library_rows(stores: Stores, *, with_text: bool) -> Iterator[dict[str, Any]]:
    """Yield a row of the library export, with the keys of `FIELDS`, for every stored file.

    Absent values are None.

    The text of a file is loaded only with `with_text`; otherwise its column is None.
    """
    rows = stores.records.find(FileMetaRow)
    while chunk := list(islice(rows, CHUNK)):
        yield from _iter_chunk_rows(stores, chunk, with_text)


@dataclass(frozen=True, slots=True)
class ExportTable:
    """Table that can be exported to a file of its own, such as the ledger of entries.

    - `columns`: types of the values by column name.
    - `rows`: function that yields the rows.
    - `empty`: explanation for users of why there may be no rows, without a full stop.
    """

    columns: Mapping[str, str]
    rows: Callable[[Stores], Iterator[dict[str, Any]]]
    empty: str


def _iter_series_rows(series: RowSeries, stores: Stores) -> Iterator[dict[str, Any]]:
    for row in stores.records.find(series.row):
        yield {name: getattr(row, name) for name in series.columns}


TABLES: Mapping[str, ExportTable] = {
    kind.series.name: ExportTable(
        kind.series.columns, partial(_iter_series_rows, kind.series), kind.series.empty
    )
    for kind in iter_kinds_with_rows()
    if kind.series
} | {
    "ledger": ExportTable(
        COLUMNS, lambda stores: iter_ledger_rows(stores.records), "nothing has been ingested yet"
    )
}
"""Tables that are exported separately, by name: the series (such as citations) of each derivative
kind, and the ledger.
"""


def iter_document_rows(
    stores: Stores, documents: Iterator[IndexDocument], *, with_text: bool
) -> Iterator[dict[str, Any]]:
    """Yield a row with the keys of `FIELDS` for the file of each document, in the order of the
    documents.

    Documents are read `CHUNK` at a time. If several documents of a chunk have the same file, the
    file has one row. Files that are not stored are omitted.
    """
    while chunk := list(islice(documents, CHUNK)):
        keys = [document.sha1hex for document in chunk]
        files = {file.sha1hex: file for file in stores.records.get(FileMetaRow, keys)}
        rows_by_sha1 = {
            row["sha1hex"]: row for row in _iter_chunk_rows(stores, list(files.values()), with_text)
        }
        yield from (rows_by_sha1[key] for key in dict.fromkeys(keys) if key in rows_by_sha1)


def _iter_chunk_rows(
    stores: Stores, files: Sequence[FileMetaRow], with_text: bool
) -> Iterator[dict[str, Any]]:
    keys = [file.sha1hex for file in files]
    derivatives = _load_derivatives(stores, keys)
    origins = find_origins(stores.records, keys)
    rights = load_file_rights(stores.records, keys)
    relations_by_kind = {
        kind.name: kind.find_related(
            stores.records,
            [
                row
                for items in derivatives.values()
                for item_kind, row, _ in items
                if item_kind is kind
            ],
        )
        for kind in iter_kinds_with_rows()
    }
    captures: dict[str, list[CdxRow]] = {key: [] for key in keys}
    order = ("datetime", "warc_path")
    for capture in stores.records.find(CdxRow, {"sha1hex": keys}, order=order):
        captures[capture.sha1hex].append(capture)
    first_captures = {
        key: first
        for key, rows in captures.items()
        if (first := _find_first_capture(rows)) is not None
    }
    robots = _load_robots(stores.records, first_captures)
    for file in files:
        key = file.sha1hex
        values: dict[str, Any] = dict.fromkeys(FIELDS)
        values |= {
            "sha1hex": key,
            "sha256hex": file.sha256hex,
            "md5hex": file.md5hex,
            "size_bytes": file.size_bytes,
            "mimetype": file.mimetype,
            "kind": str(classify_mime(file.mimetype)),
            "collection": origins.get(key, UNKNOWN).collection,
        }
        values |= _build_place_fields(captures[key], first_captures.get(key))
        values |= _build_rights_fields(rights[key], robots.get(key))
        for kind, row, document in derivatives.get(key, ()):
            values |= kind.build_values(row, document)
            if key in relations_by_kind[kind.name]:
                values |= kind.build_related_values(row, relations_by_kind[kind.name][key])
        if with_text:
            blob = stores.blobs.get(build_text_blob_key(key))
            values["text"] = blob.decode("utf-8", "replace") if blob is not None else None
        yield values


def _load_derivatives(
    stores: Stores, sha1hexes: Sequence[str]
) -> dict[str, list[tuple[DerivativeKind, DerivativeRow, IndexDocument | None]]]:
    """Return the derivatives (extracted data, such as a text) of each file, by SHA-1.

    Each derivative is a tuple of its kind, its database row, and the index document made from this
    row (None if the index has none).
    """
    derivatives: dict[str, list[tuple[DerivativeKind, DerivativeRow, IndexDocument | None]]] = {}
    for kind in iter_kinds_with_rows():
        rows = stores.records.get(kind.row, sha1hexes)
        ids = {row.sha1hex: kind.indexed.get_id(row) for row in rows} if kind.indexed else {}
        documents = stores.index.get(list(ids.values())) if ids else {}
        for row in rows:
            document = documents.get(ids.get(row.sha1hex, ""))
            own_document = document if document and document.sha1hex == row.sha1hex else None
            derivatives.setdefault(row.sha1hex, []).append((kind, row, own_document))
    return derivatives


def _find_first_capture(rows: Sequence[CdxRow]) -> CdxRow | None:
    """Return the first of a file's captures that is not a revisit record; None if there is none.

    A revisit record of a WARC refers to an earlier capture with the same content.
    """
    return next((row for row in rows if row.mimetype != REVISIT_MIME), None)


def _load_robots(records: Records, captures: Mapping[str, CdxRow]) -> dict[str, RobotsInForce]:
    """Return the robots.txt in effect for each capture, with the rule that applied.

    The result has the keys of `captures`. Captures whose robots.txt is unknown are omitted.
    """
    ids = sorted({row.capture_id for row in captures.values()})
    rows = {row.capture_id: row for row in records.get(CaptureRightsRow, ids)} if ids else {}
    robots_by_key = {
        key: merge_row_rights(rows.get(row.capture_id), None).robots
        for key, row in captures.items()
    }
    return {key: robots for key, robots in robots_by_key.items() if robots is not None}


def _build_rights_fields(rights: Rights, robots: RobotsInForce | None) -> dict[str, Any]:
    """Return the values of the export columns about rights and robots.txt.

    - `rights`: rights of the file, combined from all its captures.
    - `robots`: robots.txt in effect for the capture that is exported; None if unknown.
    """
    values = build_values(rights)
    return {
        "license": list(values.licenses) or None,
        "rights_holder": list(values.holders) or None,
        "preferences": list(values.prefers) or None,
        "robots_rule": robots.rule or None if robots else None,
        "robots_url": robots.url if robots else None,
    }


def _build_place_fields(rows: Sequence[CdxRow], first: CdxRow | None) -> dict[str, Any]:
    if first is None:
        return {"captures": len(rows)}
    return {
        "url": first.url,
        "datetime": first.datetime,
        "warc_path": first.warc_path,
        "warc_offset": first.warc_offset,
        "warc_csize": first.warc_csize,
        "captures": len(rows),
    }
