"""Encode and decode AMQP tables in RabbitMQ's format, and message properties that have a table.

Source: AMQP 0-9-1 sections 4.2.5.5 and 2.3.5.2, with the field types of RabbitMQ's errata. This
module replaces the codec of the library pika, which truncates floats to integers when reading and
cannot write floats. A table that pika cannot read closes the connection, on every delivery of the
message.
"""

from __future__ import annotations

import struct
from collections.abc import Callable
from dataclasses import dataclass
from decimal import Decimal
from functools import lru_cache
from types import NoneType
from typing import Any, ClassVar

import pika
import pika.spec

from fonds.queues.headers import DEPTH_MAX, HeaderTime, Value

SHORT_MAX_BYTES = 255
NAMES_MAX = 1_000
"""Maximum number of names of headers that are kept encoded."""
FLAGS = tuple(1 << bit for bit in range(15, 6, -1))
"""Flags of the AMQP message properties up to `message_id`, in the order of the encoding. Later
properties are ignored.
"""
CONTENT_TYPE, _, HEADERS, DELIVERY_MODE, PRIORITY, _, _, _, MESSAGE_ID = FLAGS
_NUMBERS = {
    kind: struct.Struct(f">{form}")
    for kind, form in zip(b"bBUsuIiLlfd", "bBhhHiIqqfd", strict=True)
}


@dataclass(slots=True)
class Properties:
    """AMQP properties of a message that Fonds reads or writes. This class replaces that of the
    library pika.

    A property that the message lacks is None. `delivery_mode` is 2 for a message that survives a
    restart of the broker.
    """

    INDEX: ClassVar[int] = pika.BasicProperties.INDEX
    message_id: str | None = None
    headers: dict[str, Value] | None = None
    delivery_mode: int | None = None
    content_type: str | None = None

    def decode(self, encoded_header: bytes, offset: int = 0) -> Properties:
        """Read the message properties from `encoded_header`, the bytes of an AMQP content header.
        Return self.

        The properties begin at `offset`, after the body size. The broker has validated their
        format.
        """
        (flags,) = struct.unpack_from(">H", encoded_header, offset)
        offset += 2
        for flag in FLAGS:
            if not flags & flag:
                continue
            if flag == HEADERS:
                end = offset + 4 + int.from_bytes(encoded_header[offset : offset + 4], "big")
                self.headers = decode_table(encoded_header[offset + 4 : end])
            elif flag in (DELIVERY_MODE, PRIORITY):
                end = offset + 1
                if flag == DELIVERY_MODE:
                    self.delivery_mode = encoded_header[offset]
            else:
                end = offset + 1 + encoded_header[offset]
                if flag == CONTENT_TYPE:
                    self.content_type = _decode_short(encoded_header[offset + 1 : end])
                elif flag == MESSAGE_ID:
                    self.message_id = _decode_short(encoded_header[offset + 1 : end])
            offset = end
        return self

    def encode(self) -> list[bytes]:
        """Return the properties as pieces of an AMQP content header: the bytes that follow the body
        size.
        """
        flags, pieces = HEADERS, list[bytes]()
        if self.content_type:
            flags |= CONTENT_TYPE
            pieces.append(_encode_short(self.content_type))
        pieces.append(encode_table(self.headers or {}))
        if self.delivery_mode:
            flags |= DELIVERY_MODE
            pieces.append(bytes([self.delivery_mode]))
        if self.message_id:
            flags |= MESSAGE_ID
            pieces.append(_encode_short(self.message_id))
        return [struct.pack(">H", flags), *pieces]


# Pika creates one of these for each message that arrives.
pika.spec.props[pika.BasicProperties.INDEX] = Properties


def _decode_short(short: bytes) -> str:
    return short.decode("utf-8", "backslashreplace")


def encode_table(table: dict[str, Value]) -> bytes:
    """Encode an AMQP table, with its length in front. Names longer than 255 bytes are cut."""
    pieces = list[bytes]()
    for name, value in table.items():
        pieces.append(_encode_name(name))
        pieces.append(_ENCODERS.get(type(value), _encode_text)(value))
    return _encode_long(b"".join(pieces))


def _encode_value(value: Value) -> bytes:
    return _ENCODERS.get(type(value), _encode_text)(value)


def _encode_text(text: str) -> bytes:
    data = text.encode("utf-8", "replace")
    return b"S" + len(data).to_bytes(4, "big") + data


def _encode_number(value: int) -> bytes:
    small = -(2**31) <= value < 2**31
    return struct.pack(">ci", b"I", value) if small else struct.pack(">cq", b"l", value)


def _encode_decimal(value: Decimal) -> bytes:
    _, _, exponent = value.as_tuple()
    scale = -int(exponent)
    return struct.pack(">cBi", b"D", scale, int(value.scaleb(scale)))


_ENCODERS: dict[type, Callable[[Any], bytes]] = {
    str: _encode_text,
    bytes: lambda value: b"x" + _encode_long(value),
    bool: lambda value: b"t" + bytes([value]),
    int: _encode_number,
    float: lambda value: struct.pack(">cd", b"d", value),
    Decimal: _encode_decimal,
    HeaderTime: lambda value: struct.pack(">cQ", b"T", value.seconds),
    dict: lambda value: b"F" + encode_table(value),
    list: lambda value: b"A" + _encode_long(b"".join(map(_encode_value, value))),
    NoneType: lambda _: b"V",
}


def _encode_short(text: str) -> bytes:
    data = text.encode("utf-8", "replace")[:SHORT_MAX_BYTES]
    return bytes([len(data)]) + data


_encode_name = lru_cache(NAMES_MAX)(_encode_short)


def _encode_long(data: bytes) -> bytes:
    return len(data).to_bytes(4, "big") + data


def decode_table(encoded_table: bytes) -> dict[str, Value]:
    """Decode an AMQP table, given without its length. Fields after an unreadable field are omitted.

    A table or list that is nested deeper than `DEPTH_MAX` is returned as bytes.
    """
    table: dict[str, Value] = {}
    _read_table(encoded_table, table, DEPTH_MAX)
    return table


def _read_table(encoded_table: bytes, table: dict[str, Value], depth: int) -> None:
    offset = 0
    try:
        while offset < len(encoded_table):
            size = encoded_table[offset]
            name = encoded_table[offset + 1 : offset + 1 + size].decode("utf-8", "backslashreplace")
            table[name], offset = _decode_value(encoded_table, offset + 1 + size, depth)
    except (struct.error, IndexError, KeyError, ValueError):
        return


def _read_list(encoded_list: bytes, depth: int) -> list[Value]:
    values: list[Value] = []
    offset = 0
    try:
        while offset < len(encoded_list):
            value, offset = _decode_value(encoded_list, offset, depth)
            values.append(value)
    except (struct.error, IndexError, KeyError, ValueError):
        pass
    return values


def _decode_value(encoded_fields: bytes, offset: int, depth: int) -> tuple[Value, int]:
    """Return the value of an AMQP table field, and the offset after it. Its type byte is at
    `offset`.

    Raises KeyError for an unknown type, and ValueError, IndexError or struct.error for a truncated
    value.
    """
    kind, offset = encoded_fields[offset], offset + 1
    if kind in b"SxAF":
        end = offset + 4 + int.from_bytes(encoded_fields[offset : offset + 4], "big")
        if end > len(encoded_fields):
            raise ValueError("a field is truncated")
        return _decode_nested(kind, encoded_fields[offset + 4 : end], depth - 1), end
    if kind in b"V":
        return None, offset
    if kind in b"t":
        return encoded_fields[offset] != 0, offset + 1
    if kind in b"D":
        scale, raw = struct.unpack_from(">Bi", encoded_fields, offset)
        return Decimal(raw).scaleb(-scale), offset + 5
    if kind in b"T":
        return HeaderTime(*struct.unpack_from(">Q", encoded_fields, offset)), offset + 8
    form = _NUMBERS[kind]
    return form.unpack_from(encoded_fields, offset)[0], offset + form.size


def _decode_nested(kind: int, data: bytes, depth: int) -> Value:
    if kind in b"S":
        try:
            return data.decode()
        except UnicodeDecodeError:
            return data
    if kind in b"x" or depth <= 0:
        return data
    if kind in b"A":
        return _read_list(data, depth)
    table: dict[str, Value] = {}
    _read_table(data, table, depth)
    return table
