"""Results of any size are sent to a public topic on every queue, and stay readable."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from contract.conftest import QUEUES
from contract.queue_reading import take
from fonds.model.message import Message, Subscription
from fonds.ports import TopicQueue
from fonds.queues.large_bodies import BodyLimits, LargeBodies
from fonds.queues.messages.results import TEXT
from fonds.stores.blobs import FolderBlobs
from published_results import PIPELINE_NAME, read_text, result
from real_servers import backend_params

BETWEEN_STEPS_BYTES, ON_TOPICS_BYTES = 900_000, 16_000_000
KEY = "ab" * 20


class Topic:
    """A public topic with our reader, and another program that reads it with its own queue."""

    def __init__(
        self, open_queue: Callable[[], TopicQueue], folder: Path, name: str, on_topics_bytes: int
    ) -> None:
        self.name = f"{name}.pdf-text"
        self.blobs = FolderBlobs(folder / "published")
        limits = BodyLimits(BETWEEN_STEPS_BYTES, on_topics_bytes)
        self.queue = LargeBodies(open_queue(), self.blobs, limits, {self.name: TEXT})
        self.own_reader = Subscription(f"{name}.own_reader", self.name, pipeline=PIPELINE_NAME)
        self.foreign_reader = Subscription(f"{name}.foreign_reader", self.name)
        self.queue.declare([self.own_reader], {self.name: self.own_reader.traits})
        self.other_program = open_queue()
        self.other_program.declare([self.foreign_reader])

    def read_by_others(self, count: int) -> list[str]:
        deliveries = take(self.other_program, self.foreign_reader.incoming, count)
        messages = [delivery.message for delivery in deliveries]
        return [read_text(message.body, dict(message.headers), self.blobs) for message in messages]

    def receive_all(self, sent: list[Message]) -> None:
        """Receive each message once and complete with our reader, and settle it."""
        deliveries = take(self.queue, self.own_reader.incoming, len(sent))
        received = {delivery.message.id: delivery.message.body for delivery in deliveries}
        assert received == {message.id: message.body for message in sent}
        self.queue.settle(deliveries)
        assert self.queue.receive(self.own_reader.incoming, 1, 0.2) == []


@pytest.fixture(params=backend_params(sorted(set(QUEUES) - {"large-bodies"})))
def open_queue(
    request: pytest.FixtureRequest, open_backend: Callable[[Any], Any]
) -> Callable[[], Any]:
    """Open the queue again, as another program would."""
    return lambda: open_backend(QUEUES[request.param])


@pytest.fixture
def topic(open_queue: Callable[[], TopicQueue], tmp_path: Path, name: str) -> Topic:
    return Topic(open_queue, tmp_path, name, ON_TOPICS_BYTES)


@pytest.fixture
def small_topic(open_queue: Callable[[], TopicQueue], tmp_path: Path, name: str) -> Topic:
    return Topic(open_queue, tmp_path, name, 10_000)


def test_results_below_and_above_the_limit_are_read_completely(topic: Topic) -> None:
    small, medium, large = "one word", "Wörter " * 500_000, "words " * 3_000_000
    sent = [result("a", small), result("b", medium), result("c", large)]
    topic.queue.put(topic.name, sent)
    topic.receive_all(sent)
    assert sorted(topic.read_by_others(3)) == sorted([small, medium, large])


def test_a_message_just_below_the_limit_is_sent_unchanged(topic: Topic) -> None:
    room = ON_TOPICS_BYTES - len(result("edge", "").body) - 1_200
    sent = result("edge", "x" * room)
    topic.queue.put(topic.name, [sent])
    (read,) = take(topic.other_program, topic.foreign_reader.incoming, 1)
    assert read.message.body == sent.body


def test_the_text_blob_is_replaced_by_the_next_message_of_its_key(small_topic: Topic) -> None:
    first, second = result("1", "a " * 9_000, KEY), result("2", "b " * 9_000, KEY)
    small_topic.queue.put(small_topic.name, [first])
    small_topic.receive_all([first])
    assert small_topic.read_by_others(1) == ["a " * 9_000]
    small_topic.queue.put(small_topic.name, [second])
    assert small_topic.read_by_others(1) == ["b " * 9_000]
    small_topic.queue.put(small_topic.name, [result("3", "small", KEY)])
    assert small_topic.read_by_others(1) == ["small"]
    assert small_topic.blobs.get(TEXT.build_key(KEY)) is None


def test_the_last_message_of_a_key_in_a_batch_wins(small_topic: Topic) -> None:
    large, small = result("1", "a " * 9_000, KEY), result("2", "small", KEY)
    small_topic.queue.put(small_topic.name, [small, large])
    assert small_topic.blobs.get(TEXT.build_key(KEY)) == b"a " * 9_000
    small_topic.queue.put(small_topic.name, [large, small])
    assert small_topic.blobs.get(TEXT.build_key(KEY)) is None
