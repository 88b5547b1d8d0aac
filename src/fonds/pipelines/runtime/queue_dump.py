"""What people's tools do to a queue: look, write messages to a file and put them back, throw away."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Sequence
from datetime import datetime
from itertools import islice
from pathlib import Path
from typing import BinaryIO

from fonds.archive.warc.messages import MessageStory, MessageWriter, read_messages
from fonds.model.disposition import Reason, Verdict
from fonds.model.errors import ConfigurationError
from fonds.model.message import Delivery, Message, Subscription
from fonds.model.suggestions import format_unknown_name
from fonds.pipelines.runtime.binding import parse_subscription_name
from fonds.pipelines.runtime.quarantine import build_decided_row
from fonds.ports import Ledger, Queue

BATCH_MAX = 200
FIRST_WAIT_S = 5.0
WAIT_S = 0.5
FindStory = Callable[[Message], MessageStory | None]
"""The story a message is about, None for one that is about none."""


def resolve_address(word: str, subscriptions: Sequence[Subscription]) -> str:
    """The address a person means: `STEP` or `STEP-in`, or `STEP-quar`; the pipeline's name may stand before.

    Raises ConfigurationError for any other, with those there are.
    """
    for subscription in subscriptions:
        pipeline = parse_subscription_name(subscription)[0]
        word = word if word.startswith(f"{pipeline}.") else f"{pipeline}.{word}"
        if word in (subscription.name, subscription.incoming):
            return subscription.incoming
        if word == subscription.quarantine:
            return word
        if word == subscription.delay:
            raise ConfigurationError(
                f"what waits in {word} comes to {subscription.incoming} by itself; look there"
            )
    known = [name for one in subscriptions for name in (one.incoming, one.quarantine)]
    raise ConfigurationError(format_unknown_name("address", word, known))


def take_batches(queue: Queue, address: str, count_max: int | None) -> Iterator[list[Delivery]]:
    """Batches of what is ready at an address, until nothing more comes or `count_max` were taken."""
    left, wait_s = count_max, FIRST_WAIT_S
    while left is None or left > 0:
        deliveries = queue.receive(
            address, BATCH_MAX if left is None else min(left, BATCH_MAX), wait_s
        )
        if not deliveries:
            return
        left, wait_s = None if left is None else left - len(deliveries), WAIT_S
        yield deliveries


def peek(queue: Queue, address: str, count_max: int) -> list[Delivery]:
    """What is ready at an address, given back at once; each then counts as handed out once more."""
    seen: list[Delivery] = []
    try:
        for deliveries in take_batches(queue, address, count_max):
            seen += deliveries
    finally:
        queue.release(seen)
    return seen


def dump(
    queue: Queue,
    address: str,
    out: BinaryIO,
    *,
    count_max: int | None,
    releases: bool,
    find_story: FindStory = lambda message: None,
    filename: str = "",
) -> Iterator[int]:
    """Write messages to a file, and settle each batch once it is safely on the disk; yields its size.

    `filename` is what the file is called; `find_story` gives the stories that stand beside messages. With
    `releases` messages are given back in the end. A process that dies in between leaves messages both in
    the file and on the queue; loading them again does no harm."""
    writer, kept = MessageWriter(out, filename), list[Delivery]()
    try:
        for deliveries in take_batches(queue, address, count_max):
            if releases:
                kept += deliveries
            for delivery in deliveries:
                writer.write(address, delivery.message, find_story(delivery.message))
            out.flush()
            os.fsync(out.fileno())
            if not releases:
                queue.settle(deliveries)
            yield len(deliveries)
    finally:
        queue.release(kept)


def load(
    queue: Queue, path: Path, subscriptions: Sequence[Subscription], to: str | None
) -> Iterator[int]:
    """Put the messages of a file on `to`, or where each was taken from; yields the size of each batch.

    Raises ConfigurationError for an address there is not, DamagedInputError for a file that is none.
    """
    with path.open("rb") as stream:
        messages = read_messages(stream)
        while batch := list(islice(messages, BATCH_MAX)):
            by_address: dict[str, list[Message]] = {}
            for taken_from, message in batch:
                address = resolve_address(to or taken_from, subscriptions)
                by_address.setdefault(address, []).append(message)
            for address, those in by_address.items():
                queue.put(address, those)
            yield len(batch)


def purge(
    queue: Queue,
    ledger: Ledger,
    address: str,
    subscription: Subscription,
    clock: Callable[[], datetime],
) -> Iterator[int]:
    """Throw away what is ready at an address: each ends as dropped, `purged`; yields each batch's size."""
    for deliveries in take_batches(queue, address, None):
        detail, reason = f"purged by hand from {address}", str(Reason.PURGED)
        now = clock()
        ledger.write(
            [
                build_decided_row(one.message, subscription, Verdict.DROPPED, reason, detail, now)
                for one in deliveries
            ]
        )
        queue.settle(deliveries)
        yield len(deliveries)
