"""Payloads as the bodies of messages: bare JSON, never pickle; what is public in the form others read.

Source: DESIGN "Story" and "Topics"; field names of seeds 003 and 004.
Bound: linear in the message, which the broker's limit bounds; JSON nested too deeply is refused.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from typing import Any

import msgspec

from fonds.model.capture import RssEntry
from fonds.model.disposition import Reason
from fonds.model.encoding import prepare_type
from fonds.model.entry import MESSAGE, Entry
from fonds.model.errors import DamagedInputError
from fonds.model.exchange import Exchange
from fonds.model.message import PIPELINE, Message
from fonds.model.story import (
    ContentMetadata,
    HttpMetadata,
    PageMetadata,
    RawHtml,
    Story,
)
from fonds.model.task import Task
from fonds.queues.messages.contracts import CONTRACTS

_SUB_OBJECTS: dict[str, type[Any]] = {
    "rss_entry": RssEntry,
    "raw_html": RawHtml,
    "http_metadata": HttpMetadata,
    "content_metadata": ContentMetadata,
    "page_metadata": PageMetadata,
    "exchange": Exchange,
}
VERSION_MAX = 10**6


def encode(payload: object) -> bytes:
    """The body of a message: the payload's form on the wire, else its fields as a JSON object."""
    contract = CONTRACTS.get(type(payload))
    return contract.encode(payload) if contract else msgspec.json.encode(payload)


def decode(message: Message, kind: type, tag: str | None = None) -> object:
    """The payload of a message of a topic that carries `kind`; `tag` is that of the topic.

    What others put on a work topic is a Task. Raises DamagedInputError when it is nothing of the sort.
    """
    contract = CONTRACTS.get(kind)
    if contract:
        return contract.decode(message, tag)
    try:
        found: object = msgspec.json.decode(message.body, type=prepare_type(kind))
    except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError) as error:
        raise DamagedInputError(Reason.INTERNAL_ERROR, f"not a {kind.__name__}: {error}") from error
    return found


def build_foreign_entry(message: Message, kind: type, topic: str) -> Entry | None:
    """What a message of a public topic enters as that another program put there; None for one of ours.

    One that asks for something enters as what it asks for, any other by the name of its topic.
    """
    contract = CONTRACTS.get(kind)
    if contract and contract.is_work_topic:
        try:
            found = contract.decode(message, None)
        except DamagedInputError:
            return _build_unknown_entry(message, topic)
        return found.entry if isinstance(found, Task) else None
    return None if PIPELINE in message.headers else _build_unknown_entry(message, topic)


def _build_unknown_entry(message: Message, topic: str) -> Entry:
    return Entry(message.entry, "", MESSAGE, f"{topic} {message.key or message.id}", None)


def encode_story(story: Story, *, html: bool = False) -> dict[str, Any]:
    """The sub-objects as plain JSON values under the seed's names, unknown fields included.

    `raw_html` is left out unless `html` asks for it (its bytes then in base64).
    """
    whole: dict[str, Any] = dict(story.unknown)
    if story.schema_version:
        whole["schema_version"] = story.schema_version
    for name in _SUB_OBJECTS:
        if name == "raw_html" and not html:
            continue
        part = getattr(story, name)
        if part is None:
            continue
        beside = whole.get(name)
        known = msgspec.to_builtins(part)
        if not known.get("rights", True):
            # What is ours in an object of the seed stands there where there is something.
            del known["rights"]
        whole[name] = {**beside, **known} if isinstance(beside, dict) else known
    return whole


def decode_story(data: bytes) -> Story:
    """A story from a metadata record of ours or Media Cloud's, liberal in what it accepts.

    Fields of a wrong type become None, unknown ones are kept. Raises DamagedInputError when `data` is
    not a JSON object.
    """
    try:
        whole = msgspec.json.decode(data)
    except (msgspec.MsgspecError, UnicodeDecodeError) as error:
        raise DamagedInputError(Reason.DAMAGED_RECORD, f"metadata is not JSON: {error}") from error
    except RecursionError as error:
        raise DamagedInputError(Reason.DAMAGED_RECORD, "metadata is nested too deeply") from error
    if not isinstance(whole, dict):
        raise DamagedInputError(Reason.DAMAGED_RECORD, "metadata is not a JSON object")
    return build_story(whole)


def build_story(values: Mapping[str, Any]) -> Story:
    """Return the story of a decoded JSON object, as `decode_story` does of its bytes."""
    whole = dict(values)
    parts: dict[str, Any] = {}
    unknown: dict[str, Any] = {}
    said = whole.pop("schema_version", 0)
    version = said if type(said) is int and 0 <= said <= VERSION_MAX else 0
    for name, value in whole.items():
        kind = _SUB_OBJECTS.get(name)
        if kind is None:
            unknown[name] = value
        elif isinstance(value, dict):
            known = {field.name for field in dataclasses.fields(kind)}
            parts[name] = _build_sub_object(kind, {k: v for k, v in value.items() if k in known})
            if rest := {key: item for key, item in value.items() if key not in known}:
                unknown[name] = rest
    return Story(**parts, unknown=unknown, schema_version=version)


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
