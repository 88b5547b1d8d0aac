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
    """What one thread asked for, and what came of it; `turn` is set when it came to something, or when the
    thread is to put for all who wait."""

    documents: Sequence[Document]
    bytes: int
    outcomes: dict[str, Outcome] | None = None
    turn: threading.Event = field(default_factory=threading.Event)


@dataclass(slots=True)
class _Waiting:
    """Those that wait to put into one collection, and whether one of them is at it."""

    asked: deque[_Asked] = field(default_factory=deque)
    is_led: bool = False


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
            leads, waiting.is_led = not waiting.is_led, True
        if not leads:
            mine.turn.wait()
            if mine.outcomes is not None:
                return mine.outcomes
        try:
            return self._lead(name, waiting, mine, put_batch)
        finally:
            self._hand_on(name, waiting)

    def _lead(
        self, name: Name, waiting: _Waiting, mine: _Asked, put_batch: PutBatch
    ) -> dict[str, Outcome]:
        """Put mine, and what others wait with."""
        taken = self._take(waiting, mine)
        whole = [one for asked in taken for one in asked.documents]
        try:
            outcomes = put_batch(name, whole)
        except BaseException:
            with self._guard:
                waiting.asked.extendleft(one for one in reversed(taken) if one is not mine)
            raise
        for asked in taken:
            asked.outcomes = {one.id: outcomes[one.id] for one in asked.documents}
            asked.turn.set()
        return mine.outcomes or {}

    def _hand_on(self, name: Name, waiting: _Waiting) -> None:
        """Whoever waits longest puts next."""
        with self._guard:
            if waiting.asked:
                waiting.asked[0].turn.set()
            else:
                self._waiting.pop(name, None)

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
