"""Convert the result of a step to outgoing messages with ids, and to rows of the ledger.

The ledger is the record of all messages and how they ended.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta
from hashlib import sha1

from fonds.model.disposition import (
    PENDING,
    RETURNING_VERDICTS,
    Disposition,
    Reason,
    Verdict,
    drop,
)
from fonds.model.message import (
    ABOUT,
    DEFERRALS,
    ENTRY,
    FORMAT,
    PIPELINE,
    Delivery,
    Message,
    Subscription,
)
from fonds.model.rows import DispositionRow
from fonds.model.step import Item, Result
from fonds.pipelines.runtime.binding import BoundStage, Route, parse_subscription_name
from fonds.queues.messages.envelope import build_format_header, encode

DETAIL_MAX_CHARS = 2_000
ID_MAX_CHARS = 200
NUMBER_MAX_CHARS = 9
RUN = "run"
"""Header with the number of the run of a message: it increases each time the message is
sent again.
"""
OWN_HEADERS = (ENTRY, ABOUT, PIPELINE, FORMAT)


def restart_message(message: Message) -> Message:
    """Return a message to process again from the start, with attempt 0 and the next run number.

    The run number becomes part of the ids of the messages made from it, so these ids are new.
    """
    own_headers = {name: message.headers[name] for name in OWN_HEADERS if name in message.headers}
    previous_run = message.headers.get(RUN, "1")
    run_number = str(int(previous_run) + 1) if previous_run.isdigit() else "2"
    return replace(message, attempt=0, headers={**own_headers, RUN: run_number})


def defer_message(message: Message) -> Message:
    """Return the message to put back on the queue without a new attempt, with one more deferral.

    The number of deferrals distinguishes the copy from the received message. A large body of each
    is stored as a blob of its own, so the body of the copy stays when the received message is
    settled.
    """
    return replace(
        message, headers={**message.headers, DEFERRALS: str(count_deferrals(message) + 1)}
    )


def count_deferrals(message: Message) -> int:
    """Return how often workers put the message back on the queue without counting an attempt."""
    text = message.headers.get(DEFERRALS, "")
    is_number = text.isascii() and text.isdigit() and len(text) <= NUMBER_MAX_CHARS
    return int(text) if is_number else 0


@dataclass(slots=True)
class PackedMessage:
    """Processed message with its result.

    - `delivery`: the message as received.
    - `disposition`: how the processing ended.
    - `outgoing`: new messages made from it, each with the route to its topic.
    - `about`: subject of the message, such as the SHA-1 of a file; '' if unknown.
    """

    delivery: Delivery
    disposition: Disposition
    outgoing: list[tuple[Route, Message]] = field(default_factory=list)
    about: str = ""

    def build_rows(self, bound_stage: BoundStage, now: datetime) -> list[DispositionRow]:
        """Build the rows for the ledger: how this message ended, and that its new messages are
        pending.

        There is one pending row for each subscription that receives a new message.
        """
        message, disposition = self.delivery.message, self.disposition
        comes_back = disposition.verdict in RETURNING_VERDICTS
        row = DispositionRow(
            message_id=message.id,
            pipeline=bound_stage.pipeline,
            step=bound_stage.stage.name,
            entry_id=message.entry,
            parent_id=None,
            parent_step=None,
            verdict=str(disposition.verdict),
            is_open=comes_back,
            reason=str(disposition.reason) if disposition.reason else None,
            detail=disposition.detail[:DETAIL_MAX_CHARS],
            about=self.about or None,
            attempt=message.attempt,
            promised_at=now,
            settled_at=now,
            next_attempt_at=now + timedelta(seconds=disposition.after_s) if comes_back else None,
        )
        promises = [
            promise(bound_stage.pipeline, reader, child, message, bound_stage.stage.name, now)
            for route, child in self.outgoing
            for reader in route.readers
        ]
        return [row, *promises]

    def build_quarantined_message(self) -> Message:
        """Return the message for quarantine, with reason and detail as headers."""
        explanation = {
            "reason": str(self.disposition.reason),
            "detail": self.disposition.detail[:DETAIL_MAX_CHARS],
        }
        return replace(
            self.delivery.message, headers={**self.delivery.message.headers, **explanation}
        )

    def build_returned_message(self) -> Message:
        """Return the message that is put back on the queue, to be processed again.

        After a retry its number of attempts is one higher, after a deferral its number of
        deferrals.
        """
        message = self.delivery.message
        if self.disposition.verdict is Verdict.RETRIED:
            return replace(message, attempt=message.attempt + 1)
        return defer_message(message)


def promise(
    pipeline: str,
    reader: Subscription,
    child: Message,
    parent: Message,
    step: str,
    now: datetime,
) -> DispositionRow:
    """Build the row that records that a message was sent and has not ended yet (verdict `pending`).

    - `reader`: subscription that receives the message.
    - `child`: the message.
    - `parent`: message from which it was made.
    - `step`: name of the step that processed `parent`.
    """
    return DispositionRow(
        message_id=child.id,
        pipeline=pipeline,
        step=parse_subscription_name(reader)[1],
        entry_id=child.entry,
        parent_id=parent.id,
        parent_step=step,
        verdict=PENDING,
        is_open=True,
        reason=None,
        detail="",
        about=child.about or None,
        attempt=0,
        promised_at=now,
        settled_at=None,
    )


def pack(bound_stage: BoundStage, delivery: Delivery, result: Result) -> PackedMessage:
    """Convert the result of a step to new messages, with the disposition of the processed message.

    Raises FaultError for an item that the stage neither writes nor omits, and the errors of
    encoding an item.
    """
    routed_items = [
        (route, item)
        for item in result.items
        if (route := bound_stage.find_route(item)) is not None
    ]
    message = delivery.message
    run_number = message.headers.get(RUN, "")
    keeps_parent_id = len(routed_items) == 1 and not bound_stage.is_shared and not run_number
    counts: Counter[str] = Counter()
    outgoing = []
    for route, item in routed_items:
        name = (
            message.id
            if keeps_parent_id
            else compute_child_id(bound_stage, message, route.name, counts[route.name], run_number)
        )
        counts[route.name] += 1
        outgoing.append((route, _build_message(bound_stage, route, item, name, message)))
    first_subject = result.items[0].about if result.items else ""
    disposition = result.disposition
    # A sink has stored something, whatever else is omitted.
    if (
        result.items
        and not routed_items
        and not bound_stage.stage.sink
        and disposition.verdict is Verdict.DONE
    ):
        disposition = drop(
            Reason.NOT_WANTED,
            f"{bound_stage.pipeline} does not use {_describe_items(result.items)}",
        )
    return PackedMessage(
        delivery, disposition, outgoing, result.about or first_subject or message.about
    )


def compute_child_id(
    bound_stage: BoundStage, parent: Message, topic: str, nth: int, run_number: str
) -> str:
    """Return the id of the `nth` message that a stage makes from `parent` for `topic`.

    Repeated work gives the same id. The id begins with the id of `parent`. If it would be too long
    for some store, it begins with the id of the ledger entry of `parent` and ends with a hash.
    `run_number` is the run number of `parent`, or '' for a first run.
    """
    parts = [bound_stage.stage.name] if bound_stage.is_shared else []
    parts += [topic] + ([str(nth)] if nth else []) + ([f"run{run_number}"] if run_number else [])
    name = ".".join((parent.id, *parts))
    if len(name) <= ID_MAX_CHARS:
        return name
    digest = sha1(name.encode()).hexdigest()  # noqa: S324 (an id, not a signature)
    return f"{parent.entry[: ID_MAX_CHARS - 50]}.~{digest}"


def _build_message(
    bound_stage: BoundStage, route: Route, item: Item, name: str, parent: Message
) -> Message:
    subject = item.about or parent.about
    key = str(getattr(item, "order_key", subject))
    headers = {ENTRY: parent.entry} if name != parent.entry else {}
    if subject != key:
        headers[ABOUT] = subject
    if route.is_public:
        headers[PIPELINE] = bound_stage.pipeline
    else:
        headers |= build_format_header()
    return Message(name, encode(item), key, headers=headers)


def _describe_items(items: Sequence[Item]) -> str:
    names = {f"{type(item).__name__} {getattr(item, 'tag', '')}".strip() for item in items}
    return ", ".join(sorted(names))
