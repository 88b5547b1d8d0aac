"""Workers of two versions of Fonds on one queue. The older one cannot read messages of the newer.

The workers run the small pipeline `sums`. Their processes can die between any two acts on queue and
ledger.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import datetime
from itertools import count
from typing import Any
from unittest.mock import patch

from fonds.audit.audit import audit_accounts
from fonds.model.message import Message, Subscription
from fonds.model.rows import DispositionRow, EntryRow
from fonds.pipelines.runtime.binding import bind, build_subscriptions
from fonds.pipelines.runtime.handoff import Handover
from fonds.pipelines.runtime.loops import BatchLoop
from fonds.pipelines.runtime.newer_messages import NewerMessages
from fonds.pipelines.runtime.stage_io import StageIO
from fonds.ports import Records, Stores
from fonds.queues.messages.envelope import build_format_header, encode
from random_pipelines import DeadError
from small_pipeline import AT_ONCE, RETRY, SUMS, Number, double, keep

OLDER, NEWER = 1, 2
TURNS_MAX = 500


@contextmanager
def use_version(version: int) -> Iterator[None]:
    """Context manager in which this process is a version of Fonds with the given format."""
    with patch("fonds.queues.messages.envelope.FORMAT_VERSION", version):
        yield


@dataclass
class Mortal:
    """Wrapper of a queue or ledger that lets the process die at the acts in `deaths`.

    It dies before an even act, and after an odd act took effect.
    """

    real: Any
    acts: Iterator[int]
    deaths: frozenset[int]

    def __getattr__(self, name: str) -> Any:
        real = getattr(self.real, name)
        if name not in ("put", "settle", "write", "receive"):
            return real

        def act(*args: Any, **kwargs: Any) -> Any:
            number = next(self.acts)
            if number in self.deaths and number % 2 == 0:
                raise DeadError
            answer = real(*args, **kwargs)
            if number in self.deaths:
                raise DeadError
            return answer

        return act


@dataclass
class SharedQueue:
    """A queue and a ledger on which workers of two versions work.

    - `open_queue`: opens the queue as a new process does.
    - `pass_time`: waits until delayed messages are due, or moves the clock.
    - `deaths`: numbers of the acts, counted over all processes, at which a process dies.
    - `prefix`: prefix of the topics, which is unique on a server.
    - `idle_max`: number of turns without any work after which the workers end.
    """

    open_queue: Callable[[], Any]
    records: Records
    ledger: Any
    clock: Callable[[], datetime]
    pass_time: Callable[[], None]
    deaths: frozenset[int] = frozenset()
    prefix: str = "t"
    idle_max: int = 1
    acts: Iterator[int] = field(default_factory=count)

    @property
    def subscriptions(self) -> list[Subscription]:
        return build_subscriptions(SUMS, self.prefix)

    def open(self) -> Any:
        """Open the queue and declare what the pipeline uses."""
        queue = self.open_queue()
        queue.declare(self.subscriptions)
        return queue

    def enter(self, queue: Any, version: int, *values: int, note: str = "") -> list[str]:
        """Enter numbers as the intake of a version does. Return the ids of their messages."""
        ids = [f"id-{value:03}" for value in values]
        entered_at = self.clock()
        facts = ("number", "", "", "20240305060708", "", "")
        self.ledger.enter([], [EntryRow(i, SUMS.name, *facts, entered_at) for i in ids], ["double"])
        with use_version(version):
            messages = [
                Message(id_, encode(Number(value, note)), headers=build_format_header())
                for id_, value in zip(ids, values, strict=True)
            ]
        queue.put(self.subscriptions[0].topic, messages)
        return ids

    def start(self, version: int) -> VersionedWorker:
        """Start a worker of a version."""
        return VersionedWorker(self, version)

    def work(self, *versions: int) -> None:
        """Run one worker of each version in turn until no message is left."""
        workers = [self.start(version) for version in versions]
        assert self._take_turns(workers, TURNS_MAX), f"messages are left after {TURNS_MAX} turns"
        for worker in workers:
            worker.queue.close()

    def upgrade(self, turn_count: int) -> None:
        """Run a worker of each version in turn. Stop the older one after `turn_count` turns, and run
        the newer one until no message is left.
        """
        older, newer = self.start(OLDER), self.start(NEWER)
        self._take_turns([older, newer], turn_count)
        older.queue.close()
        assert self._take_turns([newer], TURNS_MAX), f"messages are left after {TURNS_MAX} turns"
        newer.queue.close()

    def _take_turns(self, workers: list[VersionedWorker], turn_count: int) -> bool:
        """Run workers in turn, and return whether no message is left."""
        chance, idle_count = random.Random(1), 0
        for _ in range(turn_count):
            # Otherwise the same worker could always be the first to receive the messages that are due.
            chance.shuffle(workers)
            processed_count = sum([worker.turn() for worker in workers])
            idle_count = 0 if processed_count else idle_count + 1
            if idle_count:
                pending_count = sum(worker.count_pending() for worker in workers)
                if idle_count >= self.idle_max and not pending_count:
                    return True
                self.pass_time()
        return False

    def audit(self, queue: Any) -> list[str]:
        """Return the faults that the audit of the accounts finds."""
        unused: Any = None
        stores = Stores(queue, unused, self.records, self.ledger, unused, unused, unused, "journal")
        return list(audit_accounts(stores, {SUMS.name: self.subscriptions}).fault_texts)

    def list_endings(self) -> dict[tuple[str, str], str]:
        """Return the verdict of each message by step and id of its entry."""
        rows = list(self.records.find(DispositionRow))
        endings = {(row.step, row.entry_id): row.verdict for row in rows}
        assert len(endings) == len(rows)
        return endings


@dataclass
class VersionedWorker:
    """Process of one version that runs both stages, and is replaced by another when it dies."""

    shared: SharedQueue
    version: int
    newer_messages: NewerMessages = field(default_factory=NewerMessages)
    queue: Any = None
    loops: list[BatchLoop] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.restart()

    def restart(self) -> None:
        """Begin a new process with its own connection to the queue."""
        shared = self.shared
        self.queue = shared.open()
        queue = Mortal(self.queue, shared.acts, shared.deaths)
        ledger = Mortal(shared.ledger, shared.acts, shared.deaths)
        handover = Handover(queue, ledger, (), AT_ONCE)  # type: ignore[arg-type]
        stages = bind(SUMS, {"double": double, "keep": keep}, shared.prefix)
        self.loops = [
            BatchLoop(
                StageIO(stage, queue, ledger, handover, shared.clock, self.newer_messages),  # type: ignore[arg-type]
                RETRY,
            )
            for stage in stages
        ]

    def turn(self) -> int:
        """Run each stage once. Return the number of processed messages."""
        with use_version(self.version):
            try:
                return sum([loop.run_once(0.0) for loop in self.loops])
            except DeadError:
                self.queue.close()
                self.restart()
                return 1

    def count_pending(self) -> int:
        """Return the number of messages that are ready, leased or delayed."""
        depths = map(self.queue.get_depth, self.shared.subscriptions)
        return sum(depth.pending for depth in depths)
