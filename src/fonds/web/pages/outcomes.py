"""Numbers of entries by outcome (stored, skipped, rejected, failed, in progress), with links."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from fonds.failures.accounting.tallies import OutcomeTally
from fonds.model.disposition import Reason, Weight
from fonds.web.html.rendering import build_url


@dataclass(frozen=True, slots=True)
class ReasonCount:
    """Number of entries that ended for one reason. `href`: address that lists those entries."""

    reason: str
    explanation: str
    count: int
    href: str


@dataclass(frozen=True, slots=True)
class OutcomeCount:
    """Number of entries with one outcome: stored, skipped, rejected, failed or in progress.

    `reasons`: numbers of entries by reason, the largest first. For skipped, rejected and failed
        entries, they add up to `count`. Of stored entries, only those without text have a reason.
        Entries in progress have none.
    """

    name: str
    title: str
    tone: str
    count: int
    href: str
    reasons: Sequence[ReasonCount] = ()


@dataclass(frozen=True, slots=True)
class OutcomeKind:
    """One of the five outcomes of entries, without a number of entries.

    `tone`: CSS class of the outcome.
    `weight`: severity of the reasons that lead to this outcome, None for entries in progress.
    `filters`: the query parameter of `/records` that lists the entries with this outcome.
    """

    name: str
    title: str
    tone: str
    weight: Weight | None
    filters: Mapping[str, str]


OUTCOME_KINDS = (
    OutcomeKind("stored", "Stored", "kept", Weight.WITHOUT_TEXT, {"outcome": "done"}),
    OutcomeKind("skipped", "Skipped", "aside", Weight.SKIPPED, {"weight": "skipped"}),
    OutcomeKind("rejected", "Rejected", "refused", Weight.REJECTED, {"weight": "rejected"}),
    OutcomeKind("failed", "Failed", "failed", Weight.FAILED, {"weight": "failed"}),
    OutcomeKind("in-progress", "In progress", "flight", None, {"outcome": "pending"}),
)
"""The five outcomes in the order of all pages: stored, skipped, rejected, failed, in progress."""


def list_outcome_counts(tally: OutcomeTally) -> list[int]:
    """Return the number of entries of each of the five outcomes, in the order in which pages list
    the outcomes.
    """
    counts = Counter[Weight | None]()
    for reasons in (tally.dropped, tally.quarantined):
        for name, count in reasons.items():
            counts[Reason(name).weight] += count
    return [tally.done, *(counts[kind.weight] for kind in OUTCOME_KINDS[1:4]), tally.pending]


def build_outcomes(tally: OutcomeTally) -> list[OutcomeCount]:
    """Build the numbers of entries of all five outcomes, each with the numbers of entries by
    reason.
    """
    return [
        OutcomeCount(
            kind.name,
            kind.title,
            kind.tone,
            count,
            build_url("/records", **kind.filters),
            [
                ReasonCount(
                    name, Reason(name).explanation, reason_count, build_url("/records", reason=name)
                )
                for name, reason_count in (
                    tally.filter_reasons(kind.weight).items() if kind.weight else ()
                )
            ],
        )
        for kind, count in zip(OUTCOME_KINDS, list_outcome_counts(tally), strict=True)
    ]
