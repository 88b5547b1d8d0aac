"""What a result becomes: messages for others with ids of their own, and rows for the ledger. Pure."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta
from hashlib import sha1

from fonds.model.disposition import (
    COMES_BACK,
    PENDING,
    Disposition,
    Reason,
    Verdict,
    drop,
)
from fonds.model.message import (
    ABOUT,
    ENTRY,
    PIPELINE,
    Delivery,
    Message,
    Subscription,
)
from fonds.model.rows import DispositionRow
from fonds.model.step import Item, Result
from fonds.pipelines.runtime.binding import BoundStage, Route, parse_subscription_name
from fonds.queues.messages.envelope import encode

DETAIL_MAX_CHARS = 2_000
ID_MAX_CHARS = 200
RUN = "run"
"""The header of a message somebody sent round again: what tells this time from those before."""
OWN_HEADERS = (ENTRY, ABOUT, PIPELINE)


def restart_message(message: Message) -> Message:
    """The message with a clean slate; what is made of it this time has ids of its own."""
    kept = {name: message.headers[name] for name in OWN_HEADERS if name in message.headers}
    before = message.headers.get(RUN, "1")
    run = str(int(before) + 1) if before.isdigit() else "2"
    return replace(message, attempt=0, headers={**kept, RUN: run})


@dataclass(slots=True)
class PackedMessage:
    """One message, worked: how it ended, and what goes out because of it, each with the way it takes."""

    delivery: Delivery
    disposition: Disposition
    outgoing: list[tuple[Route, Message]] = field(default_factory=list)
    about: str = ""

    def build_rows(self, bound: BoundStage, now: datetime) -> list[DispositionRow]:
        """How it ended, and what is promised of it to each reader."""
        message, ended = self.delivery.message, self.disposition
        comes_back = ended.verdict in COMES_BACK
        row = DispositionRow(
            message_id=message.id,
            pipeline=bound.pipeline,
            step=bound.stage.name,
            entry_id=message.entry,
            parent_id=None,
            parent_step=None,
            verdict=str(ended.verdict),
            is_open=comes_back,
            reason=str(ended.reason) if ended.reason else None,
            detail=ended.detail[:DETAIL_MAX_CHARS],
            about=self.about or None,
            attempt=message.attempt,
            promised_at=now,
            settled_at=now,
            next_attempt_at=now + timedelta(seconds=ended.after_s) if comes_back else None,
        )
        promises = [
            promise(bound.pipeline, reader, child, message, bound.stage.name, now)
            for route, child in self.outgoing
            for reader in route.readers
        ]
        return [row, *promises]

    def build_quarantined(self) -> Message:
        """The message as it goes into quarantine: with what is the matter."""
        told = {
            "reason": str(self.disposition.reason),
            "detail": self.disposition.detail[:DETAIL_MAX_CHARS],
        }
        return replace(self.delivery.message, headers={**self.delivery.message.headers, **told})

    def build_returning(self) -> Message:
        """The message as it comes back; a retry charges an attempt, a deferral none."""
        message = self.delivery.message
        charged = self.disposition.verdict is Verdict.RETRIED
        return replace(message, attempt=message.attempt + charged)


def promise(
    pipeline: str,
    reader: Subscription,
    child: Message,
    parent: Message,
    step: str,
    now: datetime,
) -> DispositionRow:
    """The row of a message that was sent and has not ended."""
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


def pack(bound: BoundStage, delivery: Delivery, result: Result) -> PackedMessage:
    """A result as messages. Raises FaultError for an item without a route, and whatever encoding raises."""
    sent = [(route, item) for item in result.items if (route := bound.find_route(item)) is not None]
    message = delivery.message
    run = message.headers.get(RUN, "")
    alone = len(sent) == 1 and not bound.is_shared and not run
    nth: Counter[str] = Counter()
    outgoing = []
    for route, item in sent:
        name = (
            message.id
            if alone
            else compute_child_id(bound, message, route.name, nth[route.name], run)
        )
        nth[route.name] += 1
        outgoing.append((route, _build_message(bound, route, item, name, message)))
    first = result.items[0].about if result.items else ""
    ended = result.disposition
    # A sink has kept something of it, whatever else is left out.
    if result.items and not sent and not bound.stage.sink and ended.verdict is Verdict.DONE:
        ended = drop(
            Reason.NOT_WANTED, f"{bound.pipeline} does without {_describe_items(result.items)}"
        )
    return PackedMessage(delivery, ended, outgoing, result.about or first or message.about)


def compute_child_id(bound: BoundStage, parent: Message, topic: str, nth: int, run: str) -> str:
    """The id of one of several children: the same whenever the same is made of its parent again.

    It begins with the parent's id, and so with the entry's, up to a length that every store takes.
    """
    parts = [bound.stage.name] if bound.is_shared else []
    parts += [topic] + ([str(nth)] if nth else []) + ([f"run{run}"] if run else [])
    name = ".".join((parent.id, *parts))
    if len(name) <= ID_MAX_CHARS:
        return name
    digest = sha1(name.encode()).hexdigest()  # noqa: S324 (a key, not a seal)
    return f"{parent.entry[: ID_MAX_CHARS - 50]}.~{digest}"


def _build_message(
    bound: BoundStage, route: Route, item: Item, name: str, parent: Message
) -> Message:
    about = item.about or parent.about
    key = str(getattr(item, "order_key", about))
    headers = {ENTRY: parent.entry} if name != parent.entry else {}
    if about != key:
        headers[ABOUT] = about
    if route.is_public:
        headers[PIPELINE] = bound.pipeline
    return Message(name, encode(item), key, headers=headers)


def _describe_items(items: Sequence[Item]) -> str:
    names = {f"{type(item).__name__} {getattr(item, 'tag', '')}".strip() for item in items}
    return ", ".join(sorted(names))
