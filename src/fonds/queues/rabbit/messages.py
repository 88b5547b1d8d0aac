"""Convert Fonds messages to AMQP message properties and back.

Source: AMQP 0-9-1 `basic` class properties. The body is sent unchanged. Fonds uses the property
`message_id` and these headers; all others belong to the message:

- `fonds-id` (text): id of the message
- `fonds-key` (text): key of the message
- `fonds-attempt` (int): number of earlier failures of the message
- `fonds-returns` (int): number of times the message came back unsettled
- `fonds-due` (int): due time in Unix milliseconds, for a delay longer than the delay queues support
"""

from __future__ import annotations

import hashlib

from fonds.model.message import Message
from fonds.queues.headers import Value, format_value, limit_headers, parse_value
from fonds.queues.rabbit.amqp_tables import SHORT_MAX_BYTES, Properties

ID, KEY, ATTEMPT, RETURNS, DUE = (
    "fonds-id",
    "fonds-key",
    "fonds-attempt",
    "fonds-returns",
    "fonds-due",
)
OWN_HEADERS = frozenset({ID, KEY, ATTEMPT, RETURNS, DUE})
BROKER_HEADERS = frozenset({"CC", "BCC", "x-death", "x-delivery-count", "x-acquired-count"})
BROKER_HEADER_PREFIXES = ("x-first-death-", "x-last-death-")
"""Prefixes of headers that the broker uses for counting and routing. They are removed before a
message is published again.
"""
PERSISTENT = 2


def encode_properties(message: Message, returns: int = 0, due_ms: int | None = None) -> Properties:
    """Return the AMQP properties of a message.

    - `returns`: number of times the message came back unsettled.
    - `due_ms`: due time in Unix milliseconds, for a long delay; None for no delay.
    """
    headers: dict[str, Value] = {
        ID: message.id,
        KEY: message.key,
        ATTEMPT: message.attempt,
        RETURNS: returns,
    }
    if due_ms is not None:
        headers[DUE] = due_ms
    headers |= {name: parse_value(text) for name, text in message.headers.items()}
    fits_property = len(message.id.encode("utf-8", "replace")) <= SHORT_MAX_BYTES
    return Properties(
        message_id=message.id if fits_property else None,
        headers=headers,
        delivery_mode=PERSISTENT,
        content_type="application/octet-stream",
    )


def decode_message(
    properties: Properties, body: bytes, routing_key: str = ""
) -> tuple[Message, int]:
    """Return the message of an AMQP delivery, and the number of times it came back unsettled.

    Messages of other programs are accepted. Their id is the `message_id`, or a hash of key and
    body. Their key is `routing_key`, with which they were published.
    """
    headers: dict[str, Value] = properties.headers or {}
    key = headers.get(KEY)
    key = key if isinstance(key, str) else routing_key
    identity = headers.get(ID) or properties.message_id
    message = Message(
        id=identity if isinstance(identity, str) and identity else _hash_id(key, body),
        body=body,
        key=key,
        attempt=_count(headers.get(ATTEMPT)),
        headers=limit_headers(
            {
                name: format_value(value)
                for name, value in headers.items()
                if _is_message_header(name)
            }
        ),
    )
    return message, _count(headers.get(RETURNS))


def get_due_ms(properties: Properties) -> int:
    """Return the due time of a message from its AMQP header, in Unix milliseconds.

    Only a message whose delay is longer than the delay queues support has this header. Returns 0
    for all other messages.
    """
    return _count((properties.headers or {}).get(DUE))


def _is_message_header(name: str) -> bool:
    return (
        name not in OWN_HEADERS
        and name not in BROKER_HEADERS
        and not name.startswith(BROKER_HEADER_PREFIXES)
    )


def _hash_id(key: str, body: bytes) -> str:
    digest = hashlib.sha1(f"{len(key)} {key}\n".encode(), usedforsecurity=False)
    digest.update(body)
    return digest.hexdigest()


def _count(value: object) -> int:
    return value if type(value) is int and value >= 0 else 0
