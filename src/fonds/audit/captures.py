"""Audit of the columns of `cdx` that repeat something else: HTTP status, media type and SURT of a
capture.

The SQL table `cdx` has one row per capture in a WARC.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from fonds.archive.table_places import get_status, is_indexed
from fonds.model.archive import IndexedRecord, Payload
from fonds.model.capture import REVISIT_MIME
from fonds.model.rows import CdxRow, FileMetaRow
from fonds.rights.host_files import TYPES
from fonds.urls.surt import build_lookup_key, build_surt


def is_own_warc(path: str) -> bool:
    """Whether the WARC was written by Fonds. Its path is then a name without folders."""
    return "/" not in path


def correct_row(
    row: CdxRow, file: FileMetaRow, line: IndexedRecord | None, payload: Payload | None
) -> CdxRow:
    """Return a `cdx` row with the HTTP status, media type and SURT that it should have.

    `file`: row of the file in `file_meta`.
    `line`: line of the record in the CDXJ index of a WARC of Fonds; None without one.
    `payload`: the WARC record of the capture; None if it cannot be read.

    Values that nothing confirms stay as they are.
    """
    # An index of others may have its own form of a SURT.
    surt = row.surt if is_indexed(row.capture_id) else build_surt(row.url)
    row = replace(row, surt=surt, surt_key=build_lookup_key(surt))
    if is_indexed(row.capture_id):
        return row
    # A record without an HTTP head has no status. Its row can have one, from the metadata of the
    # program that fetched the body.
    if payload is not None and payload.http is not None:
        row = _correct_status(row, get_status(payload.http))
    elif payload is None and line is not None:
        row = replace(row, status=line.status)
    if line is not None and line.is_revisit != (row.mimetype == REVISIT_MIME):
        return replace(row, mimetype=REVISIT_MIME if line.is_revisit else file.mimetype)
    return _correct_mimetype(row, file, payload)


def describe_differences(row: CdxRow, correct: CdxRow) -> str:
    """Return a phrase that names the columns of a `cdx` row that differ from those of the correct
    row; "" if none does.
    """
    columns = ("status", "mimetype", "surt", "surt_key")
    return ", ".join(
        f"{name} {getattr(row, name)!r} instead of {getattr(correct, name)!r}"
        for name in columns
        if getattr(row, name) != getattr(correct, name)
    )


def compare_line(row: CdxRow, line: IndexedRecord) -> str:
    """Return a phrase that says how a `cdx` row differs from the line of its record in the CDXJ
    index next to its WARC; "" if they agree.
    """
    differences = []
    if row.status != line.status:
        differences.append(f"status {row.status!r} instead of {line.status!r}")
    if line.is_revisit != (row.mimetype == REVISIT_MIME):
        differences.append(f"mimetype {row.mimetype!r} {'of' if line.is_revisit else 'for'} a ")
        differences[-1] += "revisit" if line.is_revisit else "record that is no revisit"
    return ", ".join(differences)


def has_wrong_mimetype(row: CdxRow, files: Mapping[str, FileMetaRow]) -> bool:
    """Whether a `cdx` row of a primary capture has another media type than its file in `file_meta`.

    `files`: rows of `file_meta`, by SHA-1.
    """
    file = files.get(row.sha1hex)
    return (
        file is not None
        and file.capture_id == row.capture_id
        and row.mimetype not in (REVISIT_MIME, file.mimetype)
    )


def _correct_status(row: CdxRow, status: int | None) -> CdxRow:
    # The index that named a record may have omitted its status.
    is_omitted = row.status is None and not is_own_warc(row.warc_path)
    return row if is_omitted else replace(row, status=status)


def _correct_mimetype(row: CdxRow, file: FileMetaRow, payload: Payload | None) -> CdxRow:
    """Return a `cdx` row with the media type of its file.

    Later captures of a file may have another type, because the type also depends on what the
    server declared.
    """
    if row.mimetype in (REVISIT_MIME, file.mimetype, *TYPES):
        return row
    if file.capture_id != row.capture_id:
        if payload is None:
            return row
        from fonds.extract.mime import describe  # libmagic, which is rarely needed here.

        declared = payload.http.get("content-type") if payload.http else None
        if describe(payload.body, declared).mime == row.mimetype:
            return row
    return replace(row, mimetype=file.mimetype)
