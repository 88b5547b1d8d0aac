"""The overview: what came in, and what became of all of it, in numbers that add up."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime

from fastapi import APIRouter, Request
from starlette.responses import HTMLResponse

from fonds.library.accounting import (
    Tally,
    derivative_counts,
    files_by_type,
    newest_input,
    step_failures,
    tally,
)
from fonds.model.disposition import Reason, Weight
from fonds.ports import Records, Stores
from fonds.web.access.declared import READS
from fonds.web.charts import Band, Segment, flow, meter, share, strip
from fonds.web.pages.failures.listing import Failure, failure
from fonds.web.rendering import OpenStores, how_many, link, page

ATTENTION_MAX = 5
BEGIN_COMMANDS = (
    ("Take something in: a WARC, a folder, a ZIP, a CDX", "fonds ingest PATH …"),
    ("See what became of it", "fonds status"),
    ("Find what it says", "fonds search WORDS"),
)

router = APIRouter(dependencies=[READS])


@dataclass(frozen=True, slots=True)
class ReasonCount:
    """How many records ended for one reason; `href` opens them."""

    reason: str
    explanation: str
    count: int
    href: str


@dataclass(frozen=True, slots=True)
class Outcome:
    """One of the five things that can become of a record; its reasons sum up to its count, if it has any."""

    name: str
    title: str
    tone: str
    count: int
    href: str
    reasons: Sequence[ReasonCount] = ()


@dataclass(frozen=True, slots=True)
class FileType:
    """How many files of one type are kept."""

    mimetype: str
    count: int
    href: str


@dataclass(frozen=True, slots=True)
class DerivativeCount:
    """How many files have a derivative of one kind, by its status, the most frequent first."""

    kind: str
    title: str
    count: int
    by_status: Mapping[str, int]


@dataclass(frozen=True, slots=True)
class Overview:
    """The whole intake. `unaccounted` is 0 when received = the sum of the outcomes.

    `newest_input_at` None means that nothing ever came in.
    """

    answer: str
    received: int
    outcomes: Sequence[Outcome]
    unaccounted: int
    attention: Sequence[Failure]
    attention_groups_total: int
    file_types: Sequence[FileType]
    files_total: int
    derivatives: Sequence[DerivativeCount]
    searchable: int
    newest_input_at: datetime | None
    as_of: datetime


def outcomes(found: Tally) -> list[Outcome]:
    """Kept, set aside, refused, failed, in flight: always all five, in this order."""
    return [
        Outcome("kept", "Kept", "kept", found.done, link("/records", outcome="done")),
        _weighed(found, Weight.SET_ASIDE, "Set aside", "aside"),
        _weighed(found, Weight.REFUSED, "Refused", "refused"),
        _weighed(found, Weight.FAILED, "Failed", "failed"),
        Outcome(
            "in-flight", "In flight", "flight", found.pending, link("/records", outcome="pending")
        ),
    ]


def _weighed(found: Tally, weight: Weight, title: str, tone: str) -> Outcome:
    reasons = [
        ReasonCount(name, Reason(name).explanation, count, link("/records", reason=name))
        for name, count in found.weighing(weight).items()
    ]
    name = weight.replace(" ", "-")
    total = sum(one.count for one in reasons)
    return Outcome(name, title, tone, total, link("/records", weight=name), reasons)


def overview(stores: Stores, now: datetime) -> Overview:
    """Count everything. `now` is when: the counts are those of this moment."""
    records = stores.records
    found = tally(records)
    groups = step_failures(records)
    all_outcomes = outcomes(found)
    types = _file_types(records)
    return Overview(
        answer=answer(found, all_outcomes),
        received=found.received,
        outcomes=all_outcomes,
        unaccounted=found.received - sum(one.count for one in all_outcomes),
        attention=[failure(group) for group in groups[:ATTENTION_MAX]],
        attention_groups_total=len(groups),
        file_types=types,
        files_total=sum(one.count for one in types),
        derivatives=[
            DerivativeCount(kind.name, kind.title, sum(counts.values()), counts)
            for kind, counts in derivative_counts(records)
        ],
        searchable=stores.index.count(),
        newest_input_at=newest_input(records),
        as_of=now,
    )


def _file_types(records: Records) -> list[FileType]:
    return [FileType(name, n, link("/files", type=name)) for name, n in files_by_type(records)]


def answer(found: Tally, all_outcomes: Sequence[Outcome]) -> str:
    """The state of the whole as one sentence."""
    if found.received == 0:
        return "Nothing has come in yet"
    kept, _, _, failed, flight = (one.count for one in all_outcomes)
    parts = [f"{kept:,} {'was' if kept == 1 else 'were'} kept"]
    if flight:
        parts.append(f"{flight:,} {'is' if flight == 1 else 'are'} still on the way")
    parts.append(
        f"{failed:,} {'needs' if failed == 1 else 'need'} someone" if failed else "nothing failed"
    )
    listed = (
        ", ".join(parts[:-1]) + f", and {parts[-1]}" if len(parts) > 2 else ", and ".join(parts)
    )
    return f"{how_many(found.received, 'record')} came in: {listed}"


def bands(all_outcomes: Sequence[Outcome]) -> list[Band]:
    """The outcomes as the charts take them."""
    return [
        Band(
            one.title,
            one.count,
            one.tone,
            one.href,
            tuple(Segment(reason.reason, reason.count, reason.href) for reason in one.reasons),
        )
        for one in all_outcomes
    ]


@router.get("/", include_in_schema=False)
def overview_html(request: Request, stores: OpenStores) -> HTMLResponse:
    """The page that adds up."""
    found = overview(stores, datetime.now(UTC))
    drawn = bands(found.outcomes)
    return page(
        request,
        "overview.html",
        heading=found.answer,
        found=found,
        flow=flow(found.received, drawn),
        strip=strip(found.received, drawn),
        meter=meter,
        share=share,
        begin=BEGIN_COMMANDS,
        several=len({one.pipeline for one in found.attention}) > 1,
    )


@router.get("/.json", include_in_schema=False)
@router.get("/api/overview", summary="What came in and what became of it")
def overview_json(stores: OpenStores) -> Overview:
    """Everything received = kept + set aside + refused + failed + in flight, with the reasons of each."""
    return overview(stores, datetime.now(UTC))
