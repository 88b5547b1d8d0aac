"""A change of a value that no other row has is noticed, and accepted by a person."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from fonds.audit.collections import check_collections
from fonds.audit.fault import AuditCheck
from fonds.grouping.changes.curation import exclude, include, pin, rename
from fonds.grouping.changes.lifecycle import create, remove
from fonds.grouping.changes.writer import clear_collection
from fonds.grouping.checks.unconfirmed_rows import accept_rows
from fonds.grouping.configuration import build_configuration, save_configuration
from fonds.grouping.configuration import remove as remove_configuration
from fonds.grouping.document import Document
from fonds.grouping.names import CollectionName
from fonds.grouping.rebuild.rebuild import rebuild
from fonds.grouping.stored.dense_vectors import encode_dense_vector
from fonds.grouping.stored.keys import build_collection_row
from fonds.grouping.tables import (
    COLLECTIONS,
    CONFIGURATIONS,
    DOCUMENTS,
    EXCLUSIONS,
    FAMILIES,
    REGISTER,
    THEMES,
)
from fonds.grouping.views.clusters import load_clusters
from fonds.grouping.views.documents import find_document
from kept_collections import NEWS, CollectionStore, themed_documents

RULED = CollectionName("news", "ruled")
Act = Callable[[CollectionStore], None]


def put_cell(table: str, row: bytes, column: str, value: bytes) -> Act:
    return lambda store: store.tables.put(table, [(row, {column: value})])


def remove_first_row(table: str) -> Act:
    return lambda store: store.tables.delete(table, [store.tables.get_page(table, b"")[0][0]])


def change_first_row(table: str, column: str) -> Act:
    def change(store: CollectionStore) -> None:
        row, cells = store.tables.get_page(table, b"")[0]
        store.tables.put(table, [(row, {column: cells[column] + b"1"})])

    return change


ALTERATIONS = {
    "title": put_cell(DOCUMENTS, NEWS.build_document_row("d2"), "main:title", b"another"),
    "time": put_cell(DOCUMENTS, NEWS.build_document_row("d2"), "main:time", b"17"),
    "change": put_cell(DOCUMENTS, NEWS.build_document_row("d2"), "main:sequence", b"17"),
    "vector": put_cell(
        DOCUMENTS,
        NEWS.build_document_row("d2"),
        "processing:vector_dense",
        encode_dense_vector((1.0, 2.0)),
    ),
    "checksum": put_cell(DOCUMENTS, NEWS.build_document_row("d2"), "main:checksum", b"17"),
    "no checksum": lambda store: store.tables.delete(
        DOCUMENTS, [NEWS.build_document_row("d2")], ["main:checksum"]
    ),
    "rule": put_cell(COLLECTIONS, RULED.row, "main:query", b"kind:pdf"),
    "modified": put_cell(COLLECTIONS, NEWS.row, "main:modified", b"17"),
    "collection": lambda store: store.tables.delete(COLLECTIONS, [RULED.row]),
    "collection with documents": lambda store: store.tables.delete(COLLECTIONS, [NEWS.row]),
    "register": remove_first_row(REGISTER),
    "name in the register": change_first_row(REGISTER, "main:name"),
    "configuration": change_first_row(CONFIGURATIONS, "main:name"),
    "removed configuration": remove_first_row(CONFIGURATIONS),
    "name": change_first_row(THEMES, "main:name"),
    "theme": remove_first_row(THEMES),
    "exclusion": remove_first_row(EXCLUSIONS),
}


@pytest.fixture
def filled_store(store: CollectionStore) -> CollectionStore:
    writer = store.writer
    save_configuration(store.tables, "news", "few", build_configuration({"clusters": 2}))
    create(writer, RULED, "kind:story")
    create(writer, RULED, "kind:story flood")
    writer.put(NEWS, themed_documents(60))
    rebuild(writer, NEWS)
    clusters = load_clusters(store.tables, NEWS)
    assert clusters is not None
    theme, other = clusters.clusters[0], clusters.clusters[1]
    first, second = (document.id for document in theme.top[:2])
    exclude(writer, NEWS, "DEFAULT", theme.id, [first, second])
    include(writer, NEWS, "DEFAULT", theme.id, [first])
    rename(writer, NEWS, "DEFAULT", theme.id, "Rivers")
    rename(writer, NEWS, "DEFAULT", other.id, "Concerts")
    rename(writer, NEWS, "DEFAULT", other.id, "")
    pin(writer, NEWS, "DEFAULT", theme.id)
    writer.put(NEWS, [Document("later", "violin concerto conductor symphony cello")])
    writer.delete(NEWS, ["d9", second])
    exclude(writer, NEWS, "DEFAULT", theme.id, [theme.top[2].id])
    assert list_messages(store) == []
    return store


def list_messages(store: CollectionStore) -> list[str]:
    faults = list(check_collections(store.writer))
    assert {fault.check for fault in faults} <= {AuditCheck.COLLECTION_ROW}
    return [fault.message for fault in faults]


@pytest.mark.parametrize("name", ALTERATIONS)
def test_an_alteration_is_noticed_and_accepted(filled_store: CollectionStore, name: str) -> None:
    ALTERATIONS[name](filled_store)
    messages = list_messages(filled_store)
    assert messages != []
    assert accept_rows(filled_store.writer) == len(messages)
    assert list_messages(filled_store) == []
    assert accept_rows(filled_store.writer) == 0


def test_fonds_does_not_cover_up_an_alteration(filled_store: CollectionStore) -> None:
    ALTERATIONS["rule"](filled_store)
    ALTERATIONS["theme"](filled_store)
    messages = list_messages(filled_store)
    filled_store.writer.put(RULED, [Document("d1", "violin concerto")])
    filled_store.writer.put(NEWS, [Document("d1", "violin concerto")])
    assert list_messages(filled_store) == messages


def test_putting_an_altered_document_again_corrects_it(filled_store: CollectionStore) -> None:
    for name in ("title", "change"):
        ALTERATIONS[name](filled_store)
        counts = filled_store.writer.put(NEWS, themed_documents(60)[2:3])
        assert counts.replaced == 1
        assert list_messages(filled_store) == []
    document = find_document(filled_store.tables, NEWS, "d2")
    assert document is not None
    assert document.title == themed_documents(60)[2].title


def test_removals_leave_nothing_in_the_register(filled_store: CollectionStore) -> None:
    assert remove_configuration(filled_store.tables, "news", "few")
    for name in (NEWS, RULED):
        assert remove(filled_store.writer, name)
    assert list_messages(filled_store) == []
    assert [table for table in FAMILIES if filled_store.tables.get_page(table, b"")] == []


def test_a_removed_collection_is_not_reported_while_a_change_creates_it(
    store: CollectionStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The process dies between the row of the register and the row of the collection."""
    original_put = type(store.tables.store).put

    def put(table: object, name: str, rows: object) -> None:
        if name == COLLECTIONS:
            raise KeyboardInterrupt
        original_put(table, name, rows)  # type: ignore[arg-type]

    with monkeypatch.context() as patch:
        patch.setattr(type(store.tables.store), "put", put)
        with pytest.raises(KeyboardInterrupt):
            create(store.writer, NEWS, "kind:story")
    assert store.tables.get_page(REGISTER, b"") != []
    assert list_messages(store) == []
    with store.writer.lease(NEWS) as collection:
        assert collection.cells["main:query"] == b"kind:story"
    assert list_messages(store) == []
    clear_collection(store.tables, NEWS)


def test_a_configuration_of_the_same_row_key_is_another_row_of_the_register(
    store: CollectionStore,
) -> None:
    create(store.writer, CollectionName("news", "few"))
    save_configuration(store.tables, "news", "few", build_configuration({"clusters": 2}))
    assert len(store.tables.get_page(REGISTER, b"")) == 2
    store.tables.delete(CONFIGURATIONS, [build_collection_row("news", "few")])
    assert list_messages(store) == ["the configuration news/few was removed by another program"]
