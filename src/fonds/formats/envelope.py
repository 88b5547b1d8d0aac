"""Payloads as the bodies of messages: bare JSON, never pickle; thumbnails travel as raw bytes.

Source: DESIGN "Story" and "Topics"; field names of seeds 003 and 004.
"""

from __future__ import annotations

import dataclasses
from typing import Any, TypeVar

import msgspec

from fonds.model.disposition import Reason
from fonds.model.errors import DamagedInputError
from fonds.model.pdf import PAGE0_FORM, Thumbnail
from fonds.model.story import (
    ContentMetadata,
    HttpMetadata,
    PageMetadata,
    RawHtml,
    RssEntry,
    Story,
)

T = TypeVar("T")

_SUB_OBJECTS: dict[str, type[Any]] = {
    "rss_entry": RssEntry,
    "raw_html": RawHtml,
    "http_metadata": HttpMetadata,
    "content_metadata": ContentMetadata,
    "page_metadata": PageMetadata,
}


def encode(payload: object) -> bytes:
    """The body of a message: the payload's fields as a JSON object, or the raw bytes of a thumbnail."""
    if isinstance(payload, Thumbnail):
        return payload.image
    return msgspec.json.encode(payload)


def decode(body: bytes, kind: type[T], key: str, tag: str | None = None) -> T:
    """The payload of a message; `tag` is that of its topic.

    Raises DamagedInputError when it is not one of this kind.
    """
    if issubclass(kind, Thumbnail):
        return kind(sha1hex=key, form=tag or PAGE0_FORM, image=body)
    try:
        return msgspec.json.decode(body, type=kind)
    except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError) as error:
        raise DamagedInputError(Reason.INTERNAL_ERROR, f"not a {kind.__name__}: {error}") from error


def story_to_json(story: Story, *, html: bool = False) -> dict[str, Any]:
    """The sub-objects as plain JSON values under the seed's names, unknown fields included.

    `raw_html` is left out unless `html` asks for it (its bytes then in base64).
    """
    whole: dict[str, Any] = {name: dict(fields) for name, fields in story.unknown.items()}
    for name in _SUB_OBJECTS:
        if name == "raw_html" and not html:
            continue
        known = msgspec.to_builtins(getattr(story, name))
        whole[name] = {**whole.get(name, {}), **known}
    return whole


def story_from_json(data: bytes) -> Story:
    """A story from a metadata record of ours or Media Cloud's, liberal in what it accepts.

    Fields of a wrong type become None, unknown ones are kept. Raises DamagedInputError when `data` is
    not a JSON object.
    """
    try:
        whole = msgspec.json.decode(data)
    except msgspec.MsgspecError as error:
        raise DamagedInputError(Reason.DAMAGED_RECORD, f"metadata is not JSON: {error}") from error
    except RecursionError as error:
        raise DamagedInputError(Reason.DAMAGED_RECORD, "metadata is nested too deeply") from error
    if not isinstance(whole, dict):
        raise DamagedInputError(Reason.DAMAGED_RECORD, "metadata is not a JSON object")
    parts: dict[str, Any] = {}
    unknown: dict[str, dict[str, Any]] = {}
    for name, value in whole.items():
        fields = value if isinstance(value, dict) else {"": value}
        kind = _SUB_OBJECTS.get(name)
        known = {field.name for field in dataclasses.fields(kind)} if kind else set()
        rest = {key: item for key, item in fields.items() if key not in known}
        if rest:
            unknown[name] = rest
        if kind:
            parts[name] = _sub_object(kind, {k: v for k, v in fields.items() if k in known})
    return Story(**parts, unknown=unknown)


def _sub_object(kind: type[Any], fields: dict[str, Any]) -> object:
    try:
        return msgspec.convert(fields, kind)
    except msgspec.ValidationError:
        return msgspec.convert({k: v for k, v in fields.items() if _fits(kind, k, v)}, kind)


def _fits(kind: type[Any], name: str, value: object) -> bool:
    try:
        msgspec.convert({name: value}, kind)
    except msgspec.ValidationError:
        return False
    return True
