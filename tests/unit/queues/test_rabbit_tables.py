"""AMQP tables: tables of any client are decoded, and encoded unchanged."""

from __future__ import annotations

import struct
from decimal import Decimal
from enum import StrEnum

import pika
import pika.data
import pytest
from hypothesis import given
from hypothesis import strategies as st

from fonds.queues.headers import DEPTH_MAX, HeaderTime, Value, format_value, parse_value
from fonds.queues.rabbit.amqp_tables import Properties, decode_table, encode_table
from unit.queues.header_values import VALUES, are_equal

NAMES = st.text(st.characters(codec="utf-8"), max_size=20)
TABLES = st.dictionaries(NAMES, VALUES, max_size=4)


@given(TABLES)
def test_a_table_is_decoded_as_it_was_encoded(table: dict[str, Value]) -> None:
    encoded = encode_table(table)
    assert struct.unpack(">I", encoded[:4]) == (len(encoded) - 4,)
    assert are_equal(decode_table(encoded[4:]), table)


@given(TABLES)
def test_a_table_survives_conversion_to_text(table: dict[str, Value]) -> None:
    """As in a dump: decoded, written as text, and encoded byte for byte."""
    texts = {
        name: format_value(value) for name, value in decode_table(encode_table(table)[4:]).items()
    }
    assert encode_table({name: parse_value(text) for name, text in texts.items()}) == encode_table(
        table
    )


@given(
    st.dictionaries(
        NAMES, st.integers(-(2**63), 2**63 - 1) | st.booleans() | st.binary() | NAMES | st.none()
    )
)
def test_tables_are_compatible_with_pika_in_both_directions(
    table: dict[str, Value],
) -> None:
    decoded, _ = pika.data.decode_table(encode_table(table), 0)
    assert decoded == table
    pieces: list[bytes] = []
    pika.data.encode_table(pieces, table)
    assert decode_table(b"".join(pieces)[4:]) == table


@given(st.binary(max_size=200))
def test_any_bytes_are_decoded_without_error(encoded: bytes) -> None:
    for name, value in decode_table(encoded).items():
        assert isinstance(name + format_value(value), str)


@pytest.mark.parametrize(
    ("field", "value"),
    [
        (b"d" + struct.pack(">d", 1.5), 1.5),
        (b"f" + struct.pack(">f", 0.5), 0.5),
        (b"d" + struct.pack(">d", float("inf")), float("inf")),
        (b"b\xff", -1),
        (b"B\xff", 255),
        (b"s\xff\xff", -1),
        (b"u\xff\xff", 65535),
        (b"L" + b"\xff" * 8, -1),
        (b"D\x02" + struct.pack(">i", 150), Decimal("1.50")),
        (b"T" + b"\xff" * 8, HeaderTime(2**64 - 1)),
        (b"S\x00\x00\x00\x01\xff", b"\xff"),
        (b"t\x02", True),
    ],
)
def test_fields_of_each_type_are_decoded(field: bytes, value: Value) -> None:
    assert are_equal(decode_table(b"\x01a" + field), {"a": value})


def test_fields_before_an_invalid_type_are_decoded() -> None:
    assert decode_table(b"\x01aI\x00\x00\x00\x05\x01b?junk") == {"a": 5}


def test_the_nesting_of_tables_is_limited() -> None:
    nested = b""
    for _ in range(20_000):
        nested = b"A" + struct.pack(">I", len(nested)) + nested
    value = decode_table(b"\x01a" + nested)["a"]
    for _ in range(DEPTH_MAX - 1):
        assert isinstance(value, list)
        (value,) = value
    assert isinstance(value, bytes)
    assert parse_value(format_value(value)) is not None


def test_properties_and_headers_are_decoded() -> None:
    foreign = pika.BasicProperties(
        content_type="text/plain",
        content_encoding="utf-8",
        headers={"x": 1},
        delivery_mode=2,
        priority=3,
        correlation_id="c",
        message_id="m",
        timestamp=17,
        app_id="them",
    )
    properties = Properties().decode(b"".join(foreign.encode()))
    assert properties.headers == {"x": 1}
    fields = (properties.content_type, properties.message_id, properties.delivery_mode)
    assert fields == ("text/plain", "m", 2)
    bare = Properties().decode(b"".join(pika.BasicProperties(message_id="m").encode()))
    assert (bare.message_id, bare.headers) == ("m", None)


def test_encoded_properties_are_readable_by_pika() -> None:
    own_properties = Properties(
        content_type="application/octet-stream",
        headers={"a": 1.5, "b": "x"},
        delivery_mode=2,
        message_id="m",
    )
    client_properties = pika.BasicProperties().decode(b"".join(own_properties.encode()))
    assert (
        client_properties.content_type,
        client_properties.delivery_mode,
        client_properties.message_id,
    ) == (
        "application/octet-stream",
        2,
        "m",
    )
    assert client_properties.headers["b"] == "x"


class Reason(StrEnum):
    TIMEOUT = "timeout"


def test_a_string_enum_is_encoded_as_text() -> None:
    assert decode_table(encode_table({"reason": Reason.TIMEOUT})[4:]) == {"reason": "timeout"}


@given(
    st.builds(
        pika.BasicProperties,
        content_type=st.none() | NAMES,
        content_encoding=st.none() | NAMES,
        headers=st.none() | st.dictionaries(NAMES, NAMES, max_size=2),
        delivery_mode=st.none() | st.integers(1, 2),
        priority=st.none() | st.integers(0, 255),
        correlation_id=st.none() | NAMES,
        reply_to=st.none() | NAMES,
        expiration=st.none() | NAMES,
        message_id=st.none() | NAMES,
        timestamp=st.none() | st.integers(0, 2**32),
        type=st.none() | NAMES,
        app_id=st.none() | NAMES,
    )
)
def test_any_properties_are_decoded_like_by_pika(
    client_properties: pika.BasicProperties,
) -> None:
    properties = Properties().decode(b"".join(client_properties.encode()))
    for name in ("content_type", "headers", "delivery_mode", "message_id"):
        assert getattr(properties, name) == getattr(client_properties, name)
