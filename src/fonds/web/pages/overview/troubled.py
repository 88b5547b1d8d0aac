"""The followed sources that began to fail, or fell silent, since somebody looked last."""

from __future__ import annotations

import datetime as dt
from collections.abc import Sequence
from dataclasses import dataclass

from fonds.model.rows import SourceRow
from fonds.ports import Records
from fonds.sources.following.standing import NEEDS_SOMEONE, Standing, standing_since
from fonds.web.rendering import link

SHOWN = 5


@dataclass(frozen=True, slots=True)
class TroubledSource:
    """One of them, and since when."""

    source_id: str
    name: str
    since: dt.datetime | None
    href: str


@dataclass(frozen=True, slots=True)
class TroubledSince:
    """The last five of the `total` sources that stand so since a day; `href` opens all."""

    standing: str
    total: int
    href: str
    last: Sequence[TroubledSource]


def troubled_since(
    records: Records, since: dt.date | None, now: dt.datetime
) -> list[TroubledSince] | None:
    """Those that are dead, failing or silent now and began to be so since the beginning of this day in UTC,
    by how they stand; muted ones need nobody. None without a day."""
    if since is None:
        return None
    begins = dt.datetime.combine(since, dt.time(), dt.UTC)
    found = [_of(records, stands, begins, now) for stands in NEEDS_SOMEONE]
    return [one for one in found if one.total]


def _of(records: Records, stands: Standing, begins: dt.datetime, now: dt.datetime) -> TroubledSince:
    where = standing_since(stands, begins, now)
    total = records.count(SourceRow, (), where).get((), 0)
    column = "silent_since" if stands is Standing.SILENT else "failing_since"
    rows = records.find(SourceRow, where, order=(f"-{column}",), count_max=SHOWN) if total else ()
    href = link("/sources", standing=str(stands), since=begins.date().isoformat())
    return TroubledSince(
        str(stands),
        total,
        href,
        [
            TroubledSource(
                row.source_id,
                row.title or row.url,
                getattr(row, column),
                f"/sources/{row.source_id}",
            )
            for row in rows
        ],
    )
