"""After a purge, no file of an embedded store has the bytes of deleted data."""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from importlib import import_module
from pathlib import Path
from typing import Any, get_type_hints

import pytest

from fonds.model.archive import Blob
from fonds.model.document import IndexDocument
from fonds.model.file import Kind
from fonds.model.message import Message, Subscription
from fonds.model.rows import HostTextRow
from fonds.ports.stores import Purgeable
from fonds.queues.sqlite import SqliteQueue
from fonds.search.index.tantivy_index import TantivyIndex
from fonds.stores.local_blobs import LocalBlobs
from fonds.stores.records.sql import open_sqlite
from fonds.stores.table.sqlite import SqliteTable
from fonds.wiring.backends import BACKENDS
from purged_files import holders

WORD = "xylophonequartet"
"""Word that only deleted data contains."""
NOW = datetime(2026, 11, 28, tzinfo=UTC)
KEYS = [f"{number:040x}" for number in random.Random(4).sample(range(16**12), 600)]
READER = Subscription("reader", "topic")


@dataclass(frozen=True)
class Store:
    """A store with functions to write texts by key, and to delete and list keys."""

    backend: Any
    put: Callable[[dict[str, str]], object]
    delete: Callable[[Sequence[str]], object]
    list_keys: Callable[[], set[str]]


def open_table(folder: Path) -> Store:
    table = SqliteTable(folder / "table.sqlite")
    table.declare("t", ["f"])
    return Store(
        table,
        lambda texts: table.put(
            "t", [(key.encode(), {"f:text": text.encode()}) for key, text in texts.items()]
        ),
        lambda keys: table.delete("t", [key.encode() for key in keys]),
        lambda: {key.decode() for key, _ in table.scan("t", count_max=1_000)},
    )


def open_records(folder: Path) -> Store:
    records = open_sqlite(folder / "records.sqlite")
    return Store(
        records,
        lambda texts: records.put([HostTextRow(key, text) for key, text in texts.items()]),
        lambda keys: records.delete(HostTextRow, keys),
        lambda: {row.sha1hex for row in records.find(HostTextRow)},
    )


def open_blobs(folder: Path) -> Store:
    blobs = LocalBlobs(folder / "blobs")
    return Store(
        blobs,
        lambda texts: blobs.put(
            [Blob(f"text/{key}.txt", text.encode(), "text/plain") for key, text in texts.items()]
        ),
        lambda keys: blobs.delete([f"text/{key}.txt" for key in keys]),
        lambda: {
            path.removeprefix("text/").removesuffix(".txt")
            for path in blobs.filter_existing([f"text/{key}.txt" for key in KEYS])
        },
    )


def open_index(folder: Path) -> Store:
    index = TantivyIndex(folder / "index")

    def build(key: str, text: str) -> IndexDocument:
        url = f"http://a.example/{key}"
        return IndexDocument(key, key, Kind.STORY, url, "a.example", None, "en", text, text, NOW)

    return Store(
        index,
        lambda texts: index.put([build(key, text) for key, text in texts.items()]),
        index.delete,
        lambda: set(index.get(KEYS)),
    )


def open_queue(folder: Path) -> Store:
    queue = SqliteQueue(folder / "queue.sqlite")
    queue.declare([READER])

    def settle(keys: Sequence[str]) -> None:
        messages = queue.receive(READER.incoming, 1_000, 0.0)
        queue.settle([m for m in messages if m.message.id in keys])
        queue.release([m for m in messages if m.message.id not in keys])

    def list_ids() -> set[str]:
        messages = queue.receive(READER.incoming, 1_000, 0.0)
        queue.release(messages)
        return {delivery.message.id for delivery in messages}

    return Store(
        queue,
        lambda texts: queue.put(
            READER.topic, [Message(key, text.encode()) for key, text in texts.items()]
        ),
        settle,
        list_ids,
    )


STORES = {
    "table": open_table,
    "records": open_records,
    "blobs": open_blobs,
    "index": open_index,
    "queue": open_queue,
}


@pytest.fixture(params=STORES)
def store(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Store]:
    opened = STORES[request.param](tmp_path)
    yield opened
    opened.backend.close()


def test_nothing_of_deleted_data_remains(store: Store, tmp_path: Path) -> None:
    chance = random.Random(7)
    secret_keys = set(chance.sample(KEYS, 40))
    for start in range(0, len(KEYS), 50):
        keys = KEYS[start : start + 50]
        store.put(
            {
                key: f"{WORD if key in secret_keys else 'words'} "
                + " ".join(f"w{chance.randrange(10**6)}" for _ in range(chance.randrange(60)))
                for key in keys
            }
        )
    kept_keys = set(KEYS) - secret_keys - set(KEYS[:20])
    assert holders(tmp_path, WORD.encode()) != []
    store.delete(sorted(set(KEYS) - kept_keys))
    purge: Purgeable = store.backend
    assert purge.purge() == ()
    assert holders(tmp_path, WORD.encode()) == []
    assert store.list_keys() == kept_keys
    assert purge.purge() == ()
    assert store.list_keys() == kept_keys


STORE_PORTS = BACKENDS.keys() - {"archive", "s3_url"}
"""The archive replaces the records of removed files by itself, and the other bucket is only read."""


@pytest.mark.parametrize(
    "opener",
    sorted({spec.opener for port in STORE_PORTS for spec in BACKENDS[port].values()}),
)
def test_every_store_can_be_purged(opener: str) -> None:
    module, _, name = opener.partition(":")
    opened = getattr(import_module(module), name)
    kind = opened if isinstance(opened, type) else get_type_hints(opened)["return"]
    assert get_type_hints(kind.purge)["return"] == Sequence[str]


def test_a_purge_writes_each_document_of_the_index_once(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    store = open_index(tmp_path)
    keys = [f"{number:040x}" for number in range(6_000)]
    for start in range(0, len(keys), 500):
        store.put({key: f"words {key[-4:]} " * 30 for key in keys[start : start + 500]})
    store.backend.close()
    store = open_index(tmp_path)
    store.delete(keys[77:78])
    written_ids: list[str] = []
    replace_document = TantivyIndex._replace

    def count_replaced(self: TantivyIndex, id_: str, document: Any) -> None:
        written_ids.append(id_)
        assert len(written_ids) <= len(keys), "documents are written again and again"
        replace_document(self, id_, document)

    monkeypatch.setattr(TantivyIndex, "_replace", count_replaced)
    assert store.backend.purge() == ()
    assert len(written_ids) == len(set(written_ids)) > 0
    assert store.backend.count() == len(keys) - 1
    store.backend.close()
