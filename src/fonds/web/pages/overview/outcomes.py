"""The five things that can become of a record, counted, each with the records behind it."""

from __future__ import annotations

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
    """One of the five things that can become of a record; its reasons sum up to its count, if it has any."""

    name: str
    title: str
    tone: str
    count: int
    href: str
    reasons: Sequence[ReasonCount] = ()


def outcomes(found: Tally, **of: str | None) -> list[Outcome]:
    """Kept, set aside, refused, failed, in flight: always all five, in this order. `of` narrows the links."""
    kept, flight = (link("/records", outcome=one, **of) for one in ("done", "pending"))
    return [
        Outcome("kept", "Kept", "kept", found.done, kept),
        _weighed(found, Weight.SET_ASIDE, "Set aside", "aside", of),
        _weighed(found, Weight.REFUSED, "Refused", "refused", of),
        _weighed(found, Weight.FAILED, "Failed", "failed", of),
        Outcome("in-flight", "In flight", "flight", found.pending, flight),
    ]


def _weighed(
    found: Tally, weight: Weight, title: str, tone: str, of: Mapping[str, str | None]
) -> Outcome:
    reasons = [
        ReasonCount(name, Reason(name).explanation, count, link("/records", reason=name, **of))
        for name, count in found.weighing(weight).items()
    ]
    name = weight.replace(" ", "-")
    total = sum(one.count for one in reasons)
    return Outcome(name, title, tone, total, link("/records", weight=name, **of), reasons)
