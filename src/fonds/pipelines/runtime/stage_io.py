"""Input and output of a stage: receive messages, send results, write the ledger, settle
messages.

The order matters. First the messages made from a message are sent. Then its disposition is written
to the ledger. Then the message is settled. If the process is killed in between, the message is
delivered again and all work is repeated with the same ids. So nothing is lost or counted twice.

The disposition of a message that will be retried is written before the message is put back on the
queue. Otherwise the retry could end first, and the late row would overwrite its disposition.
"""

from __future__ import annotations

import logging
import traceback
from collections import defaultdict
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from itertools import compress

from fonds.model.disposition import RETURNING_VERDICTS, Verdict
from fonds.model.entry import Entry
from fonds.model.message import Delivery, Message
from fonds.model.rows import DispositionRow
from fonds.model.secrets import redact_secrets
from fonds.model.step import Result
from fonds.pipelines.runtime.binding import BoundStage
from fonds.pipelines.runtime.handoff import Handover
from fonds.pipelines.runtime.newer_messages import NewerMessages, compute_newer_delay_s
from fonds.pipelines.runtime.result_messages import PackedMessage, defer_message, pack
from fonds.pipelines.runtime.worker import handle_bug
from fonds.ports import Ledger, Queue
from fonds.queues.messages.envelope import build_foreign_entry, get_format_version, is_newer

logger = logging.getLogger(__name__)

IMMEDIATE_S = 0.001


@dataclass(frozen=True, slots=True)
class StageIO:
    """Receives the messages of one stage, sends its results, and writes the ledger.

    - `handover`: queue in memory between the stages of this process.
    - `clock`: returns the current time (aware UTC).
    - `newer_messages`: record of the messages that only a newer version of Fonds can read.
    """

    stage: BoundStage
    queue: Queue
    ledger: Ledger
    handover: Handover
    clock: Callable[[], datetime]
    newer_messages: NewerMessages = field(default_factory=NewerMessages)

    def take(self, count_max: int, wait_s: float) -> list[Delivery]:
        """Receive up to `count_max` messages for the stage; wait at most `wait_s` seconds for the
        first.

        Messages that other programs put on a public topic are recorded in the ledger first. A
        message that only a newer version of Fonds can read is put back on the queue unread, with a
        delay, because workers of two versions can share a queue during an upgrade.
        """
        incoming = self.stage.subscription.incoming
        deliveries = self._return_newer(self.handover.receive(incoming, count_max, wait_s))
        foreign = self._build_foreign_entries([delivery.message for delivery in deliveries])
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
        """Send the results of messages, record how the messages ended, and settle them afterwards.

        Returns the disposition row of each message, in order. `deliveries` may be any of the
        messages that `take` returned. If an error is raised, all messages stay leased, and the call
        may be repeated.
        """
        packed_messages = [
            self._pack(packed_message, result)
            for packed_message, result in zip(deliveries, results, strict=True)
        ]
        now = self.clock()
        rows = [packed_message.build_rows(self.stage, now) for packed_message in packed_messages]
        is_returning = [
            packed_message.disposition.verdict in RETURNING_VERDICTS
            for packed_message in packed_messages
        ]
        if any(is_returning):
            self.ledger.write(
                [row for message_rows in compress(rows, is_returning) for row in message_rows]
            )
        children = self._send(packed_messages)
        rows_to_write = [
            [] if is_back else message_rows
            for message_rows, is_back in zip(rows, is_returning, strict=True)
        ]
        self.handover.complete(zip(deliveries, rows_to_write, strict=True), children)
        return [message_rows[0] for message_rows in rows]

    def flush(self) -> None:
        """Write the waiting ledger rows and settle finished messages, if enough rows wait or the
        oldest has waited long enough.

        Raises the errors of ledger and queue if one is unavailable.
        """
        self.handover.flush(due_only=True)

    def release(self, deliveries: Sequence[Delivery]) -> None:
        """Release unfinished messages, so that they can be received again."""
        self.handover.release(deliveries)

    def _pack(self, delivery: Delivery, result: Result) -> PackedMessage:
        """Convert the result of a message to the messages to send and the rows to write.

        If an item of the result cannot be encoded, the message is handled like one that met a bug.
        """
        try:
            return pack(self.stage, delivery, result)
        except Exception:
            logger.exception("%s cannot write %s", self.stage.stage.name, delivery.message.id)
            return pack(
                self.stage,
                delivery,
                Result(handle_bug(delivery, redact_secrets(traceback.format_exc()))),
            )

    def _send(
        self, packed_messages: Sequence[PackedMessage]
    ) -> list[tuple[Delivery, str, Message]]:
        """Put the new messages of processed messages on the external queue.

        Returns the messages that stages of this process receive in memory instead.
        """
        outgoing = _OutgoingMessages()
        for packed_message in packed_messages:
            for route, message in packed_message.outgoing:
                addresses = [reader.incoming for reader in route.readers]
                size_bytes = len(message.body)
                if addresses and all(
                    self.handover.is_local(local_address, size_bytes) for local_address in addresses
                ):
                    outgoing.local += [
                        (packed_message.delivery, address, message) for address in addresses
                    ]
                    if route.is_public:
                        outgoing.queued[route.topic].append(message.restrict_to_others())
                else:
                    outgoing.queued[route.topic].append(message)
            if packed_message.disposition.verdict is Verdict.QUARANTINED:
                outgoing.queued[self.stage.subscription.quarantine].append(
                    packed_message.build_quarantined_message()
                )
            elif packed_message.disposition.verdict in RETURNING_VERDICTS:
                outgoing.delayed[max(packed_message.disposition.after_s, IMMEDIATE_S)].append(
                    packed_message.build_returned_message()
                )
        for address, messages in outgoing.queued.items():
            self.queue.put(address, messages)
        for after_s, messages in outgoing.delayed.items():
            self.queue.put(self.stage.subscription.incoming, messages, delay_s=after_s)
        return outgoing.local

    def _return_newer(self, deliveries: list[Delivery]) -> list[Delivery]:
        """Put the messages that only a newer version of Fonds can read back on the queue, with a
        delay. Return the other messages.

        These messages are not decoded, and their rows in the ledger stay as they are.
        """
        if self.stage.stage.reads.public:
            return deliveries
        newer = [delivery for delivery in deliveries if is_newer(delivery.message)]
        if not newer:
            return deliveries
        copies: dict[float, list[Message]] = defaultdict(list)
        for delivery in newer:
            message = delivery.message
            self.newer_messages.record(self.stage.stage.name, get_format_version(message))
            copies[compute_newer_delay_s(message)].append(defer_message(message))
        try:
            # If the process is killed before the received message is settled, the message is
            # delivered twice, with the same id.
            for delay_s, messages in copies.items():
                self.queue.put(self.stage.subscription.incoming, messages, delay_s=delay_s)
        except BaseException:
            self.handover.release(deliveries)
            raise
        self.handover.complete([(delivery, []) for delivery in newer], [])
        return [delivery for delivery in deliveries if not is_newer(delivery.message)]

    def _build_foreign_entries(self, messages: Sequence[Message]) -> list[Entry]:
        """Build an entry for each message that another program put on a public topic."""
        reads, topic = self.stage.stage.reads, self.stage.subscription.topic
        if not reads.public:
            return []
        entries = [build_foreign_entry(message, reads.payload, topic) for message in messages]
        return [entry for entry in entries if entry is not None]


@dataclass(slots=True)
class _OutgoingMessages:
    """Messages to send after a batch was processed, grouped by how they are sent.

    - `queued`: messages to put on the external queue now, by address.
    - `delayed`: messages to put on the external queue with a delay, by delay in seconds.
    - `local`: messages for stages of this process, as (message it was made from, address, message).
    """

    queued: dict[str, list[Message]] = field(default_factory=lambda: defaultdict(list))
    delayed: dict[float, list[Message]] = field(default_factory=lambda: defaultdict(list))
    local: list[tuple[Delivery, str, Message]] = field(default_factory=list)
