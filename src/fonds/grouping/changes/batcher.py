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
    """Outcome of putting a document: new, replaced another version, or already present unchanged."""

    ADDED = "added"
    REPLACED = "replaced"
    UNCHANGED = "unchanged"


PutBatch = Callable[[CollectionName, Sequence[Document]], dict[str, PutOutcome]]
"""Puts documents with distinct ids in one change; returns the outcome by id."""


@dataclass(slots=True, eq=False)
class _PutRequest:
    """Request of one thread and its outcome.

    `ready` is set when the request is done, or when the thread should put for all waiting threads.
    """

    documents: Sequence[Document]
    bytes: int
    outcomes: dict[str, PutOutcome] | None = None
    ready: threading.Event = field(default_factory=threading.Event)


@dataclass(slots=True)
class _PutQueue:
    """Requests waiting for one collection, and whether one of the threads is putting."""

    requests: deque[_PutRequest] = field(default_factory=deque)
    is_led: bool = False


class PutBatcher:
    """Combines put requests of several threads in order of arrival.

    If a batch fails, only the thread that ran it gets the error; the others retry on their own.
    """

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
        """Put documents that fit into one change; return the outcome of each by id."""
        request = _PutRequest(documents, size_bytes)
        with self._guard:
            queue = self._waiting.setdefault(name, _PutQueue())
            queue.requests.append(request)
            leads, queue.is_led = not queue.is_led, True
        if not leads:
            request.ready.wait()
            if request.outcomes is not None:
                return request.outcomes
        try:
            return self._run_batch(name, queue, request, put_batch)
        finally:
            self._wake_next(name, queue)

    def _run_batch(
        self, name: CollectionName, queue: _PutQueue, own_request: _PutRequest, put_batch: PutBatch
    ) -> dict[str, PutOutcome]:
        """Put the thread's own documents together with waiting ones."""
        requests = self._take_batch(queue, own_request)
        documents = [document for request in requests for document in request.documents]
        try:
            outcomes = put_batch(name, documents)
        except BaseException:
            with self._guard:
                queue.requests.extendleft(
                    request for request in reversed(requests) if request is not own_request
                )
            raise
        for request in requests:
            request.outcomes = {
                document.id: outcomes[document.id] for document in request.documents
            }
            request.ready.set()
        return own_request.outcomes or {}

    def _wake_next(self, name: CollectionName, queue: _PutQueue) -> None:
        """Let the longest waiting thread put next."""
        with self._guard:
            if queue.requests:
                queue.requests[0].ready.set()
            else:
                self._waiting.pop(name, None)

    def _take_batch(self, queue: _PutQueue, own_request: _PutRequest) -> list[_PutRequest]:
        """Take the own request and as many others as fit into one change, without repeated ids."""
        with self._guard:
            queue.requests.remove(own_request)
            batch = [own_request]
            count, size = len(own_request.documents), own_request.bytes
            ids = {document.id for document in own_request.documents}
            while queue.requests:
                next_request = queue.requests[0]
                next_ids = {document.id for document in next_request.documents}
                count += len(next_ids)
                size += next_request.bytes
                if count > self._documents_max or size > self._max_bytes or next_ids & ids:
                    break
                ids |= next_ids
                batch.append(queue.requests.popleft())
            return batch
