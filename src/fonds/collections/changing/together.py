"""Documents that several threads put at once go into one change.

Each change takes the collection's claim and writes to several tables, which costs the same for one document
as for hundreds. Who waits for its turn finds that another has put its documents meanwhile, or puts those of
all who wait.
"""

from __future__ import annotations

import threading
from collections import deque
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from enum import StrEnum

from fonds.collections.documents import Document
from fonds.collections.names import Name


class Outcome(StrEnum):
    """What putting a document came to: it is new, took another's place, or was there as it is."""

    ADDED = "added"
    REPLACED = "replaced"
    UNCHANGED = "unchanged"


PutBatch = Callable[[Name, Sequence[Document]], dict[str, Outcome]]
"""Puts documents of distinct ids in one change; what each came to, by id."""


@dataclass(slots=True, eq=False)
class _Asked:
    """What one thread asked for, and what came of it."""

    documents: Sequence[Document]
    bytes: int
    outcomes: dict[str, Outcome] | None = None


@dataclass(slots=True)
class _Waiting:
    """Those that wait to put into one collection."""

    turn: threading.Lock = field(default_factory=threading.Lock)
    asked: deque[_Asked] = field(default_factory=deque)


class Together:
    """Puts what several threads ask for, in the order they came. What fails fails for the one that put it;
    the others try by themselves."""

    def __init__(self, documents_max: int, bytes_max: int) -> None:
        self._documents_max = documents_max
        self._bytes_max = bytes_max
        self._guard = threading.Lock()
        self._waiting: dict[Name, _Waiting] = {}

    def put(
        self, name: Name, documents: Sequence[Document], size_bytes: int, put_batch: PutBatch
    ) -> dict[str, Outcome]:
        """What each document came to, by id. The documents fit one change."""
        mine = _Asked(documents, size_bytes)
        with self._guard:
            waiting = self._waiting.setdefault(name, _Waiting())
            waiting.asked.append(mine)
        with waiting.turn:
            if mine.outcomes is not None:
                return mine.outcomes
            taken = self._take(waiting, mine)
            whole = {one.id: one for asked in taken for one in asked.documents}
            try:
                outcomes = put_batch(name, list(whole.values()))
            except BaseException:
                with self._guard:
                    waiting.asked.extendleft(one for one in reversed(taken) if one is not mine)
                raise
            for asked in taken:
                asked.outcomes = {one.id: outcomes[one.id] for one in asked.documents}
            return mine.outcomes or {}

    def _take(self, waiting: _Waiting, mine: _Asked) -> list[_Asked]:
        """Mine and as many others as fit one change, each id once; they wait no more."""
        with self._guard:
            waiting.asked.remove(mine)
            taken = [mine]
            count, size = len(mine.documents), mine.bytes
            ids = {one.id for one in mine.documents}
            while waiting.asked:
                following = waiting.asked[0]
                own = {one.id for one in following.documents}
                count += len(own)
                size += following.bytes
                if count > self._documents_max or size > self._bytes_max or own & ids:
                    break
                ids |= own
                taken.append(waiting.asked.popleft())
            return taken
