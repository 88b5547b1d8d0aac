"""The library as rows, one for each file, for research: flat, typed, in the order of their SHA-1."""

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

# The ledger as rows: everything that ever came in, and what became of it; counts add up to what came in.


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
"""Fields of `entries` under their names, times as ISO 8601; `count` is how many records a row stands for."""
COUNTED = "counted"


def iter_ledger_rows(records: Records) -> Iterator[dict[str, Any]]:
    """A row for each entry, in the order of their keys; then one for each input and reason that was counted
    there and kept nowhere else: its `kind` is `counted`, its `place` the input's path."""
    for entry in records.find(EntryRow):
        row = {name: getattr(entry, name) for name in COLUMNS if name != "count"}
        yield {name: _to_plain(value) for name, value in row.items()} | {"count": 1}
    for one in records.find(InputRow):
        for reason, count in sorted(one.tally.items()):
            yield dict.fromkeys(COLUMNS) | {
                "pipeline": one.pipeline,
                "input_id": one.input_id,
                "kind": COUNTED,
                "place": one.path,
                "outcome": Verdict.DROPPED.value,
                "reason": Reason(reason).value,
                "settled_at": one.updated.isoformat(),
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
"""Every column and what it holds (`fonds.model.parquet`): those of files, and what each kind adds."""


def iter_library_rows(stores: Stores, *, with_text: bool) -> Iterator[dict[str, Any]]:
    """Every file that was kept, as one flat row with the keys of FIELDS; absent values are None."""
    rows = stores.records.find(FileMetaRow)
    while chunk := list(islice(rows, CHUNK)):
        yield from _iter_chunk_rows(stores, chunk, with_text)


@dataclass(frozen=True, slots=True)
class ExportTable:
    """Rows that are exported by themselves: their columns with their types, and all of them, flat. `empty`
    says why there may be none, without a full stop."""

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
        COLUMNS, lambda stores: iter_ledger_rows(stores.records), "nothing came in yet"
    )
}
"""What is exported by itself, by name."""


def iter_document_rows(
    stores: Stores, documents: Iterator[IndexDocument], *, with_text: bool
) -> Iterator[dict[str, Any]]:
    """The same rows of the files these documents are made of, in their order."""
    while chunk := list(islice(documents, CHUNK)):
        keys = [document.sha1hex for document in chunk]
        files = {file.sha1hex: file for file in stores.records.get(FileMetaRow, keys)}
        made = {
            row["sha1hex"]: row for row in _iter_chunk_rows(stores, list(files.values()), with_text)
        }
        yield from (made[key] for key in dict.fromkeys(keys) if key in made)


def _iter_chunk_rows(
    stores: Stores, files: Sequence[FileMetaRow], with_text: bool
) -> Iterator[dict[str, Any]]:
    keys = [file.sha1hex for file in files]
    made = _load_derivatives(stores, keys)
    came = find_origins(stores.records, keys)
    rights = load_file_rights(stores.records, keys)
    beside = {
        kind.name: kind.find_related(
            stores.records, [row for some in made.values() for one, row, _ in some if one is kind]
        )
        for kind in iter_kinds_with_rows()
    }
    captures: dict[str, list[CdxRow]] = {key: [] for key in keys}
    order = ("datetime", "warc_path")
    for capture in stores.records.find(CdxRow, {"sha1hex": keys}, order=order):
        captures[capture.sha1hex].append(capture)
    firsts = {
        key: first
        for key, rows in captures.items()
        if (first := _find_first_capture(rows)) is not None
    }
    robots = _load_robots(stores.records, firsts)
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
            "collection": came.get(key, UNKNOWN).collection,
        }
        values |= _build_place_fields(captures[key], firsts.get(key))
        values |= _build_rights_fields(rights[key], robots.get(key))
        for kind, row, document in made.get(key, ()):
            values |= kind.build_values(row, document)
            if key in beside[kind.name]:
                values |= kind.build_related_values(row, beside[kind.name][key])
        if with_text:
            blob = stores.blobs.get(build_text_blob_key(key))
            values["text"] = blob.decode("utf-8", "replace") if blob is not None else None
        yield values


def _load_derivatives(
    stores: Stores, sha1hexes: Sequence[str]
) -> dict[str, list[tuple[DerivativeKind, DerivativeRow, IndexDocument | None]]]:
    """What was made of each file: kind, row, and the document if the index has one made of this row."""
    made: dict[str, list[tuple[DerivativeKind, DerivativeRow, IndexDocument | None]]] = {}
    for kind in iter_kinds_with_rows():
        rows = stores.records.get(kind.row, sha1hexes)
        ids = {row.sha1hex: kind.indexed.get_id(row) for row in rows} if kind.indexed else {}
        documents = stores.index.get(list(ids.values())) if ids else {}
        for row in rows:
            document = documents.get(ids.get(row.sha1hex, ""))
            ours = document if document and document.sha1hex == row.sha1hex else None
            made.setdefault(row.sha1hex, []).append((kind, row, ours))
    return made


def _find_first_capture(rows: Sequence[CdxRow]) -> CdxRow | None:
    """The earliest capture whose record has the bytes."""
    return next((row for row in rows if row.mimetype != REVISIT_MIME), None)


def _load_robots(records: Records, captures: Mapping[str, CdxRow]) -> dict[str, RobotsInForce]:
    """The robots.txt in force for these captures, by the same keys; absent where it is not known."""
    ids = sorted({row.capture_id for row in captures.values()})
    rows = {row.capture_id: row for row in records.get(CaptureRightsRow, ids)} if ids else {}
    found = {
        key: merge_row_rights(rows.get(row.capture_id), None).robots
        for key, row in captures.items()
    }
    return {key: robots for key, robots in found.items() if robots is not None}


def _build_rights_fields(rights: Rights, robots: RobotsInForce | None) -> dict[str, Any]:
    """What is stated about the use of a file, and the robots.txt of the capture in `url` and `datetime`."""
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
