"""Convert Fonds messages to Kafka records and back.

The value of a record is the message body, unchanged. The key of a record is the message's key, or
the message id if it has no key. Fonds uses these record headers; all others belong to the message:

- `fonds-id`: id of the message
- `fonds-attempt`: attempt number in digits
- `fonds-due`: due time of a delayed message in Unix milliseconds
- `fonds-no-key`: empty value; the message has no key, so the record's key is its id
"""

from __future__ import annotations

from collections.abc import Sequence

from confluent_kafka import Message as KafkaRecord

from fonds.model.message import PIPELINE, Message
from fonds.queues.headers import MARK, format_value, limit_headers, parse_value

ID, ATTEMPT, DUE, NO_KEY = "fonds-id", "fonds-attempt", "fonds-due", "fonds-no-key"
OWN_HEADERS = frozenset({ID, ATTEMPT, DUE, NO_KEY})
RecordHeaders = list[tuple[str, str | bytes | None]]


def encode_key(message: Message) -> bytes:
    """Return the key of a message's Kafka record in UTF-8: the message's key, or its id if it has
    none.

    Kafka uses the record key to choose the partition and to compact the topic.
    """
    return (message.key or message.id).encode("utf-8", "replace")


def encode_headers(message: Message, due_ms: int | None) -> RecordHeaders:
    """Return the headers of a message's Kafka record.

    `due_ms` is the due time of a delayed message in Unix milliseconds; None for no delay.
    """
    headers: RecordHeaders = [
        (ID, message.id.encode("utf-8", "replace")),
        (ATTEMPT, str(message.attempt).encode()),
    ]
    if not message.key:
        headers.append((NO_KEY, b""))
    if due_ms is not None:
        headers.append((DUE, str(due_ms).encode()))
    for name, text in message.headers.items():
        safe = name.encode("utf-8", "replace").decode()
        headers += [(safe, raw) for raw in _encode_header(text)]
    return headers


def decode_message(record: KafkaRecord) -> tuple[Message, int]:
    """Return the message of a Kafka record, and its due time in Unix milliseconds (0: ready now).

    Records of other programs are accepted. A message without an id gets an id made from its topic,
    partition and offset. In a key that is not UTF-8, invalid bytes become backslash escapes.
    """
    fields: dict[str, str] = {}
    raws_by_name: dict[str, list[str | bytes | None]] = {}
    for name, raw in _read_headers(record):
        if name in OWN_HEADERS:
            fields[name] = _decode_plain(raw)
        else:
            raws_by_name.setdefault(name, []).append(raw)
    message = Message(
        id=fields.get(ID) or f"{record.topic()}/{record.partition()}/{record.offset()}",
        body=_encode_bytes(record.value()),
        key="" if NO_KEY in fields else _decode_plain(record.key()),
        attempt=_count(fields.get(ATTEMPT)),
        headers=limit_headers({name: _decode_header(raws) for name, raws in raws_by_name.items()}),
    )
    return message, _count(fields.get(DUE))


def matches_pipeline(pipeline: str, record: KafkaRecord) -> bool:
    """Return whether a Kafka record is for a pipeline, by the record's header `pipeline`.

    A record without this header is for every pipeline. An empty `pipeline` matches every record.
    """
    if not pipeline:
        return True
    made_by = [raw for name, raw in _read_headers(record) if name == PIPELINE]
    return made_by in ([], [pipeline.encode()])


def _encode_header(text: str) -> list[str | bytes | None]:
    """Return the values under which a Kafka record stores one message header.

    `text` is the value of the message header. A value that encodes a list becomes several values,
    which Kafka stores as headers of the same name. Kafka knows only null and bytes. Text and bytes
    are sent as bytes. Values of other types are sent in their text encoding (`queues/headers.py`),
    and so is text that would be decoded as null or bytes.
    """
    raw = text.encode("utf-8", "replace")
    if not text.startswith(MARK):
        return [raw]
    value = parse_value(text)
    if isinstance(value, str):
        bare = value.encode("utf-8", "replace")
        return [bare] if value != text and _encode_header(value) != [bare] else [raw]
    items = value if isinstance(value, list) and len(value) > 1 else [value]
    encoded_items = [
        item.encode("utf-8", "replace") if isinstance(item, str) else item
        for item in items
        if item is None
        or isinstance(item, str)
        or (isinstance(item, bytes) and _decode_raw(item) is item)
    ]
    return list(encoded_items) if len(encoded_items) == len(items) else [raw]


def _decode_header(raws: Sequence[str | bytes | None]) -> str:
    """Return the text of a message header, from the values that a Kafka record has under its name.

    Values that are not text are encoded as text (`queues/headers.py`).
    """
    values = [_decode_raw(raw) for raw in raws]
    if len(values) > 1:
        return format_value(list(values))
    (value,) = values
    if not isinstance(value, str):
        return format_value(value)
    if not value.startswith(MARK):
        return value
    return value if _encode_header(value) == [value.encode()] else f"!text {value}"


def _decode_raw(raw: str | bytes | None) -> str | bytes | None:
    """Return the value of a Kafka header: as text if its bytes are valid UTF-8, otherwise
    unchanged.
    """
    try:
        return raw.decode() if isinstance(raw, bytes) else raw
    except UnicodeDecodeError:
        return raw


def _read_headers(record: KafkaRecord) -> RecordHeaders:
    """Return the headers of a Kafka record; an empty list if the client cannot decode their
    names.
    """
    try:
        return list(record.headers() or ())
    except UnicodeDecodeError:
        return []


def _encode_bytes(value: str | bytes | None) -> bytes:
    return value.encode() if isinstance(value, str) else value or b""


def _decode_plain(value: str | bytes | None) -> str:
    return value.decode("utf-8", "backslashreplace") if isinstance(value, bytes) else value or ""


def _count(text: str | None) -> int:
    return int(text) if text and text.isascii() and text.isdigit() and len(text) < 16 else 0
