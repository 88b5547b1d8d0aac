"""Convert stories to JSON and back, for messages, SQL rows and the metadata records of WARC files.

The JSON contains the sub-objects of a story under the names of seed documents 003 and 004.

Source: DESIGN "Story"; field names of seed documents 003 and 004.
A field that was added later is left out while it is empty, so that the JSON of older stories stays
the same.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from typing import Any

import msgspec

from fonds.model.capture import RssEntry
from fonds.model.disposition import Reason
from fonds.model.encoding import prepare_type
from fonds.model.errors import DamagedInputError
from fonds.model.exchange import Exchange
from fonds.model.story import (
    ContentMetadata,
    HttpMetadata,
    PageMetadata,
    RawHtml,
    Story,
)

_SUB_OBJECTS: dict[str, type[Any]] = {
    "rss_entry": RssEntry,
    "raw_html": RawHtml,
    "http_metadata": HttpMetadata,
    "content_metadata": ContentMetadata,
    "page_metadata": PageMetadata,
    "exchange": Exchange,
}
_FIELD_NAMES = {
    name: frozenset(field.name for field in dataclasses.fields(kind))
    for name, kind in _SUB_OBJECTS.items()
}
_OPTIONAL_NAMES = {
    name: frozenset(field.name for field in dataclasses.fields(kind) if field.default is None)
    for name, kind in _SUB_OBJECTS.items()
}
VERSION_MAX = 10**6


def encode_story(
    story: Story, *, html: bool = False, omits_missing: bool = False
) -> dict[str, Any]:
    """Return a story as plain JSON data: its sub-objects by name, including unknown fields.

    `html` includes the sub-object `raw_html`, in which the bytes of the page are base64.
    `omits_missing` leaves out the optional fields without a value, which otherwise are null.
    `build_story` builds the same story from both forms.
    """
    document: dict[str, Any] = dict(story.unknown)
    if story.schema_version:
        document["schema_version"] = story.schema_version
    for name in _SUB_OBJECTS:
        if name == "raw_html" and not html:
            continue
        sub_object = getattr(story, name)
        if sub_object is None:
            continue
        unknown_fields = document.get(name)
        known_fields = msgspec.to_builtins(sub_object)
        if not known_fields.get("rights", True):
            # `rights` is ours, not part of the seed's object: leave it out when it is empty.
            del known_fields["rights"]
        if omits_missing:
            optional_names = _OPTIONAL_NAMES[name]
            known_fields = {
                field_name: value
                for field_name, value in known_fields.items()
                if value is not None or field_name not in optional_names
            }
        document[name] = (
            {**unknown_fields, **known_fields} if isinstance(unknown_fields, dict) else known_fields
        )
    return document


def encode_warc_metadata(story: Story) -> bytes:
    """Encode a story for its metadata record in a WARC."""
    return msgspec.json.encode(encode_story(story))


def decode_story(data: bytes) -> Story:
    """Parse a story from the bytes of a metadata record that Fonds or Media Cloud wrote.

    A field of a wrong type gets its default value, and unknown fields are kept. Raises
    DamagedInputError if `data` is not a JSON object.
    """
    try:
        document = msgspec.json.decode(data)
    except (msgspec.MsgspecError, UnicodeDecodeError) as error:
        raise DamagedInputError(Reason.DAMAGED_RECORD, f"metadata is not JSON: {error}") from error
    except RecursionError as error:
        raise DamagedInputError(Reason.DAMAGED_RECORD, "metadata is nested too deeply") from error
    if not isinstance(document, dict):
        raise DamagedInputError(Reason.DAMAGED_RECORD, "metadata is not a JSON object")
    return build_story(document)


def build_story(values: Mapping[str, Any]) -> Story:
    """Build a story from a decoded JSON object.

    A field of a wrong type gets its default value, and unknown fields are kept. Raises no error for
    invalid content.
    """
    remaining = dict(values)
    sub_objects: dict[str, Any] = {}
    unknown_fields: dict[str, Any] = {}
    stated_version = remaining.pop("schema_version", 0)
    version = (
        stated_version if type(stated_version) is int and 0 <= stated_version <= VERSION_MAX else 0
    )
    for name, value in remaining.items():
        kind = _SUB_OBJECTS.get(name)
        if kind is None:
            unknown_fields[name] = value
        elif isinstance(value, dict):
            if unknown_names := value.keys() - _FIELD_NAMES[name]:
                unknown_fields[name] = {key: value[key] for key in value if key in unknown_names}
                value = {key: item for key, item in value.items() if key not in unknown_names}
            sub_objects[name] = _build_sub_object(kind, value)
    return Story(**sub_objects, unknown=unknown_fields, schema_version=version)


def _build_sub_object(kind: type[Any], fields: dict[str, Any]) -> object:
    try:
        return msgspec.convert(fields, prepare_type(kind))
    except msgspec.ValidationError:
        return msgspec.convert(
            {k: v for k, v in fields.items() if _is_valid_field(kind, k, v)}, prepare_type(kind)
        )


def _is_valid_field(kind: type[Any], name: str, value: object) -> bool:
    try:
        msgspec.convert({name: value}, prepare_type(kind))
    except msgspec.ValidationError:
        return False
    return True
