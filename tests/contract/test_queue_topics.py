"""Promises of every queue about topics: selectors, and topics without readers (`fonds.ports.Topics`)."""

from __future__ import annotations

import time
from collections.abc import Callable

import pytest

from contract.queue_reading import PATIENCE_S, ids, take
from fonds.model.errors import ConfigurationError
from fonds.model.message import PIPELINE, Message, Subscription, TopicTraits
from fonds.ports import TopicQueue


@pytest.fixture
def news(name: str) -> Subscription:
    return Subscription(f"{name}-news", f"{name}-topic", pipeline="news")


@pytest.fixture
def papers(name: str) -> Subscription:
    return Subscription(f"{name}-papers", f"{name}-topic", pipeline="papers")


@pytest.fixture
def all_messages(name: str) -> Subscription:
    return Subscription(f"{name}-all", f"{name}-topic")


def make_message(pipeline: str, id_: str) -> Message:
    return Message(id_, b"body", headers={PIPELINE: pipeline, "other": "x"})


def receive_all(queue: TopicQueue, subscription: Subscription, count: int) -> list[str]:
    """Receive and settle exactly `count` messages; return their ids."""
    deliveries = take(queue, subscription.incoming, count)
    assert queue.receive(subscription.incoming, 10, 0.2) == []
    queue.settle(deliveries)
    return sorted(ids(deliveries))


def wait_for_pending(queue: TopicQueue, subscription: Subscription) -> int:
    """Return the number of pending messages. Waits for zero, because brokers report it late."""
    deadline = time.monotonic() + PATIENCE_S
    while (count := queue.get_depth(subscription).pending) and time.monotonic() < deadline:
        queue.receive(subscription.incoming, 0, 0.0)
        time.sleep(0.1)
    return count


def test_a_subscription_receives_messages_of_its_pipeline_or_of_none(
    queue: TopicQueue, news: Subscription, papers: Subscription, all_messages: Subscription
) -> None:
    queue.declare([news, papers, all_messages])
    queue.put(
        news.topic,
        [make_message("news", "n"), Message("foreign", b""), make_message("papers", "p")],
    )
    queue.put(news.topic, [make_message("elsewhere", "e"), make_message("news", "n2")])
    assert receive_all(queue, news, 3) == ["foreign", "n", "n2"]
    assert receive_all(queue, papers, 2) == ["foreign", "p"]
    assert receive_all(queue, all_messages, 5) == ["e", "foreign", "n", "n2", "p"]
    assert [wait_for_pending(queue, reader) for reader in (news, papers, all_messages)] == [0, 0, 0]


def test_an_unused_subscription_ignores_other_pipelines(
    open_queue: Callable[[], TopicQueue], news: Subscription, papers: Subscription
) -> None:
    before = open_queue()
    before.declare([news])
    before.put(news.topic, [make_message("news", "mine")])
    queue = open_queue()
    queue.declare([papers])
    queue.put(papers.topic, [make_message("papers", f"p{n}") for n in range(20)])
    assert before.get_depth(news).ready == 1
    assert receive_all(queue, papers, 20) == sorted(f"p{n}" for n in range(20))
    assert before.get_depth(news).ready == 1
    assert receive_all(before, news, 1) == ["mine"]


def test_selectors_do_not_apply_to_direct_addresses(queue: TopicQueue, news: Subscription) -> None:
    queue.declare([news])
    queue.put(news.incoming, [make_message("papers", "direct")])
    queue.put(news.quarantine, [make_message("papers", "apart")])
    queue.put(news.incoming, [make_message("papers", "later")], delay_s=0.05)
    assert receive_all(queue, news, 2) == ["direct", "later"]
    assert ids(take(queue, news.quarantine, 1)) == ["apart"]


def test_messages_are_settled_between_those_of_another_pipeline(
    open_queue: Callable[[], TopicQueue], news: Subscription, papers: Subscription
) -> None:
    """On one partition, the messages of both pipelines are interleaved."""
    queue = open_queue()
    queue.declare([news, papers])
    mixed = [make_message("news" if n % 3 == 0 else "papers", f"m{n}") for n in range(60)]
    queue.put(news.topic, [Message(m.id, m.body, "one key", 0, m.headers) for m in mixed])
    first = take(queue, news.incoming, 20)
    queue.settle(first[::2])
    queue.settle(first[1::2])
    assert ids(first) == [f"m{n}" for n in range(0, 60, 3)]
    assert wait_for_pending(queue, news) == 0
    assert queue.get_depth(papers).ready == 40


def test_a_topic_without_readers_accepts_messages(queue: TopicQueue, name: str) -> None:
    topic = f"{name}-results"
    queue.declare([], {topic: TopicTraits(2, "none")})
    queue.put(topic, [Message("a", b"body")])
    queue.put(topic, [make_message("news", "b")])
    queue.declare([], {topic: TopicTraits(2, "none")})
    with pytest.raises(ConfigurationError, match="declare"):
        queue.put(f"{name}-other", [Message("a", b"")])
    with pytest.raises(ConfigurationError):
        queue.receive(topic, 1, 0.0)


def test_a_topic_accepts_messages_that_no_reader_selects(
    queue: TopicQueue, news: Subscription
) -> None:
    queue.declare([news])
    queue.put(news.topic, [make_message("papers", "p")])
    assert wait_for_pending(queue, news) == 0


def test_a_topic_can_get_readers_later(
    queue: TopicQueue, all_messages: Subscription, news: Subscription
) -> None:
    queue.declare([], {all_messages.topic: all_messages.traits})
    queue.declare([all_messages, news], {all_messages.topic: all_messages.traits})
    queue.put(all_messages.topic, [make_message("news", "n")])
    assert receive_all(queue, all_messages, 1) == ["n"]
    assert receive_all(queue, news, 1) == ["n"]
