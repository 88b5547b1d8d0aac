"""Rebuilds by an engine write the same rows as one process, and count the same frequencies."""

from __future__ import annotations

from collections import Counter
from functools import partial
from pathlib import Path

import pytest

from bulk_jobs import open_collections
from engine_rebuilds import build_engine_passes, fill_collection, read_rebuilt_rows
from fonds.bulk.local import LocalEngine
from fonds.grouping.algorithms.corpus import TermReader
from fonds.grouping.algorithms.terms import Vocabulary, split_terms
from fonds.grouping.changes.curation import exclude
from fonds.grouping.clustering import StoredClustering
from fonds.grouping.configuration import Configuration
from fonds.grouping.document import COLUMNS
from fonds.grouping.rebuild.bulk_reader import (
    DocumentReader,
    build_reading_job,
    collect_frequencies,
)
from fonds.grouping.rebuild.bulk_slices import (
    decode_page,
    encode_page,
    iter_rows,
    split_key_ranges,
)
from fonds.grouping.rebuild.reader import read_page
from fonds.grouping.rebuild.rebuild import rebuild
from fonds.grouping.tables import DOCUMENTS, READINGS
from fonds.grouping.views.documents import list_placements
from fonds.model.errors import DamagedInputError
from kept_collections import NEWS, find_faults

PLAIN = Configuration()


@pytest.mark.parametrize(("workers", "conf"), [(1, "dense"), (2, "deep")])
def test_an_engine_writes_the_same_rows_as_one_process(
    tmp_path: Path, migrated: Path, workers: int, conf: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("fonds.grouping.rebuild.bulk_rebuild.PART_PLACES", 70)
    local_store, engine_store = (
        fill_collection(tmp_path / "here", migrated),
        fill_collection(tmp_path / "there", migrated),
    )
    first = rebuild(local_store.writer, NEWS, conf, threads=1)
    engine = LocalEngine(tmp_path / "bulk", workers, 1)
    passes = build_engine_passes(engine, tmp_path / "there")
    second = rebuild(engine_store.writer, NEWS, conf, threads=1, passes=passes)
    assert first == second
    assert read_rebuilt_rows(engine_store) == read_rebuilt_rows(local_store)
    assert read_rebuilt_rows(engine_store)[READINGS] == []
    assert list((tmp_path / "bulk").iterdir()) == []
    assert find_faults(engine_store.tables, NEWS) == []
    for opened in (local_store, engine_store):
        opened.close()


def test_an_engine_applies_exclusions_like_one_process(tmp_path: Path, migrated: Path) -> None:
    placements_after = []
    for name in ("here", "there"):
        store = fill_collection(tmp_path / name, migrated)
        rebuild(store.writer, NEWS, threads=1)
        placement_before = next(
            placement for placement in list_placements(store.tables, NEWS, "d0") if placement.label
        )
        exclude(store.writer, NEWS, "DEFAULT", placement_before.label or "", ["d0"])
        engine = LocalEngine(tmp_path / "bulk", 2, 1)
        passes = build_engine_passes(engine, tmp_path / name) if name == "there" else None
        rebuild(store.writer, NEWS, threads=1, passes=passes)
        assert find_faults(store.tables, NEWS) == []
        (placement_after,) = list_placements(store.tables, NEWS, "d0")
        assert placement_after.cluster_id != placement_before.cluster_id
        placements_after.append(placement_after)
        store.close()
    assert placements_after[0] == placements_after[1]


def test_the_pages_of_an_engine_are_deleted_when_it_fails(tmp_path: Path, migrated: Path) -> None:
    store = fill_collection(tmp_path / "home", migrated)
    passes = build_engine_passes(LocalEngine(tmp_path / "bulk", 1, 1), tmp_path / "home")

    def die(stage: str, done: int, total: int) -> None:
        if stage == "read documents" and done:
            assert [*store.tables.iter_rows(READINGS, b"", ["main:slice"])] != []
            raise RuntimeError("died")

    with pytest.raises(RuntimeError, match="died"):
        rebuild(store.writer, NEWS, passes=passes, progress=die)
    assert [*store.tables.iter_rows(READINGS, b"")] == []
    store.close()


@pytest.mark.parametrize("size", [1, 7, 300, 5000])
def test_key_ranges_cover_every_document_once_and_in_order(
    tmp_path: Path, migrated: Path, size: int
) -> None:
    store = fill_collection(tmp_path / "home", migrated)
    parts = split_key_ranges(store.tables, NEWS, size)
    row_keys = [
        row for part in parts for page in iter_rows(store.tables, NEWS, part) for row, _ in page
    ]
    assert row_keys == [row for row, _ in store.tables.iter_rows(DOCUMENTS, NEWS.row, ["main:id"])]
    assert [part.number for part in parts] == list(range(len(parts)))
    store.close()


def test_document_frequencies_match_a_direct_count(tmp_path: Path, migrated: Path) -> None:
    store = fill_collection(tmp_path / "home", migrated)
    open_stores = partial(open_collections, tmp_path / "home" / "table.sqlite")
    stored_clustering = StoredClustering(NEWS, "DEFAULT", 0, 1, {})
    document_reader = DocumentReader(
        open_stores, stored_clustering, 10**9, PLAIN, "en", keeps_pages=False
    )
    job = build_reading_job(
        document_reader, split_key_ranges(store.tables, NEWS, 40), "frequencies"
    )
    documents, counts = collect_frequencies(LocalEngine(tmp_path / "bulk", 1, 1).run(job))
    expected: Counter[str] = Counter()
    for _, cells in store.tables.iter_rows(DOCUMENTS, NEWS.row, COLUMNS):
        language = cells["main:language"].decode() or "en"
        if len(cells["main:text"]) >= PLAIN.characters_min:
            expected.update(
                {term for term in split_terms(cells["main:text"].decode(), language) if term}
            )
    term_counts = list(counts)
    assert documents == 282
    assert dict(term_counts) == dict(expected)
    assert [term for term, _ in term_counts] == sorted(expected)
    assert [*store.tables.iter_rows(READINGS, b"")] == []
    store.close()


def test_a_page_decodes_unchanged_and_a_damaged_page_is_refused(
    tmp_path: Path, migrated: Path
) -> None:
    store = fill_collection(tmp_path / "home", migrated)
    rows = store.tables.get_page(DOCUMENTS, NEWS.row, COLUMNS)
    reader = TermReader()
    page = read_page(rows, 10**9, PLAIN, "en", reader)
    value = encode_page(page, reader.vocabulary)
    decoded = decode_page(value, reader.vocabulary)
    assert (decoded.ids, decoded.unclustered) == (page.ids, page.unclustered)
    assert decoded.unclustered == [("short", "short")]
    assert (decoded.terms.numbers == page.terms.numbers).all()
    assert (decoded.terms.frequencies != page.terms.frequencies).nnz == 0
    other_decoded = decode_page(value, Vocabulary(["harbour"]))
    assert other_decoded.terms.frequencies.shape == (len(page.ids), 1)
    for broken in (value[:-1], value[:50], b"", value[:60] + b"x" + value[61:]):
        with pytest.raises(DamagedInputError):
            decode_page(broken, reader.vocabulary)
    store.close()
