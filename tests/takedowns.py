"""What takes files down in tests, and stores that die between two acts."""

from __future__ import annotations

import subprocess
import time
from collections.abc import Sequence
from typing import Any

from fonds.grouping.changes.writer import CollectionWriter
from fonds.isolation.process_identity import create_worker_name, identify, is_process_gone
from fonds.leases.cells import LeaseTable
from fonds.leases.leases import Leases
from fonds.model.rows import TakedownRow
from fonds.ports import Stores
from fonds.restrictions.takedown import TakedownService
from fonds.restrictions.warc_records import WarcPurge
from fonds.viewer.pdf_pages import remove_views
from home_rows import NOW


def wanted(sha1hex: str) -> TakedownRow:
    return TakedownRow(sha1hex, "privacy", "asked for", "ann", NOW)


def taking_down(
    stores: Stores, changes: CollectionWriter | None = None, who: str | None = None, **more: Any
) -> TakedownService:
    leases = Leases(LeaseTable(stores.records), who or create_worker_name(), time.monotonic)
    purge = WarcPurge(stores.archive, leases)
    return TakedownService(stores, changes, (), lambda: NOW, purge, remove_views, **more)


def ended_process() -> str:
    """The name of a process that has ended: the next process takes its leases."""
    with subprocess.Popen(["cat"], stdin=subprocess.PIPE) as process:
        name = f"{identify(process.pid)}/ended"
    assert is_process_gone(name)
    return name


class KilledError(Exception):
    """What happens to the process."""


class Dying:
    """A store that lets so many acts of all stores happen, and no more."""

    def __init__(
        self,
        store: Any,
        left: list[int],
        acts: Sequence[str] = ("put", "delete", "change", "change_each"),
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
