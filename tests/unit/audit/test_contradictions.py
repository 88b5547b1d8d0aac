"""What the dispositions of one entry say against each other is found without looking anywhere else."""

from __future__ import annotations

from dataclasses import replace

import pytest

from audit_bench import MOMENT
from fonds.audit.entries import find_contradictions, iter_without_children
from fonds.audit.fault import REPAIR, AuditCheck
from fonds.model.rows import DispositionRow


def row(step: str, verdict: str = "done", parent: str | None = None) -> DispositionRow:
    is_open = verdict in ("pending", "retried", "deferred")
    reason = "timeout" if verdict in ("dropped", "quarantined") else None
    parents = ("e", parent) if parent else (None, None)
    ended = (
        verdict,
        is_open,
        reason,
        "",
        None,
        0,
        MOMENT,
        None if verdict == "pending" else MOMENT,
    )
    return DispositionRow("e", "library", step, "e", *parents, *ended)


WAY = [row("identify"), row("persist_file", parent="identify")]


@pytest.mark.parametrize(
    "rows",
    [
        WAY,
        [*WAY, row("extract_pdf", "quarantined", "persist_file")],
        [*WAY, row("extract_pdf", "pending", "persist_file")],
        [*WAY, row("extract_pdf", "retried", "persist_file")],
        [*WAY, replace(row("extract_pdf", "retried"), reason="store-unavailable")],
    ],
)
def test_what_goes_together_is_no_fault(rows: list[DispositionRow]) -> None:
    assert list(find_contradictions(rows)) == []


@pytest.mark.parametrize(
    ("wrong", "told"),
    [
        (replace(WAY[1], verdict="dropped"), "not a valid combination"),
        (replace(WAY[1], reason="timeout"), "not a valid combination"),
        (replace(WAY[1], verdict="dropped", reason="a mood"), "not a valid combination"),
        (replace(WAY[1], is_open=True), "not a valid combination"),
        (replace(WAY[1], verdict="pending"), "not a valid combination"),
        (replace(WAY[1], verdict="lost"), "not a valid combination"),
        (replace(WAY[1], parent_step="another"), "which is missing from the ledger"),
    ],
)
def test_what_does_not_is_told_with_what_helps(wrong: DispositionRow, told: str) -> None:
    (fault,) = find_contradictions([WAY[0], wrong])
    assert told in fault.message
    assert (fault.check, fault.subject, fault.pipeline) == (AuditCheck.WAY, "e", "library")
    assert "fonds repair" in fault.remedy


def test_only_what_is_done_and_handed_nothing_on_is_childless() -> None:
    last = row("extract_pdf", "quarantined", "persist_file")
    assert list(iter_without_children([*WAY, last])) == []
    assert list(iter_without_children(WAY)) == [WAY[1]]
    assert list(iter_without_children([*WAY, replace(last, step=REPAIR, verdict="done")])) == []


@pytest.mark.parametrize("check", list(AuditCheck))
def test_every_fault_has_a_remedy(check: AuditCheck) -> None:
    assert len(check.remedy.split()) > 3
