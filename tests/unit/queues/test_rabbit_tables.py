"""AMQP tables: what any client may put in one is read, whatever it is, and written as it was."""

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
from unit.queues.header_values import VALUES, same

NAMES = st.text(st.characters(codec="utf-8"), max_size=20)
TABLES = st.dictionaries(NAMES, VALUES, max_size=4)


@given(TABLES)
def test_a_table_is_read_as_it_was_written(table: dict[str, Value]) -> None:
    encoded = encode_table(table)
    assert struct.unpack(">I", encoded[:4]) == (len(encoded) - 4,)
    assert same(decode_table(encoded[4:]), table)


@given(TABLES)
def test_a_table_survives_as_text(table: dict[str, Value]) -> None:
    """As in a dump: read, spelled, written again, byte for byte."""
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
def test_the_usual_client_reads_what_we_write_and_the_other_way_round(
    table: dict[str, Value],
) -> None:
    found, _ = pika.data.decode_table(encode_table(table), 0)
    assert found == table
    pieces: list[bytes] = []
    pika.data.encode_table(pieces, table)
    assert decode_table(b"".join(pieces)[4:]) == table


@given(st.binary(max_size=200))
def test_no_bytes_are_an_error(encoded: bytes) -> None:
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
def test_fields_of_each_type_are_read(field: bytes, value: Value) -> None:
    assert same(decode_table(b"\x01a" + field), {"a": value})


def test_what_stands_before_a_field_of_no_type_is_read() -> None:
    assert decode_table(b"\x01aI\x00\x00\x00\x05\x01b?junk") == {"a": 5}


def test_tables_may_not_nest_without_end() -> None:
    nested = b""
    for _ in range(20_000):
        nested = b"A" + struct.pack(">I", len(nested)) + nested
    value = decode_table(b"\x01a" + nested)["a"]
    for _ in range(DEPTH_MAX - 1):
        assert isinstance(value, list)
        (value,) = value
    assert isinstance(value, bytes)
    assert parse_value(format_value(value)) is not None


def test_properties_are_read_around_the_headers() -> None:
    strange = pika.BasicProperties(
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
    found = Properties().decode(b"".join(strange.encode()))
    assert found.headers == {"x": 1}
    told = (found.content_type, found.message_id, found.delivery_mode)
    assert told == ("text/plain", "m", 2)
    bare = Properties().decode(b"".join(pika.BasicProperties(message_id="m").encode()))
    assert (bare.message_id, bare.headers) == ("m", None)


def test_properties_are_written_for_any_client_to_read() -> None:
    ours = Properties(
        content_type="application/octet-stream",
        headers={"a": 1.5, "b": "x"},
        delivery_mode=2,
        message_id="m",
    )
    theirs = pika.BasicProperties().decode(b"".join(ours.encode()))
    assert (theirs.content_type, theirs.delivery_mode, theirs.message_id) == (
        "application/octet-stream",
        2,
        "m",
    )
    assert theirs.headers["b"] == "x"


class Reason(StrEnum):
    TIMEOUT = "timeout"


def test_a_text_of_a_closed_list_is_text() -> None:
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
def test_any_properties_are_read_as_the_usual_client_reads_them(
    theirs: pika.BasicProperties,
) -> None:
    found = Properties().decode(b"".join(theirs.encode()))
    for name in ("content_type", "headers", "delivery_mode", "message_id"):
        assert getattr(found, name) == getattr(theirs, name)
