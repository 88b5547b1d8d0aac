"""Workers of two versions, which die between any two acts, share RabbitMQ or Kafka."""

from __future__ import annotations

import secrets
import time
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path

import pytest

from fixtures import rabbit_cleanup
from fonds.pipelines.runtime import newer_messages
from fonds.stores.records.sql import SqlRecords, open_sqlite
from fonds.wiring.backends import open_backend
from real_servers import url_of
from two_versions import NEWER, OLDER, SharedQueue

pytestmark = pytest.mark.servers

URLS = {"rabbitmq": "TEST_RABBITMQ_URL", "kafka": "TEST_KAFKA_URL"}
OPTIONS = {"kafka": "?partitions=2&session.timeout.ms=2000&heartbeat.interval.ms=500"}
each_queue = pytest.mark.parametrize("kind", URLS)


@pytest.fixture
def records(tmp_path: Path) -> Iterator[SqlRecords]:
    records = open_sqlite(tmp_path / "records.sqlite")
    yield records
    records.close()


def share(kind: str, records: SqlRecords, deaths: frozenset[int] = frozenset()) -> SharedQueue:
    """Share a queue on a server, under names that no other test uses."""
    url = url_of(URLS[kind]) + OPTIONS.get(kind, "")
    return SharedQueue(
        lambda: open_backend("queue", url, Path()),
        records,
        records.ledger,
        lambda: datetime.now(UTC),
        lambda: time.sleep(0.1),
        deaths,
        prefix=f"t-{secrets.token_hex(4)}",
        idle_max=3,
    )


@each_queue
@pytest.mark.parametrize("deaths", [(), (3, 8, 15), (4, 5, 6, 7), (9, 12, 21, 30)], ids=str)
def test_the_newer_workers_process_each_message_once(
    kind: str, deaths: tuple[int, ...], records: SqlRecords, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(newer_messages, "DELAY_FIRST_S", 1.0)
    monkeypatch.setattr(newer_messages, "DELAY_MAX_S", 2.0)
    shared = share(kind, records, frozenset(deaths))
    queue = shared.open()
    try:
        ids = shared.enter(queue, NEWER, 1, 2, 3) + shared.enter(queue, OLDER, 11, 12)
        # On Kafka, the older worker can receive a message each time until it stops.
        shared.upgrade(turn_count=40)
        expected = {(step, id_): "done" for step in ("double", "keep") for id_ in ids}
        assert shared.list_endings() == expected
        assert records.ledger.recount() == []
        assert shared.audit(queue) == []
    finally:
        rabbit_cleanup.close_queue(queue)


@each_queue
def test_messages_wait_while_only_the_older_worker_runs(kind: str, records: SqlRecords) -> None:
    shared = share(kind, records)
    queue = shared.open()
    try:
        shared.enter(queue, NEWER, 1, 2, 3)
        older = shared.start(OLDER)
        deadline = time.monotonic() + 60.0
        while older.queue.get_depth(shared.subscriptions[0]).delayed < 3:
            assert older.turn() == 0
            assert time.monotonic() < deadline
            time.sleep(0.1)
        assert set(shared.list_endings().values()) == {"pending"}
        older.turn()
        assert shared.audit(older.queue) == []
        older.queue.close()
    finally:
        rabbit_cleanup.close_queue(queue)
