"""Work objects: JSON that says where a file is; the messages of `unextracted`, and lines of lists of tasks.

Source: seed 003 and the work topics of the systems it describes.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Any

import msgspec
from msgspec import Meta

from fonds.model.capture import Capture, PlaceKind, from_datetime14
from fonds.model.keys import sha1_from_text
from fonds.model.prepared import prepared
from fonds.model.task import Task

TEXT_MAX_CHARS = 8_000
BYTES_MAX = 2**62 - 1

SHAPES: Mapping[PlaceKind, tuple[str, ...]] = {
    PlaceKind.WARC: ("url", "warc_path", "warc_offset"),
    PlaceKind.REPLAY: ("url", "datetime"),
    PlaceKind.PETABOX: ("item", "path"),
    PlaceKind.FILE: ("path",),
}
"""What an object needs to name a place; the first that is all there counts."""

PETABOX_NAMES = ("petabox_item", "petabox_path")
"""Other names of the same two fields."""

Text = Annotated[str, Meta(max_length=TEXT_MAX_CHARS)]
ByteCount = Annotated[int, Meta(ge=0, le=BYTES_MAX)]
Moment = Annotated[str, Meta(description="YYYYMMDDhhmmss in UTC")]
AnySha1 = Annotated[
    str, Meta(max_length=60, description="SHA-1 in hex, or in base32; `sha1:` may stand before it")
]


class WorkObject(msgspec.Struct, frozen=True, omit_defaults=True, kw_only=True):
    """Where a file is: a CDX object (`url`, `datetime`, and `warc_path`, `warc_offset`, `warc_csize` where
    the WARC is at hand), a petabox object (`item`, `path`), or a local file (`path`).

    Absent, null and empty are the same. Of `file_meta` only `sha1hex` and `mimetype` are read.
    """

    sha1hex: AnySha1 | None = None
    mimetype: Text | None = None
    url: Text | None = None
    datetime: Moment | None = None
    warc_path: Text | None = None
    warc_offset: ByteCount | None = None
    warc_csize: ByteCount | None = None
    item: Text | None = None
    path: Text | None = None
    petabox_item: Annotated[Text, Meta(description="another name of `item`")] | None = None
    petabox_path: Annotated[Text, Meta(description="another name of `path`")] | None = None
    member: Annotated[Text, Meta(description="name within the ZIP file at `path`")] | None = None
    collection: Text | None = None
    file_meta: Mapping[str, Any] | None = None


def of_capture(capture: Capture, sha1hex: str, mime: str) -> WorkObject:
    """The work object that names the place of a capture's bytes.

    With URL and time it is a capture of the web to everybody: what is none has no time.
    """
    named = _of_place(capture)
    return WorkObject(sha1hex=sha1hex, mimetype=mime, url=capture.url, **named)


def _of_place(capture: Capture) -> dict[str, Any]:
    place = capture.place
    if place.kind is PlaceKind.WARC:
        sizes = {"warc_offset": place.offset, "warc_csize": place.size_bytes}
        return {"datetime": capture.datetime14, "warc_path": place.path} | sizes
    if place.kind is PlaceKind.PETABOX:
        item, _, path = place.path.partition("/")
        return {"item": item, "path": path}
    if place.kind is PlaceKind.REPLAY:
        return {"datetime": place.path.partition("/")[0]}
    return {"path": place.path, "member": place.member}


def read_task(data: bytes, *, key: str = "", id: str = "") -> Task:  # noqa: A002
    """The task a JSON object is, or the one it has under `source`; `key` may state the file's SHA-1.

    Raises ValueError with a sentence about what cannot be understood.
    """
    said = _convert(_unwrapped(data))
    named = {
        "url": said.url,
        "datetime": said.datetime,
        "warc_path": said.warc_path,
        "warc_offset": said.warc_offset,
        "item": said.item or said.petabox_item,
        "path": said.path or said.petabox_path,
    }
    kind = next((one for one, needs in SHAPES.items() if _has(named, needs)), None)
    if kind is None:
        raise ValueError("no place: it needs url and datetime, item and path, or path")
    if said.datetime:
        from_datetime14(said.datetime)
    return Task(
        kind=kind,
        path=str((said.warc_path if kind is PlaceKind.WARC else named["path"]) or ""),
        offset=said.warc_offset or 0,
        size_bytes=said.warc_csize,
        item=str(named["item"] or ""),
        url=said.url or "",
        datetime14=said.datetime or None,
        sha1hex=_stated_sha1(said, key),
        mime=said.mimetype or _stated(said, "mimetype"),
        collection=said.collection or "default",
        id=id,
    )


def _unwrapped(data: bytes) -> dict[str, Any]:
    try:
        found = msgspec.json.decode(data)
    except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError) as error:
        raise ValueError(f"not JSON: {error}") from error
    inner = found.get("source") if isinstance(found, dict) else None
    if isinstance(inner, dict):
        outer = {name: found.get(name) for name in ("sha1hex", "file_meta")}
        found = outer | {name: value for name, value in inner.items() if value is not None}
    if not isinstance(found, dict):
        raise ValueError("not a JSON object")
    return found


def _convert(found: dict[str, Any]) -> WorkObject:
    try:
        return msgspec.convert(found, prepared(WorkObject))
    except msgspec.ValidationError as error:
        told, _, where = str(error).partition(" - at ")
        raise ValueError(f"{where.strip('`').removeprefix('$.')}: {told}") from error


def _has(named: Mapping[str, object], needs: tuple[str, ...]) -> bool:
    return all(named[name] not in (None, "") for name in needs)


def _stated(said: WorkObject, name: str) -> str | None:
    value = (said.file_meta or {}).get(name)
    return value[:TEXT_MAX_CHARS] if isinstance(value, str) and value else None


def _stated_sha1(said: WorkObject, key: str) -> str | None:
    """The file's SHA-1 in hex, wherever it stands. Raises ValueError for what is none, and for two."""
    found = {}
    for name, text in (("sha1hex", said.sha1hex), ("file_meta", _stated(said, "sha1hex"))):
        raw = sha1_from_text(text) if text else None
        if text and raw is None:
            raise ValueError(f"{name} is {text[:60]!r}, no SHA-1")
        if raw:
            found[name] = raw.hex()
    by_key = sha1_from_text(key)
    if by_key:
        found["key"] = by_key.hex()
    if len(set(found.values())) > 1:
        names = ", ".join(f"{name} {value}" for name, value in found.items())
        raise ValueError(f"it names more than one file: {names}")
    return next(iter(found.values()), None)
