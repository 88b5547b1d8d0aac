"""When a clustering is rebuilt automatically."""

from __future__ import annotations

from dataclasses import replace

import pytest

from fonds.grouping.configuration import Configuration, build_configuration
from fonds.grouping.rebuild.maintenance import (
    ChangeCounts,
    check_triggers,
)

CALM = ChangeCounts(
    rebuilt=1000,
    modified=2000,
    size=1010,
    documents=1000,
    outliers=50,
    later=30,
    later_outliers=2,
    terms=1000,
    unknown=300,
    later_terms=100,
    later_unknown=35,
)


@pytest.mark.parametrize(
    ("changed", "reason"),
    [
        ({}, ""),
        ({"later": 200}, ""),
        ({"later": 201}, "growth"),
        ({"later_outliers": 4}, "outliers"),
        ({"later_outliers": 10, "later": 19}, ""),
        ({"later_unknown": 51}, "drift"),
        ({"later_unknown": 50}, ""),
        ({"documents": 0, "later": 1}, "growth"),
    ],
)
def test_growth_outliers_and_unknown_terms_trigger_a_rebuild(
    changed: dict[str, int], reason: str
) -> None:
    assert check_triggers(Configuration(), replace(CALM, **changed), 3000) == reason


def test_age_triggers_a_rebuild_only_after_a_change() -> None:
    daily = build_configuration({"every_s": 86_400})
    unchanged = replace(CALM, modified=1000, size=1000, later=0, later_outliers=0)
    assert check_triggers(daily, unchanged, 10**9) == ""
    assert check_triggers(daily, replace(unchanged, size=999), 1000 + 86_400) == "age"
    assert check_triggers(daily, CALM, 1000 + 86_400) == "age"
    assert check_triggers(daily, CALM, 999 + 86_400) == ""


def test_disabled_triggers_never_fire() -> None:
    off = build_configuration({"growth_max": None, "outliers_factor": None, "unknown_max": None})
    wild = replace(CALM, later=5000, later_outliers=5000, later_unknown=100)
    assert check_triggers(off, wild, 10**9) == ""
