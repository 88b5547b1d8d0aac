"""The takedown service of tests, and stores that die between two acts."""

from __future__ import annotations

import subprocess
import time
from collections.abc import Sequence
from functools import partial
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
from fonds.wiring.stores import purge_stores
from home_rows import NOW


def build_takedown(sha1hex: str) -> TakedownRow:
    return TakedownRow(sha1hex, "privacy", "asked for", "ann", NOW)


def create_takedown_service(
    stores: Stores,
    writer: CollectionWriter | None = None,
    who: str | None = None,
    **more: Any,
) -> TakedownService:
    leases = Leases(LeaseTable(stores.records), who or create_worker_name(), time.monotonic)
    purge = WarcPurge(stores.archive, leases)
    purge_all = partial(purge_stores, stores)
    return TakedownService(stores, writer, (), lambda: NOW, purge, remove_views, purge_all, **more)


def take_down(service: TakedownService, takedown: TakedownRow) -> TakedownRow:
    """Take a file down and purge its bytes. Return the stored row."""
    (row,), _ = service.finish([service(takedown)])
    return row


def ended_process() -> str:
    """Return the worker name of an ended process; another process may take its leases."""
    with subprocess.Popen(["cat"], stdin=subprocess.PIPE) as process:
        name = f"{identify(process.pid)}/ended"
    assert is_process_gone(name)
    return name


class KilledError(Exception):
    """The simulated end of the process."""


class DyingStore:
    """A store that raises KilledError after a number of acts of all stores."""

    def __init__(
        self,
        store: Any,
        acts_left: list[int],
        acts: Sequence[str] = ("put", "delete", "change", "change_each"),
    ) -> None:
        self._store, self._acts_left, self._acts = store, acts_left, acts

    def __getattr__(self, name: str) -> Any:
        attribute = getattr(self._store, name)
        if name not in self._acts:
            return attribute

        def act(*args: Any, **more: Any) -> Any:
            if self._acts_left[0] == 0:
                raise KilledError
            self._acts_left[0] -= 1
            return attribute(*args, **more)

        return act
