"""What recurs for collections while Fonds runs: what was asked for is built by whoever looks next."""

from __future__ import annotations

import time
from datetime import UTC, datetime
from pathlib import Path

from filled_home import fill_home, opened
from fonds.collections.documents import Document
from fonds.collections.names import DEFAULT, Name
from fonds.collections.requests import DONE, QUEUED, request, requested
from fonds.config import Settings
from fonds.library.tracing.embargoes.hiding import Hiding, in_force
from fonds.model.rows import EmbargoRow
from fonds.wiring.recurring.collections import open_changes, recurring
from home_rows import NOW
from themed_texts import themed_texts

NAME = Name("news", "asked")
WAIT_S = 120.0


def test_a_rebuild_that_was_asked_for_is_done_while_fonds_runs(tmp_path: Path) -> None:
    settings = Settings().changed(collections_every_s=1)
    with opened(tmp_path) as stores:
        changes = open_changes(stores, settings)
        texts, _ = themed_texts(60)
        changes.put(NAME, [Document(str(number), text) for number, text in enumerate(texts)])
        request(changes, NAME, DEFAULT)

        def state() -> str:
            found = requested(changes.tables, changes.claims, NAME, DEFAULT)
            return found.state if found else ""

        assert state() == QUEUED
        ends_s = time.monotonic() + WAIT_S
        with recurring(stores, settings):
            while state() != DONE and time.monotonic() < ends_s:
                time.sleep(0.05)
        assert state() == DONE


def test_an_embargo_that_is_over_is_lifted_while_fonds_runs(tmp_path: Path) -> None:
    settings = Settings().changed(collections_every_s=1)
    over, later = fill_home(tmp_path).pdfs[1:3]
    with opened(tmp_path) as stores:
        act = Hiding(stores, None, lambda: NOW)
        act.hide(EmbargoRow(over, "rights", "", NOW, "ann", NOW))
        ends = datetime(2999, 1, 1, tzinfo=UTC)
        act.hide(EmbargoRow(later, "rights", "", ends, "ann", NOW))
        ends_s = time.monotonic() + WAIT_S
        with recurring(stores, settings):
            while len(list(in_force(stores))) > 1 and time.monotonic() < ends_s:
                time.sleep(0.05)
        assert [row.sha1hex for row in in_force(stores)] == [later]
        assert set(stores.index.get([over, later])) == {over}
