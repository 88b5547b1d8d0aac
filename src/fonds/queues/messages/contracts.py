"""Which payloads have a form of their own on the wire, and the JSON Schemas of those forms.

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
    """How a payload is written for everybody, and read from anybody.

    `schema` is the name of its JSON Schema in `docs/wire.md`; None for what is no JSON. `is_work_topic`: what
    others put on its topic is work, and enters as what it says it is. `large_field`: the field that may lie
    in a blob where the message is too large for the topic.
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
"""By the type of the payload; all others are internal, and their fields are their JSON."""

_OBJECTS: Mapping[str, tuple[type[msgspec.Struct], ...]] = {
    "work-object": (WorkObject,),
    "unextracted": (WorkObject, work_objects.KnownObject),
    "pdf-text": (results.PdfTextObject,),
    "grobid-output": (results.GrobidOutputObject,),
}
_FONDS_OBJECT_SCHEMA = {
    "type": "object",
    "description": "the capture as Fonds knows it; not part of the contract",
}
_NON_EMPTY = {"not": {"enum": [None, ""]}}
_INTERNAL = ("Capture", "Place", "PlaceKind", "Reason")


def list_published_blob_keys(sha1hex: str) -> list[str]:
    """The keys of the blobs that messages about a file may refer to."""
    fields = [one.large_field for one in CONTRACTS.values()]
    return [field.build_key(sha1hex) for field in fields if field is not None]


def build_schemas() -> dict[str, dict[str, Any]]:
    """The JSON Schema of every form, by its name, each complete in itself."""
    return {name: _build_schema(name, kinds) for name, kinds in _OBJECTS.items()}


def _build_schema(name: str, kinds: tuple[type[msgspec.Struct], ...]) -> dict[str, Any]:
    of, parts = msgspec.json.schema_components(kinds, ref_template="#/$defs/{name}")
    parts = {
        one: _shorten_schema(part) for one, part in sorted(parts.items()) if one not in _INTERNAL
    }
    title = {"$schema": DIALECT, "$id": f"urn:fonds:schema:{name}", "title": name}
    whole: dict[str, Any] = {"allOf": list(of)}
    if len(kinds) == 1:
        whole = parts.pop(kinds[0].__name__)
    return title | whole | ({"$defs": parts} if parts else {})


def _shorten_schema(part: dict[str, Any]) -> dict[str, Any]:
    """The same in fewer words; of an object that names a place, what it needs for that."""
    rest = {one: value for one, value in part.items() if one != "title" and value != []}
    if "description" in rest:
        rest["description"] = " ".join(str(rest["description"]).split())
    if "properties" in rest:
        found = {one: _simplify_nullable(value) for one, value in rest["properties"].items()}
        rest["properties"] = found | (
            {"capture": _FONDS_OBJECT_SCHEMA} if "capture" in found else {}
        )
        if "warc_path" in found:
            rest["anyOf"] = [
                {"required": list(needs), "properties": dict.fromkeys(needs, _NON_EMPTY)}
                for needs in (*SHAPES.values(), PETABOX_NAMES)
            ]
    return rest


def _simplify_nullable(value: dict[str, Any]) -> dict[str, Any]:
    """One type or null, said in one line where it is not another object."""
    first, *others = value.get("anyOf", [{}])
    if others != [{"type": "null"}]:
        return value
    if "type" in first:
        return {**first, "type": [first["type"], "null"]}
    return {"anyOf": [first, *others]}
