"""Check that a stored result is complete before the step that computes it is skipped."""

from __future__ import annotations

from datetime import datetime

from fonds.model.rows import DispositionRow
from fonds.ports import Records


def is_result_complete(records: Records, sha1hex: str, step: str, stored_at: datetime) -> bool:
    """Return whether the step that stored a result also finished its work after writing the row.

    - `step`: the step that stores the result, such as `persist_pdf_text`.
    - `stored_at`: time that the step wrote into the row of the result.

    The step writes the row first; then it updates the search index and sends work to other steps.
    After that, the ledger gets the outcome of the step. If a process is killed in between, the
    ledger has no outcome from `stored_at` or later, and the result must be computed again.
    """
    outcomes = records.find(DispositionRow, {"about": sha1hex, "step": step})
    return any(row.settled_at is not None and row.settled_at >= stored_at for row in outcomes)
