"""Messages as AMQP properties and back.

Source: AMQP 0-9-1 `basic` class properties. The body is bare. Of ours are the property `message_id` and
the headers `fonds-id` (text), `fonds-key` (text), `fonds-attempt` (int), `fonds-returns` (int: how often
it came back unsettled) and `fonds-due` (int, Unix milliseconds: of a delay longer than the queues' own);
every other header is one of the message's.
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
THEIRS = frozenset({"CC", "BCC", "x-death", "x-delivery-count", "x-acquired-count"})
THEIRS_BEGIN = ("x-first-death-", "x-last-death-")
"""What the broker counts and routes by: it would count and route again what is put with them."""
PERSISTENT = 2


def encode_properties(message: Message, returns: int = 0, due_ms: int | None = None) -> Properties:
    """The properties of a message; `returns` counts how often it came back unsettled."""
    headers: dict[str, Value] = {
        ID: message.id,
        KEY: message.key,
        ATTEMPT: message.attempt,
        RETURNS: returns,
    }
    if due_ms is not None:
        headers[DUE] = due_ms
    headers |= {name: parse_value(text) for name, text in message.headers.items()}
    short = len(message.id.encode("utf-8", "replace")) <= SHORT_MAX_BYTES
    return Properties(
        message_id=message.id if short else None,
        headers=headers,
        delivery_mode=PERSISTENT,
        content_type="application/octet-stream",
    )


def decode_message(
    properties: Properties, body: bytes, routing_key: str = ""
) -> tuple[Message, int]:
    """The message, and how often it came back before.

    What other programs put is read too. Its id is its `message_id`, else one made of its key and body,
    the same each time; its key is `routing_key`, what it was sent to its exchange with.
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
    """When a message is due that was delayed for longer than the queues wait; else 0."""
    return _count((properties.headers or {}).get(DUE))


def _is_message_header(name: str) -> bool:
    return name not in OWN_HEADERS and name not in THEIRS and not name.startswith(THEIRS_BEGIN)


def _hash_id(key: str, body: bytes) -> str:
    digest = hashlib.sha1(f"{len(key)} {key}\n".encode(), usedforsecurity=False)
    digest.update(body)
    return digest.hexdigest()


def _count(value: object) -> int:
    return value if type(value) is int and value >= 0 else 0
