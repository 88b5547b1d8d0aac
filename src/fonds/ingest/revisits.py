"""Resolve revisit records: the file that a revisit repeats, and the capture that has its bytes.

A revisit is a WARC record that says that the body has not changed since an earlier capture.

Source: WARC 1.1, sections 6.7 (revisit), 5.12 to 5.14 (WARC-Refers-To and related fields).
"""

from __future__ import annotations

import re
from base64 import b32decode
from collections.abc import Callable, Iterator
from contextlib import suppress
from dataclasses import dataclass

from fonds.archive.warc.scanner import Damage, RecordHead
from fonds.model.capture import (
    REVISIT_MIME,
    Capture,
    Place,
    PlaceKind,
    format_datetime14,
)
from fonds.model.errors import PermanentError
from fonds.model.file import REVISIT, IdentifiedCapture, RevisitReference
from fonds.model.keys import parse_sha1
from fonds.model.rows import CdxRow, EntryRow, FileMetaRow
from fonds.ports import Records
from fonds.urls.surt import build_lookup_key, build_surt

ENTRIES_MAX = 1_000
CAPTURES_MAX = 100
ScanWarc = Callable[[str], Iterator[RecordHead | Damage]]
"""Function that lists the record heads of a WARC, given its path or name.

Raises PermanentError if the WARC cannot be opened.
"""
_DIGESTS = {"sha256": ("sha256hex", 32), "sha-256": ("sha256hex", 32), "md5": ("md5hex", 16)}
_HEX = re.compile(r"[0-9a-f]+")


@dataclass(frozen=True, slots=True)
class RevisitedFile:
    """The file that a revisit repeats.

    - `sha1hex`: SHA-1 of the file; None if the library does not have the file.
    - `is_open`: whether a capture in progress may still add the file.
    """

    sha1hex: str | None
    is_open: bool = False


def find_revisited(
    records: Records, capture: Capture, reference: RevisitReference
) -> RevisitedFile:
    """Return the file that a revisit repeats, from the SQL records of the library.

    The capture that the revisit refers to is tried first, then the file with the declared SHA-256
    or MD5. If the revisit states neither a capture's URL nor such a hash, the previous capture of
    its own URL is used.
    """
    if reference.url and reference.captured_at:
        moment = format_datetime14(reference.captured_at)
        where = {"surt_key": build_lookup_key(build_surt(reference.url)), "datetime": moment}
        if (row := next(records.find(CdxRow, where, count_max=1), None)) is not None:
            return RevisitedFile(row.sha1hex)
    digest = _parse_file_digest(reference.digest)
    if digest is not None:
        column, text = digest
        file = next(records.find(FileMetaRow, {column: text}, count_max=1), None)
        if file is not None:
            return RevisitedFile(file.sha1hex)
    elif not reference.url and (row := _find_previous(records, capture)) is not None:
        return RevisitedFile(row.sha1hex)
    return RevisitedFile(None, is_open=_has_open_original(records, capture, reference))


@dataclass(frozen=True, slots=True)
class OriginalCapture:
    """The response whose bytes a revisit repeats.

    - `place`: location of the response's WARC record.
    - `url`: URL of the response.
    - `datetime14`: capture time of the response, as 14 digits (UTC).
    """

    place: Place
    url: str
    datetime14: str


def find_original(
    records: Records, revisit: IdentifiedCapture, scan: ScanWarc
) -> OriginalCapture | None:
    """Return the response that a revisit repeats, or None if it is not found.

    The rows of `cdx` are searched first. Then the WARC of the revisit is scanned until the response
    is found.
    """
    reference = revisit.refers_to or RevisitReference()
    raw = parse_sha1(revisit.capture.digest or "")
    sha1hex = raw.hex() if raw is not None else None
    row = _find_referenced_row(records, reference, sha1hex)
    if row is None:
        sha1hex = sha1hex or find_revisited(records, revisit.capture, reference).sha1hex
        row = _find_file_row(records, sha1hex) if sha1hex is not None else None
    if row is not None:
        place = Place(PlaceKind.WARC, row.warc_path, row.warc_offset, row.warc_csize)
        return OriginalCapture(place, row.url, row.datetime)
    return _scan_same_warc(revisit.capture, reference, scan)


def _find_referenced_row(
    records: Records, reference: RevisitReference, sha1hex: str | None
) -> CdxRow | None:
    if not reference.url or reference.captured_at is None:
        return None
    moment = format_datetime14(reference.captured_at)
    where = {"surt_key": build_lookup_key(build_surt(reference.url)), "datetime": moment}
    rows = records.find(CdxRow, where, count_max=CAPTURES_MAX)
    return next((row for row in rows if _has_body(row) and sha1hex in (None, row.sha1hex)), None)


def _find_file_row(records: Records, sha1hex: str) -> CdxRow | None:
    """Return the `cdx` row of the primary capture of a file. If that capture has no row with a
    body, return the row of any other capture of the file with a body.
    """
    rows = list(records.find(CdxRow, {"sha1hex": sha1hex}, count_max=CAPTURES_MAX))
    for owner in records.get(FileMetaRow, [sha1hex]):
        rows = [*records.find(CdxRow, {"capture_id": owner.capture_id}, count_max=1), *rows]
    return next((row for row in rows if _has_body(row)), None)


def _has_body(row: CdxRow) -> bool:
    return row.mimetype != REVISIT_MIME


def _scan_same_warc(
    revisit: Capture, reference: RevisitReference, scan: ScanWarc
) -> OriginalCapture | None:
    if revisit.place.kind is not PlaceKind.WARC:
        return None
    with suppress(PermanentError):
        for head in scan(revisit.place.path):
            if isinstance(head, RecordHead) and _is_original(head, revisit, reference):
                place = Place(
                    PlaceKind.WARC, revisit.place.path, head.offset, head.size_bytes,
                    name=revisit.place.name,
                )  # fmt: skip
                return OriginalCapture(place, head.url, format_datetime14(head.captured_at))
    return None


def _is_original(head: RecordHead, revisit: Capture, reference: RevisitReference) -> bool:
    """Return whether a record is the response that a revisit refers to: by record id, by SHA-1, or
    by URL and time.
    """
    if head.type == REVISIT or head.payload_bytes == 0:
        return False
    if reference.record_id and head.record_id == reference.record_id:
        return True
    sha1 = parse_sha1(revisit.digest or "")
    declared_sha1 = parse_sha1(head.digest or "")
    if sha1 is not None and declared_sha1 is not None:
        return sha1 == declared_sha1
    if not reference.url or reference.captured_at is None:
        return False
    datetime14 = format_datetime14(reference.captured_at)
    return head.url == reference.url and format_datetime14(head.captured_at) == datetime14


def _find_previous(records: Records, capture: Capture) -> CdxRow | None:
    """Return the `cdx` row of the last capture of a URL before `capture`; None if there is none."""
    rows = records.find(
        CdxRow,
        {"surt_key": build_lookup_key(build_surt(capture.url))},
        order=("-datetime", "-warc_path", "-warc_offset"),
        after={"datetime": capture.datetime14, "warc_path": "", "warc_offset": 0},
        count_max=1,
    )
    return next(rows, None)


def _has_open_original(records: Records, capture: Capture, reference: RevisitReference) -> bool:
    """Return whether an earlier capture that the revisit may repeat is still in progress."""
    entries = records.find(EntryRow, {"url": reference.url or capture.url}, count_max=ENTRIES_MAX)
    return any(
        row.open_count > 0
        and row.entry_id != capture.id
        and row.seen is not None
        and row.seen < capture.datetime14
        for row in entries
    )


def _parse_file_digest(text: str) -> tuple[str, str] | None:
    """Return the column of `file_meta` for a declared digest (SHA-256 or MD5), and the digest in
    hexadecimal.

    Returns None for other hash algorithms and for invalid digests.
    """
    name, _, value = text.partition(":")
    column, size_bytes = _DIGESTS.get(name.strip().lower(), ("", 0))
    if not column:
        return None
    hex_digest = next(_iter_hex_digests(value.strip(), size_bytes), None)
    return None if hex_digest is None else (column, hex_digest)


def _iter_hex_digests(value: str, size_bytes: int) -> Iterator[str]:
    """Yield a digest in hexadecimal, from a value in hexadecimal or base32. Yield nothing if it is
    neither.
    """
    if len(value) == 2 * size_bytes and _HEX.fullmatch(value.lower()):
        yield value.lower()
    try:
        raw = b32decode(value.upper() + "=" * (-len(value) % 8))
    except ValueError:
        return
    if len(raw) == size_bytes:
        yield raw.hex()
