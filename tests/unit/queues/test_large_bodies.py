"""Large bodies: they travel by the blob store, whole, and nothing of them is left behind."""

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
OTHER = Subscription("other", "t.texts")
LIMIT_BYTES, TOPIC_LIMIT_BYTES = 100, 20_000
LARGE = Message("id-1", b"x" * 101, key="ab" * 20)


@dataclass
class Desk:
    below: SqliteQueue
    blobs: FolderBlobs
    folder: Path

    def queue(self, blobs: object = None) -> LargeBodies:
        made = LargeBodies(
            self.below, blobs or self.blobs, BodyLimits(LIMIT_BYTES, TOPIC_LIMIT_BYTES)
        )  # type: ignore[arg-type]
        made.declare([READER])
        return made

    def left(self) -> int:
        return sum(path.is_file() for path in self.folder.rglob("*"))


@pytest.fixture
def desk(tmp_path: Path) -> Iterator[Desk]:
    below = SqliteQueue(tmp_path / "queue.sqlite")
    yield Desk(below, FolderBlobs(tmp_path / "blobs"), tmp_path / "blobs")
    below.close()


def test_only_bodies_over_the_limit_leave_the_message(desk: Desk) -> None:
    queue = desk.queue()
    small = Message("id-0", b"x" * LIMIT_BYTES)
    queue.put(READER.topic, [small, LARGE])
    travelling = desk.below.receive(READER.incoming, 10, 0.0)
    assert [len(one.message.body) for one in travelling] == [LIMIT_BYTES, 0]
    desk.below.release(travelling)
    assert [one.message for one in queue.receive(READER.incoming, 10, 0.0)] == [small, LARGE]


def test_a_body_is_gone_once_its_message_is_settled(desk: Desk) -> None:
    queue = desk.queue()
    queue.put(READER.topic, [LARGE])
    assert desk.left() == 1
    queue.settle(queue.receive(READER.incoming, 10, 0.0))
    assert desk.left() == 0
    assert queue.get_depth(READER).pending == 0


def test_every_reader_has_a_body_of_its_own(desk: Desk) -> None:
    queue = desk.queue()
    queue.declare([OTHER])
    queue.put(READER.topic, [LARGE])
    queue.settle(queue.receive(READER.incoming, 1, 0.0))
    (other,) = queue.receive(OTHER.incoming, 1, 0.0)
    assert other.message == LARGE


def test_a_retry_put_before_its_predecessor_is_settled_keeps_its_body(desk: Desk) -> None:
    queue = desk.queue()
    queue.put(READER.topic, [LARGE])
    first = queue.receive(READER.incoming, 1, 0.0)
    again = Message(LARGE.id, LARGE.body, LARGE.key, attempt=1)
    queue.put(READER.incoming, [again])
    queue.settle(first)
    (second,) = queue.receive(READER.incoming, 1, 0.0)
    assert second.message == again


def test_another_body_under_the_same_id_is_not_taken_away_with_the_first(desk: Desk) -> None:
    queue = desk.queue()
    queue.put(READER.topic, [LARGE])
    first = queue.receive(READER.incoming, 1, 0.0)
    newer = Message(LARGE.id, b"y" * 200, LARGE.key, attempt=1)
    queue.put(READER.topic, [newer])
    queue.settle(first)
    (second,) = queue.receive(READER.incoming, 1, 0.0)
    assert second.message == newer


def test_a_message_that_comes_again_after_it_was_settled_is_not_handed_out(
    desk: Desk, caplog: pytest.LogCaptureFixture
) -> None:
    queue = desk.queue()
    queue.put(READER.topic, [LARGE])
    (travelling,) = desk.below.receive(READER.incoming, 1, 0.0)
    desk.below.release([travelling])
    queue.settle(queue.receive(READER.incoming, 1, 0.0))
    desk.below.put(READER.incoming, [travelling.message])
    assert queue.receive(READER.incoming, 1, 0.0) == []
    assert queue.get_depth(READER).pending == 0
    assert "id-1 was delivered again" in caplog.text


def test_a_stranger_cannot_name_a_blob_to_be_read_or_removed(desk: Desk) -> None:
    queue = desk.queue()
    desk.blobs.put([Blob("text/ab/cd/secret.txt", b"a text of ours", "text/plain")])
    desk.below.put(
        READER.incoming, [Message("id-2", b"", headers={BODY_BLOB: "text/ab/cd/secret.txt"})]
    )
    (delivery,) = queue.receive(READER.incoming, 1, 0.0)
    assert delivery.message.body == b""
    queue.settle([delivery])
    assert desk.blobs.get("text/ab/cd/secret.txt") == b"a text of ours"


def test_while_the_blobs_are_away_messages_wait_and_do_not_count_as_handed_out(
    desk: Desk,
) -> None:
    others = [Message(f"id-{number}", LARGE.body) for number in range(2, 5)]
    desk.queue().put(READER.topic, [LARGE, *others])
    away = RaisesOnce(desk.blobs, "get", StoreUnavailableError("away"))
    queue = desk.queue(away)
    with pytest.raises(StoreUnavailableError):
        queue.receive(READER.incoming, 4, 0.0)
    assert desk.below.get_depth(READER).in_hand == 4
    (first,) = queue.receive(READER.incoming, 1, 0.0)
    assert (first.message, first.redelivered) == (LARGE, 0)
    assert [one.message for one in queue.receive(READER.incoming, 9, 0.0)] == others


def test_what_is_delayed_or_given_back_keeps_its_body(desk: Desk) -> None:
    queue = desk.queue()
    queue.put(READER.incoming, [LARGE], delay_s=0.001)
    found = queue.receive(READER.incoming, 1, 5.0)
    queue.release(found)
    (again,) = queue.receive(READER.incoming, 1, 5.0)
    assert (again.message, again.redelivered) == (LARGE, 1)


def test_a_body_goes_only_after_its_message_was_settled(desk: Desk) -> None:
    """The other way round a death in between leaves a message whose body nobody has."""
    calls: list[str] = []
    stores = record_writes(calls, queue=desk.below, blobs=desk.blobs)
    queue = LargeBodies(
        stores["queue"], stores["blobs"], BodyLimits(LIMIT_BYTES, TOPIC_LIMIT_BYTES)
    )
    queue.declare([READER])
    queue.put(READER.topic, [LARGE])
    calls.clear()
    queue.settle(queue.receive(READER.incoming, 1, 0.0))
    assert calls == ["queue.settle", "blobs.delete"]
