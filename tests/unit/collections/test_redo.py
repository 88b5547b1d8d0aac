"""A change is written down only while its process has the claim."""

from __future__ import annotations

import pytest

from fonds.grouping.names import name_collection_lease
from fonds.grouping.redo_log import PendingWrites, perform
from fonds.grouping.tables import CHANGES
from fonds.pipelines.runtime.leases import LeaseConflictError
from kept_collections import NEWS, Kept, faults, themed


def test_a_process_that_lost_its_claim_writes_no_change_down(kept: Kept) -> None:
    """Otherwise its change would stand under the number that the next process gives to its own."""
    kept.changes.put(NEWS, themed(3))
    claims = kept.changes.leases
    with claims.acquire(name_collection_lease(NEWS), 0.0) as claim:
        claim.lost.set()
        with pytest.raises(LeaseConflictError):
            perform(kept.tables, NEWS, {}, ["d0"], PendingWrites(), claims, claim)
    assert list(kept.tables.iter_rows(CHANGES, NEWS.row)) == []
    assert faults(kept.tables, NEWS) == []
