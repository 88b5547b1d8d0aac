"""Operations on queues for operators: show messages, write them to a file, load them from a file,
discard them.
"""

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
"""Function that returns the story a message is about; None if there is none."""


def resolve_address(address: str, subscriptions: Sequence[Subscription]) -> str:
    """Return the queue address for the text that a user typed: `STEP`, `STEP-in` or `STEP-quar`.

    The text may begin with the name of the pipeline. Raises ConfigurationError, which lists the
    known addresses, for any other text.
    """
    for subscription in subscriptions:
        pipeline = parse_subscription_name(subscription)[0]
        address = address if address.startswith(f"{pipeline}.") else f"{pipeline}.{address}"
        if address in (subscription.name, subscription.incoming):
            return subscription.incoming
        if address == subscription.quarantine:
            return address
        if address == subscription.delay:
            raise ConfigurationError(
                f"{address} messages move to {subscription.incoming} by themselves; use that address"
            )
    addresses = [
        name for candidate in subscriptions for name in (candidate.incoming, candidate.quarantine)
    ]
    raise ConfigurationError(format_unknown_name("address", address, addresses))


def take_batches(queue: Queue, address: str, count_max: int | None) -> Iterator[list[Delivery]]:
    """Receive batches of ready messages from an address, until there are no more.

    With `count_max`, stop after that number of messages. The caller must settle or release the
    messages.
    """
    remaining, wait_s = count_max, FIRST_WAIT_S
    while remaining is None or remaining > 0:
        deliveries = queue.receive(
            address, BATCH_MAX if remaining is None else min(remaining, BATCH_MAX), wait_s
        )
        if not deliveries:
            return
        remaining, wait_s = None if remaining is None else remaining - len(deliveries), WAIT_S
        yield deliveries


def peek(queue: Queue, address: str, count_max: int) -> list[Delivery]:
    """Return up to `count_max` ready messages of an address, and leave them on the queue.

    The messages are received and released, so each counts as delivered once more.
    """
    peeked_deliveries: list[Delivery] = []
    try:
        for deliveries in take_batches(queue, address, count_max):
            peeked_deliveries += deliveries
    finally:
        queue.release(peeked_deliveries)
    return peeked_deliveries


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
    """Write messages to a file and settle each batch once it is on disk. Yield the number of
    messages of each batch.

    - `address`: address to take messages from.
    - `out`: the open file.
    - `count_max`: maximum number of messages; None for all.
    - `releases`: release the messages at the end instead of settling them.
    - `find_story`: returns the story to store with a message, or None.
    - `filename`: name of the file, written into it.

    If the process is killed, messages may be both in the file and on the queue. Loading them again
    has no effect on the results.
    """
    writer, released_deliveries = MessageWriter(out, filename), list[Delivery]()
    try:
        for deliveries in take_batches(queue, address, count_max):
            if releases:
                released_deliveries += deliveries
            for delivery in deliveries:
                writer.write(address, delivery.message, find_story(delivery.message))
            out.flush()
            os.fsync(out.fileno())
            if not releases:
                queue.settle(deliveries)
            yield len(deliveries)
    finally:
        queue.release(released_deliveries)


def load(
    queue: Queue, path: Path, subscriptions: Sequence[Subscription], to: str | None
) -> Iterator[int]:
    """Put the messages of a file on the address `to`, or on the address each was taken from. Yield
    the number of messages of each batch.

    Raises ConfigurationError for an unknown address, and DamagedInputError for an invalid file.
    """
    with path.open("rb") as stream:
        messages = read_messages(stream)
        while batch := list(islice(messages, BATCH_MAX)):
            by_address: dict[str, list[Message]] = {}
            for taken_from, message in batch:
                address = resolve_address(to or taken_from, subscriptions)
                by_address.setdefault(address, []).append(message)
            for address, group in by_address.items():
                queue.put(address, group)
            yield len(batch)


def purge(
    queue: Queue,
    ledger: Ledger,
    address: str,
    subscription: Subscription,
    clock: Callable[[], datetime],
) -> Iterator[int]:
    """Discard all messages that are ready at an address. Yield the number of messages of each
    batch.

    The ledger records the messages as dropped with the reason `purged`.
    """
    for deliveries in take_batches(queue, address, None):
        detail, reason = f"purged by a person from {address}", str(Reason.PURGED)
        now = clock()
        ledger.write(
            [
                build_decided_row(
                    delivery.message, subscription, Verdict.DROPPED, reason, detail, now
                )
                for delivery in deliveries
            ]
        )
        queue.settle(deliveries)
        yield len(deliveries)
