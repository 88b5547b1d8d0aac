"""Whatever is put, deleted, built or dies in between: what is kept is what brute force says."""

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
from fonds.grouping.changes.lifecycle import remove
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
ACTS = ("put", "delete", "rebuild", "remove", "exclude", "include", "rename")


class Died(BaseException):
    """The process ends here."""


class MortalTable:
    """A table whose process dies before or after some write; half of a batch may be written then."""

    def __init__(self, table: SqliteTable, draw: random.Random) -> None:
        self._table, self._draw = table, draw
        self.left = -1

    def __getattr__(self, name: str) -> Any:
        return getattr(self._table, name)

    def put(self, table: str, rows: Sequence[Any]) -> None:
        """Write, or die."""
        if self.left == 0:
            self._table.put(table, list(rows)[: self._draw.randrange(len(rows) + 1)])
            raise Died
        self.left -= 1
        self._table.put(table, rows)

    def delete(self, table: str, keys: Sequence[bytes], columns: Any = None) -> None:
        """Remove, or die."""
        if self.left == 0:
            self._table.delete(table, list(keys)[: self._draw.randrange(len(keys) + 1)], columns)
            raise Died
        self.left -= 1
        self._table.delete(table, keys, columns)


def _open(folder: Path, draw: random.Random, clock: Clock) -> tuple[CollectionStore, MortalTable]:
    kept = open_collection_store(folder, clock)
    mortal = MortalTable(kept.tables.store, draw)  # type: ignore[arg-type]
    object.__setattr__(kept.tables, "store", mortal)
    return kept, mortal


@pytest.mark.parametrize("seed", range(4))
def test_random_changes_rebuilds_and_deaths_leave_what_brute_force_says(
    migrated: Path, seed: int
) -> None:
    draw, clock = random.Random(seed), Clock()
    texts, _ = themed_texts(400, seed=seed)
    with tempfile.TemporaryDirectory() as made:
        folder = Path(made)
        shutil.copy(migrated, folder / "records.sqlite")
        kept, mortal = _open(folder, draw, clock)
        wanted: dict[CollectionName, dict[str, str]] = {name: {} for name in NAMES}
        out: dict[CollectionName, set[tuple[str, str]]] = {name: set() for name in NAMES}
        for _ in range(ROUNDS):
            name = draw.choice(NAMES)
            if draw.random() < 0.4:
                mortal.left = draw.randrange(30)
            act = draw.choices(ACTS, (6, 3, 3, 0.3, 4, 1, 1))[0]
            asked = _act(kept, name, act, draw, texts)
            try:
                asked()
                _expect(wanted, name, act, asked.documents)
            except Died:
                _adopt(kept, mortal, wanted, name, act, asked.documents)
            mortal.left = -1
            _excluded(kept, name, wanted[name], out, asked)
            kept.close()
            kept, mortal = _open(folder, draw, clock)
        for name in NAMES:
            maintain(kept.changes, name)
            with kept.changes.lease(name):
                pass
            assert find_faults(kept.tables, name) == []
            assert _out(kept, name) == out[name]
            for id_, said in wanted[name].items():
                document = find_document(kept.tables, name, id_)
                assert document is not None, id_
                assert document.text == said
            prefix = [cells for _, cells in kept.tables.iter_rows(DOCUMENTS, name.row)]
            assert {decode_text(cells, "main:id") for cells in prefix} == wanted[name].keys()
            assert {decode_text(cells, "main:collection_key") for cells in prefix} <= {name.key}
        kept.close()


class _act:
    """Something done to a collection, with the documents it is about."""

    def __init__(
        self,
        kept: CollectionStore,
        name: CollectionName,
        act: str,
        draw: random.Random,
        texts: list[str],
    ) -> None:
        self.kept, self.name, self.act = kept, name, act
        ids = [f"d{draw.randrange(60)}" for _ in range(draw.randrange(1, 25))]
        self.documents = {id_: draw.choice(["", "x", *texts]) for id_ in ids}
        self.theme, self.said = "", f"called {draw.randrange(9)}"
        if act in ("exclude", "include", "rename"):
            self._choose(draw)

    def _choose(self, draw: random.Random) -> None:
        """A theme and some of its documents, or what some are excluded from."""
        tables, self.documents = self.kept.tables, {}
        served = load_clusters(tables, self.name)
        if self.act == "include":
            out = sorted(_out(self.kept, self.name))
            if out:
                self.theme = draw.choice(out)[1]
                self.documents = {id_: "" for id_, theme in out if theme == self.theme}
        elif served is not None and served.clusters:
            one = draw.choice(served.clusters)
            page = list_members(tables, self.name, one.id, count_max=4)
            self.theme = one.id
            self.documents = {member.id: "" for member in (page.members if page else ())}

    def __call__(self) -> None:
        """Do it."""
        changes = self.kept.changes
        if self.act == "put":
            changes.put(self.name, [Document(i, said) for i, said in self.documents.items()])
        elif self.act == "delete":
            changes.delete(self.name, list(self.documents))
        elif self.act == "remove":
            remove(changes, self.name)
        elif self.act in ("exclude", "include", "rename"):
            if self.theme and self.documents:
                self._curate()
        elif self.kept.tables.get_row(COLLECTIONS, self.name.row, ["main:namespace"]):
            rebuild(changes, self.name)

    def _curate(self) -> None:
        changes, conf = self.kept.changes, "DEFAULT"
        if self.act == "rename":
            rename(changes, self.name, conf, self.theme, self.said)
        else:
            done = exclude if self.act == "exclude" else include
            done(changes, self.name, conf, self.theme, list(self.documents))


def _out(kept: CollectionStore, name: CollectionName) -> set[tuple[str, str]]:
    """Which documents are excluded from which themes."""
    return {
        (decode_text(cells, "main:id"), theme)
        for _, cells in kept.tables.iter_rows(EXCLUSIONS, name.row)
        for _, theme in parse_exclusions(cells)
    }


def _excluded(
    kept: CollectionStore,
    name: CollectionName,
    there: dict[str, str],
    out: dict[CollectionName, set[tuple[str, str]]],
    asked: _act,
) -> None:
    """What was decided stays, but of documents that went; what died is done whole or not at all."""
    lasting = {(id_, theme) for id_, theme in out[name] if id_ in there}
    pairs = {(id_, asked.theme) for id_ in asked.documents} if asked.theme else set()
    done = {"exclude": lasting | pairs, "include": lasting - pairs}.get(asked.act, lasting)
    with kept.changes.lease(name):
        pass
    now = _out(kept, name)
    assert now in ((lasting,) if asked.act == "remove" else (lasting, done))
    out[name] = now


def _expect(
    wanted: dict[CollectionName, dict[str, str]],
    name: CollectionName,
    act: str,
    documents: dict[str, str],
) -> None:
    if act == "put":
        wanted[name] |= documents
    elif act == "delete":
        wanted[name] = {i: said for i, said in wanted[name].items() if i not in documents}
    elif act == "remove":
        wanted[name] = {}


def _adopt(
    kept: CollectionStore,
    mortal: MortalTable,
    wanted: dict[CollectionName, dict[str, str]],
    name: CollectionName,
    act: str,
    documents: dict[str, str],
) -> None:
    """What died is done whole or not at all: which of the two is seen when it is recovered."""
    mortal.left = -1
    if act == "remove":
        remove(kept.changes, name)
        wanted[name] = {}
        return
    with kept.changes.lease(name):
        pass
    now = {
        decode_text(cells, "main:id"): decode_text(cells, "main:text")
        for _, cells in kept.tables.iter_rows(DOCUMENTS, name.row)
    }
    done = {k: dict(v) for k, v in wanted.items()}
    _expect(done, name, act, documents)
    assert now in (wanted[name], done[name])
    wanted[name] = now


def test_every_table_has_its_families(kept: CollectionStore) -> None:
    for table, families in FAMILIES.items():
        kept.tables.store.declare(table, families)


def test_a_batch_put_twice_changes_nothing(kept: CollectionStore) -> None:
    name = NAMES[0]
    kept.changes.put(name, themed_documents(30))
    rebuild(kept.changes, name)
    before = [list(kept.tables.iter_rows(table, b"")) for table in FAMILIES]
    done = kept.changes.put(name, themed_documents(30))
    assert (done.added, done.replaced, done.unchanged) == (0, 0, 30)
    assert [list(kept.tables.iter_rows(table, b"")) for table in FAMILIES] == before
