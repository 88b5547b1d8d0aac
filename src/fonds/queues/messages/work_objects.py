"""Work objects: JSON objects that give the location of a file.

They are the messages on the topics `unextracted` and `ungrobided`, and the lines of task lists.
Work objects that Fonds sends also have the metadata that Fonds stores for the file.

Source: seed document 003 (`file_meta`, "extraction work queue kafka topic") and the work topics of
the systems it describes.
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
"""Fields that a work object needs to name the location of a file, by kind of location. The first
kind whose fields are all present is used.
"""

PETABOX_NAMES = ("petabox_item", "petabox_path")
"""Alternative names of the fields `item` and `path` of a work object, for a file in a petabox
item.
"""

Text = Annotated[str, Meta(max_length=TEXT_MAX_CHARS)]
ByteCount = Annotated[int, Meta(ge=0, le=MAX_BYTES)]
Moment = Annotated[str, Meta(description="YYYYMMDDhhmmss in UTC")]
AnySha1 = Annotated[
    str,
    Meta(max_length=60, description="SHA-1 in hex or base32, optionally with the prefix `sha1:`"),
]


class WorkObject(msgspec.Struct, frozen=True, omit_defaults=True, kw_only=True):
    """Location of a file. One of:
    - a CDX object: `url`, `datetime`, and `warc_path`, `warc_offset`, `warc_csize` where the WARC
      is available
    - a petabox object: `item`, `path`
    - a local file: `path`

    Absent, null and empty mean the same. Of `file_meta` only `sha1hex` and `mimetype` are read.
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
    """Return the work object (a JSON object with a file location) for the bytes of a capture.

    Programs that read work objects take `url` with `datetime` for a web capture. So other kinds of
    location have no `datetime`.
    """
    place_fields = _build_place_fields(capture)
    return WorkObject(sha1hex=sha1hex, mimetype=mime, url=capture.url, **place_fields)


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
    """Parse a task (the location of a file to process) from JSON bytes.

    The JSON is a work object, or an object that has one in its field `source`. `key` is the message
    key, which may be the SHA-1 of the file. `id` becomes the id of the task. Raises ValueError if
    the JSON is invalid, names no location, or names two files.
    """
    work_object = _convert(_unwrap(data))
    location_fields = {
        "url": work_object.url,
        "datetime": work_object.datetime,
        "warc_path": work_object.warc_path,
        "warc_offset": work_object.warc_offset,
        "item": work_object.item or work_object.petabox_item,
        "path": work_object.path or work_object.petabox_path,
    }
    kind = next(
        (place_kind for place_kind, needs in SHAPES.items() if _has(location_fields, needs)), None
    )
    if kind is None:
        raise ValueError("no location: give url and datetime, item and path, or path")
    if work_object.datetime:
        parse_datetime14(work_object.datetime)
    return Task(
        kind=kind,
        path=str(
            (work_object.warc_path if kind is PlaceKind.WARC else location_fields["path"]) or ""
        ),
        offset=work_object.warc_offset or 0,
        size_bytes=work_object.warc_csize,
        item=str(location_fields["item"] or ""),
        url=work_object.url or "",
        datetime14=work_object.datetime or None,
        sha1hex=_find_sha1(work_object, key),
        mime=work_object.mimetype or _get_field(work_object, "mimetype"),
        collection=work_object.collection or "default",
        id=id,
    )


def _unwrap(data: bytes) -> dict[str, Any]:
    try:
        json_value = msgspec.json.decode(data)
    except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError) as error:
        raise ValueError(f"not JSON: {error}") from error
    inner = json_value.get("source") if isinstance(json_value, dict) else None
    if isinstance(inner, dict):
        outer = {name: json_value.get(name) for name in ("sha1hex", "file_meta")}
        json_value = outer | {name: value for name, value in inner.items() if value is not None}
    if not isinstance(json_value, dict):
        raise ValueError("not a JSON object")
    return json_value


def _convert(fields: dict[str, Any]) -> WorkObject:
    try:
        return msgspec.convert(fields, prepare_type(WorkObject))
    except msgspec.ValidationError as error:
        problem, _, location = str(error).partition(" - at ")
        raise ValueError(f"{location.strip('`').removeprefix('$.')}: {problem}") from error


def _has(fields: Mapping[str, object], needs: tuple[str, ...]) -> bool:
    return all(fields[name] not in (None, "") for name in needs)


def _get_field(work_object: WorkObject, name: str) -> str | None:
    value = (work_object.file_meta or {}).get(name)
    return value[:TEXT_MAX_CHARS] if isinstance(value, str) and value else None


def _find_sha1(work_object: WorkObject, key: str) -> str | None:
    """Return the SHA-1 of a work object's file in hexadecimal; None if it is not stated.

    It may be in `sha1hex`, in `file_meta` or in the message key. Raises ValueError if a field is
    not a SHA-1, or if they differ.
    """
    hashes = {}
    for name, text in (
        ("sha1hex", work_object.sha1hex),
        ("file_meta", _get_field(work_object, "sha1hex")),
    ):
        raw = parse_sha1(text) if text else None
        if text and raw is None:
            raise ValueError(f"{name} is {text[:60]!r}, not a SHA-1")
        if raw:
            hashes[name] = raw.hex()
    by_key = parse_sha1(key)
    if by_key:
        hashes["key"] = by_key.hex()
    if len(set(hashes.values())) > 1:
        names = ", ".join(f"{name} {value}" for name, value in hashes.items())
        raise ValueError(f"names more than one file: {names}")
    return next(iter(hashes.values()), None)


# `file_meta` in messages uses the names of the SQL table of the same name.


Sha1Hex = Annotated[str, Meta(pattern="^[0-9a-f]{40}$", description="SHA-1 in lower-case hex")]


class FileMetaObject(msgspec.Struct, frozen=True, kw_only=True):
    """Hashes in lower-case hex, size in bytes, and the normalised type of a file."""

    sha1hex: Sha1Hex
    sha256hex: Annotated[str, Meta(pattern="^[0-9a-f]{64}$")]
    md5hex: Annotated[str, Meta(pattern="^[0-9a-f]{32}$")]
    size_bytes: Annotated[int, Meta(ge=0)]
    mimetype: str
    magic: Annotated[str, Meta(description="description of the bytes; added by Fonds")] = ""
    magic_mime: Annotated[
        str, Meta(description="media type detected from the bytes; added by Fonds")
    ] = ""


def encode_file_meta(file: FileMeta) -> FileMetaObject:
    """Convert a file's hashes, size and type to the object with their names in public messages."""
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
    """Return the media type that Fonds detected for a file.

    If it is unknown, return the type that the capture declares, or '' if it declares none.
    """
    return file.mime if file else source.mime or ""


def decode_file_meta(meta_object: FileMetaObject) -> FileMeta:
    """Convert the object with a file's hashes, size and type from a public message to a
    FileMeta.
    """
    return FileMeta(
        size=meta_object.size_bytes,
        mime=meta_object.mimetype,
        magic=meta_object.magic,
        magic_mime=meta_object.magic_mime,
        sha1=meta_object.sha1hex,
        md5=meta_object.md5hex,
        sha256=meta_object.sha256hex,
    )


KnownItemT = TypeVar("KnownItemT", UnextractedPdf, UngrobidedPdf)


class KnownObject(msgspec.Struct, frozen=True, omit_defaults=True, kw_only=True):
    """Fields that Fonds adds to its own work objects: all that is known of the file.

    Results from before `after` do not count.
    """

    file_meta: FileMetaObject
    capture: Capture
    after: datetime | None = None


def encode_unextracted(item: UnextractedPdf | UngrobidedPdf) -> bytes:
    """Return the JSON body of a message that requests the extraction of a known PDF."""
    known_object = KnownObject(
        file_meta=encode_file_meta(item.file), capture=item.capture, after=item.after
    )
    work_object = build_work_object(item.capture, item.file.sha1, item.file.mime)
    return msgspec.json.encode(msgspec.to_builtins(work_object) | msgspec.to_builtins(known_object))


def decode_unextracted(message: Message, tag: str | None = None) -> UnextractedPdf | Task:
    """Return the payload of a message on `unextracted`, which requests the extraction of a PDF.

    It is an UnextractedPdf if Fonds sent the message, otherwise a Task. `tag` is not used. Raises
    DamagedInputError (`bad-message`) if the message is invalid.
    """
    return _read(message, UnextractedPdf)


def decode_grobid_message(message: Message, tag: str | None = None) -> UngrobidedPdf | Task:
    """Return the payload of a message on `ungrobided`, which requests that GROBID reads a PDF.

    It is an UngrobidedPdf if Fonds sent the message, otherwise a Task. `tag` is not used. Raises
    DamagedInputError (`bad-message`) if the message is invalid.
    """
    return _read(message, UngrobidedPdf)


def _read(
    message: Message, build_known: Callable[[Capture, FileMeta, datetime | None], KnownItemT]
) -> KnownItemT | Task:
    if PIPELINE in message.headers:
        # Other programs may also set the pipeline header; their message is still a task.
        with suppress(msgspec.MsgspecError, UnicodeDecodeError, RecursionError):
            known_object = msgspec.json.decode(message.body, type=prepare_type(KnownObject))
            return build_known(
                known_object.capture, decode_file_meta(known_object.file_meta), known_object.after
            )
    try:
        return read_task(message.body, key=message.key, id=message.entry)
    except ValueError as error:
        raise DamagedInputError(Reason.BAD_MESSAGE, f"not a work object: {error}") from error
