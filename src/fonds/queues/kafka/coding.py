"""Messages as Kafka records and back; the headers `fonds-*` are our own."""

from __future__ import annotations

from confluent_kafka import Message as KafkaRecord

from fonds.model.message import Message

ID, ATTEMPT, DUE, NO_KEY = "fonds-id", "fonds-attempt", "fonds-due", "fonds-no-key"
OURS = frozenset({ID, ATTEMPT, DUE, NO_KEY})
RecordHeaders = list[tuple[str, str | bytes | None]]


def to_key(message: Message) -> bytes:
    """What decides the partition, and what compaction goes by: the id where there is no key."""
    return (message.key or message.id).encode("utf-8", "replace")


def to_headers(message: Message, due_ms: int | None) -> RecordHeaders:
    """The headers of a record; `due_ms` is when a delayed message is to come, in Unix milliseconds."""
    headers: RecordHeaders = [
        (ID, message.id.encode("utf-8", "replace")),
        (ATTEMPT, str(message.attempt).encode()),
    ]
    if not message.key:
        headers.append((NO_KEY, b""))
    if due_ms is not None:
        headers.append((DUE, str(due_ms).encode()))
    headers += [
        (name.encode("utf-8", "replace").decode(), value.encode("utf-8", "replace"))
        for name, value in message.headers.items()
    ]
    return headers


def to_message(record: KafkaRecord) -> tuple[Message, int]:
    """The message of a record, and when it is due in Unix milliseconds (0: at once).

    What other programs put is read too: a record without an id is named after its place.
    """
    fields = {name: _text(value) for name, value in _headers(record)}
    named = f"{record.topic()}/{record.partition()}/{record.offset()}"
    message = Message(
        id=fields.get(ID) or named,
        body=_bytes(record.value()),
        key="" if NO_KEY in fields else _text(record.key()),
        attempt=_count(fields.get(ATTEMPT)),
        headers={name: value for name, value in fields.items() if name not in OURS},
    )
    return message, _count(fields.get(DUE))


def _headers(record: KafkaRecord) -> RecordHeaders:
    """The headers; none when the client cannot read their names."""
    try:
        return list(record.headers() or ())
    except UnicodeDecodeError:
        return []


def _bytes(value: str | bytes | None) -> bytes:
    return value.encode() if isinstance(value, str) else value or b""


def _text(value: object) -> str:
    return value.decode("utf-8", "replace") if isinstance(value, bytes) else str(value or "")


def _count(text: str | None) -> int:
    return int(text) if text and text.isascii() and text.isdigit() and len(text) < 16 else 0
