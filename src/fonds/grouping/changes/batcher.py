"""Documents that several threads put at once go into one change.

Each change takes the collection's lease and writes to several tables, which costs the same for one document
as for hundreds. Who waits for its turn finds that another has put its documents meanwhile, or puts those of
all who wait.
"""

from __future__ import annotations

import threading
from collections import deque
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from enum import StrEnum

from fonds.grouping.document import Document
from fonds.grouping.names import CollectionName


class PutOutcome(StrEnum):
    """What putting a document came to: it is new, took another's place, or was there as it is."""

    ADDED = "added"
    REPLACED = "replaced"
    UNCHANGED = "unchanged"


PutBatch = Callable[[CollectionName, Sequence[Document]], dict[str, PutOutcome]]
"""Puts documents of distinct ids in one change; what each came to, by id."""


@dataclass(slots=True, eq=False)
class _PutRequest:
    """What one thread asked for, and what came of it; `ready` is set when it came to something, or when the
    thread is to put for all who wait."""

    documents: Sequence[Document]
    bytes: int
    outcomes: dict[str, PutOutcome] | None = None
    ready: threading.Event = field(default_factory=threading.Event)


@dataclass(slots=True)
class _PutQueue:
    """Those that wait to put into one collection, and whether one of them is at it."""

    requests: deque[_PutRequest] = field(default_factory=deque)
    is_led: bool = False


class PutBatcher:
    """Puts what several threads ask for, in the order they came. What fails fails for the one that put it;
    the others try by themselves."""

    def __init__(self, documents_max: int, max_bytes: int) -> None:
        self._documents_max = documents_max
        self._max_bytes = max_bytes
        self._guard = threading.Lock()
        self._waiting: dict[CollectionName, _PutQueue] = {}

    def put(
        self,
        name: CollectionName,
        documents: Sequence[Document],
        size_bytes: int,
        put_batch: PutBatch,
    ) -> dict[str, PutOutcome]:
        """What each document came to, by id. The documents fit one change."""
        mine = _PutRequest(documents, size_bytes)
        with self._guard:
            waiting = self._waiting.setdefault(name, _PutQueue())
            waiting.requests.append(mine)
            leads, waiting.is_led = not waiting.is_led, True
        if not leads:
            mine.ready.wait()
            if mine.outcomes is not None:
                return mine.outcomes
        try:
            return self._run_batch(name, waiting, mine, put_batch)
        finally:
            self._wake_next(name, waiting)

    def _run_batch(
        self, name: CollectionName, queue: _PutQueue, own_request: _PutRequest, put_batch: PutBatch
    ) -> dict[str, PutOutcome]:
        """Put mine, and what others wait with."""
        taken = self._take_batch(queue, own_request)
        whole = [one for asked in taken for one in asked.documents]
        try:
            outcomes = put_batch(name, whole)
        except BaseException:
            with self._guard:
                queue.requests.extendleft(one for one in reversed(taken) if one is not own_request)
            raise
        for asked in taken:
            asked.outcomes = {one.id: outcomes[one.id] for one in asked.documents}
            asked.ready.set()
        return own_request.outcomes or {}

    def _wake_next(self, name: CollectionName, queue: _PutQueue) -> None:
        """Whoever waits longest puts next."""
        with self._guard:
            if queue.requests:
                queue.requests[0].ready.set()
            else:
                self._waiting.pop(name, None)

    def _take_batch(self, queue: _PutQueue, own_request: _PutRequest) -> list[_PutRequest]:
        """Mine and as many others as fit one change, each id once; they wait no more."""
        with self._guard:
            queue.requests.remove(own_request)
            taken = [own_request]
            count, size = len(own_request.documents), own_request.bytes
            ids = {one.id for one in own_request.documents}
            while queue.requests:
                following = queue.requests[0]
                own = {one.id for one in following.documents}
                count += len(own)
                size += following.bytes
                if count > self._documents_max or size > self._max_bytes or own & ids:
                    break
                ids |= own
                taken.append(queue.requests.popleft())
            return taken
