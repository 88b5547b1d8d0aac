"""Combine documents that several threads put into one collection into one atomic change.

Each change takes the collection's lease and writes to several tables. That costs the same for one
document as for hundreds. One thread puts the documents of all waiting threads; the others wait and
receive their outcomes.
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
    """Outcome of putting a document into a collection.

    `ADDED`: the document is new. `REPLACED`: it replaced another version. `UNCHANGED`: the same
        version was already stored."""

    ADDED = "added"
    REPLACED = "replaced"
    UNCHANGED = "unchanged"


PutBatch = Callable[[CollectionName, Sequence[Document]], dict[str, PutOutcome]]
"""Function that puts documents with distinct ids into a collection in one change.

Returns the outcome of each document by document id.
"""


@dataclass(slots=True, eq=False)
class _PutRequest:
    """Request of one thread to put documents, and its outcomes.

    - `bytes`: size of the documents in bytes.
    - `outcomes`: outcome of each document by id; None until the documents are stored.
    - `ready`: event that wakes the thread, because its documents are stored or because it is the
      thread that runs the next batch.
    """

    documents: Sequence[Document]
    bytes: int
    outcomes: dict[str, PutOutcome] | None = None
    ready: threading.Event = field(default_factory=threading.Event)


@dataclass(slots=True)
class _PutQueue:
    """Requests that wait to be put into one collection, in order of arrival.

    `is_led`: whether one of the threads is now storing a batch of the requests.
    """

    requests: deque[_PutRequest] = field(default_factory=deque)
    is_led: bool = False


class PutBatcher:
    """Combiner of the put requests of several threads, in order of arrival. Thread-safe.

    If a batch fails, only the thread that ran the batch gets the error. The requests of the other
    threads return to the queue.
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
        """Put documents into a collection; return the outcome of each document by document id.

        Waits while another thread puts documents into the same collection. That thread may put
        these documents too. The documents must fit into one change; `size_bytes` is their size.
        Raises what `put_batch` raises, if this thread runs the batch.
        """
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
        """Put the documents of this thread, together with those of waiting threads, in one change.

        Return the outcomes of this thread's documents, by document id.

        If `put_batch` raises an error, the requests of other threads return to the queue.
        """
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
        """Wake the thread that has waited longest, so that it runs the next batch.

        If no thread waits, the collection's queue is dropped.
        """
        with self._guard:
            if queue.requests:
                queue.requests[0].ready.set()
            else:
                self._waiting.pop(name, None)

    def _take_batch(self, queue: _PutQueue, own_request: _PutRequest) -> list[_PutRequest]:
        """Take the thread's own request and the next waiting ones from the queue; return them.

        Stops before the request that would exceed the document or byte limit of one change, or that
        repeats a document id.
        """
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
