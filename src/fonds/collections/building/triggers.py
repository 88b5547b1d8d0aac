"""When a clustering is to be built again, as a pure function of what came since."""

from __future__ import annotations

from dataclasses import dataclass

from fonds.collections.configurations import Configuration

LATER_MIN = 20
"""Shares of fewer later documents than this say nothing."""


@dataclass(frozen=True, slots=True)
class Since:
    """What is known of a served clustering and of what came after it; all are counts, times in seconds.

    `rebuilt`, `modified`: when it was begun, and when a document was last put. `size`: documents now,
    `documents`: those it was built of, `outliers` of them in no cluster. `later`: documents assigned since,
    `later_outliers` of them out of reach. `terms`, `unknown`: distinct terms of some grouped documents, and
    how many the dictionary leaves out; `later_terms`, `later_unknown`: the same of the later ones.
    """

    rebuilt: int
    modified: int
    size: int
    documents: int
    outliers: int
    later: int
    later_outliers: int
    terms: int
    unknown: int
    later_terms: int
    later_unknown: int


def due(configuration: Configuration, since: Since, now: int) -> str:
    """Why to build again: `growth`, `outliers`, `drift` or `age`; '' while it is not to be.

    Nothing that did not change is built again, however old it is.
    """
    if since.later == 0 and since.modified <= since.rebuilt and since.size == since.documents:
        return ""
    if _has_grown(configuration, since):
        return "growth"
    if since.later >= LATER_MIN:
        if _has_outliers(configuration, since):
            return "outliers"
        if _has_drifted(configuration, since):
            return "drift"
    every_s = configuration.every_s
    return "age" if every_s is not None and now - since.rebuilt >= every_s else ""


def _has_grown(configuration: Configuration, since: Since) -> bool:
    if configuration.growth_max is None:
        return False
    return since.later > configuration.growth_max * max(since.documents, 1)


def _has_outliers(configuration: Configuration, since: Since) -> bool:
    """Outliers are as many times more among later documents as is said; one in twenty is usual."""
    if configuration.outliers_factor is None:
        return False
    usual = max(since.outliers / max(since.documents, 1), 0.05)
    return since.later_outliers / since.later > configuration.outliers_factor * usual


def _has_drifted(configuration: Configuration, since: Since) -> bool:
    if configuration.unknown_max is None or since.later_terms == 0:
        return False
    usual = since.unknown / max(since.terms, 1)
    return since.later_unknown / since.later_terms - usual > configuration.unknown_max
