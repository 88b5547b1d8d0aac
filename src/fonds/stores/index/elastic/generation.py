"""The generation of what stands behind an alias: the indices, and how far their shards were written.

The server is asked at most once a second, so that searches cost nothing by it. What another process wrote in
the second before may have been found already by a search that tells the generation of before; what this
process wrote makes another at once. What is written counts before a refresh makes it searchable.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Mapping
from typing import Any

from fonds.model.errors import FondsError
from fonds.model.generation import generation

ASKED_EVERY_S = 1.0
_WANTED = "indices.*.uuid,indices.*.shards.*.routing.primary,indices.*.shards.*.seq_no.max_seq_no"


class Generation:
    """That of the indices behind `alias`; `call` asks the server."""

    def __init__(
        self,
        call: Callable[[str, str, Mapping[str, Any]], Any],
        alias: str,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._call, self._alias, self._clock = call, alias, clock
        self._lock = threading.Lock()
        self._said: str | None = None
        self._said_at_s: float | None = None
        self._writes = 0

    def now(self) -> str | None:
        """At most a second old; None where the server does not say it, as to who may only search."""
        with self._lock:
            at_s, writes = self._clock(), self._writes
            if self._said_at_s is not None and at_s - self._said_at_s < ASKED_EVERY_S:
                return self._said
        said = self._asked()
        with self._lock:
            if writes == self._writes:
                self._said, self._said_at_s = said, at_s
        return said

    def forget(self) -> None:
        """Something was written: who asks next asks the server."""
        with self._lock:
            self._said_at_s = None
            self._writes += 1

    def _asked(self) -> str | None:
        path, asked = f"/{self._alias}/_stats", {"level": "shards", "filter_path": _WANTED}
        try:
            answer = self._call("GET", path, asked)
            return _of(answer)
        except (FondsError, KeyError, TypeError, AttributeError):
            return None


def _of(answer: Mapping[str, Any]) -> str:
    """Of what the server tells of each shard; a shard that was not written to yet has the number -1."""
    parts, count = [], 0
    for index in answer["indices"].values():
        for number, copies in index["shards"].items():
            highest = max(one["seq_no"]["max_seq_no"] for one in copies if _is_primary(one))
            parts.append(f"{index['uuid']} {number} {highest}")
            count += highest + 1
    return generation(count, parts)


def _is_primary(copy: Mapping[str, Any]) -> bool:
    return bool(copy["routing"]["primary"])
