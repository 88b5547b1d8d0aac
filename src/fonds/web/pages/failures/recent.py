"""The failure groups that are new, before all others, and what is said when nothing waits."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime

from fonds.library.failures.failed import Asked
from fonds.library.failures.groups import FailureGroup
from fonds.library.failures.recent import LOOKED_AT_MAX, last_accepted, new_groups
from fonds.ports import Records
from fonds.web.pages.listed.records import Record, record
from fonds.web.rendering import link


@dataclass(frozen=True, slots=True)
class NewGroup:
    """A failure group all of whose failures are of today or yesterday; `href` opens its rows, `group_href`
    what is known of it and can be done."""

    group: str
    pipeline: str
    step: str
    reason: str
    cause: str
    host: str
    count: int
    first_at: datetime | None
    href: str
    group_href: str


@dataclass(frozen=True, slots=True)
class Recent:
    """`new` are 10 of `new_total` groups all of whose failures are of today or yesterday, those that began
    today first, then the largest. Where `new_is_all` is false there may be more: a thousand of those that
    failed on either day were looked at. `last_accepted` is the failure that was accepted as final last, where
    nothing waits for anyone; None else."""

    new: Sequence[NewGroup]
    new_total: int
    new_is_all: bool
    last_accepted: Record | None

    @property
    def said(self) -> str:
        """The heading of the list."""
        beside = "" if self.new_is_all else f", of {LOOKED_AT_MAX:,} groups that failed lately"
        some = f"{len(self.new)} of {self.new_total}" if self.new_total > len(self.new) else ""
        return f"New since yesterday{': ' + some if some else ''}{beside}"


def recent(records: Records, asked: Asked, now: datetime, total: int) -> Recent:
    """What stands before the groups: nothing new of failures that are none; `total` is how many there are."""
    if not total:
        accepted = last_accepted(records)
        return Recent((), 0, True, record(accepted) if accepted else None)
    found = new_groups(records, asked, now)
    return Recent([_line(one) for one in found.groups], found.total, found.is_all, None)


def _line(found: FailureGroup) -> NewGroup:
    at = {"pipeline": found.pipeline, "group": found.group}
    return NewGroup(
        group=found.group,
        pipeline=found.pipeline,
        step=found.step,
        reason=str(found.reason),
        cause=found.cause,
        host=found.host,
        count=found.count,
        first_at=found.first_at,
        href=link("/records", **at),
        group_href=link("/failures", **at),
    )
