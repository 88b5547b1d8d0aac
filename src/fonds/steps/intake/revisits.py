"""Revisits without a SHA-1: which file one repeats, by what its record refers to or what is known here.

Source: WARC 1.1, sections 6.7 (revisit), 5.12 to 5.14 (WARC-Refers-To and its companions).
"""

from __future__ import annotations

import re
from base64 import b32decode
from collections.abc import Iterator
from dataclasses import dataclass

from fonds.formats.surt import lookup_key, surt
from fonds.model.capture import Capture, to_datetime14
from fonds.model.file import RevisitReference
from fonds.model.rows import CdxRow, EntryRow, FileMetaRow
from fonds.ports import Records

ENTRIES_MAX = 1_000
_DIGESTS = {"sha256": ("sha256hex", 32), "sha-256": ("sha256hex", 32), "md5": ("md5hex", 16)}
_HEX = re.compile(r"[0-9a-f]+")


@dataclass(frozen=True, slots=True)
class RevisitedFile:
    """What a revisit repeats. `sha1hex` is None if nothing here is; `is_open` says that it may come yet."""

    sha1hex: str | None
    is_open: bool = False


def find_revisited(
    records: Records, capture: Capture, reference: RevisitReference
) -> RevisitedFile:
    """Return the file a revisit repeats.

    The capture its record refers to comes first, then the file with its SHA-256 or MD5. Without any of these
    it repeats the last capture of its URL before it.
    """
    if reference.url and reference.captured_at:
        moment = to_datetime14(reference.captured_at)
        where = {"surt_key": lookup_key(surt(reference.url)), "datetime": moment}
        if (row := next(records.find(CdxRow, where, count_max=1), None)) is not None:
            return RevisitedFile(row.sha1hex)
    digest = _file_digest(reference.digest)
    if digest is not None:
        column, text = digest
        file = next(records.find(FileMetaRow, {column: text}, count_max=1), None)
        if file is not None:
            return RevisitedFile(file.sha1hex)
    elif not reference.url and (row := _previous(records, capture)) is not None:
        return RevisitedFile(row.sha1hex)
    return RevisitedFile(None, is_open=_has_open_original(records, capture, reference))


def _previous(records: Records, capture: Capture) -> CdxRow | None:
    """The last capture of the same URL before this one."""
    rows = records.find(
        CdxRow,
        {"surt_key": lookup_key(surt(capture.url))},
        order=("-datetime", "-warc_path", "-warc_offset"),
        after={"datetime": capture.datetime14, "warc_path": "", "warc_offset": 0},
        count_max=1,
    )
    return next(rows, None)


def _has_open_original(records: Records, capture: Capture, reference: RevisitReference) -> bool:
    """Whether a capture that it may repeat entered and is still worked on."""
    entries = records.find(EntryRow, {"url": reference.url or capture.url}, count_max=ENTRIES_MAX)
    return any(
        row.open_count > 0
        and row.entry_id != capture.id
        and row.seen is not None
        and row.seen < capture.datetime14
        for row in entries
    )


def _file_digest(text: str) -> tuple[str, str] | None:
    """The column of `file_meta` for a digest and its value in hex; None for other algorithms."""
    name, _, value = text.partition(":")
    column, size_bytes = _DIGESTS.get(name.strip().lower(), ("", 0))
    if not column:
        return None
    found = next(_hex_digests(value.strip(), size_bytes), None)
    return None if found is None else (column, found)


def _hex_digests(value: str, size_bytes: int) -> Iterator[str]:
    """The digest in hex, written in hex or base32."""
    if len(value) == 2 * size_bytes and _HEX.fullmatch(value.lower()):
        yield value.lower()
    try:
        raw = b32decode(value.upper() + "=" * (-len(value) % 8))
    except ValueError:
        return
    if len(raw) == size_bytes:
        yield raw.hex()
