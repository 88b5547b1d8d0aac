"""Results of any size reach a public topic on every queue, and stay readable there."""

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
    """A public topic with a reader of ours, and another program that reads it with a queue of its own."""

    def __init__(
        self, open_queue: Callable[[], TopicQueue], folder: Path, name: str, on_topics_bytes: int
    ) -> None:
        self.name = f"{name}.pdf-text"
        self.blobs = FolderBlobs(folder / "published")
        limits = BodyLimits(BETWEEN_STEPS_BYTES, on_topics_bytes)
        self.queue = LargeBodies(open_queue(), self.blobs, limits, {self.name: TEXT})
        self.ours = Subscription(f"{name}.ours", self.name, pipeline=PIPELINE_NAME)
        self.theirs = Subscription(f"{name}.theirs", self.name)
        self.queue.declare([self.ours], {self.name: self.ours.traits})
        self.other_program = open_queue()
        self.other_program.declare([self.theirs])

    def read_by_others(self, count: int) -> list[str]:
        found = [one.message for one in take(self.other_program, self.theirs.incoming, count)]
        return [read_text(one.body, dict(one.headers), self.blobs) for one in found]

    def work(self, sent: list[Message]) -> None:
        """Our own reader receives each message once and whole, and settles it."""
        found = take(self.queue, self.ours.incoming, len(sent))
        received = {one.message.id: one.message.body for one in found}
        assert received == {one.id: one.body for one in sent}
        self.queue.settle(found)
        assert self.queue.receive(self.ours.incoming, 1, 0.2) == []


@pytest.fixture(params=backend_params(sorted(set(QUEUES) - {"large-bodies"})))
def open_queue(
    request: pytest.FixtureRequest, open_backend: Callable[[Any], Any]
) -> Callable[[], Any]:
    """Open the queue once more, as another program would."""
    return lambda: open_backend(QUEUES[request.param])


@pytest.fixture
def topic(open_queue: Callable[[], TopicQueue], tmp_path: Path, name: str) -> Topic:
    return Topic(open_queue, tmp_path, name, ON_TOPICS_BYTES)


@pytest.fixture
def small_topic(open_queue: Callable[[], TopicQueue], tmp_path: Path, name: str) -> Topic:
    return Topic(open_queue, tmp_path, name, 10_000)


def test_results_below_and_above_the_limit_are_read_whole(topic: Topic) -> None:
    small, medium, large = "one word", "Wörter " * 500_000, "words " * 3_000_000
    sent = [result("a", small), result("b", medium), result("c", large)]
    topic.queue.put(topic.name, sent)
    topic.work(sent)
    assert sorted(topic.read_by_others(3)) == sorted([small, medium, large])


def test_a_message_just_below_the_limit_is_accepted_whole(topic: Topic) -> None:
    room = ON_TOPICS_BYTES - len(result("edge", "").body) - 1_200
    sent = result("edge", "x" * room)
    topic.queue.put(topic.name, [sent])
    (read,) = take(topic.other_program, topic.theirs.incoming, 1)
    assert read.message.body == sent.body


def test_the_text_is_replaced_with_its_key(small_topic: Topic) -> None:
    first, second = result("1", "a " * 9_000, KEY), result("2", "b " * 9_000, KEY)
    small_topic.queue.put(small_topic.name, [first])
    small_topic.work([first])
    assert small_topic.read_by_others(1) == ["a " * 9_000]
    small_topic.queue.put(small_topic.name, [second])
    assert small_topic.read_by_others(1) == ["b " * 9_000]
    small_topic.queue.put(small_topic.name, [result("3", "small", KEY)])
    assert small_topic.read_by_others(1) == ["small"]
    assert small_topic.blobs.get(TEXT.build_key(KEY)) is None


def test_the_newest_of_a_key_in_one_batch_decides(small_topic: Topic) -> None:
    large, small = result("1", "a " * 9_000, KEY), result("2", "small", KEY)
    small_topic.queue.put(small_topic.name, [small, large])
    assert small_topic.blobs.get(TEXT.build_key(KEY)) == b"a " * 9_000
    small_topic.queue.put(small_topic.name, [large, small])
    assert small_topic.blobs.get(TEXT.build_key(KEY)) is None
