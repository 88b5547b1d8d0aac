"""Work objects: JSON that says where a file is; the messages of `unextracted`, and lines of lists of tasks.

Source: seed 003 and the work topics of the systems it describes.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from contextlib import suppress
from datetime import datetime
from typing import Annotated, Any, TypeVar

import msgspec
from msgspec import Meta

from fonds.model.capture import Capture, PlaceKind, parse_datetime14
from fonds.model.disposition import Reason
from fonds.model.encoding import prepare_type
from fonds.model.errors import DamagedInputError
from fonds.model.file import FileMeta, UnextractedPdf
from fonds.model.keys import parse_sha1
from fonds.model.message import PIPELINE, Message
from fonds.model.paper import UngrobidedPdf
from fonds.model.task import Task

TEXT_MAX_CHARS = 8_000
MAX_BYTES = 2**62 - 1

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
ByteCount = Annotated[int, Meta(ge=0, le=MAX_BYTES)]
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


def build_work_object(capture: Capture, sha1hex: str, mime: str) -> WorkObject:
    """The work object that names the place of a capture's bytes.

    With URL and time it is a capture of the web to everybody: what is none has no time.
    """
    named = _build_place_fields(capture)
    return WorkObject(sha1hex=sha1hex, mimetype=mime, url=capture.url, **named)


def _build_place_fields(capture: Capture) -> dict[str, Any]:
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
    said = _convert(_unwrap(data))
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
        parse_datetime14(said.datetime)
    return Task(
        kind=kind,
        path=str((said.warc_path if kind is PlaceKind.WARC else named["path"]) or ""),
        offset=said.warc_offset or 0,
        size_bytes=said.warc_csize,
        item=str(named["item"] or ""),
        url=said.url or "",
        datetime14=said.datetime or None,
        sha1hex=_find_sha1(said, key),
        mime=said.mimetype or _get_field(said, "mimetype"),
        collection=said.collection or "default",
        id=id,
    )


def _unwrap(data: bytes) -> dict[str, Any]:
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
        return msgspec.convert(found, prepare_type(WorkObject))
    except msgspec.ValidationError as error:
        told, _, where = str(error).partition(" - at ")
        raise ValueError(f"{where.strip('`').removeprefix('$.')}: {told}") from error


def _has(fields: Mapping[str, object], needs: tuple[str, ...]) -> bool:
    return all(fields[name] not in (None, "") for name in needs)


def _get_field(work_object: WorkObject, name: str) -> str | None:
    value = (work_object.file_meta or {}).get(name)
    return value[:TEXT_MAX_CHARS] if isinstance(value, str) and value else None


def _find_sha1(work_object: WorkObject, key: str) -> str | None:
    """The file's SHA-1 in hex, wherever it stands. Raises ValueError for what is none, and for two."""
    found = {}
    for name, text in (
        ("sha1hex", work_object.sha1hex),
        ("file_meta", _get_field(work_object, "sha1hex")),
    ):
        raw = parse_sha1(text) if text else None
        if text and raw is None:
            raise ValueError(f"{name} is {text[:60]!r}, no SHA-1")
        if raw:
            found[name] = raw.hex()
    by_key = parse_sha1(key)
    if by_key:
        found["key"] = by_key.hex()
    if len(set(found.values())) > 1:
        names = ", ".join(f"{name} {value}" for name, value in found.items())
        raise ValueError(f"it names more than one file: {names}")
    return next(iter(found.values()), None)


# `file_meta` on the wire, under the names of the SQL table of the same name.
#
# Source: seed 003, `file_meta`.


Sha1Hex = Annotated[str, Meta(pattern="^[0-9a-f]{40}$", description="SHA-1 in lower-case hex")]


class FileMetaObject(msgspec.Struct, frozen=True, kw_only=True):
    """Hashes in lower-case hex, size in bytes, and the normalised type of a file."""

    sha1hex: Sha1Hex
    sha256hex: Annotated[str, Meta(pattern="^[0-9a-f]{64}$")]
    md5hex: Annotated[str, Meta(pattern="^[0-9a-f]{32}$")]
    size_bytes: Annotated[int, Meta(ge=0)]
    mimetype: str
    magic: Annotated[str, Meta(description="what the bytes are, in words; ours")] = ""
    magic_mime: Annotated[str, Meta(description="the type by the bytes alone; ours")] = ""


def encode_file_meta(file: FileMeta) -> FileMetaObject:
    """A file under the names others read."""
    return FileMetaObject(
        sha1hex=file.sha1,
        sha256hex=file.sha256,
        md5hex=file.md5,
        size_bytes=file.size,
        mimetype=file.mime,
        magic=file.magic,
        magic_mime=file.magic_mime,
    )


def choose_mime(file: FileMeta | None, source: Capture) -> str:
    """The type of the file, else the type its capture declares; "" without either."""
    return file.mime if file else source.mime or ""


def decode_file_meta(encoded: FileMetaObject) -> FileMeta:
    """The file again."""
    return FileMeta(
        size=encoded.size_bytes,
        mime=encoded.mimetype,
        magic=encoded.magic,
        magic_mime=encoded.magic_mime,
        sha1=encoded.sha1hex,
        md5=encoded.md5hex,
        sha256=encoded.sha256hex,
    )


# The messages of `unextracted` and `ungrobided`: work objects, ours with what is known of the file.
#
# Source: seed 003, "extraction work queue kafka topic".


KnownItemT = TypeVar("KnownItemT", UnextractedPdf, UngrobidedPdf)


class KnownObject(msgspec.Struct, frozen=True, omit_defaults=True, kw_only=True):
    """What Fonds adds to a work object of its own: all that is known of the file.

    What was known before the moment `after` does not count.
    """

    file_meta: FileMetaObject
    capture: Capture
    after: datetime | None = None


def encode_unextracted(item: UnextractedPdf | UngrobidedPdf) -> bytes:
    """The body of its message."""
    known = KnownObject(
        file_meta=encode_file_meta(item.file), capture=item.capture, after=item.after
    )
    named = build_work_object(item.capture, item.file.sha1, item.file.mime)
    return msgspec.json.encode(msgspec.to_builtins(named) | msgspec.to_builtins(known))


def decode_unextracted(message: Message, tag: str | None = None) -> UnextractedPdf | Task:
    """What is known, of a message of ours; a task, of anybody else's, whatever fields it has.

    Raises DamagedInputError (`bad-message`) with a sentence.
    """
    return _read(message, UnextractedPdf)


def decode_grobid_message(message: Message, tag: str | None = None) -> UngrobidedPdf | Task:
    """The same of the topic `ungrobided`."""
    return _read(message, UngrobidedPdf)


def _read(
    message: Message, build_known: Callable[[Capture, FileMeta, datetime | None], KnownItemT]
) -> KnownItemT | Task:
    if PIPELINE in message.headers:
        # Others may name the pipeline they mean: theirs is a task all the same.
        with suppress(msgspec.MsgspecError, UnicodeDecodeError, RecursionError):
            found = msgspec.json.decode(message.body, type=prepare_type(KnownObject))
            return build_known(found.capture, decode_file_meta(found.file_meta), found.after)
    try:
        return read_task(message.body, key=message.key, id=message.entry)
    except ValueError as error:
        raise DamagedInputError(Reason.BAD_MESSAGE, f"no work object: {error}") from error
