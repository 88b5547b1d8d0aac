"""A change is written down only while its process has the claim."""

from __future__ import annotations

import pytest

from fonds.collections.changing.redo import Writes, perform
from fonds.collections.claims import TakenError
from fonds.collections.names import claim_of_collection
from fonds.collections.tables import CHANGES
from kept_collections import NEWS, Kept, faults, themed


def test_a_process_that_lost_its_claim_writes_no_change_down(kept: Kept) -> None:
    """Otherwise its change would stand under the number that the next process gives to its own."""
    kept.changes.put(NEWS, themed(3))
    claims = kept.changes.claims
    with claims.held(claim_of_collection(NEWS), 0.0) as claim:
        claim.lost.set()
        with pytest.raises(TakenError):
            perform(kept.tables, NEWS, {}, ["d0"], Writes(), claims, claim)
    assert list(kept.tables.scan(CHANGES, NEWS.row)) == []
    assert faults(kept.tables, NEWS) == []
