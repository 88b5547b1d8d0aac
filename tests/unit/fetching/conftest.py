"""A web of hosts and a desk that fetches from it."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from fixtures.web_of_hosts import Web, serve_hosts
from unit.fetching.fetch_step import Desk, make_desk


@pytest.fixture
def web() -> Iterator[Web]:
    with serve_hosts() as hosts:
        yield hosts


@pytest.fixture
def desk(web: Web, tmp_path: Path) -> Iterator[Desk]:
    new_desk = make_desk(web, tmp_path)
    yield new_desk
    new_desk.fetch.close()
    new_desk.records.close()
