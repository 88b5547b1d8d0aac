"""What every queue promises of topics: selectors, and topics nobody here reads (`fonds.ports.Topics`)."""

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
def everything(name: str) -> Subscription:
    return Subscription(f"{name}-all", f"{name}-topic")


def made_by(pipeline: str, id_: str) -> Message:
    return Message(id_, b"body", headers={PIPELINE: pipeline, "other": "x"})


def settled(queue: TopicQueue, subscription: Subscription, count: int) -> list[str]:
    """The ids of all that comes, which must be `count` and no more."""
    found = take(queue, subscription.incoming, count)
    assert queue.receive(subscription.incoming, 10, 0.2) == []
    queue.settle(found)
    return sorted(ids(found))


def pending(queue: TopicQueue, subscription: Subscription) -> int:
    """How many wait, as soon as it is none; brokers may take a moment to tell."""
    deadline = time.monotonic() + PATIENCE_S
    while (found := queue.get_depth(subscription).pending) and time.monotonic() < deadline:
        queue.receive(subscription.incoming, 0, 0.0)
        time.sleep(0.1)
    return found


def test_a_subscription_receives_what_its_pipeline_made_and_what_none_did(
    queue: TopicQueue, news: Subscription, papers: Subscription, everything: Subscription
) -> None:
    queue.declare([news, papers, everything])
    queue.put(news.topic, [made_by("news", "n"), Message("foreign", b""), made_by("papers", "p")])
    queue.put(news.topic, [made_by("elsewhere", "e"), made_by("news", "n2")])
    assert settled(queue, news, 3) == ["foreign", "n", "n2"]
    assert settled(queue, papers, 2) == ["foreign", "p"]
    assert settled(queue, everything, 5) == ["e", "foreign", "n", "n2", "p"]
    assert [pending(queue, one) for one in (news, papers, everything)] == [0, 0, 0]


def test_a_subscription_nobody_uses_does_not_fill_with_another_pipeline_s_messages(
    open_queue: Callable[[], TopicQueue], news: Subscription, papers: Subscription
) -> None:
    before = open_queue()
    before.declare([news])
    before.put(news.topic, [made_by("news", "mine")])
    queue = open_queue()
    queue.declare([papers])
    queue.put(papers.topic, [made_by("papers", f"p{n}") for n in range(20)])
    assert before.get_depth(news).ready == 1
    assert settled(queue, papers, 20) == sorted(f"p{n}" for n in range(20))
    assert before.get_depth(news).ready == 1
    assert settled(before, news, 1) == ["mine"]


def test_what_is_put_to_an_address_of_its_own_is_not_selected(
    queue: TopicQueue, news: Subscription
) -> None:
    queue.declare([news])
    queue.put(news.incoming, [made_by("papers", "direct")])
    queue.put(news.quarantine, [made_by("papers", "apart")])
    queue.put(news.incoming, [made_by("papers", "later")], delay_s=0.05)
    assert settled(queue, news, 2) == ["direct", "later"]
    assert ids(take(queue, news.quarantine, 1)) == ["apart"]


def test_a_pipeline_s_messages_are_settled_past_those_of_another(
    open_queue: Callable[[], TopicQueue], news: Subscription, papers: Subscription
) -> None:
    """On one partition they lie in each other's way."""
    queue = open_queue()
    queue.declare([news, papers])
    mixed = [made_by("news" if n % 3 == 0 else "papers", f"m{n}") for n in range(60)]
    queue.put(news.topic, [Message(m.id, m.body, "one key", 0, m.headers) for m in mixed])
    first = take(queue, news.incoming, 20)
    queue.settle(first[::2])
    queue.settle(first[1::2])
    assert ids(first) == [f"m{n}" for n in range(0, 60, 3)]
    assert pending(queue, news) == 0
    assert queue.get_depth(papers).ready == 40


def test_a_topic_nobody_reads_takes_messages(queue: TopicQueue, name: str) -> None:
    topic = f"{name}-results"
    queue.declare([], {topic: TopicTraits(2, "none")})
    queue.put(topic, [Message("a", b"body")])
    queue.put(topic, [made_by("news", "b")])
    queue.declare([], {topic: TopicTraits(2, "none")})
    with pytest.raises(ConfigurationError, match="declare"):
        queue.put(f"{name}-other", [Message("a", b"")])
    with pytest.raises(ConfigurationError):
        queue.receive(topic, 1, 0.0)


def test_a_topic_none_of_whose_readers_selects_a_message_takes_it(
    queue: TopicQueue, news: Subscription
) -> None:
    queue.declare([news])
    queue.put(news.topic, [made_by("papers", "p")])
    assert pending(queue, news) == 0


def test_a_topic_may_get_readers_later(
    queue: TopicQueue, everything: Subscription, news: Subscription
) -> None:
    queue.declare([], {everything.topic: everything.traits})
    queue.declare([everything, news], {everything.topic: everything.traits})
    queue.put(everything.topic, [made_by("news", "n")])
    assert settled(queue, everything, 1) == ["n"]
    assert settled(queue, news, 1) == ["n"]
