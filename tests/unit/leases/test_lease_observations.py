"""Observation of the leases of other processes, and how many observations are remembered."""

from __future__ import annotations

from pathlib import Path

import pytest

from empty_records import open_records
from fonds.leases.cells import LeaseTable
from fonds.leases.leases import Leases
from fonds.model.lease import LeaseCell


def test_the_leases_observed_last_are_remembered(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("fonds.leases.leases.OBSERVATIONS_MAX", 2)
    times_s = iter(range(10))
    records = open_records(tmp_path / "records.sqlite")
    leases = Leases(LeaseTable(records), "one", lambda: float(next(times_s)))
    cell = LeaseCell("other", 7)
    assert leases.observe("abandoned", cell) == 0.0
    assert leases.observe("seen once", cell) == 0.0
    assert leases.observe("abandoned", cell) == 2.0
    assert leases.observe("new", cell) == 0.0
    assert leases.observe("abandoned", cell) == 4.0
    assert leases.observe("seen once", cell) == 0.0
