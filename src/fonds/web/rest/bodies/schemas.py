"""What bodies look like, for the description of the API: made of the types that read them."""

from __future__ import annotations

from typing import Any

import msgspec

from fonds.collections.configurations import ALGORITHMS, Configuration
from fonds.web.rest.bodies.documents import DOCUMENTS_MAX, Sent, SentTo


def _schema(kind: type) -> dict[str, Any]:
    """The schema of a type of its own, with nothing referred to."""
    (_,), components = msgspec.json.schema_components([kind], ref_template="{name}")
    found: dict[str, Any] = components[kind.__name__]
    return found


def takes(schema: dict[str, Any], example: object, *, lines: bool = False) -> dict[str, Any]:
    """The further members of an operation that takes a body of this schema, or one such value a line."""
    content: dict[str, Any] = {"application/json": {"schema": schema, "example": example}}
    if lines:
        content["application/x-ndjson"] = {"schema": {"type": "string"}}
    return {"requestBody": {"required": True, "content": content}}


_SENT = _schema(Sent)
_SENT["properties"]["id"] = {
    "anyOf": [{"type": "string", "minLength": 1, "maxLength": 1000}, {"type": "integer"}]
}
_MANY = {"type": "array", "items": _SENT, "maxItems": DOCUMENTS_MAX}
_BULK = {
    "type": "object",
    "properties": {"bulk": _MANY},
    "required": ["bulk"],
    "additionalProperties": False,
}
DOCUMENTS = takes(
    {"anyOf": [_SENT, _BULK, _MANY]},
    {"id": "17", "text": "The river floods the old town"},
    lines=True,
)
DOCUMENT = takes(_schema(SentTo), {"text": "The river floods the old town"})
PARAMETERS = _schema(Configuration)
PARAMETERS["properties"]["algorithm"] = {"enum": list(ALGORITHMS), "default": "topics"}
PARAMETERS["additionalProperties"] = False
CONFIGURATION = takes(PARAMETERS, {"algorithm": "topics", "clusters": 12})
