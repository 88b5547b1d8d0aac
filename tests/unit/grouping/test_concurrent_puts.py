"""Concurrent puts of several threads: each document is put once, and each thread gets its own result."""

from __future__ import annotations

import threading
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor

import pytest

from fonds.grouping.changes.batcher import PutBatcher, PutOutcome
from fonds.grouping.document import Document
from fonds.grouping.names import CollectionName
from fonds.grouping.rebuild.rebuild import rebuild
from fonds.grouping.views.clusterings import find_collection
from kept_collections import NEWS, CollectionStore, find_faults, themed_documents


def test_concurrent_puts_during_a_rebuild_lose_nothing(store: CollectionStore) -> None:
    store.writer.put(NEWS, themed_documents(100))
    texts = [themed.text for themed in themed_documents(300, seed=5)]
    documents = [Document(f"p{number}", text) for number, text in enumerate(texts)]
    with ThreadPoolExecutor(20) as clients:
        added_counts = clients.map(
            lambda document: store.writer.put(NEWS, [document]).added, documents
        )
        rebuild(store.writer, NEWS)
        assert sum(added_counts) == 300
    collection = find_collection(store.tables, NEWS)
    assert collection is not None
    assert collection.size == 400
    assert find_faults(store.tables, NEWS) == []


class BlockedPut:
    """A put function that waits for `go` and records its batches."""

    def __init__(self) -> None:
        self.go, self.begun = threading.Event(), threading.Event()
        self.batches: list[list[str]] = []

    def __call__(
        self, name: CollectionName, documents: Sequence[Document]
    ) -> dict[str, PutOutcome]:
        """Record a batch and wait for `go`."""
        ids = [document.id for document in documents]
        self.batches.append(ids)
        self.begun.set()
        self.go.wait(10)
        if "bad" in ids:
            raise RuntimeError("bad")
        return dict.fromkeys(ids, PutOutcome.ADDED)


def put_concurrently(slow: BlockedPut, ids: Sequence[str], batcher: PutBatcher) -> list[object]:
    def put(id_: str) -> object:
        try:
            return batcher.put(NEWS, [Document(id_, "")], 1, slow)
        except RuntimeError as error:
            return str(error)

    with ThreadPoolExecutor(len(ids)) as clients:
        first = clients.submit(put, ids[0])
        assert slow.begun.wait(10)
        rest = [clients.submit(put, id_) for id_ in ids[1:]]
        while len(batcher._waiting[NEWS].requests) < len(ids) - 1:
            threading.Event().wait(0.001)
        slow.go.set()
        return [future.result() for future in (first, *rest)]


def test_waiting_puts_are_batched_within_the_limit() -> None:
    slow = BlockedPut()
    results = put_concurrently(slow, [f"d{number}" for number in range(8)], PutBatcher(5, 1000))
    assert results == [{f"d{number}": PutOutcome.ADDED} for number in range(8)]
    assert [len(put_batch) for put_batch in slow.batches] == [1, 5, 2]
    assert sorted(id_ for batch in slow.batches for id_ in batch) == [
        f"d{number}" for number in range(8)
    ]


def test_an_id_occurs_once_in_a_batch() -> None:
    slow = BlockedPut()
    results = put_concurrently(slow, ["a", "b", "b"], PutBatcher(5, 1000))
    assert results == [{"a": PutOutcome.ADDED}, {"b": PutOutcome.ADDED}, {"b": PutOutcome.ADDED}]
    assert slow.batches == [["a"], ["b"], ["b"]]


@pytest.mark.parametrize("bad_index", [0, 1])
def test_a_failing_put_fails_once_and_the_others_are_put(bad_index: int) -> None:
    slow = BlockedPut()
    ids = ["bad" if number == bad_index else f"d{number}" for number in range(4)]
    results = put_concurrently(slow, ids, PutBatcher(1, 1000))
    assert [result == "bad" for result in results] == [number == bad_index for number in range(4)]


def test_an_id_of_another_waiting_request_begins_the_next_change() -> None:
    blocked_put = BlockedPut()
    outcomes = put_concurrently(blocked_put, ["a", "b", "c", "c"], PutBatcher(5, 1000))
    assert outcomes == [{id_: PutOutcome.ADDED} for id_ in "abcc"]
    assert sorted(map(sorted, blocked_put.batches)) in (
        [["a"], ["b", "c"], ["c"]],
        [["a"], ["b"], ["c"], ["c"]],
    )
