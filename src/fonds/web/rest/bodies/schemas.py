"""What bodies look like, for the description of the API: made of the types that read them."""

from __future__ import annotations

from typing import Any

import msgspec

from fonds.collections.configurations import (
    ALGORITHMS,
    CLUSTERS_MAX,
    ENCODERS,
    GRANULARITIES_MAX,
    WHERE_FIELDS,
    WHERE_MAX,
    Configuration,
)
from fonds.collections.names import ID_CHARACTERS_MAX
from fonds.formats.grouping.dense import NUMBERS_MAX
from fonds.model.numbers import EXACT_MAX
from fonds.web.rest.bodies.documents import DOCUMENTS_MAX, Sent, SentTo
from fonds.web.rest.service import takes


def _schema(kind: type) -> dict[str, Any]:
    """The schema of a type of its own, with nothing referred to."""
    (_,), components = msgspec.json.schema_components([kind], ref_template="{name}")
    found: dict[str, Any] = components[kind.__name__]
    return found


_SENT = _schema(Sent)
_SENT["properties"]["id"] = {
    "anyOf": [
        {"type": "string", "minLength": 1, "maxLength": ID_CHARACTERS_MAX},
        {"type": "integer"},
    ]
}
_MANY = {
    "type": "array",
    "items": _SENT,
    "description": f"{DOCUMENTS_MAX:,} at most, else 413",
}
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
_MANY_CLUSTERS = {"minimum": 1, "maximum": CLUSTERS_MAX}
_BOUNDS: dict[str, dict[str, Any]] = {
    "algorithm": {"type": "string", "enum": list(ALGORITHMS)},
    "clusters": {"type": ["integer", "null"], **_MANY_CLUSTERS},
    "clusters_max": {"type": "integer", **_MANY_CLUSTERS},
    "granularities": {
        "type": "array",
        "items": {"type": "integer", **_MANY_CLUSTERS},
        "maxItems": GRANULARITIES_MAX,
    },
    "threshold": {"type": "number", "exclusiveMinimum": 0, "exclusiveMaximum": 1},
    "half_life_s": {"type": ["number", "null"], "exclusiveMinimum": 0},
    "size_min": {"type": "integer", "minimum": 1, "maximum": EXACT_MAX},
    "seed": {"type": "integer", "minimum": 0, "maximum": 2**32 - 1},
    "characters_min": {"type": "integer", "minimum": 0, "maximum": EXACT_MAX},
    "languages": {"type": "array", "items": {"type": "string"}},
    "where": {
        "type": "array",
        "items": {"type": "string", "pattern": f"^({'|'.join(WHERE_FIELDS)})="},
        "maxItems": WHERE_MAX,
    },
    "dense": {"type": ["integer", "null"], "minimum": 1, "maximum": NUMBERS_MAX},
    "encoder": {"type": ["string", "null"], "enum": [*ENCODERS, None]},
    "growth_max": {"type": ["number", "null"], "exclusiveMinimum": 0},
    "outliers_factor": {"type": ["number", "null"], "exclusiveMinimum": 1},
    "unknown_max": {"type": ["number", "null"], "exclusiveMinimum": 0},
    "every_s": {"type": ["integer", "null"], "minimum": 60, "maximum": EXACT_MAX},
    "kept": {"type": "integer", "minimum": 1, "maximum": 100},
}
for _name, _told in PARAMETERS["properties"].items():
    PARAMETERS["properties"][_name] = {**_BOUNDS[_name], "default": _told.get("default")}
PARAMETERS["additionalProperties"] = False
CONFIGURATION = takes(PARAMETERS, {"algorithm": "topics", "clusters": 12})
