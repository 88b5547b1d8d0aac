"""The promise of the Index port about generations: the same one, the same documents."""

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


def generation(index: Index, text: str = "", **rest: int) -> str:
    told = index.search(SearchQuery(text, **rest)).generation
    assert told is not None
    return told


def test_an_index_that_was_never_written_to_has_one(index: Index) -> None:
    assert generation(index) == generation(index)


def test_every_write_and_every_deletion_makes_another(index: Index) -> None:
    seen = [generation(index)]
    for change in (
        lambda: index.put([document("a")]),
        lambda: index.put([document("b"), document("c")]),
        lambda: index.put([document("a", "other words")]),
        lambda: index.delete([sha1hex("b")]),
    ):
        change()
        seen.append(generation(index))
    assert len(set(seen)) == len(seen)


def test_it_is_the_same_while_nothing_is_written_whatever_is_asked(index: Index) -> None:
    index.put([document("a"), document("b")])
    asked = [
        generation(index),
        generation(index, "some"),
        generation(index, "nothinglikethis"),
        generation(index, count_max=0, facet_values_max=0),
        generation(index, count_max=1, facet_values_max=0),
    ]
    assert len(set(asked)) == 1


def test_it_is_the_same_through_another_opening(index: Index, backend: str, tmp_path: Path) -> None:
    index.put([document("a")])
    other = BACKENDS[backend](tmp_path / "index")
    assert generation(other) == generation(index)


def test_what_another_opening_wrote_is_told_within_the_time_that_is_promised(
    index: Index, backend: str, tmp_path: Path
) -> None:
    other = BACKENDS[backend](tmp_path / "index")
    before = generation(other)
    index.put([document("a")])
    for _ in range(200):
        if generation(other) != before:
            break
        threading.Event().wait(0.05)
    assert generation(other) == generation(index) != before


def test_an_index_made_anew_of_the_same_has_another(
    index: Index, backend: str, tmp_path: Path
) -> None:
    index.put([document("a"), document("b")])
    with open_index(backend, tmp_path / "anew") as anew:
        anew.put([document("a"), document("b")])
        told = generation(anew), generation(index)
    assert told[0] != told[1]
    assert told[0].partition("-")[0] == told[1].partition("-")[0]
