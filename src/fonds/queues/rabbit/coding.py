"""Messages as AMQP properties and back.

Source: AMQP 0-9-1 `basic` class properties. The body is bare. Of ours are the property `message_id` and
the headers `fonds-id` (text), `fonds-key` (text), `fonds-attempt` (int), `fonds-returns` (int: how often
it came back unsettled) and `fonds-due` (int, Unix milliseconds: of a delay longer than the queues' own);
every other header is one of the message's.
"""

from __future__ import annotations

import hashlib

from fonds.model.message import Message
from fonds.queues.headers import Value, spell, value_of, within_limits
from fonds.queues.rabbit.tables import SHORT_MAX_BYTES, Properties

ID, KEY, ATTEMPT, RETURNS, DUE = (
    "fonds-id",
    "fonds-key",
    "fonds-attempt",
    "fonds-returns",
    "fonds-due",
)
OURS = frozenset({ID, KEY, ATTEMPT, RETURNS, DUE})
THEIRS = frozenset({"CC", "BCC", "x-death", "x-delivery-count", "x-acquired-count"})
THEIRS_BEGIN = ("x-first-death-", "x-last-death-")
"""What the broker counts and routes by: it would count and route again what is put with them."""
PERSISTENT = 2


def to_properties(message: Message, returns: int = 0, due_ms: int | None = None) -> Properties:
    """The properties of a message; `returns` counts how often it came back unsettled."""
    headers: dict[str, Value] = {
        ID: message.id,
        KEY: message.key,
        ATTEMPT: message.attempt,
        RETURNS: returns,
    }
    if due_ms is not None:
        headers[DUE] = due_ms
    headers |= {name: value_of(text) for name, text in message.headers.items()}
    short = len(message.id.encode("utf-8", "replace")) <= SHORT_MAX_BYTES
    return Properties(
        message_id=message.id if short else None,
        headers=headers,
        delivery_mode=PERSISTENT,
        content_type="application/octet-stream",
    )


def to_message(properties: Properties, body: bytes, routing_key: str = "") -> tuple[Message, int]:
    """The message, and how often it came back before.

    What other programs put is read too. Its id is its `message_id`, else one made of its key and body,
    the same each time; its key is `routing_key`, what it was sent to its exchange with.
    """
    headers: dict[str, Value] = properties.headers or {}
    key = headers.get(KEY)
    key = key if isinstance(key, str) else routing_key
    identity = headers.get(ID) or properties.message_id
    message = Message(
        id=identity if isinstance(identity, str) and identity else _made_of(key, body),
        body=body,
        key=key,
        attempt=_count(headers.get(ATTEMPT)),
        headers=within_limits(
            {name: spell(value) for name, value in headers.items() if _is_of_the_message(name)}
        ),
    )
    return message, _count(headers.get(RETURNS))


def due_at_ms(properties: Properties) -> int:
    """When a message is due that was delayed for longer than the queues wait; else 0."""
    return _count((properties.headers or {}).get(DUE))


def _is_of_the_message(name: str) -> bool:
    return name not in OURS and name not in THEIRS and not name.startswith(THEIRS_BEGIN)


def _made_of(key: str, body: bytes) -> str:
    digest = hashlib.sha1(f"{len(key)} {key}\n".encode(), usedforsecurity=False)
    digest.update(body)
    return digest.hexdigest()


def _count(value: object) -> int:
    return value if type(value) is int and value >= 0 else 0
