"""When a clustering is rebuilt automatically."""

from __future__ import annotations

from dataclasses import replace

import pytest

from fonds.grouping.configuration import Configuration, build_configuration
from fonds.grouping.rebuild.triggers import ChangeCounts, check_triggers

CALM = ChangeCounts(
    rebuild_time_s=1000,
    modification_time_s=2000,
    current_document_count=1010,
    document_count=1000,
    outlier_count=50,
    later_document_count=30,
    later_outlier_count=2,
    term_count=1000,
    unknown_term_count=300,
    later_term_count=100,
    later_unknown_term_count=35,
)


@pytest.mark.parametrize(
    ("changed", "reason"),
    [
        ({}, ""),
        ({"later_document_count": 200}, ""),
        ({"later_document_count": 201}, "growth"),
        ({"later_outlier_count": 4}, "outliers"),
        ({"later_outlier_count": 10, "later_document_count": 19}, ""),
        ({"later_unknown_term_count": 51}, "drift"),
        ({"later_unknown_term_count": 50}, ""),
        ({"document_count": 0, "later_document_count": 1}, "growth"),
    ],
)
def test_growth_outliers_and_unknown_terms_trigger_a_rebuild(
    changed: dict[str, int], reason: str
) -> None:
    assert check_triggers(Configuration(), replace(CALM, **changed), 3000) == reason


def test_age_triggers_a_rebuild_only_after_a_change() -> None:
    daily = build_configuration({"every_s": 86_400})
    unchanged = replace(
        CALM,
        modification_time_s=1000,
        current_document_count=1000,
        later_document_count=0,
        later_outlier_count=0,
    )
    assert check_triggers(daily, unchanged, 10**9) == ""
    assert (
        check_triggers(daily, replace(unchanged, current_document_count=999), 1000 + 86_400)
        == "age"
    )
    assert check_triggers(daily, CALM, 1000 + 86_400) == "age"
    assert check_triggers(daily, CALM, 999 + 86_400) == ""


def test_disabled_triggers_never_fire() -> None:
    off = build_configuration({"growth_max": None, "outliers_factor": None, "unknown_max": None})
    wild = replace(
        CALM, later_document_count=5000, later_outlier_count=5000, later_unknown_term_count=100
    )
    assert check_triggers(off, wild, 10**9) == ""
