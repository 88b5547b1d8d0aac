"""Captures out of JSON lines that say where files are: the work objects of seed 003.

A line is an object, or has one under `source`, of one of three shapes: CDX (`url`, `datetime`, and
`warc_path`, `warc_offset`, `warc_csize` where the WARC is at hand), petabox (`item`, `path`), or a local
file (`path`). `sha1hex` and `mimetype` may stand beside any of them.
Source: seed 003 and the work topics of the systems it describes.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from datetime import datetime
from pathlib import Path
from typing import Any
from urllib.parse import quote

import msgspec

from fonds.model.capture import Capture, Place, PlaceKind, from_datetime14
from fonds.model.disposition import Reason
from fonds.model.keys import sha1_base32, sha1_from_text
from fonds.model.rows import InputRow
from fonds.sources.indexes import damaged_line, find_below, read_lines

ITEM_ADDRESS = "https://archive.org/download/{item}/{path}"
"""The public address of a petabox item's file; where its bytes are fetched is a setting."""


def read_tasks(
    path: Path, row: InputRow, collection: str, base: str
) -> Iterator[Capture | Mapping[str, int] | int]:
    """One capture a line, also for a line that cannot be understood; positions are line numbers.

    Files and WARCs are looked for below `base`, or beside the list.
    """

    def entry(line: bytes, number: int) -> Capture | None:
        return _capture(line, row, collection, path, number, base) if line.strip() else None

    yield from read_lines(path, row, collection, entry)


def _capture(
    line: bytes, row: InputRow, collection: str, path: Path, number: int, base: str
) -> Capture:
    try:
        said = _object(line)
        place, url, moment = _where(said, row, path.parent, base)
        digest = _digest(said)
    except ValueError as error:
        detail = f"line {number + 1}: {error}"
        return damaged_line(row, collection, path, number, Reason.BAD_INDEX_LINE, detail)
    return Capture(
        id=f"{row.input_id}-{number:012x}",
        input_id=row.input_id,
        place=place,
        url=url,
        captured_at=moment,
        record_type="file" if place.kind is PlaceKind.FILE else "response",
        collection=collection,
        mime=_text(said, "mimetype"),
        digest=digest,
    )


def _object(line: bytes) -> dict[str, Any]:
    try:
        found = msgspec.json.decode(line)
    except (msgspec.MsgspecError, RecursionError) as error:
        raise ValueError(f"not JSON: {error}") from error
    inner = found.get("source") if isinstance(found, dict) else None
    if isinstance(inner, dict):
        found = {"sha1hex": found.get("sha1hex"), **inner}
    if not isinstance(found, dict):
        raise ValueError("not a JSON object")
    return found


def _where(
    said: Mapping[str, Any], row: InputRow, folder: Path, base: str
) -> tuple[Place, str, datetime]:
    """Where the bytes are, under which address and when they were there. Raises ValueError."""
    url, datetime14 = _text(said, "url"), _text(said, "datetime")
    warc, offset = _text(said, "warc_path"), _number(said, "warc_offset")
    item = _text(said, "item") or _text(said, "petabox_item")
    local = _text(said, "path") or _text(said, "petabox_path")
    moment = from_datetime14(datetime14) if datetime14 else row.updated
    if warc and url and offset is not None:
        place = Place(
            PlaceKind.WARC, _below(warc, folder, base), offset, _number(said, "warc_csize")
        )
        return place, url, moment
    if url and datetime14:
        return Place(PlaceKind.REPLAY, f"{datetime14}/{url}"), url, moment
    if item and local:
        address = ITEM_ADDRESS.format(item=quote(item), path=quote(local))
        return Place(PlaceKind.PETABOX, f"{item}/{local}"), url or address, moment
    if local:
        found = _below(local, folder, base)
        return Place(PlaceKind.FILE, found), url or Path(found).absolute().as_uri(), moment
    raise ValueError("no place: it needs url and datetime, item and path, or path")


def _below(name: str, folder: Path, base: str) -> str:
    found = find_below(name, folder, base)
    if found is None:
        raise ValueError(f"{name!r} names no file")
    return found


def _digest(said: Mapping[str, Any]) -> str | None:
    text = _text(said, "sha1hex")
    if text is None:
        return None
    raw = sha1_from_text(text)
    if raw is None:
        raise ValueError(f"sha1hex is {text[:60]!r}, no SHA-1")
    return sha1_base32(raw)


def _text(said: Mapping[str, Any], name: str) -> str | None:
    value = said.get(name)
    if value is None or (isinstance(value, str) and not value):
        return None
    if not isinstance(value, str) or len(value) > 8_000:
        raise ValueError(f"{name} is no text of usual length")
    return value


def _number(said: Mapping[str, Any], name: str) -> int | None:
    value = said.get(name)
    if value is None:
        return None
    if not isinstance(value, int) or isinstance(value, bool) or not 0 <= value < 2**62:
        raise ValueError(f"{name} is no number of bytes")
    return value
