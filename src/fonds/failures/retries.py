"""Failed or deferred messages that wait for their next automatic attempt."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime

from fonds.model.disposition import Verdict
from fonds.model.entry import LINK
from fonds.model.rows import DispositionRow, EntryRow
from fonds.model.rows.row import TimeRange
from fonds.ports import Records

KEYS_A_QUERY = 500
ALL_TIME = TimeRange(datetime.min.replace(tzinfo=UTC), datetime.max.replace(tzinfo=UTC))


@dataclass(frozen=True, slots=True)
class Retry:
    """One message that waits for its next attempt, and why its last attempt failed.

    `url`: URL of the entry of the message; "" if the entry has none.
    `attempt`: number of attempts so far, from 1.
    `next_attempt_at`: time of the next attempt, aware UTC.
    """

    url: str
    entry_id: str
    pipeline: str
    step: str
    reason: str
    detail: str
    attempt: int
    next_attempt_at: datetime


@dataclass(frozen=True, slots=True)
class RetryGroup:
    """Messages of one pipeline, step and reason that wait for their next attempt.

    `count`: number of messages.
    `first`: the message that is due first.
    """

    pipeline: str
    step: str
    reason: str
    count: int
    first: Retry


def list_retry_groups(
    records: Records,
    *,
    pipeline: str | None = None,
    step: str | None = None,
    reason: str | None = None,
) -> list[RetryGroup]:
    """Group the failed messages that wait for their next attempt by pipeline, step and reason.

    A parameter that is None does not restrict the result. The largest group is first.
    """
    columns = {"pipeline": pipeline, "step": step, "reason": reason}
    where = {name: value for name, value in columns.items() if value} | _build_retry_filter(
        [Verdict.RETRIED]
    )
    counts = records.count(DispositionRow, ("pipeline", "step", "reason"), where)
    groups = []
    for (its_pipeline, its_step, its_reason), count in counts.items():
        group_filter = {"pipeline": its_pipeline, "step": its_step, "reason": its_reason}
        order = ("next_attempt_at",)
        rows = records.find(DispositionRow, {**where, **group_filter}, order=order, count_max=1)
        groups += [
            RetryGroup(its_pipeline, its_step, its_reason or "", count, first)
            for first in _build_retries(records, list(rows))
        ]
    return sorted(
        groups, key=lambda group: (-group.count, group.pipeline, group.step, group.reason)
    )


def list_next_retries(records: Records, pipeline: str, count_max: int) -> list[Retry]:
    """Return at most `count_max` messages of a pipeline that wait for their next attempt, the one
    that is due first at the front.

    Deferred messages, which have not failed, are included.
    """
    where = {"pipeline": pipeline} | _build_retry_filter([Verdict.RETRIED, Verdict.DEFERRED])
    order = ("next_attempt_at",)
    return _build_retries(
        records, list(records.find(DispositionRow, where, order=order, count_max=count_max))
    )


def list_link_retries(records: Records, pipeline: str, urls: Sequence[str]) -> list[Retry]:
    """Return the messages of links with these URLs that wait for their next attempt, in the order
    of `urls`.
    """
    entries = list_pending_links(records, pipeline, urls)
    rows: list[DispositionRow] = []
    for start in range(0, len(entries), KEYS_A_QUERY):
        ids = [row.entry_id for row in entries[start : start + KEYS_A_QUERY]]
        where = {"pipeline": pipeline, "entry_id": ids}
        rows += records.find(
            DispositionRow, where | _build_retry_filter([Verdict.RETRIED, Verdict.DEFERRED])
        )
    order = {url: index for index, url in enumerate(urls)}
    return sorted(_build_retries(records, rows), key=lambda retry: order.get(retry.url, len(order)))


def list_pending_links(records: Records, pipeline: str, urls: Sequence[str]) -> list[EntryRow]:
    """Return the link entries of these URLs that are pending in a pipeline."""
    entries: list[EntryRow] = []
    for start in range(0, len(urls), KEYS_A_QUERY):
        where = {"url": list(dict.fromkeys(urls[start : start + KEYS_A_QUERY]))}
        pending = {"pipeline": pipeline, "kind": LINK, "outcome": "pending"}
        entries += records.find(EntryRow, {**where, **pending})
    return entries


def _build_retry_filter(verdicts: Sequence[Verdict]) -> dict[str, object]:
    """Return the filter for messages that have one of these verdicts and wait for their next
    attempt.
    """
    return {"is_open": True, "verdict": list(map(str, verdicts)), "next_attempt_at": ALL_TIME}


def _build_retries(records: Records, rows: Sequence[DispositionRow]) -> list[Retry]:
    entries = {
        (entry.entry_id, entry.pipeline): entry.url
        for entry in records.get(EntryRow, [(row.entry_id, row.pipeline) for row in rows])
    }
    return [
        Retry(
            entries.get((row.entry_id, row.pipeline), ""),
            row.entry_id,
            row.pipeline,
            row.step,
            row.reason or "",
            row.detail,
            row.attempt + 1,
            row.next_attempt_at,
        )
        for row in rows
        if row.next_attempt_at is not None
    ]
