"""Message queue in one SQLite file, for any number of threads and processes on one machine."""

from __future__ import annotations

import os
import sqlite3
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from fonds.isolation.process_identity import identify, is_process_gone
from fonds.model.message import NO_TOPICS, Delivery, Depth, Message, Subscription, TopicTraits
from fonds.queues import sqlite_rows as rows
from fonds.stores.sqlite_file import SqliteFile

# Clocks that do not jump when a person or a time server sets the machine's clock. Source:
# clock_gettime(2).


def read_boot_clock_s() -> float:
    """Return the seconds since the machine started, the same for all processes.

    They include time asleep if the operating system supports that.
    """
    clock = getattr(time, "CLOCK_BOOTTIME", time.CLOCK_MONOTONIC)
    return time.clock_gettime(clock)


def create_steady_clock() -> Callable[[], float]:
    """Return a clock in seconds that starts at the current Unix time and never moves backward."""
    began_s = time.time() - read_boot_clock_s()
    return lambda: began_s + read_boot_clock_s()


LEASE_S = 900.0
POLL_FIRST_S, POLL_MAX_S = 0.01, 0.2
WATCH_EVERY_S = 1.0
MESSAGE_MAX_BYTES = 16_000_000
SHRINK_EVERY_SETTLES = 256
SHRINK_PAGES = 4096


@dataclass(frozen=True, slots=True)
class Receipt:
    """Identifies the row of a leased message, so that the message can be settled.

    - `address`: number of the address that the message was received from.
    - `seq`: sequence number of the message.
    - `owner`: number of the process that leased the message.
    """

    address: int
    seq: int
    owner: int

    @property
    def row(self) -> tuple[int, int, int]:
        """Key of the leased message's row: sequence number, address number, and process number."""
        return self.seq, self.address, self.owner


class SqliteQueue:
    """Implements the Queue interface in one SQLite file.

    A lease ends as soon as its process has ended or has closed the queue, otherwise after `lease_s`
    seconds. The message is then ready again. A message whose id already waits or is leased at an
    address is not added again. With a higher `attempt` it replaces the existing message. So a retry
    is not lost if it is put before the original message is settled.

    `clock` returns Unix seconds. By default, delays use the time at start plus a steady clock, and
    leases use seconds since boot. So setting the system clock affects neither.
    """

    def __init__(
        self, path: Path, *, lease_s: float = LEASE_S, clock: Callable[[], float] | None = None
    ) -> None:
        """Open or create the queue file.

        Raises ConfigurationError if the file cannot be opened or is not a queue.
        """
        self._file = SqliteFile(path, rows.LAYOUT)
        self._lease_s = lease_s
        self._clock = clock or create_steady_clock()
        self._lease_clock = clock or read_boot_clock_s
        self._arrived = threading.Condition()
        self._arrivals: Counter[int] = Counter()
        self._places: dict[str, int] = {}
        self._owner: tuple[int, int] | None = None
        self._watch_until_s = 0.0
        self._settles = 0

    def declare(
        self, subscriptions: Iterable[Subscription], topics: Mapping[str, TopicTraits] = NO_TOPICS
    ) -> None:
        """Create the addresses of subscriptions and topics.

        If a subscription had another topic before, it reads the new topic from now on. In a
        read-only file nothing is created. Raises ConfigurationError if a topic has the name of an
        address.
        """
        if self._file.read_only:
            return
        with self._file.write_transaction() as connection:
            rows.declare_addresses(connection, subscriptions, topics)

    def put(self, address: str, messages: Sequence[Message], *, delay_s: float = 0.0) -> None:
        """Put all of `messages` to an address, or none if there is an error.

        Raises ValueError for a delay at an address other than the incoming address of a
        subscription, and ConfigurationError for an undeclared address.
        """
        if not messages:
            return
        with self._file.write_transaction() as connection:
            if delay_s > 0:
                targets = [rows.find_delay_target(connection, address)]
                rows.insert(connection, targets, messages, self._clock() + delay_s)
            else:
                targets = rows.find_put_targets(connection, address)
                rows.insert(connection, targets, messages, 0.0)
        self._announce(target.address for target in targets)

    def receive(self, address: str, count_max: int, wait_s: float) -> list[Delivery]:
        """Lease and return up to `count_max` messages, in the order in which they were put.

        Waits at most `wait_s` seconds for the first message. Released messages keep their position
        in this order. Raises ConfigurationError for an undeclared address.
        """
        ends_at_s = time.monotonic() + wait_s
        pause_s = POLL_FIRST_S
        while True:
            arrivals = self._count_arrivals(address)
            if deliveries := self._lease_messages(
                address, count_max, first=pause_s == POLL_FIRST_S
            ):
                return deliveries
            left_s = ends_at_s - time.monotonic()
            if left_s <= 0:
                return []
            with self._arrived:
                # A put by this process ends the wait. Puts by other processes are polled for, at
                # growing intervals.
                self._wait(address, arrivals, min(pause_s, left_s))
            pause_s = min(pause_s * 2, POLL_MAX_S)

    def settle(self, deliveries: Sequence[Delivery]) -> None:
        """Remove messages from the queue for good. Messages that are settled already are
        skipped.
        """
        if not deliveries:
            return
        receipts = [_get_receipt(delivery) for delivery in deliveries]
        with self._file.write_transaction() as connection:
            rows.remove(connection, [(receipt.seq, receipt.address) for receipt in receipts])
        self._settles += 1
        if self._settles % SHRINK_EVERY_SETTLES == 0:
            self._file.shrink(SHRINK_PAGES)

    def release(self, deliveries: Sequence[Delivery]) -> None:
        """Make messages ready again. Messages whose lease this process has lost are skipped."""
        if not deliveries:
            return
        leased_rows = [_get_receipt(delivery).row for delivery in deliveries]
        with self._file.write_transaction(durable=False) as connection:
            rows.release(connection, leased_rows)
        self._announce({address for _, address, _ in leased_rows})

    def renew(self, deliveries: Sequence[Delivery]) -> list[Delivery]:
        """Renew the leases of messages. Return the messages that are still leased.

        Call this well within `lease_s` (default 900 s) of the last lease or renewal.
        """
        if not deliveries:
            return []
        with self._file.write_transaction(durable=False) as connection:
            lease_ends_at = self._lease_clock() + self._lease_s
            renewed_rows = rows.renew_leases(
                connection, [_get_receipt(delivery).row for delivery in deliveries], lease_ends_at
            )
        return [delivery for delivery in deliveries if _get_receipt(delivery).row in renewed_rows]

    def get_depth(self, subscription: Subscription) -> Depth:
        """Return the numbers of ready, leased, delayed and quarantined messages of a subscription.

        The numbers are exact, and all from the same point in time.
        """
        with self._file.read_connection() as connection:
            return Depth(*rows.count_waiting(connection, subscription))

    def get_message_max_bytes(self, address: str) -> int:
        """Return the maximum message size in bytes: 16 MB for every address, as on the brokers.

        SQLite itself would accept 1 GB.
        """
        return MESSAGE_MAX_BYTES

    def purge(self) -> Sequence[str]:
        """Remove the bytes of deleted messages from the SQLite file. Return what remains."""
        return self._file.purge()

    def close(self) -> None:
        """Make the messages that this process has leased ready again, and close the queue file.

        If most of the file is unused, its unused space is returned to the file system.
        """
        if self._owner is not None and self._is_own(self._owner[1]):
            with self._file.write_transaction(durable=False) as connection:
                rows.remove_owner(connection, self._owner[1])
            self._file.shrink()
            self._owner = None
        self._file.close()

    def _announce(self, addresses: Iterable[int]) -> None:
        with self._arrived:
            self._arrivals.update(addresses)
            self._arrived.notify_all()

    def _wait(self, address: str, arrivals: int, wait_s: float) -> None:
        self._arrived.wait_for(lambda: self._count_arrivals(address) != arrivals, wait_s)

    def _count_arrivals(self, address: str) -> int:
        """Return a counter that grows with each put by this process to an address.

        A waiting reader compares it to notice new messages. Returns 0 until this process first
        reads from the address.
        """
        return self._arrivals[self._places.get(address, 0)]

    def _lease_messages(self, address: str, count_max: int, *, first: bool) -> list[Delivery]:
        now, lease_now = self._clock(), self._lease_clock()
        with self._file.read_connection() as connection:
            if address not in self._places:
                self._places[address] = rows.find_own_address(connection, address)
            place = self._places[address]
            ready, overdue = rows.check_waiting(connection, place, now, lease_now, self._lease_s)
            # With work available, or during a wait, look for dead processes only every
            # `WATCH_EVERY_S` seconds.
            skips_owner_check = (ready or not first) and self._was_watched_lately()
            registered_owners = [] if skips_owner_check else rows.list_owners(connection)
        dead_owners = [
            number
            for number, process in registered_owners
            if not self._is_own(number) and is_process_gone(process, same_machine=True)
        ]
        if not (ready or overdue or dead_owners):
            return []
        # After a power cut no process has a lease, so a lease need not be on the disk.
        with self._file.write_transaction(durable=False) as connection:
            for number in dead_owners:
                rows.remove_owner(connection, number)
            rows.release_expired(connection, lease_now, self._lease_s)
            rows.return_due(connection, place, now)
            owner = self._register(connection)
            leased_messages = rows.lease_messages(
                connection, place, owner[1], count_max, lease_now + self._lease_s
            )
        self._owner = owner
        return [
            Delivery(message, address, Receipt(place, seq, owner[1]), redelivery_count)
            for seq, redelivery_count, message in leased_messages
        ]

    def _register(self, connection: sqlite3.Connection) -> tuple[int, int]:
        """Return this process's id and its number as an owner of leases. Register the process if
        needed.

        A forked child gets its own number.
        """
        if self._owner is not None and self._is_own(self._owner[1]):
            return self._owner
        return os.getpid(), rows.add_owner(connection, identify())

    def _is_own(self, owner: int) -> bool:
        """Return whether an owner of leases is this process."""
        return self._owner == (os.getpid(), owner)

    def _was_watched_lately(self) -> bool:
        now_s = time.monotonic()
        if now_s - self._watch_until_s < WATCH_EVERY_S:
            return True
        self._watch_until_s = now_s
        return False


def _get_receipt(delivery: Delivery) -> Receipt:
    if not isinstance(delivery.receipt, Receipt):
        raise TypeError(f"not a delivery of this queue: {delivery.message.id}")
    return delivery.receipt
