"""State of a Kafka reader: one commit per batch, and announced messages."""

from __future__ import annotations

import pytest
from confluent_kafka import TopicPartition

from fonds.model.message import Delivery
from fonds.queues.kafka.partitions import OffsetLedger, ReaderState

TOPIC = "texts"


class Record:
    """The part of a record of Kafka's client that Fonds reads."""

    def __init__(self, offset: int) -> None:
        self._offset = offset

    def topic(self) -> str:
        return TOPIC

    def partition(self) -> int:
        return 0

    def offset(self) -> int:
        return self._offset

    def error(self) -> None:
        return None

    def headers(self) -> None:
        return None

    def key(self) -> None:
        return None

    def value(self) -> bytes:
        return b"body"


@pytest.fixture
def state() -> ReaderState:
    state = ReaderState("step-in", [])
    state.assign([TopicPartition(TOPIC, 0, 0)])
    state.read([Record(offset) for offset in range(8)])
    return state


def commit(state: ReaderState) -> OffsetLedger:
    """Commit the partition; return the offsets from which another reader would resume now."""
    offsets = state.list_offsets([(TOPIC, 0)])
    state.confirm(offsets)
    return OffsetLedger.resume(offsets[0].offset, offsets[0].metadata)


def take(state: ReaderState, count_max: int) -> list[Delivery]:
    """Take messages that an earlier commit announced."""
    deliveries, uncommitted_partitions = state.take(count_max)
    assert not uncommitted_partitions
    return deliveries


def count_returns(ledger: OffsetLedger) -> list[int]:
    return [ledger.count_returns(offset) for offset in range(8)]


def test_the_first_messages_need_a_commit(state: ReaderState) -> None:
    assert state.take(2)[1] == {(TOPIC, 0)}
    assert count_returns(commit(state)) == [1, 1, 0, 0, 0, 0, 0, 0]


def test_a_commit_of_settled_messages_announces_the_next_ones(state: ReaderState) -> None:
    deliveries, _ = state.take(2)
    commit(state)
    state.settle(deliveries)
    assert state.announce() == {(TOPIC, 0)}
    assert count_returns(commit(state))[2:] == [1, 1, 0, 0, 0, 0]
    take(state, 2)
    assert state.take(1)[1] == {(TOPIC, 0)}


def test_an_announcement_counts_only_once_it_is_committed(state: ReaderState) -> None:
    deliveries, _ = state.take(2)
    commit(state)
    state.settle(deliveries)
    state.announce()
    assert state.take(2)[1] == {(TOPIC, 0)}


def test_nothing_is_announced_while_a_message_is_leased(state: ReaderState) -> None:
    deliveries, _ = state.take(2)
    state.settle(deliveries[:1])
    assert state.announce() == set()


def test_a_reader_that_closes_withdraws_its_announcements(state: ReaderState) -> None:
    deliveries, _ = state.take(2)
    state.settle(deliveries)
    state.announce()
    commit(state)
    assert state.withdraw(["other"]) == set()
    assert state.withdraw([TOPIC]) == {(TOPIC, 0)}
    assert count_returns(commit(state)) == [0] * 8
