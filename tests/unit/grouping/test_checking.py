"""What is altered past all ports in a collection is named, and made right out of what is left."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import pytest

from fonds.grouping.checks.check import find_damages, repair_collection
from fonds.grouping.checks.damage import Remedy
from fonds.grouping.clustering import building_column, served_column
from fonds.grouping.clustering_model import CENTROIDS
from fonds.grouping.configuration import build_configuration, save_configuration
from fonds.grouping.document import Document
from fonds.grouping.inverted_index import INDEX
from fonds.grouping.names import build_unclustered_conf
from fonds.grouping.rebuild.rebuild import rebuild
from fonds.grouping.stored.keys import build_cluster_row, build_clustering_prefix
from fonds.grouping.tables import (
    ASSIGNMENTS,
    CLUSTERINGS,
    CLUSTERS,
    COLLECTIONS,
    DOCUMENTS,
    EXCLUSIONS,
    MEMBERS,
    READINGS,
    build_assignment_row,
    decode_text,
    encode_json,
)
from fonds.grouping.views.curation import EXCLUDED_FROM, Exclusion
from fonds.grouping.views.documents import list_placements
from kept_collections import NEWS, CollectionStore, find_faults, themed_documents


@dataclass(frozen=True)
class Damage:
    """Something done to a collection; `told` is part of what is said of it."""

    act: Callable[[CollectionStore, int], None]
    told: str
    remedy: Remedy


def prefix(timestamp: int, conf: str = "DEFAULT") -> bytes:
    return build_clustering_prefix("news", "2026-11", conf, timestamp)


def first(kept: CollectionStore, table: str, head: bytes) -> tuple[bytes, dict[str, bytes]]:
    return kept.tables.get_page(table, head, count_max=1)[0]


def sized(kept: CollectionStore, timestamp: int) -> None:
    row, cells = first(kept, CLUSTERS, prefix(timestamp))
    kept.tables.put(CLUSTERS, [(row, {"main:size": str(int(cells["main:size"]) + 1).encode()})])


def without_member(kept: CollectionStore, timestamp: int) -> None:
    kept.tables.delete(MEMBERS, [first(kept, MEMBERS, prefix(timestamp))[0]])


def unassigned(kept: CollectionStore, timestamp: int) -> None:
    kept.tables.delete(ASSIGNMENTS, [build_assignment_row(NEWS, "DEFAULT", timestamp, "d5")])


def cell(table: str, row: bytes, name: str, value: bytes) -> Callable[[CollectionStore, int], None]:
    return lambda kept, timestamp: kept.tables.put(table, [(row, {name: value})])


def other_vectors(kept: CollectionStore, timestamp: int) -> None:
    names = ["processing:vector_idf", "processing:vector_tfidf"]
    (cells,) = kept.tables.get_rows(DOCUMENTS, [NEWS.build_document_row("d1")], names).values()
    kept.tables.put(DOCUMENTS, [(NEWS.build_document_row("d2"), cells)])


def left_over(kept: CollectionStore, timestamp: int) -> None:
    row = prefix(timestamp + 50)
    kept.tables.put(CLUSTERINGS, [(row, {"main:conf": b"DEFAULT", "main:stage": b"write"})])
    kept.tables.put(
        COLLECTIONS, [(NEWS.row, {building_column("DEFAULT"): b"%d" % (timestamp + 50)})]
    )


def excluded_and_gone(kept: CollectionStore, timestamp: int) -> None:
    kept.tables.put(EXCLUSIONS, [(NEWS.build_document_row("gone"), {"main:id": b"gone"})])


def in_what_it_is_out_of(kept: CollectionStore, timestamp: int) -> None:
    (cells,) = kept.tables.get_rows(
        CLUSTERS, [build_cluster_row("news", "2026-11", "DEFAULT", timestamp, _label(kept, "d5"))]
    ).values()
    json = encode_json(Exclusion(1, "x", timestamp, 1, ()))
    told = {"main:id": b"d5", f"{EXCLUDED_FROM}DEFAULT:{cells['main:id'].decode()}": json}
    kept.tables.put(EXCLUSIONS, [(NEWS.build_document_row("d5"), told)])


def _label(kept: CollectionStore, id_: str) -> str:
    places_ = list_placements(kept.tables, NEWS, id_)
    return next(
        place.label or "" for place in places_ if (place.conf, place.level) == ("DEFAULT", 0)
    )


TWO = NEWS.build_document_row("d2")
DAMAGES = {
    "size": Damage(cell(COLLECTIONS, NEWS.row, "main:size", b"7"), "its size is 7", Remedy.COUNT),
    "served-gone": Damage(
        lambda kept, at: kept.tables.delete(CLUSTERINGS, [prefix(at)]),
        "does not exist",
        Remedy.BUILD,
    ),
    "another-served": Damage(
        cell(COLLECTIONS, NEWS.row, served_column("DEFAULT"), b"1790000099"),
        "served clustering 1790000099 by DEFAULT does not exist",
        Remedy.BUILD,
    ),
    "size-of-cluster": Damage(sized, "its size is", Remedy.BUILD),
    "member-gone": Damage(without_member, "members", Remedy.BUILD),
    "unassigned": Damage(unassigned, "1 documents are in no cluster of DEFAULT", Remedy.BUILD),
    "model-cut": Damage(
        lambda kept, at: kept.tables.put(CLUSTERINGS, [(prefix(at), {CENTROIDS: b"FG"})]),
        "cannot read the model",
        Remedy.BUILD,
    ),
    "excluded-gone": Damage(
        excluded_and_gone, "1 documents are excluded from themes but do not exist", Remedy.RELEASE
    ),
    "excluded-in": Damage(
        in_what_it_is_out_of,
        "1 documents are in themes from which they are excluded",
        Remedy.RELEASE,
    ),
    "left-over": Damage(left_over, "was left by a process that ended early", Remedy.SWEEP),
    "pages-left": Damage(
        lambda kept, at: kept.tables.put(READINGS, [(prefix(at) + b"s1", {"main:slice": b"x"})]),
        "1 pages of documents were left",
        Remedy.SWEEP,
    ),
    "without-counts": Damage(
        lambda kept, at: kept.tables.put(
            DOCUMENTS, [(TWO, {"processing:vector_idf": b"", "processing:vector_tfidf": b""})]
        ),
        "1 documents have no term counts",
        Remedy.SETTLE,
    ),
    "others-counts": Damage(other_vectors, "do not match their text", Remedy.SETTLE),
    "counts-cut": Damage(
        cell(DOCUMENTS, TWO, "processing:vector_tfidf", b"FGw"),
        "do not match their text",
        Remedy.SETTLE,
    ),
    "text": Damage(
        cell(DOCUMENTS, TWO, "main:text", b"violin concerto"),
        "do not match their text",
        Remedy.SETTLE,
    ),
    "member-of": Damage(
        cell(DOCUMENTS, TWO, "main:member_of", b"x"), "have another cluster", Remedy.SETTLE
    ),
    "index": Damage(
        lambda kept, at: kept.tables.delete(COLLECTIONS, [NEWS.row], [INDEX]),
        "cannot read the dictionary or index",
        Remedy.SETTLE,
    ),
}


@pytest.fixture
def grouped(kept: CollectionStore) -> tuple[CollectionStore, int]:
    save_configuration(
        kept.tables, "news", "few", build_configuration({"clusters": 2, "granularities": [4]})
    )
    kept.changes.put(
        NEWS, [*themed_documents(100), Document("short", "x"), Document("none", "the of and to")]
    )
    rebuild(kept.changes, NEWS, "few")
    rebuild(kept.changes, NEWS)
    made = rebuild(kept.changes, NEWS)
    kept.changes.put(NEWS, [Document("later", "violin concerto conductor symphony cello")])
    kept.changes.delete(NEWS, ["d9"])
    assert find_damages(kept.changes, NEWS) == []
    return kept, made.timestamp


@pytest.mark.parametrize("name", DAMAGES)
def test_a_damage_is_named_and_mended(grouped: tuple[CollectionStore, int], name: str) -> None:
    (kept, timestamp), damage = grouped, DAMAGES[name]
    damage.act(kept, timestamp)
    damages = find_damages(kept.changes, NEWS)
    assert any(damage.told in one.message for one in damages), damages
    assert damage.remedy in {one.remedy for one in damages}
    assert list(repair_collection(kept.changes, NEWS, threads=1)) != []
    assert find_damages(kept.changes, NEWS) == []
    assert find_faults(kept.tables, NEWS) == []


def test_a_kept_clustering_that_is_damaged_is_removed(grouped: tuple[CollectionStore, int]) -> None:
    kept, timestamp = grouped
    older = min(
        int(decode_text(cells, "main:timestamp"))
        for _, cells in kept.tables.iter_rows(
            CLUSTERINGS, build_clustering_prefix("news", "2026-11", "DEFAULT", 0)[:-8]
        )
    )
    assert older < timestamp
    sized(kept, older)
    (found,) = find_damages(kept.changes, NEWS)
    assert (found.remedy, found.timestamp) == (Remedy.DROP, older)
    (told,) = repair_collection(kept.changes, NEWS)
    assert "removed the clustering" in told
    assert kept.tables.get_row(CLUSTERINGS, prefix(older)) is None
    assert kept.tables.get_page(CLUSTERS, prefix(older, build_unclustered_conf("DEFAULT"))) == []


def test_what_is_changed_meanwhile_is_no_damage(
    grouped: tuple[CollectionStore, int], monkeypatch: pytest.MonkeyPatch
) -> None:
    kept, _ = grouped
    from fonds.grouping.checks import check

    plain = check.check_documents

    def meanwhile(*given: object) -> object:
        kept.changes.put(NEWS, [Document("meanwhile", "glacier moraine summit crevasse")])
        return plain(*given)  # type: ignore[arg-type]

    monkeypatch.setattr(check, "check_documents", meanwhile)
    assert find_damages(kept.changes, NEWS) == []
