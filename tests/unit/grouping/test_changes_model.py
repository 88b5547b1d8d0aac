"""Model test: after any puts, deletions, rebuilds and crashes the rows match a simple model."""

from __future__ import annotations

import random
import shutil
import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from fonds.grouping.changes.curation import (
    exclude,
    include,
    rename,
)
from fonds.grouping.changes.lifecycle import create, remove
from fonds.grouping.checks.check import find_damages
from fonds.grouping.checks.damage import Remedy
from fonds.grouping.checks.unconfirmed_rows import iter_namespace_faults
from fonds.grouping.document import Document
from fonds.grouping.names import CollectionName
from fonds.grouping.rebuild.maintenance import maintain
from fonds.grouping.rebuild.rebuild import rebuild
from fonds.grouping.tables import (
    COLLECTIONS,
    DOCUMENTS,
    EXCLUSIONS,
    FAMILIES,
    decode_text,
)
from fonds.grouping.views.clusters import list_members, load_clusters
from fonds.grouping.views.curation import parse_exclusions
from fonds.grouping.views.documents import find_document
from fonds.stores.table.sqlite import SqliteTable
from kept_collections import (
    Clock,
    CollectionStore,
    find_faults,
    open_collection_store,
    themed_documents,
)
from themed_texts import themed_texts

NAMES = (
    CollectionName("n", "a"),
    CollectionName("n", "a\x00"),
    CollectionName("n", "ab"),
    CollectionName("n\x00a", ""),
)[:3]
ROUNDS = 50
ACTS = ("put", "delete", "rebuild", "remove", "exclude", "include", "rename", "create")


class ProcessKilledError(BaseException):
    """The simulated process dies."""


class MortalTable:
    """A table whose process dies at a random write; part of the batch can be written."""

    def __init__(self, table: SqliteTable, draw: random.Random) -> None:
        self._table, self._draw = table, draw
        self.writes_left = -1

    def __getattr__(self, name: str) -> Any:
        return getattr(self._table, name)

    def put(self, table: str, rows: Sequence[Any]) -> None:
        """Write the rows, or die."""
        if self.writes_left == 0:
            self._table.put(table, list(rows)[: self._draw.randrange(len(rows) + 1)])
            raise ProcessKilledError
        self.writes_left -= 1
        self._table.put(table, rows)

    def delete(self, table: str, keys: Sequence[bytes], columns: Any = None) -> None:
        """Delete the cells, or die."""
        if self.writes_left == 0:
            self._table.delete(table, list(keys)[: self._draw.randrange(len(keys) + 1)], columns)
            raise ProcessKilledError
        self.writes_left -= 1
        self._table.delete(table, keys, columns)


def open_stores(
    folder: Path, draw: random.Random, clock: Clock
) -> tuple[CollectionStore, MortalTable]:
    store = open_collection_store(folder, clock)
    mortal = MortalTable(store.tables.store, draw)  # type: ignore[arg-type]
    object.__setattr__(store.tables, "store", mortal)
    return store, mortal


@pytest.mark.parametrize("seed", range(4))
def test_random_operations_and_crashes_leave_the_state_of_a_model(
    migrated: Path, seed: int
) -> None:
    draw, clock = random.Random(seed), Clock()
    texts, _ = themed_texts(400, seed=seed)
    with tempfile.TemporaryDirectory() as folder_name:
        folder = Path(folder_name)
        shutil.copy(migrated, folder / "records.sqlite")
        store, mortal = open_stores(folder, draw, clock)
        model: dict[CollectionName, dict[str, str]] = {name: {} for name in NAMES}
        exclusions: dict[CollectionName, set[tuple[str, str]]] = {name: set() for name in NAMES}
        for _ in range(ROUNDS):
            name = draw.choice(NAMES)
            if draw.random() < 0.4:
                mortal.writes_left = draw.randrange(30)
            act = draw.choices(ACTS, (6, 3, 3, 0.3, 4, 1, 1, 1))[0]
            operation = Operation(store, name, act, draw, texts)
            try:
                operation()
                apply_to_model(model, name, act, operation.documents)
            except ProcessKilledError:
                adopt_recovered_state(store, mortal, model, name, act, operation.documents)
            mortal.writes_left = -1
            assert list(iter_namespace_faults(store.tables)) == []
            check_exclusions(store, name, model[name], exclusions, operation)
            assert list_unconfirmed(store, name) == []
            store.close()
            store, mortal = open_stores(folder, draw, clock)
        for name in NAMES:
            maintain(store.writer, name)
            with store.writer.lease(name):
                pass
            assert find_faults(store.tables, name) == []
            assert find_damages(store.writer, name) == []
            assert list_exclusions(store, name) == exclusions[name]
            for id_, text in model[name].items():
                document = find_document(store.tables, name, id_)
                assert document is not None, id_
                assert document.text == text
            prefix = [cells for _, cells in store.tables.iter_rows(DOCUMENTS, name.row)]
            assert {decode_text(cells, "main:id") for cells in prefix} == model[name].keys()
            assert {decode_text(cells, "main:collection_key") for cells in prefix} <= {name.key}
        store.close()


def list_unconfirmed(store: CollectionStore, name: CollectionName) -> list[str]:
    """Return the messages about rows of a collection whose checksums are wrong."""
    damages = find_damages(store.writer, name)
    return [damage.message for damage in damages if damage.remedy is Remedy.ACCEPT]


class Operation:
    """A random operation on a collection, with the documents it affects."""

    def __init__(
        self,
        store: CollectionStore,
        name: CollectionName,
        act: str,
        draw: random.Random,
        texts: list[str],
    ) -> None:
        self.store, self.name, self.act = store, name, act
        ids = [f"d{draw.randrange(60)}" for _ in range(draw.randrange(1, 25))]
        self.documents = {id_: draw.choice(["", "x", *texts]) for id_ in ids}
        self.theme, self.title = "", f"called {draw.randrange(9)}"
        if act in ("exclude", "include", "rename"):
            self._choose(draw)

    def _choose(self, draw: random.Random) -> None:
        """Choose a theme and documents in it, or documents excluded from it."""
        tables, self.documents = self.store.tables, {}
        served = load_clusters(tables, self.name)
        if self.act == "include":
            exclusions = sorted(list_exclusions(self.store, self.name))
            if exclusions:
                self.theme = draw.choice(exclusions)[1]
                self.documents = {id_: "" for id_, theme in exclusions if theme == self.theme}
        elif served is not None and served.clusters:
            cluster = draw.choice(served.clusters)
            page = list_members(tables, self.name, cluster.id, count_max=4)
            self.theme = cluster.id
            self.documents = {member.id: "" for member in (page.members if page else ())}

    def __call__(self) -> None:
        """Perform the operation."""
        writer = self.store.writer
        if self.act == "put":
            writer.put(self.name, [Document(i, text) for i, text in self.documents.items()])
        elif self.act == "delete":
            writer.delete(self.name, list(self.documents))
        elif self.act == "create":
            create(writer, self.name, self.title)
        elif self.act == "remove":
            remove(writer, self.name)
        elif self.act in ("exclude", "include", "rename"):
            if self.theme and self.documents:
                self._curate()
        elif self.store.tables.get_row(COLLECTIONS, self.name.row, ["main:namespace"]):
            rebuild(writer, self.name)

    def _curate(self) -> None:
        writer, conf = self.store.writer, "DEFAULT"
        if self.act == "rename":
            rename(writer, self.name, conf, self.theme, self.title)
        else:
            change = exclude if self.act == "exclude" else include
            change(writer, self.name, conf, self.theme, list(self.documents))


def list_exclusions(store: CollectionStore, name: CollectionName) -> set[tuple[str, str]]:
    """Return pairs of document and theme from which it is excluded."""
    return {
        (decode_text(cells, "main:id"), theme)
        for _, cells in store.tables.iter_rows(EXCLUSIONS, name.row)
        for _, theme in parse_exclusions(cells)
    }


def check_exclusions(
    store: CollectionStore,
    name: CollectionName,
    documents: dict[str, str],
    exclusions: dict[CollectionName, set[tuple[str, str]]],
    operation: Operation,
) -> None:
    """Check that exclusions of existing documents last. A killed operation is done fully or not at all."""
    lasting = {(id_, theme) for id_, theme in exclusions[name] if id_ in documents}
    pairs = {(id_, operation.theme) for id_ in operation.documents} if operation.theme else set()
    completed = {"exclude": lasting | pairs, "include": lasting - pairs}.get(operation.act, lasting)
    with store.writer.lease(name):
        pass
    actual = list_exclusions(store, name)
    assert actual in ((lasting,) if operation.act == "remove" else (lasting, completed))
    exclusions[name] = actual


def apply_to_model(
    model: dict[CollectionName, dict[str, str]],
    name: CollectionName,
    act: str,
    documents: dict[str, str],
) -> None:
    if act == "put":
        model[name] |= documents
    elif act == "delete":
        model[name] = {i: text for i, text in model[name].items() if i not in documents}
    elif act == "remove":
        model[name] = {}


def adopt_recovered_state(
    store: CollectionStore,
    mortal: MortalTable,
    model: dict[CollectionName, dict[str, str]],
    name: CollectionName,
    act: str,
    documents: dict[str, str],
) -> None:
    """Set the model to the state after recovery: a killed operation is done fully or not at all."""
    mortal.writes_left = -1
    if act == "remove":
        remove(store.writer, name)
        model[name] = {}
        return
    with store.writer.lease(name):
        pass
    actual = {
        decode_text(cells, "main:id"): decode_text(cells, "main:text")
        for _, cells in store.tables.iter_rows(DOCUMENTS, name.row)
    }
    completed = {k: dict(v) for k, v in model.items()}
    apply_to_model(completed, name, act, documents)
    assert actual in (model[name], completed[name])
    model[name] = actual


def test_every_table_is_declared_with_its_families(store: CollectionStore) -> None:
    for table, families in FAMILIES.items():
        store.tables.store.declare(table, families)


def test_putting_a_batch_twice_changes_nothing(store: CollectionStore) -> None:
    name = NAMES[0]
    store.writer.put(name, themed_documents(30))
    rebuild(store.writer, name)
    before = [list(store.tables.iter_rows(table, b"")) for table in FAMILIES]
    done = store.writer.put(name, themed_documents(30))
    assert (done.added, done.replaced, done.unchanged) == (0, 0, 30)
    assert [list(store.tables.iter_rows(table, b"")) for table in FAMILIES] == before
