"""Messages as AMQP properties and back.

Source: AMQP 0-9-1 `basic` class properties; the headers `fonds-*` are our own.
"""

from __future__ import annotations

import hashlib
from typing import Any

import pika

from fonds.model.message import Message

ID, KEY, ATTEMPT, RETURNS = "fonds-id", "fonds-key", "fonds-attempt", "fonds-returns"
OURS = frozenset({ID, KEY, ATTEMPT, RETURNS})
SHORT_MAX_BYTES = 255
PERSISTENT = 2


def to_properties(message: Message, returns: int = 0) -> pika.BasicProperties:
    """The properties of a message; `returns` counts how often it came back unsettled."""
    headers: dict[str, Any] = {
        ID: _text(message.id),
        KEY: _text(message.key),
        ATTEMPT: message.attempt,
        RETURNS: returns,
    }
    headers |= {_text(name): _text(value) for name, value in message.headers.items()}
    short = len(_text(message.id).encode()) <= SHORT_MAX_BYTES
    return pika.BasicProperties(
        message_id=_text(message.id) if short else None,
        headers=headers,
        delivery_mode=PERSISTENT,
        content_type="application/octet-stream",
    )


def to_message(properties: pika.BasicProperties, body: bytes) -> tuple[Message, int]:
    """The message, and how often it came back before.

    What other programs put is read too: headers of any type become text, and a message without an id
    gets one made of its body, the same each time.
    """
    headers = dict(properties.headers or {})
    identity = headers.get(ID) or properties.message_id
    if not identity:
        identity = hashlib.sha1(body, usedforsecurity=False).hexdigest()
    message = Message(
        id=str(identity),
        body=body,
        key=str(headers.get(KEY) or ""),
        attempt=_count(headers.get(ATTEMPT)),
        headers={name: _shown(value) for name, value in headers.items() if name not in OURS},
    )
    return message, _count(headers.get(RETURNS))


def _text(text: str) -> str:
    """The text without lone surrogates, which have no UTF-8."""
    return text.encode("utf-8", "replace").decode()


def _count(value: object) -> int:
    return value if isinstance(value, int) and value >= 0 else 0


def _shown(value: object) -> str:
    return value.decode("utf-8", "replace") if isinstance(value, bytes) else str(value)
