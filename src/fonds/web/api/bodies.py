"""Documents in request bodies: one, a list, `{"bulk": […]}`, or one per line. Errors name the
location in the body.

Limits: a body has at most 32 MiB (`serving/concurrency.py`) and 10,000 documents; a document has no
nesting. The whole body is validated before any document is stored.
"""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import Annotated, Any

import msgspec
from starlette.requests import Request

from fonds.grouping.configuration import (
    ALGORITHMS,
    CLUSTERS_MAX,
    ENCODERS,
    FILTER_FIELDS,
    FILTERS_MAX,
    GRANULARITIES_MAX,
    Configuration,
)
from fonds.grouping.document import Document, validate_document
from fonds.grouping.names import ID_MAX_CHARS
from fonds.grouping.stored.dense_vectors import NUMBERS_MAX
from fonds.model.encoding import EXACT_MAX, prepare_type
from fonds.model.errors import LimitError
from fonds.web.serving.concurrency import LINES, get_media_type
from fonds.web.serving.json_requests import decode_body, refer_to_schema, takes
from fonds.web.serving.problems import RefusedError

DOCUMENTS_MAX = 10_000
Time = Annotated[int, msgspec.Meta(ge=0, le=EXACT_MAX)]
Numbers = Annotated[list[float], msgspec.Meta(max_length=NUMBERS_MAX)]


class DocumentIn(msgspec.Struct, forbid_unknown_fields=True):
    """A document as an application sends it.

    `id`: id of the document in the application; a number is read as text.
    `text`: the text to group. `title` and `url` are shown in lists of documents.
    `language`: language code of two letters.
    `time`: date of the document, in seconds since 1970.
    `vector`: embedding of the document by the application's own language model.
    """

    id: str | int
    text: str
    title: str = ""
    url: str = ""
    language: str = ""
    time: Time | None = None
    vector: Numbers = []


class DocumentAtIdIn(msgspec.Struct, forbid_unknown_fields=True):
    """A document whose id is in the address of the request and may be repeated in the body."""

    text: str
    id: str | int | None = None
    title: str = ""
    url: str = ""
    language: str = ""
    time: Time | None = None
    vector: Numbers = []


class _BulkIn(msgspec.Struct, forbid_unknown_fields=True):
    bulk: list[DocumentIn]


class _BulkProbe(msgspec.Struct):
    bulk: msgspec.Raw | msgspec.UnsetType = msgspec.UNSET


def parse_documents(body: bytes, request: Request) -> list[Document]:
    """Parse the documents in a request's body.

    Raises RefusedError 400 or 413 that names the location of the error in the body.
    """
    if get_media_type(request.headers) in LINES:
        return _parse_lines(body)
    first_byte = body.lstrip()[:1]
    if first_byte == b"[":
        return _build_documents(decode_body(body, list[DocumentIn]), "")
    if first_byte == b"{" and _has_bulk(body):
        return _build_documents(decode_body(body, _BulkIn).bulk, "/bulk")
    return [_build_valid_document(decode_body(body, DocumentIn), "")]


def parse_document(body: bytes, document_id: str) -> Document:
    """Parse the document in a request's body; the id of the document is in the address.

    Raises RefusedError for an invalid document.
    """
    sent_document = decode_body(body, DocumentAtIdIn)
    if sent_document.id is not None and str(sent_document.id) != document_id:
        detail = (
            f"The id in the address is {document_id!r}, but the id of the document is "
            f"{str(sent_document.id)!r}."
        )
        raise RefusedError(400, detail, pointer="/id")
    return _check_document(_build_document(sent_document, document_id), "")


def _has_bulk(body: bytes) -> bool:
    """True if a body is a JSON object with the member `bulk`. Nothing else in the object is
    examined.
    """
    try:
        return msgspec.json.decode(body, type=prepare_type(_BulkProbe)).bulk is not msgspec.UNSET
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        return False


def _build_documents(documents_in: list[DocumentIn], pointer: str) -> list[Document]:
    _check_count(len(documents_in), pointer)
    return [
        _build_valid_document(document, f"{pointer}/{index}")
        for index, document in enumerate(documents_in)
    ]


def _parse_lines(body: bytes) -> list[Document]:
    documents = []
    for number, line in enumerate(body.split(b"\n"), 1):
        if line.strip():
            sent_document = decode_body(line, DocumentIn, number)
            documents.append(_build_valid_document(sent_document, "", number))
            _check_count(len(documents), "")
    if not documents:
        raise RefusedError(400, "The body contains no document.", pointer="")
    return documents


def _build_valid_document(
    document_in: DocumentIn, pointer: str, line: int | None = None
) -> Document:
    return _check_document(_build_document(document_in, str(document_in.id)), pointer, line)


def _build_document(document_in: DocumentIn | DocumentAtIdIn, document_id: str) -> Document:
    vector = tuple(document_in.vector)
    return Document(
        document_id,
        document_in.text,
        document_in.title,
        document_in.url,
        document_in.language,
        document_in.time,
        vector,
    )


def _check_document(document: Document, pointer: str, line: int | None = None) -> Document:
    try:
        return validate_document(document)
    except LimitError as error:
        raise RefusedError(413, f"{error}.", pointer=f"{pointer}/text", line=line) from error
    except ValueError as error:
        raise RefusedError(400, f"{error}.", pointer=pointer, line=line) from error


def _check_count(count: int, pointer: str) -> None:
    if count > DOCUMENTS_MAX:
        detail = f"The body has more than {DOCUMENTS_MAX:,} documents. Send fewer at once."
        raise RefusedError(413, detail, pointer=pointer)


# OpenAPI schemas of the bodies, built from the types that decode them.


def _build_schema(kind: type) -> dict[str, Any]:
    """Build the JSON schema of a struct type whose fields contain no other struct type."""
    (_,), components = msgspec.json.schema_components([kind], ref_template="{name}")
    schema: dict[str, Any] = components[kind.__name__]
    return schema


_DOCUMENT_SCHEMA = _build_schema(DocumentIn)
_DOCUMENT_SCHEMA["properties"]["id"] = {
    "anyOf": [
        {"type": "string", "minLength": 1, "maxLength": ID_MAX_CHARS},
        {"type": "integer"},
    ]
}
_DOCUMENT_LIST_SCHEMA = {
    "type": "array",
    "items": refer_to_schema("DocumentIn"),
    "description": f"At most {DOCUMENTS_MAX:,}, otherwise 413",
}
_BULK_SCHEMA = {
    "type": "object",
    "properties": {"bulk": _DOCUMENT_LIST_SCHEMA},
    "required": ["bulk"],
    "additionalProperties": False,
}
SCHEMAS: Mapping[str, dict[str, Any]] = MappingProxyType(
    {
        "DocumentIn": _DOCUMENT_SCHEMA,
        "DocumentBulkIn": _BULK_SCHEMA,
        "DocumentAtIdIn": _build_schema(DocumentAtIdIn),
    }
)
"""Schemas of bodies that the OpenAPI description lists among its components."""
DOCUMENTS = takes(
    {
        "anyOf": [
            refer_to_schema("DocumentIn"),
            refer_to_schema("DocumentBulkIn"),
            _DOCUMENT_LIST_SCHEMA,
        ]
    },
    {"id": "17", "text": "The river floods the old town"},
    description=(
        "Also accepted: one document per line, with the media type `application/x-ndjson`. It is not"
        " listed as a media type, because generators of clients support only JSON."
    ),
)
DOCUMENT = takes(refer_to_schema("DocumentAtIdIn"), {"text": "The river floods the old town"})
PARAMETERS = _build_schema(Configuration)
_CLUSTERS_SCHEMA = {"minimum": 1, "maximum": CLUSTERS_MAX}
_BOUNDS: dict[str, dict[str, Any]] = {
    "algorithm": {"type": "string", "enum": list(ALGORITHMS)},
    "clusters": {"type": ["integer", "null"], **_CLUSTERS_SCHEMA},
    "clusters_max": {"type": "integer", **_CLUSTERS_SCHEMA},
    "granularities": {
        "type": "array",
        "items": {"type": "integer", **_CLUSTERS_SCHEMA},
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
        "items": {"type": "string", "pattern": f"^({'|'.join(FILTER_FIELDS)})="},
        "maxItems": FILTERS_MAX,
    },
    "dense": {"type": ["integer", "null"], "minimum": 1, "maximum": NUMBERS_MAX},
    "encoder": {"type": ["string", "null"], "enum": [*ENCODERS, None]},
    "growth_max": {"type": ["number", "null"], "exclusiveMinimum": 0},
    "outliers_factor": {"type": ["number", "null"], "exclusiveMinimum": 1},
    "unknown_max": {"type": ["number", "null"], "exclusiveMinimum": 0},
    "every_s": {"type": ["integer", "null"], "minimum": 60, "maximum": EXACT_MAX},
    "kept": {"type": "integer", "minimum": 1, "maximum": 100},
}
for _name, _schema in PARAMETERS["properties"].items():
    PARAMETERS["properties"][_name] = {**_BOUNDS[_name], "default": _schema.get("default")}
PARAMETERS["additionalProperties"] = False
CONFIGURATION = takes(PARAMETERS, {"algorithm": "topics", "clusters": 12})
