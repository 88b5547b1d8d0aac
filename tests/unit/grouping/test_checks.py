"""Damaged rows of a collection are reported, and repaired from the remaining rows."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import pytest

from fonds.grouping.checks.check import find_damages, repair_collection
from fonds.grouping.checks.damage import Remedy
from fonds.grouping.checks.unconfirmed_rows import accept_rows
from fonds.grouping.clustering import building_column, served_column
from fonds.grouping.columns import Column
from fonds.grouping.configuration import build_configuration, save_configuration
from fonds.grouping.document import Document
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
from fonds.grouping.views.curation import Exclusion
from fonds.grouping.views.documents import list_placements
from kept_collections import NEWS, CollectionStore, find_faults, themed_documents


@dataclass(frozen=True)
class Damage:
    """A way to damage a collection; `message` is part of the expected report."""

    act: Callable[[CollectionStore, int], None]
    message: str
    remedy: Remedy


def build_prefix(timestamp: int, conf: str = "DEFAULT") -> bytes:
    return build_clustering_prefix("news", "2026-11", conf, timestamp)


def get_first_row(
    store: CollectionStore, table: str, head: bytes
) -> tuple[bytes, dict[str, bytes]]:
    return store.tables.get_page(table, head, count_max=1)[0]


def change_cluster_size(store: CollectionStore, timestamp: int) -> None:
    row, cells = get_first_row(store, CLUSTERS, build_prefix(timestamp))
    store.tables.put(CLUSTERS, [(row, {"main:size": str(int(cells["main:size"]) + 1).encode()})])


def change_first_cell(
    table: str, name: str, value: bytes
) -> Callable[[CollectionStore, int], None]:
    def change(store: CollectionStore, timestamp: int) -> None:
        row, cells = get_first_row(store, table, build_prefix(timestamp))
        assert cells[name] != value
        store.tables.put(table, [(row, {name: value})])

    return change


def change_score_in_cluster(store: CollectionStore, timestamp: int) -> None:
    row, cells = get_first_row(store, CLUSTERS, build_prefix(timestamp))
    column = next(name for name in cells if name.startswith("documents:"))
    store.tables.put(CLUSTERS, [(row, {column: b"0.1234"})])


def change_index_ids(store: CollectionStore, timestamp: int) -> None:
    cells = store.tables.get_row(COLLECTIONS, NEWS.row, [Column.INDEX_IDS]) or {}
    value = cells[Column.INDEX_IDS].replace(b"d5", b"x5")
    store.tables.put(COLLECTIONS, [(NEWS.row, {Column.INDEX_IDS: value})])


def delete_member(store: CollectionStore, timestamp: int) -> None:
    store.tables.delete(MEMBERS, [get_first_row(store, MEMBERS, build_prefix(timestamp))[0]])


def delete_assignment(store: CollectionStore, timestamp: int) -> None:
    store.tables.delete(ASSIGNMENTS, [build_assignment_row(NEWS, "DEFAULT", timestamp, "d5")])


def write_cell(
    table: str, row: bytes, name: str, value: bytes
) -> Callable[[CollectionStore, int], None]:
    return lambda store, timestamp: store.tables.put(table, [(row, {name: value})])


def copy_other_vectors(store: CollectionStore, timestamp: int) -> None:
    names = ["processing:vector_idf", "processing:vector_tfidf"]
    (cells,) = store.tables.get_rows(DOCUMENTS, [NEWS.build_document_row("d1")], names).values()
    store.tables.put(DOCUMENTS, [(NEWS.build_document_row("d2"), cells)])


def add_unfinished_clustering(store: CollectionStore, timestamp: int) -> None:
    row = build_prefix(timestamp + 50)
    store.tables.put(CLUSTERINGS, [(row, {"main:conf": b"DEFAULT", "main:stage": b"write"})])
    store.tables.put(
        COLLECTIONS, [(NEWS.row, {building_column("DEFAULT"): b"%d" % (timestamp + 50)})]
    )


def exclude_missing_document(store: CollectionStore, timestamp: int) -> None:
    store.tables.put(EXCLUSIONS, [(NEWS.build_document_row("gone"), {"main:id": b"gone"})])


def exclude_member(store: CollectionStore, timestamp: int) -> None:
    (cells,) = store.tables.get_rows(
        CLUSTERS,
        [build_cluster_row("news", "2026-11", "DEFAULT", timestamp, get_label(store, "d5"))],
    ).values()
    json = encode_json(Exclusion(1, "x", timestamp, 1, ()))
    exclusion_cells = {
        "main:id": b"d5",
        f"{Column.EXCLUDED_FROM_PREFIX}DEFAULT:{cells['main:id'].decode()}": json,
    }
    store.tables.put(EXCLUSIONS, [(NEWS.build_document_row("d5"), exclusion_cells)])


def get_label(store: CollectionStore, id_: str) -> str:
    placements = list_placements(store.tables, NEWS, id_)
    return next(
        placement.label or ""
        for placement in placements
        if (placement.conf, placement.level) == ("DEFAULT", 0)
    )


SECOND_ROW = NEWS.build_document_row("d2")
DAMAGES = {
    "size": Damage(
        write_cell(COLLECTIONS, NEWS.row, "main:size", b"7"), "its size is 7", Remedy.COUNT
    ),
    "served-gone": Damage(
        lambda store, at: store.tables.delete(CLUSTERINGS, [build_prefix(at)]),
        "does not exist",
        Remedy.BUILD,
    ),
    "another-served": Damage(
        write_cell(COLLECTIONS, NEWS.row, served_column("DEFAULT"), b"1790000099"),
        "served clustering 1790000099 by DEFAULT does not exist",
        Remedy.BUILD,
    ),
    "score-of-member": Damage(
        change_first_cell(MEMBERS, "main:score", b"0.1234"), "members have another", Remedy.BUILD
    ),
    "id-of-member": Damage(
        change_first_cell(MEMBERS, "main:id", b"d0x"), "members have another", Remedy.BUILD
    ),
    "score-of-assignment": Damage(
        change_first_cell(ASSIGNMENTS, "main:score", b"0.1234"),
        "the assignments of its documents differ",
        Remedy.BUILD,
    ),
    "score-in-cluster": Damage(
        change_score_in_cluster, "the assignments of its documents differ", Remedy.BUILD
    ),
    "terms-of-cluster": Damage(
        change_first_cell(CLUSTERS, "main:terms", b"[]"), "its row was changed", Remedy.BUILD
    ),
    "later-documents": Damage(
        change_first_cell(CLUSTERINGS, "main:later", b"9"), "its row was changed", Remedy.BUILD
    ),
    "ids-of-index": Damage(change_index_ids, "does not agree with its document ids", Remedy.SETTLE),
    "size-of-cluster": Damage(change_cluster_size, "its size is", Remedy.BUILD),
    "member-gone": Damage(delete_member, "members", Remedy.BUILD),
    "unassigned": Damage(
        delete_assignment, "1 documents are in no cluster of DEFAULT", Remedy.BUILD
    ),
    "model-cut": Damage(
        lambda store, at: store.tables.put(
            CLUSTERINGS, [(build_prefix(at), {Column.CENTROIDS: b"FG"})]
        ),
        "cannot read the model",
        Remedy.BUILD,
    ),
    "excluded-gone": Damage(
        exclude_missing_document,
        "1 documents are excluded from themes but do not exist",
        Remedy.RELEASE,
    ),
    "excluded-in": Damage(
        exclude_member,
        "1 documents are in themes from which they are excluded",
        Remedy.RELEASE,
    ),
    "left-over": Damage(
        add_unfinished_clustering, "was left by a process that ended early", Remedy.SWEEP
    ),
    "pages-left": Damage(
        lambda store, at: store.tables.put(
            READINGS, [(build_prefix(at) + b"s1", {"main:slice": b"x"})]
        ),
        "1 pages of documents were left",
        Remedy.SWEEP,
    ),
    "without-counts": Damage(
        lambda store, at: store.tables.put(
            DOCUMENTS,
            [(SECOND_ROW, {"processing:vector_idf": b"", "processing:vector_tfidf": b""})],
        ),
        "1 documents have no term counts",
        Remedy.SETTLE,
    ),
    "others-counts": Damage(copy_other_vectors, "do not match their text", Remedy.SETTLE),
    "counts-cut": Damage(
        write_cell(DOCUMENTS, SECOND_ROW, "processing:vector_tfidf", b"FGw"),
        "do not match their text",
        Remedy.SETTLE,
    ),
    "text": Damage(
        write_cell(DOCUMENTS, SECOND_ROW, "main:text", b"violin concerto"),
        "do not match their text",
        Remedy.SETTLE,
    ),
    "member-of": Damage(
        write_cell(DOCUMENTS, SECOND_ROW, "main:member_of", b"x"),
        "have another cluster",
        Remedy.SETTLE,
    ),
    "index": Damage(
        lambda store, at: store.tables.delete(COLLECTIONS, [NEWS.row], [Column.INDEX]),
        "cannot read the dictionary or index",
        Remedy.SETTLE,
    ),
}
UNCONFIRMED = ("excluded-gone", "excluded-in", "text")
"""Damages of values that nothing else confirms. A person must accept the repaired rows too."""


@pytest.fixture
def damaged_store(store: CollectionStore) -> tuple[CollectionStore, int]:
    save_configuration(
        store.tables, "news", "few", build_configuration({"clusters": 2, "granularities": [4]})
    )
    store.writer.put(
        NEWS, [*themed_documents(100), Document("short", "x"), Document("none", "the of and to")]
    )
    rebuild(store.writer, NEWS, "few")
    rebuild(store.writer, NEWS)
    last_rebuild = rebuild(store.writer, NEWS)
    store.writer.put(NEWS, [Document("later", "violin concerto conductor symphony cello")])
    store.writer.delete(NEWS, ["d9"])
    assert find_damages(store.writer, NEWS) == []
    return store, last_rebuild.timestamp


@pytest.mark.parametrize("name", DAMAGES)
def test_a_damage_is_reported_and_repaired(
    damaged_store: tuple[CollectionStore, int], name: str
) -> None:
    (store, timestamp), damage = damaged_store, DAMAGES[name]
    damage.act(store, timestamp)
    damages = find_damages(store.writer, NEWS)
    assert any(damage.message in found.message for found in damages), damages
    assert damage.remedy in {found.remedy for found in damages}
    assert list(repair_collection(store.writer, NEWS, threads=1)) != []
    if name in UNCONFIRMED:
        assert {found.remedy for found in find_damages(store.writer, NEWS)} == {Remedy.ACCEPT}
        accept_rows(store.writer)
    assert find_damages(store.writer, NEWS) == []
    assert find_faults(store.tables, NEWS) == []


def test_a_damaged_old_clustering_is_removed(damaged_store: tuple[CollectionStore, int]) -> None:
    store, timestamp = damaged_store
    older = min(
        int(decode_text(cells, "main:timestamp"))
        for _, cells in store.tables.iter_rows(
            CLUSTERINGS, build_clustering_prefix("news", "2026-11", "DEFAULT", 0)[:-8]
        )
    )
    assert older < timestamp
    change_cluster_size(store, older)
    (damage,) = find_damages(store.writer, NEWS)
    assert (damage.remedy, damage.timestamp) == (Remedy.DROP, older)
    (message,) = repair_collection(store.writer, NEWS)
    assert "removed the clustering" in message
    assert store.tables.get_row(CLUSTERINGS, build_prefix(older)) is None
    assert (
        store.tables.get_page(CLUSTERS, build_prefix(older, build_unclustered_conf("DEFAULT")))
        == []
    )


def test_a_concurrent_change_is_not_reported_as_damage(
    damaged_store: tuple[CollectionStore, int], monkeypatch: pytest.MonkeyPatch
) -> None:
    store, _ = damaged_store
    from fonds.grouping.checks import check

    original_check = check.check_documents

    def put_and_check(*arguments: object) -> object:
        store.writer.put(NEWS, [Document("meanwhile", "glacier moraine summit crevasse")])
        return original_check(*arguments)  # type: ignore[arg-type]

    monkeypatch.setattr(check, "check_documents", put_and_check)
    assert find_damages(store.writer, NEWS) == []
