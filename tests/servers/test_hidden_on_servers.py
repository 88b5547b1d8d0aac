"""No response contains parts of a hidden file, with rows, blobs, table and index on servers."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import groupby
from pathlib import Path

import pytest

from deployments import create_deployment
from depth import IS_NIGHTLY
from filled_home import fill, open_home
from fonds.config import Settings
from leaking_home import LeakingHome

pytestmark = pytest.mark.servers

SHARE = 1 if IS_NIGHTLY else 3
"""On push, every third address of each route is requested; `make nightly` requests all."""
INDEX_AND_ACTION = [("elasticsearch", "embargo"), ("opensearch", "takedown")]


@pytest.fixture(scope="module", params=INDEX_AND_ACTION)
def home(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[tuple[str, LeakingHome]]:
    index, act = request.param
    folder: Path = tmp_path_factory.mktemp("hidden")
    with create_deployment("rabbitmq", index, {}) as urls:
        settings = Settings(**urls | {"index": f"{urls['index']}?refresh=true"})
        with open_home(folder, settings) as stores:
            filled = fill(stores, folder, settings)
            leaking_home = LeakingHome(stores, folder, settings, filled)
            routes = groupby(leaking_home.paths, lambda path: path.partition("?")[0])
            leaking_home.paths = [path for _, paths in routes for path in list(paths)[::SHARE]]
            leaking_home.add_and_hide(act)
            yield act, leaking_home


def test_no_route_discloses_a_hidden_file(home: tuple[str, LeakingHome]) -> None:
    act, leaking_home = home
    if act == "embargo":
        assert len(leaking_home.leaks(leaking_home.between)) > 60 / SHARE
    assert leaking_home.leaks(leaking_home.after) == {}


def test_responses_under_embargo_equal_those_without_the_file(
    home: tuple[str, LeakingHome],
) -> None:
    act, leaking_home = home
    if act == "embargo":
        assert leaking_home.list_differences() == []
