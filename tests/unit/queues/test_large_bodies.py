"""Large bodies are sent through the blob store and deleted after use."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest

from fonds.model.archive import Blob
from fonds.model.errors import StoreUnavailableError
from fonds.model.message import Message, Subscription
from fonds.queues.large_bodies import BODY_BLOB, BodyLimits, LargeBodies
from fonds.queues.sqlite import SqliteQueue
from fonds.stores.blobs import FolderBlobs
from order_of_writes import record_writes
from small_pipeline import RaisesOnce

READER = Subscription("read", "t.texts")
OTHER_READER = Subscription("other", "t.texts")
LIMIT_BYTES, TOPIC_LIMIT_BYTES = 100, 20_000
LARGE = Message("id-1", b"x" * 101, key="ab" * 20)


@dataclass
class QueueBench:
    inner_queue: SqliteQueue
    blobs: FolderBlobs
    folder: Path

    def queue(self, blobs: object = None) -> LargeBodies:
        large_bodies = LargeBodies(
            self.inner_queue, blobs or self.blobs, BodyLimits(LIMIT_BYTES, TOPIC_LIMIT_BYTES)
        )  # type: ignore[arg-type]
        large_bodies.declare([READER])
        return large_bodies

    def count_blobs(self) -> int:
        return sum(path.is_file() for path in self.folder.rglob("*"))


@pytest.fixture
def queue_bench(tmp_path: Path) -> Iterator[QueueBench]:
    inner_queue = SqliteQueue(tmp_path / "queue.sqlite")
    yield QueueBench(inner_queue, FolderBlobs(tmp_path / "blobs"), tmp_path / "blobs")
    inner_queue.close()


def test_only_bodies_over_the_limit_are_stored_as_blobs(queue_bench: QueueBench) -> None:
    queue = queue_bench.queue()
    small = Message("id-0", b"x" * LIMIT_BYTES)
    queue.put(READER.topic, [small, LARGE])
    inner_deliveries = queue_bench.inner_queue.receive(READER.incoming, 10, 0.0)
    assert [len(delivery.message.body) for delivery in inner_deliveries] == [LIMIT_BYTES, 0]
    queue_bench.inner_queue.release(inner_deliveries)
    assert [delivery.message for delivery in queue.receive(READER.incoming, 10, 0.0)] == [
        small,
        LARGE,
    ]


def test_a_body_is_deleted_when_its_message_is_settled(queue_bench: QueueBench) -> None:
    queue = queue_bench.queue()
    queue.put(READER.topic, [LARGE])
    assert queue_bench.count_blobs() == 1
    queue.settle(queue.receive(READER.incoming, 10, 0.0))
    assert queue_bench.count_blobs() == 0
    assert queue.get_depth(READER).pending == 0


def test_every_reader_has_its_own_copy_of_a_body(queue_bench: QueueBench) -> None:
    queue = queue_bench.queue()
    queue.declare([OTHER_READER])
    queue.put(READER.topic, [LARGE])
    queue.settle(queue.receive(READER.incoming, 1, 0.0))
    (other_delivery,) = queue.receive(OTHER_READER.incoming, 1, 0.0)
    assert other_delivery.message == LARGE


def test_a_retry_put_before_its_predecessor_is_settled_keeps_its_body(
    queue_bench: QueueBench,
) -> None:
    queue = queue_bench.queue()
    queue.put(READER.topic, [LARGE])
    first = queue.receive(READER.incoming, 1, 0.0)
    retry = Message(LARGE.id, LARGE.body, LARGE.key, attempt=1)
    queue.put(READER.incoming, [retry])
    queue.settle(first)
    (second,) = queue.receive(READER.incoming, 1, 0.0)
    assert second.message == retry


def test_another_body_with_the_same_id_is_not_deleted_with_the_first(
    queue_bench: QueueBench,
) -> None:
    queue = queue_bench.queue()
    queue.put(READER.topic, [LARGE])
    first = queue.receive(READER.incoming, 1, 0.0)
    newer = Message(LARGE.id, b"y" * 200, LARGE.key, attempt=1)
    queue.put(READER.topic, [newer])
    queue.settle(first)
    (second,) = queue.receive(READER.incoming, 1, 0.0)
    assert second.message == newer


def test_a_message_redelivered_after_settling_is_not_received(
    queue_bench: QueueBench, caplog: pytest.LogCaptureFixture
) -> None:
    queue = queue_bench.queue()
    queue.put(READER.topic, [LARGE])
    (inner_deliveries,) = queue_bench.inner_queue.receive(READER.incoming, 1, 0.0)
    queue_bench.inner_queue.release([inner_deliveries])
    queue.settle(queue.receive(READER.incoming, 1, 0.0))
    queue_bench.inner_queue.put(READER.incoming, [inner_deliveries.message])
    assert queue.receive(READER.incoming, 1, 0.0) == []
    assert queue.get_depth(READER).pending == 0
    assert "id-1 was delivered again" in caplog.text


def test_a_foreign_message_cannot_read_or_delete_a_blob(queue_bench: QueueBench) -> None:
    queue = queue_bench.queue()
    queue_bench.blobs.put([Blob("text/ab/cd/secret.txt", b"another text", "text/plain")])
    queue_bench.inner_queue.put(
        READER.incoming, [Message("id-2", b"", headers={BODY_BLOB: "text/ab/cd/secret.txt"})]
    )
    (delivery,) = queue.receive(READER.incoming, 1, 0.0)
    assert delivery.message.body == b""
    queue.settle([delivery])
    assert queue_bench.blobs.get("text/ab/cd/secret.txt") == b"another text"


def test_messages_wait_for_an_unavailable_blob_store_without_counting_a_delivery(
    queue_bench: QueueBench,
) -> None:
    other_messages = [Message(f"id-{number}", LARGE.body) for number in range(2, 5)]
    queue_bench.queue().put(READER.topic, [LARGE, *other_messages])
    failing_blobs = RaisesOnce(queue_bench.blobs, "get", StoreUnavailableError("away"))
    queue = queue_bench.queue(failing_blobs)
    with pytest.raises(StoreUnavailableError):
        queue.receive(READER.incoming, 4, 0.0)
    assert queue_bench.inner_queue.get_depth(READER).in_hand == 4
    (first,) = queue.receive(READER.incoming, 1, 0.0)
    assert (first.message, first.redelivered) == (LARGE, 0)
    assert [
        delivery.message for delivery in queue.receive(READER.incoming, 9, 0.0)
    ] == other_messages


def test_a_delayed_or_released_message_keeps_its_body(queue_bench: QueueBench) -> None:
    queue = queue_bench.queue()
    queue.put(READER.incoming, [LARGE], delay_s=0.001)
    deliveries = queue.receive(READER.incoming, 1, 5.0)
    queue.release(deliveries)
    (redelivered,) = queue.receive(READER.incoming, 1, 5.0)
    assert (redelivered.message, redelivered.redelivered) == (LARGE, 1)


def test_a_body_is_deleted_after_its_message_is_settled(queue_bench: QueueBench) -> None:
    """In the other order a crash would leave a message without its body."""
    calls: list[str] = []
    stores = record_writes(calls, queue=queue_bench.inner_queue, blobs=queue_bench.blobs)
    queue = LargeBodies(
        stores["queue"], stores["blobs"], BodyLimits(LIMIT_BYTES, TOPIC_LIMIT_BYTES)
    )
    queue.declare([READER])
    queue.put(READER.topic, [LARGE])
    calls.clear()
    queue.settle(queue.receive(READER.incoming, 1, 0.0))
    assert calls == ["queue.settle", "blobs.delete"]
