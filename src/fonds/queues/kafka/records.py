"""Messages as Kafka records and back.

The value is the body, bare. The key is the message's, or its id where it has none. Of ours are the headers
`fonds-id` and `fonds-attempt` (digits), `fonds-due` (of a delayed message: Unix milliseconds) and
`fonds-no-key` (empty: the key is the id); every other header is one of the message's.
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
    """What decides the partition, and what compaction goes by: the id where there is no key."""
    return (message.key or message.id).encode("utf-8", "replace")


def encode_headers(message: Message, due_ms: int | None) -> RecordHeaders:
    """The headers of a record; `due_ms` is when a delayed message is to come, in Unix milliseconds."""
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
    """The message of a record, and when it is due in Unix milliseconds (0: at once).

    What other programs put is read too: a record without an id is named after its place, and a key that
    is no UTF-8 has its bytes spelled out.
    """
    fields: dict[str, str] = {}
    grouped: dict[str, list[str | bytes | None]] = {}
    for name, raw in _read_headers(record):
        if name in OWN_HEADERS:
            fields[name] = _decode_plain(raw)
        else:
            grouped.setdefault(name, []).append(raw)
    message = Message(
        id=fields.get(ID) or f"{record.topic()}/{record.partition()}/{record.offset()}",
        body=_encode_bytes(record.value()),
        key="" if NO_KEY in fields else _decode_plain(record.key()),
        attempt=_count(fields.get(ATTEMPT)),
        headers=limit_headers({name: _decode_header(raws) for name, raws in grouped.items()}),
    )
    return message, _count(fields.get(DUE))


def matches_pipeline(pipeline: str, record: KafkaRecord) -> bool:
    """As `Message.is_for`, of a record; for "" nothing is looked at."""
    if not pipeline:
        return True
    made_by = [raw for name, raw in _read_headers(record) if name == PIPELINE]
    return made_by in ([], [pipeline.encode()])


def _encode_header(text: str) -> list[str | bytes | None]:
    """What stands for a header in a record; several of its name for a list.

    Kafka knows nothing, and bytes, which are text where they can be. Values of any other type stay
    spelled, and so does what would be read as one of these.
    """
    raw = text.encode("utf-8", "replace")
    if not text.startswith(MARK):
        return [raw]
    value = parse_value(text)
    if isinstance(value, str):
        bare = value.encode("utf-8", "replace")
        return [bare] if value != text and _encode_header(value) != [bare] else [raw]
    several = value if isinstance(value, list) and len(value) > 1 else [value]
    found = [
        one.encode("utf-8", "replace") if isinstance(one, str) else one
        for one in several
        if one is None
        or isinstance(one, str)
        or (isinstance(one, bytes) and _decode_raw(one) is one)
    ]
    return list(found) if len(found) == len(several) else [raw]


def _decode_header(raws: Sequence[str | bytes | None]) -> str:
    """The text of a header: the one of which `_encode_header` makes these."""
    values = [_decode_raw(one) for one in raws]
    if len(values) > 1:
        return format_value(list(values))
    (value,) = values
    if not isinstance(value, str):
        return format_value(value)
    if not value.startswith(MARK):
        return value
    return value if _encode_header(value) == [value.encode()] else f"!text {value}"


def _decode_raw(raw: str | bytes | None) -> str | bytes | None:
    """Bytes that are text as text."""
    try:
        return raw.decode() if isinstance(raw, bytes) else raw
    except UnicodeDecodeError:
        return raw


def _read_headers(record: KafkaRecord) -> RecordHeaders:
    """The headers; none when the client cannot read their names."""
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
