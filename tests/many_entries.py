"""Fill a library of any size through the ledger, for tests that costs do not grow with it."""

from __future__ import annotations

from dataclasses import replace
from datetime import timedelta
from typing import Any

from fonds.model.disposition import Reason, Verdict
from fonds.model.rows import InputRow
from fonds.ports import Stores
from home_rows import NOW, Body, build_disposition, build_promise, entry, file_row

KINDS = 6
MIMES = ("text/html", "application/pdf", "image/png")
ADDRESSES = (
    "/",
    "/failures",
    "/pipeline",
    "/files",
    "/files?type=application/pdf",
    "/records",
    "/records?outcome=done",
    "/records?outcome=pending",
    "/records?outcome=dropped&reason=http-status",
    "/records?reason=not-a-capture",
    "/records?weight=skipped",
    "/records?weight=failed",
    "/records?step=identify",
    "/records?outcome=quarantined&step=identify&reason=missing-source&pipeline=pdf-only",
    "/records?pipeline=library",
    "/records?outcome=done&pipeline=pdf-only",
    "/?days=365&pipeline=library",
    "/records?from=2026-03-14&to=2026-03-14&weight=rejected",
    "/records?outcome=pending&from=2026-03-01",
    "/records?to=2026-03-20",
)


def fill_entries(stores: Stores, count: int) -> None:
    """Create entries of every outcome in equal parts, in two pipelines, and a file for each stored
    one."""
    bodies = [Body(n, f"http://a.example/{n}", NOW, MIMES[n % 3], b"%d" % n) for n in range(count)]
    for start in range(0, count, 500):
        batch = bodies[start : start + 500]
        rows = [row for body in batch for row in _build_dispositions(body)]
        for name in ("library", "pdf-only"):
            entries = [replace(entry(body), pipeline=name) for body in batch]
            stores.ledger.enter([], entries, ["identify"])
            stores.ledger.write([replace(row, pipeline=name) for row in rows])
    stores.records.put(
        [
            replace(file_row(body), row_created=NOW + timedelta(seconds=body.number))
            for body in bodies[::KINDS]
        ]
    )
    tally = {str(Reason.NOT_A_CAPTURE): count}
    facts = ("/a.warc.gz", "warc", "1:1", 0, count, tally, count, True, None, NOW)
    stores.ledger.enter(
        [InputRow("input-1", *facts, name) for name in ("library", "pdf-only")], [], ()
    )


def _build_dispositions(body: Body) -> list[Any]:
    at = NOW + timedelta(seconds=body.number)
    quarantined, dropped = Verdict.QUARANTINED, Verdict.DROPPED
    kind = body.number % KINDS
    if kind == 0:
        rows = [build_disposition(body, "identify", 0)]
    elif kind == 1:
        rows = [build_disposition(body, "identify", 0, verdict=dropped, reason=Reason.HTTP_STATUS)]
    elif kind == 2:
        rows = [
            build_disposition(
                body, "identify", 0, verdict=quarantined, reason=Reason.MISSING_SOURCE
            )
        ]
    elif kind == 3:
        rows = [
            build_disposition(body, "identify", 0),
            build_promise(body, "persist_file", 0, "identify"),
        ]
    elif kind == 4:
        duplicate = build_disposition(
            body, "persist_file", 0, "identify", dropped, Reason.DUPLICATE
        )
        rows = [build_disposition(body, "identify", 0), duplicate]
    else:
        return []
    return [replace(row, settled_at=at if row.settled_at else None) for row in rows]
