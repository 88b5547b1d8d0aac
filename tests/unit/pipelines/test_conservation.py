"""Random pipelines with crashes at any write lose no message and count none twice."""

from __future__ import annotations

import shutil
import tempfile
from itertools import count
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings

from depth import examples
from fonds.queues.sqlite import SqliteQueue
from fonds.stores.records.sql import open_sqlite
from mortal_processes import World, check
from random_pipelines import Plan, Steps, plans
from small_pipeline import Clock


def run_plan(plan: Plan, folder: Path, migrated: Path) -> World:
    clock = Clock()
    shutil.copy(migrated, folder / "records.sqlite")
    records = open_sqlite(folder / "records.sqlite")
    world = World(
        plan=plan,
        open_queue=lambda: SqliteQueue(folder / "queue.sqlite", clock=clock.seconds),
        records=records,
        ledger=records.ledger,
        clock=clock,
        pass_time=lambda: clock.pass_s(0.1),
        acts=count(),
        steps=Steps(plan),
    )
    world.enter()
    world.work()
    queue = world.open_queue()
    try:
        check(world, queue)
    finally:
        queue.close()
        records.close()
    return world


@settings(
    max_examples=examples(20),
    deadline=None,
    suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow],
)
@given(plan=plans())
def test_every_entry_ends_exactly_once(migrated: Path, plan: Plan) -> None:
    with tempfile.TemporaryDirectory() as folder:
        run_plan(plan, Path(folder), migrated)


@pytest.mark.nightly
@settings(
    max_examples=400,
    deadline=None,
    suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow],
)
@given(plan=plans(entries_max=6))
def test_every_entry_ends_exactly_once_in_many_examples(migrated: Path, plan: Plan) -> None:
    with tempfile.TemporaryDirectory() as folder:
        run_plan(plan, Path(folder), migrated)
