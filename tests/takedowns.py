"""What takes files down in tests, and stores that die between two acts."""

from __future__ import annotations

import subprocess
import time
from collections.abc import Sequence
from typing import Any

from fonds.collections.changing.writing import Changes
from fonds.collections.claims import Claims
from fonds.library.reading.page_views import forget_views
from fonds.library.tracing.own_warcs import WarcPurge
from fonds.library.tracing.takedown import TakingDown
from fonds.model.rows import TakedownRow
from fonds.ports import Stores
from fonds.process_identity import identify, is_gone, this_process
from home_rows import NOW


def wanted(sha1hex: str) -> TakedownRow:
    return TakedownRow(sha1hex, "privacy", "asked for", "ann", NOW, {})


def taking_down(
    stores: Stores, changes: Changes | None = None, who: str | None = None, **more: Any
) -> TakingDown:
    claims = Claims(stores.records, who or this_process(), time.monotonic)
    purge = WarcPurge(stores.archive, claims)
    return TakingDown(stores, changes, (), lambda: NOW, purge, forget_views, **more)


def ended_process() -> str:
    """The name of a process that has ended: whatever it claims, the next one takes."""
    with subprocess.Popen(["cat"], stdin=subprocess.PIPE) as process:
        name = f"{identify(process.pid)}/ended"
    assert is_gone(name)
    return name


class KilledError(Exception):
    """What happens to the process."""


class Dying:
    """A store that lets so many acts of all stores happen, and no more."""

    def __init__(
        self, store: Any, left: list[int], acts: Sequence[str] = ("put", "delete", "change")
    ) -> None:
        self._store, self._left, self._acts = store, left, acts

    def __getattr__(self, name: str) -> Any:
        found = getattr(self._store, name)
        if name not in self._acts:
            return found

        def act(*args: Any, **more: Any) -> Any:
            if self._left[0] == 0:
                raise KilledError
            self._left[0] -= 1
            return found(*args, **more)

        return act
