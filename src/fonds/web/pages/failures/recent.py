"""The failure groups that are new, before all others, and what is said when nothing waits."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime

from fonds.library.failures.failed import Asked, Failed
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
    """`new` are the first 10 of `new_total` groups all of whose failures are of today or yesterday, in UTC:
    those that began today first, then the largest. Without `new_is_all` there are at least so many: no more
    were looked at once ten were found, nor more than a thousand that failed on a day. `last_accepted` is the
    failure that was accepted as final last, where nothing waits for anyone; None else."""

    new: Sequence[NewGroup]
    new_total: int
    new_is_all: bool
    last_accepted: Record | None

    @property
    def said(self) -> str:
        """The heading of the list."""
        shown = len(self.new)
        if not self.new_is_all and self.new_total <= shown:
            return f"New since yesterday: {shown} of the {LOOKED_AT_MAX:,} largest groups of a day"
        of = "of" if self.new_is_all else "of at least"
        return "New since yesterday" + (
            f": {shown} {of} {self.new_total}" if self.new_total > shown else ""
        )

    @property
    def is_told(self) -> bool:
        """Whether there is anything to say: also that not all were looked at."""
        return bool(self.new) or not self.new_is_all


def recent(records: Records, asked: Asked, now: datetime, found: Failed) -> Recent:
    """What stands before the groups that were `found`: nothing new of failures that are none."""
    if not found.total:
        accepted = last_accepted(records)
        return Recent((), 0, True, record(accepted) if accepted else None)
    new = new_groups(records, asked, now, found.groups)
    return Recent([_line(one) for one in new.groups], new.total, new.is_all, None)


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
