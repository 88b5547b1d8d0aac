"""A configuration that names an encoder: grouped by what texts mean with the extra, refused without."""

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
def without(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """The extra is not installed."""
    monkeypatch.setattr(dense, "_MODEL", ("no_such_package_here", "model.onnx"))
    dense_vectors._load_encoder.cache_clear()
    yield
    dense_vectors._load_encoder.cache_clear()


@pytest.fixture
def installed() -> None:
    pytest.importorskip("onnxruntime", reason="the extra `dense` is not installed")
    dense_vectors._load_encoder.cache_clear()


@pytest.fixture
def asked(kept: CollectionStore) -> CollectionStore:
    save_configuration(
        kept.tables, "news", CONF, build_configuration({"clusters": 3, "encoder": "minilm"})
    )
    kept.changes.put(NEWS, themed_documents(40, themes=3))
    return kept


@pytest.mark.usefixtures("installed")
def test_texts_are_grouped_explained_and_placed_later_by_the_model(asked: CollectionStore) -> None:
    made = rebuild(asked.changes, NEWS, CONF, threads=1)
    assert (made.documents, made.unclustered) == (40, 0)
    served = load_clusters(asked.tables, NEWS, CONF)
    assert served is not None
    model = read_model(asked.tables, NEWS, CONF, made.timestamp)
    assert model is not None
    assert model.model.space.dense == dense.DIMENSIONS
    asked.changes.put(NEWS, [Document("later", themed_documents(40, themes=3)[0].text + " today")])
    assert (
        list_placements(asked.tables, NEWS, "later")[0].label
        == list_placements(asked.tables, NEWS, "d0")[0].label
    )
    assert explain_placement(asked.tables, asked.changes.models, NEWS, "d1", CONF) is not None
    assert find_damages(asked.changes, NEWS) == []
    assert find_faults(asked.tables, NEWS) == []


@pytest.mark.usefixtures("without")
def test_without_the_extra_a_rebuild_names_it_and_leaves_nothing(asked: CollectionStore) -> None:
    with pytest.raises(ConfigurationError, match=r"pip install 'fonds\[dense\]'"):
        rebuild(asked.changes, NEWS, CONF, threads=1)
    assert asked.tables.get_page(CLUSTERINGS, NEWS.row) == []
    assert find_faults(asked.tables, NEWS) == []
    assert rebuild(asked.changes, NEWS, threads=1).documents == 40


@pytest.mark.usefixtures("installed")
def test_one_that_cannot_be_built_here_holds_up_no_other(
    asked: CollectionStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    rebuild(asked.changes, NEWS, CONF, threads=1)
    rebuild(asked.changes, NEWS, threads=1)
    more = [replace(one, id=f"more-{one.id}") for one in themed_documents(120, themes=3)]
    asked.changes.put(NEWS, more)
    monkeypatch.setattr(dense, "_MODEL", ("no_such_package_here", "model.onnx"))
    dense_vectors._load_encoder.cache_clear()
    tended = {one.conf: one for one in maintain(asked.changes, NEWS, threads=1)}
    dense_vectors._load_encoder.cache_clear()
    assert "pip install 'fonds[dense]'" in tended[CONF].refused
    (other,) = (one for conf, one in tended.items() if conf != CONF)
    assert (bool(other.reason), other.refused) == (True, "")


@pytest.fixture
def counted(installed: None, monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The texts the model is given, as they are."""
    given: list[str] = []
    real = dense.Encoder.encode

    def counting(encoder: dense.Encoder, texts: Sequence[str]) -> Floats:
        given.extend(texts)
        return real(encoder, texts)

    monkeypatch.setattr(dense.Encoder, "encode", counting)
    return given


def cell_of(kept: CollectionStore, id_: str) -> bytes:
    return (kept.tables.get_row(DOCUMENTS, NEWS.build_document_row(id_), [COLUMN]) or {}).get(
        COLUMN, b""
    )


def test_a_text_is_encoded_once(asked: CollectionStore, counted: list[str]) -> None:
    rebuild(asked.changes, NEWS, CONF, threads=1)
    assert sorted(counted) == sorted(one.text for one in themed_documents(40, themes=3))
    counted.clear()
    before = load_clusters(asked.tables, NEWS, CONF)
    rebuild(asked.changes, NEWS, CONF, threads=1)
    save_configuration(
        asked.tables, "news", "more", build_configuration({"clusters": 2, "encoder": "minilm"})
    )
    rebuild(asked.changes, NEWS, "more", threads=1)
    assert explain_placement(asked.tables, asked.changes.models, NEWS, "d1", CONF) is not None
    assert counted == []
    after = load_clusters(asked.tables, NEWS, CONF)
    assert before is not None
    assert after is not None
    assert [cluster.size for cluster in after.clusters] == [
        cluster.size for cluster in before.clusters
    ]

    changed = Document("d3", "Another text about a harbour and its ships")
    asked.changes.put(NEWS, [changed, Document("new", "A new text on the same harbour")])
    assert sorted(counted) == ["A new text on the same harbour", changed.text]
    counted.clear()
    asked.changes.put(NEWS, [replace(changed, title="Another title alone")])
    rebuild(asked.changes, NEWS, CONF, threads=1)
    rebuild(asked.changes, NEWS, "more", threads=1)
    assert counted == []
    assert find_damages(asked.changes, NEWS) == []
    assert find_faults(asked.tables, NEWS) == []


def test_what_was_encoded_goes_with_its_text_and_its_document(
    asked: CollectionStore, counted: list[str]
) -> None:
    save_configuration(asked.tables, "news", "without", build_configuration({"clusters": 3}))
    rebuild(asked.changes, NEWS, CONF, threads=1)
    assert decode_text_vector(cell_of(asked, "d1")).numbers.shape == (dense.DIMENSIONS,)
    remove(asked.tables, "news", CONF)
    asked.tables.delete_prefix(CLUSTERINGS, NEWS.row)
    asked.changes.put(NEWS, [Document("d1", "Another text about a harbour and its ships")])
    assert cell_of(asked, "d1") == b""
    asked.changes.delete(NEWS, ["d2"])
    assert asked.tables.get_row(DOCUMENTS, NEWS.build_document_row("d2")) is None
    assert len(counted) == 40


def test_a_document_that_goes_while_it_is_encoded_leaves_nothing(
    asked: CollectionStore, counted: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    real = dense_vectors.store_cells

    def late(tables: Tables, name: CollectionName, made: EncodedCells) -> None:
        assert "d2" in made
        tables.delete(DOCUMENTS, [name.build_document_row("d2")])
        tables.put(DOCUMENTS, [(name.build_document_row("d3"), {"main:text": b"Another"})])
        real(tables, name, made)
        raise RuntimeError("died")

    monkeypatch.setattr(rebuilding, "store_cells", late)
    with pytest.raises(RuntimeError, match="died"):
        rebuild(asked.changes, NEWS, CONF, threads=1)
    assert asked.tables.get_row(DOCUMENTS, NEWS.build_document_row("d2")) is None
    assert cell_of(asked, "d3") == b""
    assert is_valid_cell(cell_of(asked, "d4"), themed_documents(40, themes=3)[4].text)
    assert len(counted) == 40


def test_another_model_makes_its_own(
    asked: CollectionStore, counted: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    rebuild(asked.changes, NEWS, CONF, threads=1)
    counted.clear()
    monkeypatch.setattr(dense_vectors._load_encoder(), "version", b"another!")
    rebuild(asked.changes, NEWS, CONF, threads=1)
    assert len(counted) == 40
    assert decode_text_vector(cell_of(asked, "d1")).version == b"another!"
    assert find_damages(asked.changes, NEWS) == []


@pytest.mark.usefixtures("installed")
@pytest.mark.parametrize("cut", [slice(0, 40), slice(5, None), slice(0, -1)])
def test_the_audit_tells_of_vectors_that_are_not_of_their_text(
    asked: CollectionStore, cut: slice
) -> None:
    rebuild(asked.changes, NEWS, CONF, threads=1)
    of_other = cell_of(asked, "d2")
    asked.tables.put(DOCUMENTS, [(NEWS.build_document_row("d1"), {COLUMN: of_other})])
    asked.tables.put(
        DOCUMENTS, [(NEWS.build_document_row("d4"), {COLUMN: cell_of(asked, "d4")[cut]})]
    )
    (damage,) = find_damages(asked.changes, NEWS)
    assert (damage.remedy, damage.message[:12]) == (Remedy.FORGET, "2 documents ")
    assert any("2 documents" in told for told in repair_collection(asked.changes, NEWS, threads=1))
    assert (cell_of(asked, "d1"), cell_of(asked, "d4")) == (b"", b"")
    assert cell_of(asked, "d2") == of_other
    assert find_damages(asked.changes, NEWS) == []


@pytest.mark.usefixtures("installed")
def test_an_engine_encodes_for_the_rows_as_one_process_does(tmp_path: Path, migrated: Path) -> None:
    here, there = (
        fill_collection(tmp_path / "here", migrated),
        fill_collection(tmp_path / "there", migrated),
    )
    for kept in (here, there):
        save_configuration(
            kept.tables, "news", CONF, build_configuration({"clusters": 3, "encoder": "minilm"})
        )
    passes = build_engine_passes(LocalEngine(tmp_path / "bulk", 1, 1), tmp_path / "there")
    first = rebuild(here.changes, NEWS, CONF, threads=1)
    assert rebuild(there.changes, NEWS, CONF, threads=1, passes=passes) == first
    assert read_rebuilt_rows(there) == read_rebuilt_rows(here)
    assert cell_of(there, "d1") != b""
    for kept in (here, there):
        kept.close()


@pytest.mark.parametrize(
    ("values", "told"),
    [
        ({"encoder": "minlm"}, "Did you mean 'minilm'"),
        ({"encoder": "minilm", "dense": 3}, "not both"),
    ],
)
def test_an_encoder_there_is_not_is_refused(values: dict[str, object], told: str) -> None:
    with pytest.raises(ValueError, match=told):
        build_configuration(values)
