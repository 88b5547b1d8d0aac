"""The five outcomes of a record, counted, with links to their records."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from fonds.failures.accounting.tallies import OutcomeTally
from fonds.model.disposition import Reason, Weight
from fonds.web.html.rendering import build_url


@dataclass(frozen=True, slots=True)
class ReasonCount:
    """Number of records that ended for one reason. `href` opens them."""

    reason: str
    explanation: str
    count: int
    href: str


@dataclass(frozen=True, slots=True)
class OutcomeCount:
    """One of the five outcomes. If it has reasons, their counts add up to its count, except for
    kept records.

    The reasons of kept records count the files without text.
    """

    name: str
    title: str
    tone: str
    count: int
    href: str
    reasons: Sequence[ReasonCount] = ()


@dataclass(frozen=True, slots=True)
class OutcomeKind:
    """One of the five outcomes, without a count.

    `weight`: the weight of its reasons.
    `filters`: the parameter of `/records` that selects its records.
    """

    name: str
    title: str
    tone: str
    weight: Weight | None
    filters: Mapping[str, str]


OUTCOME_KINDS = (
    OutcomeKind("kept", "Stored", "kept", Weight.KEPT, {"outcome": "done"}),
    OutcomeKind("set-aside", "Skipped", "aside", Weight.SET_ASIDE, {"weight": "set-aside"}),
    OutcomeKind("refused", "Rejected", "refused", Weight.REFUSED, {"weight": "refused"}),
    OutcomeKind("failed", "Failed", "failed", Weight.FAILED, {"weight": "failed"}),
    OutcomeKind("in-flight", "In progress", "flight", None, {"outcome": "pending"}),
)
"""Stored, skipped, rejected, failed, in progress: pages list all five, in this order."""


def count_outcomes(tally: OutcomeTally) -> list[int]:
    """Return the number of records of each of the five outcomes."""
    counts = Counter[Weight | None]()
    for reasons in (tally.dropped, tally.quarantined):
        for name, count in reasons.items():
            counts[Reason(name).weight] += count
    return [tally.done, *(counts[kind.weight] for kind in OUTCOME_KINDS[1:4]), tally.pending]


def build_outcomes(tally: OutcomeTally) -> list[OutcomeCount]:
    """Build all five outcomes with their reasons."""
    return [
        OutcomeCount(
            kind.name,
            kind.title,
            kind.tone,
            count,
            build_url("/records", **kind.filters),
            [
                ReasonCount(name, Reason(name).explanation, n, build_url("/records", reason=name))
                for name, n in (tally.filter_reasons(kind.weight).items() if kind.weight else ())
            ],
        )
        for kind, count in zip(OUTCOME_KINDS, count_outcomes(tally), strict=True)
    ]
