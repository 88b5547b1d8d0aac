"""Random pipelines with dying processes on RabbitMQ and Kafka; the ledger balances."""

from __future__ import annotations

import secrets
import tempfile
import time
from collections.abc import Callable
from datetime import UTC, datetime
from itertools import count
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, Phase, given, settings

from fixtures import rabbit_cleanup
from fonds.stores.records.sql import open_sqlite
from fonds.wiring.backends import open_backend
from mortal_processes import World, check
from random_pipelines import Plan, Steps, plans
from real_servers import url_of

pytestmark = pytest.mark.servers

OPTIONS = {"kafka": "?partitions=2&session.timeout.ms=2000&heartbeat.interval.ms=500"}


def _opener(kind: str) -> Callable[[], Any]:
    url = url_of({"rabbitmq": "TEST_RABBITMQ_URL", "kafka": "TEST_KAFKA_URL"}[kind])
    return lambda: open_backend("queue", url + OPTIONS.get(kind, ""), Path())


def run(kind: str, plan: Plan, folder: Path) -> None:
    records = open_sqlite(folder / "records.sqlite")
    open_queue = _opener(kind)
    world = World(
        plan=plan,
        open_queue=open_queue,
        records=records,
        ledger=records.ledger,
        clock=lambda: datetime.now(UTC),
        pass_time=lambda: time.sleep(0.05),
        acts=count(),
        steps=Steps(plan),
        idle_max=3,
    )
    world.enter()
    world.work()
    queue = open_queue()
    try:
        for pipeline in plan.pipelines:
            world.declare(queue, pipeline)
        check(world, queue)
    finally:
        rabbit_cleanup.close_queue(queue)
        records.close()


SETTINGS = settings(
    deadline=None,
    derandomize=True,
    phases=(Phase.generate,),
    suppress_health_check=list(HealthCheck),
)


@settings(SETTINGS, max_examples=12)
@given(plan=plans())
def test_the_ledger_balances_on_rabbitmq(plan: Plan) -> None:
    with tempfile.TemporaryDirectory() as folder:
        run("rabbitmq", plan.with_token(secrets.token_hex(4)), Path(folder))


@settings(SETTINGS, max_examples=4)
@given(plan=plans(entries_max=3))
def test_the_ledger_balances_on_kafka(plan: Plan) -> None:
    with tempfile.TemporaryDirectory() as folder:
        run("kafka", plan.with_token(secrets.token_hex(4)), Path(folder))
