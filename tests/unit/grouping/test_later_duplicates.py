"""Near-duplicates that come after a clustering was built are linked as a rebuild of all would link them."""

from __future__ import annotations

import random
from pathlib import Path

import numpy as np
import pytest

from fonds.grouping.algorithms.corpus import TermReader
from fonds.grouping.configuration import build_configuration, save_configuration
from fonds.grouping.document import Document
from fonds.grouping.inverted_index import INDEX
from fonds.grouping.rebuild.rebuild import rebuild
from fonds.grouping.tables import COLLECTIONS
from fonds.grouping.views.clusters import load_clusters
from fonds.grouping.views.documents import list_placements
from kept_collections import NEWS, CollectionStore, find_faults, open_collection_store

WORDS = 40
STORIES = 6


def story(number: int, changed: int = 0, seed: int = 0) -> str:
    """A text of words of its own, so many of them replaced by others nobody else has."""
    own = [f"story{number}word{at}" for at in range(WORDS - 3)] + ["flood", "river", "dam"]
    for at in random.Random(seed).sample(range(WORDS), changed):
        own[at] = f"fresh{seed}x{number}x{at}"
    return " ".join(own)


def shares_a_band(some: str, other: str) -> bool:
    """Whether a rebuild can meet the pair at all."""
    bands = TermReader().read([some, other], ["en", "en"]).bands
    return bool(np.any(bands[0] == bands[1]))


def groups(kept: CollectionStore, ids: list[str]) -> set[frozenset[str]]:
    """Documents that are near-duplicates of one, together."""
    found: dict[str, set[str]] = {}
    for id_ in ids:
        place = list_placements(kept.tables, NEWS, id_)[0]
        found.setdefault(place.original or id_, set()).add(id_)
    return {frozenset(some) for some in found.values()}


def linked(kept: CollectionStore, id_: str) -> str | None:
    return list_placements(kept.tables, NEWS, id_)[0].original


@pytest.fixture
def built(kept: CollectionStore) -> CollectionStore:
    """Six stories, grouped."""
    save_configuration(
        kept.tables,
        "news",
        "DEFAULT",
        build_configuration({"clusters": 2, "granularities": [1, 4]}),
    )
    kept.changes.put(NEWS, [Document(f"s{n}", story(n), language="en") for n in range(STORIES)])
    rebuild(kept.changes, NEWS, threads=1)
    return kept


def drawn(draw: random.Random) -> list[str]:
    """Stories with up to four words changed: any two of one resemble one another by .8 or more where two
    were changed in each. A pair no band of which is alike is not seen by a rebuild, and not drawn."""
    said: dict[int, list[str]] = {number: [story(number)] for number in range(STORIES + 3)}
    later = []
    for seed in range(40):
        number = draw.randrange(len(said))
        one = story(number, draw.randrange(3), seed)
        if all(shares_a_band(one, other) for other in said[number]):
            said[number].append(one)
            later.append(one)
    return later


@pytest.mark.parametrize("seed", range(3))
def test_later_copies_with_small_changes_are_linked_as_a_rebuild_of_all_links_them(
    built: CollectionStore, seed: int
) -> None:
    draw = random.Random(seed)
    documents = [Document(f"l{n}", one, language="en") for n, one in enumerate(drawn(draw))]
    rest = list(documents)
    while rest:
        count = draw.randrange(1, 6)
        built.changes.put(NEWS, rest[:count])
        rest = rest[count:]
    assert find_faults(built.tables, NEWS) == []
    ids = [f"s{n}" for n in range(STORIES)] + [document.id for document in documents]
    grouped = {
        id_ for id_ in ids if list_placements(built.tables, NEWS, id_)[0].unclustered_reason is None
    }
    found = groups(built, ids)
    rebuild(built.changes, NEWS, threads=1)
    assert {one & grouped for one in found} == {one & grouped for one in groups(built, ids)}
    assert len(grouped) > len(ids) / 2


def test_a_near_duplicate_is_where_its_original_is_and_counts_once(built: CollectionStore) -> None:
    before = {level: load_clusters(built.tables, NEWS, level=level) for level in range(3)}
    built.changes.put(NEWS, [Document("copy", story(1, 2, seed=5), language="en")])
    assert linked(built, "copy") == "s1"
    for level, was in before.items():
        now = load_clusters(built.tables, NEWS, level=level)
        assert was is not None
        assert now is not None
        sizes = sum(cluster.size for cluster in now.clusters) - sum(
            cluster.size for cluster in was.clusters
        )
        distinct = sum(cluster.distinct for cluster in now.clusters)
        assert (sizes, distinct) == (1, sum(cluster.distinct for cluster in was.clusters))
    mine, theirs = (list_placements(built.tables, NEWS, id_) for id_ in ("copy", "s1"))
    assert [(one.label, one.score) for one in mine] == [
        (their.label, their.score) for their in theirs
    ]
    assert find_faults(built.tables, NEWS) == []


def test_a_near_duplicate_of_a_later_document_is_found_by_another_process(
    built: CollectionStore, tmp_path: Path
) -> None:
    kept = open_collection_store(tmp_path)
    kept.changes.put(NEWS, [Document("warm", story(0), language="en")])
    built.changes.put(NEWS, [Document("a", f"{story(3)} more", language="en")])
    kept.changes.put(NEWS, [Document("b", f"{story(3)} further words", language="en")])
    assert linked(kept, "b") == "s3"
    kept.close()
    assert find_faults(built.tables, NEWS) == []


def test_where_an_original_goes_one_of_its_near_duplicates_takes_its_part(
    built: CollectionStore,
) -> None:
    copies = [Document(f"c{n}", story(2, 1, seed=n), language="en") for n in range(3)]
    built.changes.put(NEWS, copies)
    assert [linked(built, copy.id) for copy in copies] == ["s2"] * 3
    built.changes.delete(NEWS, ["s2"])
    assert [linked(built, copy.id) for copy in copies] == [None, "c0", "c0"]
    assert find_faults(built.tables, NEWS) == []
    built.changes.put(NEWS, [Document("c0", story(4, 1, seed=9), language="en")])
    assert [linked(built, copy.id) for copy in copies] == ["s4", None, "c1"]
    assert find_faults(built.tables, NEWS) == []
    rebuild(built.changes, NEWS, threads=1)
    assert find_faults(built.tables, NEWS) == []


def test_a_text_that_became_another_is_a_near_duplicate_no_more(built: CollectionStore) -> None:
    built.changes.put(NEWS, [Document("x", story(5), language="en")])
    assert linked(built, "x") == "s5"
    built.changes.put(NEWS, [Document("x", story(0, 20, seed=3), language="en")])
    assert linked(built, "x") is None
    assert find_faults(built.tables, NEWS) == []


def test_documents_do_not_wait_for_an_index_that_is_damaged(built: CollectionStore) -> None:
    built.tables.put(COLLECTIONS, [(NEWS.row, {INDEX: b"no index"})])
    assert built.changes.put(NEWS, [Document("x", story(5), language="en")]).added == 1
    assert linked(built, "x") is None
