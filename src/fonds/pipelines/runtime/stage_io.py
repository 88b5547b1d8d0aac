"""The hand of a stage: takes messages, packs what became of them, hands it on, and lets go of them.

Order matters: what a message brought forth is put on its topics first, then its ending goes to the
ledger, then it is settled. A process that dies in between gets the message again, and everything it
did is done again with the same ids, so nothing is lost and nothing is counted twice.

What is to come back stands in the ledger before it is on the queue again: its next turn may end before all
else that was made of the same message has, and with it this one's row would be written, and stand.
"""

from __future__ import annotations

import logging
import traceback
from collections import defaultdict
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from itertools import compress

from fonds.model.disposition import COMES_BACK, Verdict
from fonds.model.entry import Entry
from fonds.model.message import Delivery, Message
from fonds.model.rows import DispositionRow
from fonds.model.secrets import redact_secrets
from fonds.model.step import Result
from fonds.pipelines.runtime.binding import BoundStage
from fonds.pipelines.runtime.handoff import Handover
from fonds.pipelines.runtime.result_messages import PackedMessage, pack
from fonds.pipelines.runtime.worker import handle_bug
from fonds.ports import Ledger, Queue
from fonds.queues.messages.envelope import build_foreign_entry

logger = logging.getLogger(__name__)

IMMEDIATE_S = 0.001


@dataclass(frozen=True, slots=True)
class StageIO:
    """One stage's way to queue and ledger. It knows no step and no pace. `clock` gives aware UTC."""

    stage: BoundStage
    queue: Queue
    ledger: Ledger
    handover: Handover
    clock: Callable[[], datetime]

    def take(self, count_max: int, wait_s: float) -> list[Delivery]:
        """Messages for this stage; those others put on a public topic are on the books by then."""
        incoming = self.stage.subscription.incoming
        deliveries = self.handover.receive(incoming, count_max, wait_s)
        foreign = self._build_foreign_entries([one.message for one in deliveries])
        if foreign:
            try:
                now = self.clock()
                rows = [entry.build_row(self.stage.pipeline, now) for entry in foreign]
                self.ledger.enter([], rows, [self.stage.stage.name])
            except BaseException:
                self.handover.release(deliveries)
                raise
        return deliveries

    def complete(
        self, deliveries: Sequence[Delivery], results: Sequence[Result]
    ) -> list[DispositionRow]:
        """Hand on what became of messages; they are settled once it is written down. Their own rows.

        Any part of what was taken, in any order. What it raises leaves everything in hand, and calling
        it again does no harm.
        """
        packed = [self._pack(one, result) for one, result in zip(deliveries, results, strict=True)]
        now = self.clock()
        rows = [one.build_rows(self.stage, now) for one in packed]
        back = [one.disposition.verdict in COMES_BACK for one in packed]
        if any(back):
            self.ledger.write([row for some in compress(rows, back) for row in some])
        children = self._send(packed)
        left = [[] if is_back else some for some, is_back in zip(rows, back, strict=True)]
        self.handover.complete(zip(deliveries, left, strict=True), children)
        return [some[0] for some in rows]

    def flush(self) -> None:
        """Write and settle what has ended, if it is time. Raises what ledger and queue raise."""
        self.handover.flush(due_only=True)

    def release(self, deliveries: Sequence[Delivery]) -> None:
        """Unfinished messages, ready again."""
        self.handover.release(deliveries)

    def _pack(self, delivery: Delivery, result: Result) -> PackedMessage:
        """An item that cannot travel is a bug."""
        try:
            return pack(self.stage, delivery, result)
        except Exception:
            logger.exception("%s cannot hand on %s", self.stage.stage.name, delivery.message.id)
            return pack(
                self.stage,
                delivery,
                Result(handle_bug(delivery, redact_secrets(traceback.format_exc()))),
            )

    def _send(self, packed: Sequence[PackedMessage]) -> list[tuple[Delivery, str, Message]]:
        """Put on the queue what has to be there; the rest is for stages of this process."""
        sent = _OutgoingMessages()
        for one in packed:
            for route, message in one.outgoing:
                addresses = [reader.incoming for reader in route.readers]
                size_bytes = len(message.body)
                if addresses and all(self.handover.is_local(a, size_bytes) for a in addresses):
                    sent.local += [(one.delivery, address, message) for address in addresses]
                    if route.is_public:
                        sent.queued[route.topic].append(message.restrict_to_others())
                else:
                    sent.queued[route.topic].append(message)
            if one.disposition.verdict is Verdict.QUARANTINED:
                sent.queued[self.stage.subscription.quarantine].append(one.build_quarantined())
            elif one.disposition.verdict in COMES_BACK:
                sent.delayed[max(one.disposition.after_s, IMMEDIATE_S)].append(
                    one.build_returning()
                )
        for address, messages in sent.queued.items():
            self.queue.put(address, messages)
        for after_s, messages in sent.delayed.items():
            self.queue.put(self.stage.subscription.incoming, messages, delay_s=after_s)
        return sent.local

    def _build_foreign_entries(self, messages: Sequence[Message]) -> list[Entry]:
        """What others put on a public topic: each message enters by itself."""
        reads, topic = self.stage.stage.reads, self.stage.subscription.topic
        if not reads.public:
            return []
        found = [build_foreign_entry(message, reads.payload, topic) for message in messages]
        return [entry for entry in found if entry is not None]


@dataclass(slots=True)
class _OutgoingMessages:
    """Messages by where they go: onto the queue at once or later, or straight to a stage here."""

    queued: dict[str, list[Message]] = field(default_factory=lambda: defaultdict(list))
    delayed: dict[float, list[Message]] = field(default_factory=lambda: defaultdict(list))
    local: list[tuple[Delivery, str, Message]] = field(default_factory=list)
