"""Nothing of a hidden file is in any answer where rows, blobs, table and index are on servers."""

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
"""A push asks every third address of each route, `make nightly` all of them."""
DONE = [("elasticsearch", "embargo"), ("opensearch", "takedown")]


@pytest.fixture(scope="module", params=DONE)
def home(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[tuple[str, LeakingHome]]:
    index, act = request.param
    folder: Path = tmp_path_factory.mktemp("hidden")
    with create_deployment("rabbitmq", index, {}) as urls:
        settings = Settings(**urls | {"index": f"{urls['index']}?refresh=true"})
        with open_home(folder, settings) as stores:
            filled = fill(stores, folder, settings)
            found = LeakingHome(stores, folder, settings, filled)
            routes = groupby(found.paths, lambda path: path.partition("?")[0])
            found.paths = [path for _, paths in routes for path in list(paths)[::SHARE]]
            found.add_and_hide(act)
            yield act, found


def test_no_answer_of_any_route_tells_of_it(home: tuple[str, LeakingHome]) -> None:
    act, found = home
    if act == "embargo":
        assert len(found.leaks(found.between)) > 60 / SHARE
    assert found.leaks(found.after) == {}


def test_under_embargo_each_answer_is_that_of_a_library_without_it(
    home: tuple[str, LeakingHome],
) -> None:
    act, found = home
    if act == "embargo":
        assert found.list_differences() == []
