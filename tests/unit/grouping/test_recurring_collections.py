"""Recurring tasks of collections: requested rebuilds and expired embargoes."""

from __future__ import annotations

import time
from datetime import UTC, datetime
from pathlib import Path

from filled_home import fill_home, open_home
from fonds.config import Settings
from fonds.grouping.document import Document
from fonds.grouping.names import DEFAULT, CollectionName
from fonds.grouping.rebuild.requests import DONE, QUEUED, find_request, request_rebuild
from fonds.model.rows import EmbargoRow
from fonds.restrictions.embargo import EmbargoService, iter_active_embargoes
from fonds.wiring.collections import open_collection_writer, run_recurring
from home_rows import NOW
from themed_texts import themed_texts

NAME = CollectionName("news", "requested")
WAIT_S = 120.0


def test_a_requested_rebuild_is_done_while_fonds_runs(tmp_path: Path) -> None:
    settings = Settings().replace_values(collections_every_s=1)
    with open_home(tmp_path) as stores:
        writer = open_collection_writer(stores, settings)
        texts, _ = themed_texts(60)
        writer.put(NAME, [Document(str(number), text) for number, text in enumerate(texts)])
        request_rebuild(writer, NAME, DEFAULT)

        def get_state() -> str:
            request = find_request(writer.tables, writer.leases, NAME, DEFAULT)
            return request.state if request else ""

        assert get_state() == QUEUED
        ends_s = time.monotonic() + WAIT_S
        with run_recurring(stores, settings):
            while get_state() != DONE and time.monotonic() < ends_s:
                time.sleep(0.05)
        assert get_state() == DONE


def test_an_expired_embargo_is_lifted_while_fonds_runs(tmp_path: Path) -> None:
    settings = Settings().replace_values(collections_every_s=1)
    expired, later = fill_home(tmp_path).pdfs[1:3]
    with open_home(tmp_path) as stores:
        embargoes = EmbargoService(stores, None, lambda: NOW)
        embargoes.hide(EmbargoRow(expired, "rights", "", NOW, "ann", NOW))
        ends = datetime(2999, 1, 1, tzinfo=UTC)
        embargoes.hide(EmbargoRow(later, "rights", "", ends, "ann", NOW))
        ends_s = time.monotonic() + WAIT_S
        with run_recurring(stores, settings):
            while len(list(iter_active_embargoes(stores))) > 1 and time.monotonic() < ends_s:
                time.sleep(0.05)
        assert [row.sha1hex for row in iter_active_embargoes(stores)] == [later]
        assert set(stores.index.get([expired, later])) == {expired}
