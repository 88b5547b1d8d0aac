"""What several threads put at once is put, each document once, and each is told what came of its own."""

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


def test_twenty_threads_lose_nothing_while_a_rebuild_runs(kept: CollectionStore) -> None:
    kept.changes.put(NEWS, themed_documents(100))
    texts = [one.text for one in themed_documents(300, seed=5)]
    documents = [Document(f"p{at}", text) for at, text in enumerate(texts)]
    with ThreadPoolExecutor(20) as clients:
        done = clients.map(lambda one: kept.changes.put(NEWS, [one]).added, documents)
        rebuild(kept.changes, NEWS)
        assert sum(done) == 300
    collection = find_collection(kept.tables, NEWS)
    assert collection is not None
    assert collection.size == 400
    assert find_faults(kept.tables, NEWS) == []


class Slow:
    """Puts when it is let, and says in how many changes."""

    def __init__(self) -> None:
        self.go, self.begun = threading.Event(), threading.Event()
        self.batches: list[list[str]] = []

    def __call__(
        self, name: CollectionName, documents: Sequence[Document]
    ) -> dict[str, PutOutcome]:
        """One change; the first waits."""
        ids = [document.id for document in documents]
        self.batches.append(ids)
        self.begun.set()
        self.go.wait(10)
        if "bad" in ids:
            raise RuntimeError("bad")
        return dict.fromkeys(ids, PutOutcome.ADDED)


def _all(slow: Slow, ids: Sequence[str], together: PutBatcher) -> list[object]:
    def put(id_: str) -> object:
        try:
            return together.put(NEWS, [Document(id_, "")], 1, slow)
        except RuntimeError as error:
            return str(error)

    with ThreadPoolExecutor(len(ids)) as clients:
        first = clients.submit(put, ids[0])
        assert slow.begun.wait(10)
        rest = [clients.submit(put, id_) for id_ in ids[1:]]
        while len(together._waiting[NEWS].requests) < len(ids) - 1:
            threading.Event().wait(0.001)
        slow.go.set()
        return [one.result() for one in (first, *rest)]


def test_those_that_wait_go_into_one_change_within_its_bounds() -> None:
    slow = Slow()
    told = _all(slow, [f"d{at}" for at in range(8)], PutBatcher(5, 1000))
    assert told == [{f"d{at}": PutOutcome.ADDED} for at in range(8)]
    assert [len(one) for one in slow.batches] == [1, 5, 2]
    assert sorted(id_ for batch in slow.batches for id_ in batch) == [f"d{at}" for at in range(8)]


def test_one_id_is_in_one_change_once() -> None:
    slow = Slow()
    told = _all(slow, ["a", "b", "b"], PutBatcher(5, 1000))
    assert told == [{"a": PutOutcome.ADDED}, {"b": PutOutcome.ADDED}, {"b": PutOutcome.ADDED}]
    assert slow.batches == [["a"], ["b"], ["b"]]


@pytest.mark.parametrize("at", [0, 1])
def test_what_fails_fails_once_and_the_others_are_put(at: int) -> None:
    slow = Slow()
    ids = ["bad" if place == at else f"d{place}" for place in range(4)]
    told = _all(slow, ids, PutBatcher(1, 1000))
    assert [one == "bad" for one in told] == [place == at for place in range(4)]


def test_an_id_of_another_waiting_request_begins_the_next_change() -> None:
    slow = Slow()
    told = _all(slow, ["a", "b", "c", "c"], PutBatcher(5, 1000))
    assert told == [{id_: PutOutcome.ADDED} for id_ in "abcc"]
    assert sorted(map(sorted, slow.batches)) in (
        [["a"], ["b", "c"], ["c"]],
        [["a"], ["b"], ["c"], ["c"]],
    )
