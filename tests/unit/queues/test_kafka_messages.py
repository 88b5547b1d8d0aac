"""Kafka records as messages and back, topic names, and URLs."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, cast

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fonds.model.errors import ConfigurationError
from fonds.model.message import Message, Subscription, TopicTraits
from fonds.queues.headers import COUNT_MAX, format_value
from fonds.queues.kafka.queue import KafkaQueue
from fonds.queues.kafka.records import (
    RecordHeaders,
    decode_message,
    encode_headers,
    encode_key,
    matches_pipeline,
)
from fonds.queues.kafka.topics import SubscriptionTopics


@dataclass
class Record:
    """The part of a record of Kafka's client that Fonds reads."""

    sent: RecordHeaders | None
    body: bytes | None = b""
    keyed: bytes | None = None

    def headers(self) -> RecordHeaders | None:
        return self.sent

    def value(self) -> bytes | None:
        return self.body

    def key(self) -> bytes | None:
        return self.keyed

    def topic(self) -> str:
        return "texts"

    def partition(self) -> int:
        return 3

    def offset(self) -> int:
        return 41


class UnreadableRecord(Record):
    """A record whose header names are not UTF-8."""

    def headers(self) -> RecordHeaders | None:
        raise UnicodeDecodeError("utf-8", b"\xff", 0, 1, "invalid start byte")


def decode_record(record: Record) -> tuple[Message, int]:
    return decode_message(cast(Any, record))


WORDS = st.text(st.characters(codec="utf-8"), max_size=20)


@given(
    st.builds(
        Message,
        id=WORDS.filter(bool),
        body=st.binary(max_size=50),
        key=WORDS,
        attempt=st.integers(0, 10**6),
        headers=st.dictionaries(WORDS.filter(lambda name: "fonds-" not in name), WORDS),
    ),
    st.none() | st.integers(1, 10**13),
)
def test_a_message_is_decoded_as_it_was_encoded(message: Message, due_ms: int | None) -> None:
    record = Record(encode_headers(message, due_ms), message.body, encode_key(message))
    assert decode_record(record) == (message, due_ms or 0)


def test_lone_surrogates_are_replaced() -> None:
    message = Message("a\ud800", b"", key="\ud800", headers={"x": "\ud800"})
    decoded, _ = decode_record(Record(encode_headers(message, None), b"", encode_key(message)))
    assert decoded == Message("a?", b"", key="?", headers={"x": "?"})


def test_a_foreign_record_gets_its_place_as_id() -> None:
    assert decode_record(Record(None, None)) == (Message("texts/3/41", b""), 0)


def test_invalid_numbers_of_foreign_records_are_ignored() -> None:
    sent: RecordHeaders = [("fonds-attempt", b"-1"), ("fonds-due", b"9" * 16), ("x", None)]
    message, due_ms = decode_record(Record(sent, b"body", b"\xff"))
    assert (message.attempt, due_ms) == (0, 0)
    assert message.key == "\\xff"
    assert message.headers == {"x": "!none"}


HEADER_TEXT = (
    WORDS
    | st.builds(format_value, st.integers(-5, 5) | st.none() | st.binary(max_size=4) | st.floats())
    | st.builds(
        format_value, st.lists(st.none() | st.binary(max_size=3) | WORDS | st.integers(0, 9))
    )
).flatmap(lambda text: st.sampled_from([text, f"!text {text}", f"!text !text {text}"]))


@given(HEADER_TEXT)
def test_every_header_text_is_restored(text: str) -> None:
    """Some texts stand for values that Kafka does not have."""
    sent = encode_headers(Message("a", b"", headers={"x": text}), None)
    assert decode_record(Record(sent))[0].headers == {"x": text}


@given(st.lists(st.none() | st.binary(max_size=6) | WORDS.map(str.encode), min_size=1, max_size=3))
def test_foreign_headers_are_written_back_unchanged(raws: list[bytes | None]) -> None:
    """A name can occur several times, with any bytes or without a value."""
    sent: RecordHeaders = [("x", raw) for raw in raws]
    message, _ = decode_record(Record(sent))
    assert [(n, v) for n, v in encode_headers(message, None) if n == "x"] == sent


def test_foreign_headers_are_limited(caplog: pytest.LogCaptureFixture) -> None:
    numbered: RecordHeaders = [(f"h{n}", b"x") for n in range(1000)]
    message, _ = decode_record(Record([("large", b"x" * 10**6), *numbered]))
    assert len(message.headers) == COUNT_MAX
    assert "large" not in message.headers
    assert "901 headers" in caplog.text


def test_different_keys_that_are_not_utf8_stay_different() -> None:
    keys = [decode_record(Record(None, b"", raw))[0].key for raw in (b"\xfe", b"\xff", b"\xff\x00")]
    assert keys == ["\\xfe", "\\xff", "\\xff\x00"]


@pytest.mark.parametrize(
    ("sent", "expected"),
    [
        ([], True),
        ([("pipeline", b"news")], True),
        ([("pipeline", b"papers")], False),
        ([("pipeline", None)], False),
        ([("pipeline", b"news"), ("pipeline", b"papers")], False),
    ],
)
def test_a_record_is_selected_like_its_message(sent: RecordHeaders, expected: bool) -> None:
    record = Record(sent)
    assert matches_pipeline("news", cast(Any, record)) is expected
    assert decode_record(record)[0].is_for("news") is expected
    assert matches_pipeline("", cast(Any, record))


def test_unreadable_headers_are_dropped() -> None:
    assert decode_record(UnreadableRecord([], b"body"))[0] == Message("texts/3/41", b"body")


def test_topics_and_groups_of_a_subscription_have_the_prefix_of_its_topic() -> None:
    places = SubscriptionTopics(
        Subscription("persist", "fonds-local.pdf-text", TopicTraits(5, "none", True))
    )
    assert places.name == "fonds-local.persist"
    assert places.delay_topics[0] == "fonds-local.persist-delay-4s"
    topics = places.build_topics(None)
    assert list(topics)[:2] == ["fonds-local.pdf-text", "fonds-local.persist-in"]
    assert topics["fonds-local.pdf-text"] == TopicTraits(5, "none", True)
    assert not topics["fonds-local.persist-in"].compacted
    assert topics["fonds-local.persist-quar"].partitions == 1
    assert places.build_topics(2)["fonds-local.pdf-text"].partitions == 2


@pytest.mark.parametrize(
    ("delay_s", "level_s"),
    [(0.01, 4), (4, 4), (4.1, 64), (60, 64), (1000, 1024), (3600, 16384), (10**6, 16384)],
)
def test_a_delayed_message_uses_the_delay_topic_of_its_magnitude(
    delay_s: float, level_s: int
) -> None:
    places = SubscriptionTopics(Subscription("step", "g.topic"))
    assert places.choose_delay_topic(delay_s) == f"g.step-delay-{level_s}s"


@pytest.mark.parametrize(
    "url",
    [
        "kafka:///topic",
        "kafka://user:s3cret@?x=1",
        "kafka://user:s3cret@host?partitions=many",
        "kafka://user:s3cret@host?replication=x",
    ],
)
def test_an_invalid_url_is_reported_without_its_password(url: str) -> None:
    with pytest.raises(ConfigurationError, match="kafka: ") as raised:
        KafkaQueue(url)
    assert "s3cret" not in str(raised.value)


def test_an_unknown_client_option_is_reported_by_name() -> None:
    queue = KafkaQueue("kafka://user:s3cret@host?no.such.option=1")
    with pytest.raises(ConfigurationError, match=r"no\.such\.option") as raised:
        queue.declare([Subscription("step", "g.topic")])
    assert "s3cret" not in f"{raised.value}{raised.value.__cause__}{queue!r}"
