"""Promise of the Index port: equal generations mean equal documents."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from pathlib import Path

import pytest

from contract.index_backends import BACKENDS, document, open_index, sha1hex
from fonds.model.search import SearchQuery
from fonds.ports import Index
from real_servers import backend_params

FORM = r"0|\d+-[0-9a-f]{8}"


@pytest.fixture(params=backend_params(BACKENDS))
def backend(request: pytest.FixtureRequest) -> str:
    return request.param


@pytest.fixture
def index(backend: str, tmp_path: Path) -> Iterator[Index]:
    with open_index(backend, tmp_path / "index") as index:
        yield index


def get_generation(index: Index, text: str = "", **rest: int) -> str:
    value = index.search(SearchQuery(text, **rest)).generation
    assert value is not None
    return value


def test_a_new_index_has_a_generation(index: Index) -> None:
    assert get_generation(index) == get_generation(index)


def test_every_write_and_deletion_changes_the_generation(index: Index) -> None:
    generations = [get_generation(index)]
    for change in (
        lambda: index.put([document("a")]),
        lambda: index.put([document("b"), document("c")]),
        lambda: index.put([document("a", "other words")]),
        lambda: index.delete([sha1hex("b")]),
    ):
        change()
        generations.append(get_generation(index))
    assert len(set(generations)) == len(generations)


def test_searches_do_not_change_the_generation(index: Index) -> None:
    index.put([document("a"), document("b")])
    generations = [
        get_generation(index),
        get_generation(index, "some"),
        get_generation(index, "nothinglikethis"),
        get_generation(index, count_max=0, facet_values_max=0),
        get_generation(index, count_max=1, facet_values_max=0),
    ]
    assert len(set(generations)) == 1


def test_another_open_index_has_the_same_generation(
    index: Index, backend: str, tmp_path: Path
) -> None:
    index.put([document("a")])
    second_index = BACKENDS[backend](tmp_path / "index")
    assert get_generation(second_index) == get_generation(index)


def test_another_open_index_sees_a_new_generation_in_time(
    index: Index, backend: str, tmp_path: Path
) -> None:
    second_index = BACKENDS[backend](tmp_path / "index")
    before = get_generation(second_index)
    index.put([document("a")])
    for _ in range(200):
        if get_generation(second_index) != before:
            break
        threading.Event().wait(0.05)
    assert get_generation(second_index) == get_generation(index) != before


def test_a_rebuilt_index_has_another_generation(index: Index, backend: str, tmp_path: Path) -> None:
    index.put([document("a"), document("b")])
    with open_index(backend, tmp_path / "anew") as new_index:
        new_index.put([document("a"), document("b")])
        generations = get_generation(new_index), get_generation(index)
    assert generations[0] != generations[1]
    assert generations[0].partition("-")[0] == generations[1].partition("-")[0]
