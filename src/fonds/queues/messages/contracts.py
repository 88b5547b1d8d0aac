"""Formats of the messages on public topics, one for each type of payload, with their JSON Schemas.

Source: JSON Schema, draft 2020-12.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any

import msgspec

from fonds.model.file import UnextractedPdf
from fonds.model.message import Message
from fonds.model.paper import GrobidOutput, UngrobidedPdf
from fonds.model.pdf import PdfText, Thumbnail
from fonds.queues.messages import results, work_objects
from fonds.queues.messages.large_field import LargeField
from fonds.queues.messages.work_objects import PETABOX_NAMES, SHAPES, WorkObject

DIALECT = "https://json-schema.org/draft/2020-12/schema"


@dataclass(frozen=True, slots=True)
class Contract:
    """Public message format of one payload type.

    - `schema`: name of the JSON Schema in `docs/wire.md`; None for payloads that are not JSON.
    - `encode`: converts a payload to the body of a message.
    - `decode`: converts a message to a payload.
    - `is_work_topic`: whether messages of other programs on this topic are tasks, which give the
      location of a file.
    - `large_field`: field that is stored as a blob if the message is too large for the topic; None
      if there is no such field.
    """

    schema: str | None
    encode: Callable[[Any], bytes]
    decode: Callable[[Message, str | None], object]
    is_work_topic: bool = False
    large_field: LargeField | None = None


CONTRACTS: Mapping[type, Contract] = MappingProxyType(
    {
        UnextractedPdf: Contract(
            "unextracted",
            work_objects.encode_unextracted,
            work_objects.decode_unextracted,
            is_work_topic=True,
        ),
        UngrobidedPdf: Contract(
            "unextracted",
            work_objects.encode_unextracted,
            work_objects.decode_grobid_message,
            is_work_topic=True,
        ),
        GrobidOutput: Contract(
            "grobid-output",
            results.encode_body,
            results.decode_message,
            large_field=results.TEI,
        ),
        PdfText: Contract(
            "pdf-text", results.encode_pdf_text, results.decode_pdf_text, large_field=results.TEXT
        ),
        Thumbnail: Contract(None, results.encode_thumbnail, results.decode_thumbnail),
    }
)
"""Public format of each payload type. Payloads of all other types are internal: their JSON has the
fields of the type.
"""

_OBJECTS: Mapping[str, tuple[type[msgspec.Struct], ...]] = {
    "work-object": (WorkObject,),
    "unextracted": (WorkObject, work_objects.KnownObject),
    "pdf-text": (results.PdfTextObject,),
    "grobid-output": (results.GrobidOutputObject,),
}
_FONDS_OBJECT_SCHEMA = {
    "type": "object",
    "description": "the capture as recorded by Fonds; not part of the contract",
}
_NON_EMPTY = {"not": {"enum": [None, ""]}}
_INTERNAL = ("Capture", "Place", "PlaceKind", "Reason")


def list_published_blob_keys(sha1hex: str) -> list[str]:
    """Return the keys of all blobs to which public messages about one file may refer.

    `sha1hex` is the SHA-1 of the file. There is one key for each message format with a large field,
    and the blobs need not exist.
    """
    fields = [contract.large_field for contract in CONTRACTS.values()]
    return [field.build_key(sha1hex) for field in fields if field is not None]


def build_schemas() -> dict[str, dict[str, Any]]:
    """Return the JSON Schema of every public message format, by name. Each schema is
    self-contained.
    """
    return {name: _build_schema(name, kinds) for name, kinds in _OBJECTS.items()}


def _build_schema(name: str, kinds: tuple[type[msgspec.Struct], ...]) -> dict[str, Any]:
    alternatives, parts = msgspec.json.schema_components(kinds, ref_template="#/$defs/{name}")
    parts = {
        part_name: _shorten_schema(part)
        for part_name, part in sorted(parts.items())
        if part_name not in _INTERNAL
    }
    title = {"$schema": DIALECT, "$id": f"urn:fonds:schema:{name}", "title": name}
    body: dict[str, Any] = {"allOf": list(alternatives)}
    if len(kinds) == 1:
        body = parts.pop(kinds[0].__name__)
    return title | body | ({"$defs": parts} if parts else {})


def _shorten_schema(part: dict[str, Any]) -> dict[str, Any]:
    """Return a simplified JSON Schema of one object type.

    For objects that give the location of a file, the alternatives of required fields are added.
    """
    short_schema = {
        keyword: value for keyword, value in part.items() if keyword != "title" and value != []
    }
    if "description" in short_schema:
        short_schema["description"] = " ".join(str(short_schema["description"]).split())
    if "properties" in short_schema:
        properties = {
            keyword: _simplify_nullable(value)
            for keyword, value in short_schema["properties"].items()
        }
        short_schema["properties"] = properties | (
            {"capture": _FONDS_OBJECT_SCHEMA} if "capture" in properties else {}
        )
        if "warc_path" in properties:
            short_schema["anyOf"] = [
                {"required": list(needs), "properties": dict.fromkeys(needs, _NON_EMPTY)}
                for needs in (*SHAPES.values(), PETABOX_NAMES)
            ]
    return short_schema


def _simplify_nullable(value: dict[str, Any]) -> dict[str, Any]:
    """Return the JSON Schema of a field with "one type or null" as a list of types.

    Other schemas are returned unchanged, and so is a reference to the schema of an object.
    """
    first, *alternatives = value.get("anyOf", [{}])
    if alternatives != [{"type": "null"}]:
        return value
    if "type" in first:
        return {**first, "type": [first["type"], "null"]}
    return {"anyOf": [first, *alternatives]}
