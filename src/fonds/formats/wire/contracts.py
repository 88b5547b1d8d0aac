"""Which payloads have a form of their own on the wire, and the JSON Schemas of those forms.

Source: JSON Schema, draft 2020-12.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any

import msgspec

from fonds.formats.wire import grobid_output, pdf_text, thumbnail, unextracted
from fonds.formats.wire.large_field import LargeField
from fonds.formats.wire.work_object import PETABOX_NAMES, SHAPES, WorkObject
from fonds.model.file import Unextracted
from fonds.model.message import Message
from fonds.model.paper import GrobidOutput, Ungrobided
from fonds.model.pdf import PdfText, Thumbnail

DIALECT = "https://json-schema.org/draft/2020-12/schema"


@dataclass(frozen=True, slots=True)
class Contract:
    """How a payload is written for everybody, and read from anybody.

    `schema` is the name of its JSON Schema in `docs/wire.md`; None for what is no JSON. `asks`: what
    others put on its topic is work, and enters as what it says it is. `large_field`: the field that may lie
    in a blob where the message is too large for the topic.
    """

    schema: str | None
    to_wire: Callable[[Any], bytes]
    from_wire: Callable[[Message, str | None], object]
    asks: bool = False
    large_field: LargeField | None = None


CONTRACTS: Mapping[type, Contract] = MappingProxyType(
    {
        Unextracted: Contract("unextracted", unextracted.to_wire, unextracted.from_wire, asks=True),
        Ungrobided: Contract(
            "unextracted", unextracted.to_wire, unextracted.from_wire_for_grobid, asks=True
        ),
        GrobidOutput: Contract(
            "grobid-output",
            grobid_output.to_wire,
            grobid_output.from_wire,
            large_field=grobid_output.TEI,
        ),
        PdfText: Contract(
            "pdf-text", pdf_text.to_wire, pdf_text.from_wire, large_field=pdf_text.TEXT
        ),
        Thumbnail: Contract(None, thumbnail.to_wire, thumbnail.from_wire),
    }
)
"""By the type of the payload; all others are internal, and their fields are their JSON."""

_OBJECTS: Mapping[str, tuple[type[msgspec.Struct], ...]] = {
    "work-object": (WorkObject,),
    "unextracted": (WorkObject, unextracted.KnownObject),
    "pdf-text": (pdf_text.PdfTextObject,),
    "grobid-output": (grobid_output.GrobidOutputObject,),
}
_OUR_OWN = {
    "type": "object",
    "description": "the capture as Fonds knows it; not part of the contract",
}
_SAID = {"not": {"enum": [None, ""]}}
_INTERNAL = ("Capture", "Place", "PlaceKind", "Reason")


def published_blob_keys(sha1hex: str) -> list[str]:
    """The keys of the blobs that messages about a file may refer to."""
    fields = [one.large_field for one in CONTRACTS.values()]
    return [field.key(sha1hex) for field in fields if field is not None]


def schemas() -> dict[str, dict[str, Any]]:
    """The JSON Schema of every form, by its name, each complete in itself."""
    return {name: _schema(name, kinds) for name, kinds in _OBJECTS.items()}


def _schema(name: str, kinds: tuple[type[msgspec.Struct], ...]) -> dict[str, Any]:
    of, parts = msgspec.json.schema_components(kinds, ref_template="#/$defs/{name}")
    parts = {one: _short(part) for one, part in sorted(parts.items()) if one not in _INTERNAL}
    title = {"$schema": DIALECT, "$id": f"urn:fonds:schema:{name}", "title": name}
    whole: dict[str, Any] = {"allOf": list(of)}
    if len(kinds) == 1:
        whole = parts.pop(kinds[0].__name__)
    return title | whole | ({"$defs": parts} if parts else {})


def _short(part: dict[str, Any]) -> dict[str, Any]:
    """The same in fewer words; of an object that names a place, what it needs for that."""
    rest = {one: value for one, value in part.items() if one != "title" and value != []}
    if "description" in rest:
        rest["description"] = " ".join(str(rest["description"]).split())
    if "properties" in rest:
        found = {one: _nullable(value) for one, value in rest["properties"].items()}
        rest["properties"] = found | ({"capture": _OUR_OWN} if "capture" in found else {})
        if "warc_path" in found:
            rest["anyOf"] = [
                {"required": list(needs), "properties": dict.fromkeys(needs, _SAID)}
                for needs in (*SHAPES.values(), PETABOX_NAMES)
            ]
    return rest


def _nullable(value: dict[str, Any]) -> dict[str, Any]:
    """One type or null, said in one line where it is not another object."""
    first, *others = value.get("anyOf", [{}])
    if others != [{"type": "null"}]:
        return value
    if "type" in first:
        return {**first, "type": [first["type"], "null"]}
    return {"anyOf": [first, *others]}
