"""The five things that can become of a record, counted, each with the records behind it."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from fonds.library.accounting import Tally
from fonds.model.disposition import Reason, Weight
from fonds.web.rendering import link


@dataclass(frozen=True, slots=True)
class ReasonCount:
    """How many records ended for one reason; `href` opens them."""

    reason: str
    explanation: str
    count: int
    href: str


@dataclass(frozen=True, slots=True)
class Outcome:
    """One of the five things that can become of a record; its reasons sum up to its count, if it has any.

    Those of what was kept count the files without text.
    """

    name: str
    title: str
    tone: str
    count: int
    href: str
    reasons: Sequence[ReasonCount] = ()


@dataclass(frozen=True, slots=True)
class OutcomeKind:
    """One of the five, without a count: `weight` is that of its reasons, `asked` the parameter of `/records`
    that asks for its records."""

    name: str
    title: str
    tone: str
    weight: Weight | None
    asked: Mapping[str, str]


FIVE = (
    OutcomeKind("kept", "Kept", "kept", Weight.KEPT, {"outcome": "done"}),
    OutcomeKind("set-aside", "Set aside", "aside", Weight.SET_ASIDE, {"weight": "set-aside"}),
    OutcomeKind("refused", "Refused", "refused", Weight.REFUSED, {"weight": "refused"}),
    OutcomeKind("failed", "Failed", "failed", Weight.FAILED, {"weight": "failed"}),
    OutcomeKind("in-flight", "In flight", "flight", None, {"outcome": "pending"}),
)
"""Kept, set aside, refused, failed, in flight: always all five, in this order."""


def five_counts(found: Tally) -> list[int]:
    """How many records each of the five became."""
    of = Counter[Weight | None]()
    for reasons in (found.dropped, found.quarantined):
        for name, count in reasons.items():
            of[Reason(name).weight] += count
    return [found.done, *(of[one.weight] for one in FIVE[1:4]), found.pending]


def outcomes(found: Tally) -> list[Outcome]:
    """All five, with the reasons of those that have any."""
    return [
        Outcome(
            kind.name,
            kind.title,
            kind.tone,
            count,
            link("/records", **kind.asked),
            [
                ReasonCount(name, Reason(name).explanation, n, link("/records", reason=name))
                for name, n in (found.weighing(kind.weight).items() if kind.weight else ())
            ],
        )
        for kind, count in zip(FIVE, five_counts(found), strict=True)
    ]
