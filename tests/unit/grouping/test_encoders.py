"""Configurations with an encoder: clustering by meaning with the extra, an error without it."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path

import pytest

from engine_rebuilds import build_engine_passes, fill_collection, read_rebuilt_rows
from fonds.bulk.local import LocalEngine
from fonds.grouping import dense_vectors
from fonds.grouping.algorithms import encoder as dense
from fonds.grouping.algorithms.term_counts import Floats
from fonds.grouping.checks.check import find_damages, repair_collection
from fonds.grouping.checks.damage import Remedy
from fonds.grouping.clustering_model import read_model
from fonds.grouping.configuration import build_configuration, remove, save_configuration
from fonds.grouping.dense_vectors import is_valid_cell
from fonds.grouping.document import Document, EncodedCells, build_encoded_column
from fonds.grouping.names import CollectionName
from fonds.grouping.rebuild import rebuild as rebuilding
from fonds.grouping.rebuild.maintenance import maintain
from fonds.grouping.rebuild.rebuild import rebuild
from fonds.grouping.stored.dense_vectors import decode_text_vector
from fonds.grouping.tables import CLUSTERINGS, DOCUMENTS, Tables
from fonds.grouping.views.clusters import load_clusters
from fonds.grouping.views.documents import explain_placement, list_placements
from fonds.model.errors import ConfigurationError
from kept_collections import NEWS, CollectionStore, find_faults, themed_documents

CONF = "meant"
COLUMN = build_encoded_column("minilm")


@pytest.fixture
def extra_missing(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Simulate that the extra is not installed."""
    monkeypatch.setattr(dense, "_MODEL", ("no_such_package_here", "model.onnx"))
    dense_vectors._load_encoder.cache_clear()
    yield
    dense_vectors._load_encoder.cache_clear()


@pytest.fixture
def extra_installed() -> None:
    pytest.importorskip("onnxruntime", reason="the extra `dense` is not installed")
    dense_vectors._load_encoder.cache_clear()


@pytest.fixture
def dense_store(store: CollectionStore) -> CollectionStore:
    save_configuration(
        store.tables, "news", CONF, build_configuration({"clusters": 3, "encoder": "minilm"})
    )
    store.writer.put(NEWS, themed_documents(40, themes=3))
    return store


@pytest.mark.usefixtures("extra_installed")
def test_texts_are_clustered_and_explained_by_the_model_also_later(
    dense_store: CollectionStore,
) -> None:
    rebuilt = rebuild(dense_store.writer, NEWS, CONF, threads=1)
    assert (rebuilt.documents, rebuilt.unclustered) == (40, 0)
    served = load_clusters(dense_store.tables, NEWS, CONF)
    assert served is not None
    model = read_model(dense_store.tables, NEWS, CONF, rebuilt.timestamp)
    assert model is not None
    assert model.model.space.dense == dense.DIMENSIONS
    dense_store.writer.put(
        NEWS, [Document("later", themed_documents(40, themes=3)[0].text + " today")]
    )
    assert (
        list_placements(dense_store.tables, NEWS, "later")[0].label
        == list_placements(dense_store.tables, NEWS, "d0")[0].label
    )
    assert (
        explain_placement(dense_store.tables, dense_store.writer.models, NEWS, "d1", CONF)
        is not None
    )
    assert find_damages(dense_store.writer, NEWS) == []
    assert find_faults(dense_store.tables, NEWS) == []


@pytest.mark.usefixtures("extra_missing")
def test_without_the_extra_a_rebuild_names_it_and_leaves_no_rows(
    dense_store: CollectionStore,
) -> None:
    with pytest.raises(ConfigurationError, match=r"pip install 'fonds\[dense\]'"):
        rebuild(dense_store.writer, NEWS, CONF, threads=1)
    assert dense_store.tables.get_page(CLUSTERINGS, NEWS.row) == []
    assert find_faults(dense_store.tables, NEWS) == []
    assert rebuild(dense_store.writer, NEWS, threads=1).documents == 40


@pytest.mark.usefixtures("extra_installed")
def test_an_unavailable_encoder_does_not_stop_other_rebuilds(
    dense_store: CollectionStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    rebuild(dense_store.writer, NEWS, CONF, threads=1)
    rebuild(dense_store.writer, NEWS, threads=1)
    later_documents = [
        replace(document, id=f"more-{document.id}") for document in themed_documents(120, themes=3)
    ]
    dense_store.writer.put(NEWS, later_documents)
    monkeypatch.setattr(dense, "_MODEL", ("no_such_package_here", "model.onnx"))
    dense_vectors._load_encoder.cache_clear()
    results = {result.conf: result for result in maintain(dense_store.writer, NEWS, threads=1)}
    dense_vectors._load_encoder.cache_clear()
    assert "pip install 'fonds[dense]'" in results[CONF].configuration_error
    (unaffected,) = (result for conf, result in results.items() if conf != CONF)
    assert (bool(unaffected.rebuild_reason), unaffected.configuration_error) == (True, "")


@pytest.fixture
def encoded_texts(extra_installed: None, monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """A list of the texts that the model encodes."""
    texts_given: list[str] = []
    encode = dense.Encoder.encode

    def encode_and_record(encoder: dense.Encoder, texts: Sequence[str]) -> Floats:
        texts_given.extend(texts)
        return encode(encoder, texts)

    monkeypatch.setattr(dense.Encoder, "encode", encode_and_record)
    return texts_given


def get_vector_cell(store: CollectionStore, id_: str) -> bytes:
    return (store.tables.get_row(DOCUMENTS, NEWS.build_document_row(id_), [COLUMN]) or {}).get(
        COLUMN, b""
    )


def test_a_text_is_encoded_once(dense_store: CollectionStore, encoded_texts: list[str]) -> None:
    rebuild(dense_store.writer, NEWS, CONF, threads=1)
    assert sorted(encoded_texts) == sorted(
        document.text for document in themed_documents(40, themes=3)
    )
    encoded_texts.clear()
    before = load_clusters(dense_store.tables, NEWS, CONF)
    rebuild(dense_store.writer, NEWS, CONF, threads=1)
    save_configuration(
        dense_store.tables,
        "news",
        "more",
        build_configuration({"clusters": 2, "encoder": "minilm"}),
    )
    rebuild(dense_store.writer, NEWS, "more", threads=1)
    assert (
        explain_placement(dense_store.tables, dense_store.writer.models, NEWS, "d1", CONF)
        is not None
    )
    assert encoded_texts == []
    after = load_clusters(dense_store.tables, NEWS, CONF)
    assert before is not None
    assert after is not None
    assert [cluster.size for cluster in after.clusters] == [
        cluster.size for cluster in before.clusters
    ]

    changed = Document("d3", "Another text about a harbour and its ships")
    dense_store.writer.put(NEWS, [changed, Document("new", "A new text on the same harbour")])
    assert sorted(encoded_texts) == ["A new text on the same harbour", changed.text]
    encoded_texts.clear()
    dense_store.writer.put(NEWS, [replace(changed, title="Another title alone")])
    rebuild(dense_store.writer, NEWS, CONF, threads=1)
    rebuild(dense_store.writer, NEWS, "more", threads=1)
    assert encoded_texts == []
    assert find_damages(dense_store.writer, NEWS) == []
    assert find_faults(dense_store.tables, NEWS) == []


def test_a_vector_is_deleted_with_its_text_and_document(
    dense_store: CollectionStore, encoded_texts: list[str]
) -> None:
    save_configuration(dense_store.tables, "news", "without", build_configuration({"clusters": 3}))
    rebuild(dense_store.writer, NEWS, CONF, threads=1)
    assert decode_text_vector(get_vector_cell(dense_store, "d1")).numbers.shape == (
        dense.DIMENSIONS,
    )
    remove(dense_store.tables, "news", CONF)
    dense_store.tables.delete_prefix(CLUSTERINGS, NEWS.row)
    dense_store.writer.put(NEWS, [Document("d1", "Another text about a harbour and its ships")])
    assert get_vector_cell(dense_store, "d1") == b""
    dense_store.writer.delete(NEWS, ["d2"])
    assert dense_store.tables.get_row(DOCUMENTS, NEWS.build_document_row("d2")) is None
    assert len(encoded_texts) == 40


def test_a_document_deleted_during_encoding_leaves_no_vector(
    dense_store: CollectionStore, encoded_texts: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    store_cells = dense_vectors.store_cells

    def change_and_die(tables: Tables, name: CollectionName, cells: EncodedCells) -> None:
        assert "d2" in cells
        tables.delete(DOCUMENTS, [name.build_document_row("d2")])
        tables.put(DOCUMENTS, [(name.build_document_row("d3"), {"main:text": b"Another"})])
        store_cells(tables, name, cells)
        raise RuntimeError("died")

    monkeypatch.setattr(rebuilding, "store_cells", change_and_die)
    with pytest.raises(RuntimeError, match="died"):
        rebuild(dense_store.writer, NEWS, CONF, threads=1)
    assert dense_store.tables.get_row(DOCUMENTS, NEWS.build_document_row("d2")) is None
    assert get_vector_cell(dense_store, "d3") == b""
    assert is_valid_cell(get_vector_cell(dense_store, "d4"), themed_documents(40, themes=3)[4].text)
    assert len(encoded_texts) == 40


def test_another_model_version_encodes_all_texts_again(
    dense_store: CollectionStore, encoded_texts: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    rebuild(dense_store.writer, NEWS, CONF, threads=1)
    encoded_texts.clear()
    monkeypatch.setattr(dense_vectors._load_encoder(), "version", b"another!")
    rebuild(dense_store.writer, NEWS, CONF, threads=1)
    assert len(encoded_texts) == 40
    assert decode_text_vector(get_vector_cell(dense_store, "d1")).version == b"another!"
    assert find_damages(dense_store.writer, NEWS) == []


@pytest.mark.usefixtures("extra_installed")
@pytest.mark.parametrize("cut", [slice(0, 40), slice(5, None), slice(0, -1)])
def test_the_audit_reports_vectors_that_do_not_match_their_text(
    dense_store: CollectionStore, cut: slice
) -> None:
    rebuild(dense_store.writer, NEWS, CONF, threads=1)
    other_cell = get_vector_cell(dense_store, "d2")
    dense_store.tables.put(DOCUMENTS, [(NEWS.build_document_row("d1"), {COLUMN: other_cell})])
    dense_store.tables.put(
        DOCUMENTS,
        [(NEWS.build_document_row("d4"), {COLUMN: get_vector_cell(dense_store, "d4")[cut]})],
    )
    (damage,) = find_damages(dense_store.writer, NEWS)
    assert (damage.remedy, damage.message[:12]) == (Remedy.FORGET, "2 documents ")
    assert any(
        "2 documents" in message
        for message in repair_collection(dense_store.writer, NEWS, threads=1)
    )
    assert (get_vector_cell(dense_store, "d1"), get_vector_cell(dense_store, "d4")) == (b"", b"")
    assert get_vector_cell(dense_store, "d2") == other_cell
    assert find_damages(dense_store.writer, NEWS) == []


@pytest.mark.usefixtures("extra_installed")
def test_an_engine_stores_the_same_rows_as_one_process(tmp_path: Path, migrated: Path) -> None:
    local_store, engine_store = (
        fill_collection(tmp_path / "here", migrated),
        fill_collection(tmp_path / "there", migrated),
    )
    for opened in (local_store, engine_store):
        save_configuration(
            opened.tables, "news", CONF, build_configuration({"clusters": 3, "encoder": "minilm"})
        )
    passes = build_engine_passes(LocalEngine(tmp_path / "bulk", 1, 1), tmp_path / "there")
    first = rebuild(local_store.writer, NEWS, CONF, threads=1)
    assert rebuild(engine_store.writer, NEWS, CONF, threads=1, passes=passes) == first
    assert read_rebuilt_rows(engine_store) == read_rebuilt_rows(local_store)
    assert get_vector_cell(engine_store, "d1") != b""
    for opened in (local_store, engine_store):
        opened.close()


@pytest.mark.parametrize(
    ("values", "message"),
    [
        ({"encoder": "minlm"}, "Did you mean 'minilm'"),
        ({"encoder": "minilm", "dense": 3}, "not both"),
    ],
)
def test_an_unknown_encoder_is_refused(values: dict[str, object], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        build_configuration(values)
