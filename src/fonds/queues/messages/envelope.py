"""Encode message payloads as JSON bodies, and decode them.

Payloads on public topics have their public format. Source: DESIGN "Story" and "Topics"; field names
of seed documents 003 and 004. Limits: linear in the size of the message, which the broker limits.
JSON that is nested too deeply is refused.
"""

from __future__ import annotations

import msgspec

from fonds.model.disposition import Reason
from fonds.model.encoding import prepare_type
from fonds.model.entry import MESSAGE, Entry
from fonds.model.errors import DamagedInputError
from fonds.model.message import FORMAT, PIPELINE, Message
from fonds.model.task import Task
from fonds.queues.messages.contracts import CONTRACTS

FORMAT_VERSION = 1
"""Version of the format of messages between steps.

Increase it with each change after which an older version of Fonds would read such a message wrongly
or not at all. Messages on public topics have a contract instead, and no version.
"""
VERSION_MAX_CHARS = 9


def build_format_header() -> dict[str, str]:
    """Return the header of a message between steps, with the version of its format."""
    return {FORMAT: str(FORMAT_VERSION)}


def is_newer(message: Message) -> bool:
    """Return whether only a newer version of Fonds can read the message."""
    return get_format_version(message) > FORMAT_VERSION


def get_format_version(message: Message) -> int:
    """Return the version of a message's format; 1 if the message states none."""
    text = message.headers.get(FORMAT, "")
    is_number = text.isascii() and text.isdigit() and len(text) <= VERSION_MAX_CHARS
    return int(text) if is_number else 1


def encode(payload: object) -> bytes:
    """Return a payload as the body of a message.

    It has the public format of the payload's type if there is one. Otherwise it is a JSON object
    with the fields of the payload.
    """
    contract = CONTRACTS.get(type(payload))
    return contract.encode(payload) if contract else msgspec.json.encode(payload)


def decode(message: Message, kind: type, tag: str | None = None) -> object:
    """Return the payload of a message, which has the type `kind`.

    `tag` is the tag of the topic, such as the thumbnail format `180px-jpg`. A message of another
    program on a work topic becomes a Task. Raises DamagedInputError if the body is invalid.
    """
    contract = CONTRACTS.get(kind)
    if contract:
        return contract.decode(message, tag)
    try:
        payload: object = msgspec.json.decode(message.body, type=prepare_type(kind))
    except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError) as error:
        raise DamagedInputError(Reason.INTERNAL_ERROR, f"not a {kind.__name__}: {error}") from error
    return payload


def build_foreign_entry(message: Message, kind: type, topic: str) -> Entry | None:
    """Return the ledger entry for a message that another program put on a public topic.

    Returns None for a message of Fonds. The entry of a task names the requested capture. Any other
    entry has the name of the topic and the key of the message.
    """
    contract = CONTRACTS.get(kind)
    if contract and contract.is_work_topic:
        try:
            payload = contract.decode(message, None)
        except DamagedInputError:
            return _build_unknown_entry(message, topic)
        return payload.entry if isinstance(payload, Task) else None
    return None if PIPELINE in message.headers else _build_unknown_entry(message, topic)


def _build_unknown_entry(message: Message, topic: str) -> Entry:
    return Entry(message.entry, "", MESSAGE, f"{topic} {message.key or message.id}", None)
