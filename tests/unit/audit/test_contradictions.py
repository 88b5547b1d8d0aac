"""Contradictions between the dispositions of one entry are found without other stores."""

from __future__ import annotations

from dataclasses import replace

import pytest

from audit_bench import MOMENT
from fonds.audit.entries import find_contradictions, iter_without_children
from fonds.audit.fault import REPAIR, AuditCheck
from fonds.model.rows import DispositionRow


def make_disposition(step: str, verdict: str = "done", parent: str | None = None) -> DispositionRow:
    is_open = verdict in ("pending", "retried", "deferred")
    reason = "timeout" if verdict in ("dropped", "quarantined") else None
    parents = ("e", parent) if parent else (None, None)
    values = (
        verdict,
        is_open,
        reason,
        "",
        None,
        0,
        MOMENT,
        None if verdict == "pending" else MOMENT,
    )
    return DispositionRow("e", "library", step, "e", *parents, *values)


DISPOSITIONS = [make_disposition("identify"), make_disposition("persist_file", parent="identify")]


@pytest.mark.parametrize(
    "rows",
    [
        DISPOSITIONS,
        [*DISPOSITIONS, make_disposition("extract_pdf", "quarantined", "persist_file")],
        [*DISPOSITIONS, make_disposition("extract_pdf", "pending", "persist_file")],
        [*DISPOSITIONS, make_disposition("extract_pdf", "retried", "persist_file")],
        [
            *DISPOSITIONS,
            replace(make_disposition("extract_pdf", "retried"), reason="store-unavailable"),
        ],
    ],
)
def test_consistent_dispositions_have_no_fault(rows: list[DispositionRow]) -> None:
    assert list(find_contradictions(rows)) == []


@pytest.mark.parametrize(
    ("disposition", "message"),
    [
        (replace(DISPOSITIONS[1], verdict="dropped"), "not a valid combination"),
        (replace(DISPOSITIONS[1], reason="timeout"), "not a valid combination"),
        (replace(DISPOSITIONS[1], verdict="dropped", reason="a mood"), "not a valid combination"),
        (replace(DISPOSITIONS[1], is_open=True), "not a valid combination"),
        (replace(DISPOSITIONS[1], verdict="pending"), "not a valid combination"),
        (replace(DISPOSITIONS[1], verdict="lost"), "not a valid combination"),
        (replace(DISPOSITIONS[1], parent_step="another"), "which is missing from the ledger"),
    ],
)
def test_inconsistent_dispositions_are_reported_with_a_remedy(
    disposition: DispositionRow, message: str
) -> None:
    (fault,) = find_contradictions([DISPOSITIONS[0], disposition])
    assert message in fault.message
    assert (fault.check, fault.subject, fault.pipeline) == (AuditCheck.WAY, "e", "library")
    assert "fonds repair" in fault.remedy


def test_only_a_done_step_that_sent_nothing_has_no_children() -> None:
    last = make_disposition("extract_pdf", "quarantined", "persist_file")
    assert list(iter_without_children([*DISPOSITIONS, last])) == []
    assert list(iter_without_children(DISPOSITIONS)) == [DISPOSITIONS[1]]
    assert (
        list(iter_without_children([*DISPOSITIONS, replace(last, step=REPAIR, verdict="done")]))
        == []
    )


@pytest.mark.parametrize("check", list(AuditCheck))
def test_every_fault_has_a_remedy(check: AuditCheck) -> None:
    assert len(check.remedy.split()) > 3
