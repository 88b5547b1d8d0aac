"""Convert Fonds messages to Kafka records and back.

The value of a record is the message body, unchanged. The key of a record is the message's key, or
the message id if it has no key. Fonds uses these record headers; all others belong to the message:

- `fonds-id`: id of the message
- `fonds-attempt`: number of earlier failures of the message, in digits
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
_NUMBER_MAX_DIGITS = 15
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
        valid_name = name.encode("utf-8", "replace").decode()
        headers += [(valid_name, value) for value in _encode_header(text)]
    return headers


def decode_message(record: KafkaRecord) -> tuple[Message, int]:
    """Return the message of a Kafka record, and its due time in Unix milliseconds (0: ready now).

    Records of other programs are accepted. A record without an id gets an id made from its topic,
    partition and offset. In a key that is not UTF-8, invalid bytes become backslash escapes. An
    attempt or due time that is not a number of at most 15 digits becomes 0.
    """
    fields: dict[str, str] = {}
    values_by_name: dict[str, list[str | bytes | None]] = {}
    for name, value in _read_headers(record):
        if name in OWN_HEADERS:
            fields[name] = _decode_text(value)
        else:
            values_by_name.setdefault(name, []).append(value)
    message = Message(
        id=fields.get(ID) or f"{record.topic()}/{record.partition()}/{record.offset()}",
        body=_encode_body(record.value()),
        key="" if NO_KEY in fields else _decode_text(record.key()),
        attempt=_parse_number(fields.get(ATTEMPT)),
        headers=limit_headers(
            {name: _decode_header(values) for name, values in values_by_name.items()}
        ),
    )
    return message, _parse_number(fields.get(DUE))


def matches_pipeline(pipeline: str, record: KafkaRecord) -> bool:
    """Return whether a Kafka record is for a pipeline, by the record's header `pipeline`.

    A record without this header is for every pipeline. A record with several
    values of it is for none. An empty `pipeline` matches every record.
    """
    if not pipeline:
        return True
    pipelines = [value for name, value in _read_headers(record) if name == PIPELINE]
    return pipelines in ([], [pipeline.encode()])


def _encode_header(text: str) -> list[str | bytes | None]:
    """Return the values under which a Kafka record stores one message header.

    `text` is the value of the message header; it may be an encoded value (`queues/headers.py`).
    Kafka knows only null and bytes:

    - Text becomes UTF-8.
    - Encoded null becomes null.
    - Encoded bytes become these bytes if they are not valid UTF-8.
    - An encoded list of two or more such values becomes several values, which Kafka stores as
      headers of the same name.
    - Text that looks like one of these encoded values loses the prefix `!text `.
    - All other encoded values stay in their encoding, as UTF-8.
    """
    encoded_text = text.encode("utf-8", "replace")
    if not text.startswith(MARK):
        return [encoded_text]
    value = parse_value(text)
    if isinstance(value, str):
        encoded_value = value.encode("utf-8", "replace")
        is_prefix_implied = value != text and _encode_header(value) != [encoded_value]
        return [encoded_value] if is_prefix_implied else [encoded_text]
    items = value if isinstance(value, list) and len(value) > 1 else [value]
    encoded_items = [
        item.encode("utf-8", "replace") if isinstance(item, str) else item
        for item in items
        if item is None
        or isinstance(item, str)
        or (isinstance(item, bytes) and _decode_value(item) is item)
    ]
    return list(encoded_items) if len(encoded_items) == len(items) else [encoded_text]


def _decode_header(raw_values: Sequence[str | bytes | None]) -> str:
    """Return the text of a message header, from the values that a Kafka record has under its name.

    Several values become an encoded list (`queues/headers.py`). Null and bytes that are not UTF-8
    are encoded as text. Text that `_encode_header` would not send unchanged gets the prefix `!text
    `.
    """
    values = [_decode_value(raw_value) for raw_value in raw_values]
    if len(values) > 1:
        return format_value(list(values))
    (value,) = values
    if not isinstance(value, str):
        return format_value(value)
    if not value.startswith(MARK):
        return value
    return value if _encode_header(value) == [value.encode()] else f"!text {value}"


def _decode_value(raw_value: str | bytes | None) -> str | bytes | None:
    """Return the value of a Kafka header: as text if its bytes are valid UTF-8, otherwise
    unchanged.
    """
    try:
        return raw_value.decode() if isinstance(raw_value, bytes) else raw_value
    except UnicodeDecodeError:
        return raw_value


def _read_headers(record: KafkaRecord) -> RecordHeaders:
    """Return the headers of a Kafka record; an empty list if the client cannot decode their
    names.
    """
    try:
        return list(record.headers() or ())
    except UnicodeDecodeError:
        return []


def _encode_body(value: str | bytes | None) -> bytes:
    return value.encode() if isinstance(value, str) else value or b""


def _decode_text(value: str | bytes | None) -> str:
    return value.decode("utf-8", "backslashreplace") if isinstance(value, bytes) else value or ""


def _parse_number(text: str | None) -> int:
    """Return the number that `text` has in ASCII digits; 0 for any other text and for more than 15
    digits.
    """
    if not text or len(text) > _NUMBER_MAX_DIGITS:
        return 0
    return int(text) if text.isascii() and text.isdigit() else 0
