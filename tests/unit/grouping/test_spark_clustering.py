"""Rebuilds by an engine leave the rows one process leaves; frequencies are as counted by hand."""

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
def test_an_engine_leaves_the_rows_one_process_leaves(
    tmp_path: Path, migrated: Path, workers: int, conf: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("fonds.grouping.rebuild.bulk_rebuild.PART_PLACES", 70)
    here, there = (
        fill_collection(tmp_path / "here", migrated),
        fill_collection(tmp_path / "there", migrated),
    )
    first = rebuild(here.changes, NEWS, conf, threads=1)
    engine = LocalEngine(tmp_path / "bulk", workers, 1)
    passes = build_engine_passes(engine, tmp_path / "there")
    second = rebuild(there.changes, NEWS, conf, threads=1, passes=passes)
    assert first == second
    assert read_rebuilt_rows(there) == read_rebuilt_rows(here)
    assert read_rebuilt_rows(there)[READINGS] == []
    assert list((tmp_path / "bulk").iterdir()) == []
    assert find_faults(there.tables, NEWS) == []
    for kept in (here, there):
        kept.close()


def test_an_engine_keeps_documents_out_of_themes_as_it_is_kept_here(
    tmp_path: Path, migrated: Path
) -> None:
    places_found = []
    for name in ("here", "there"):
        kept = fill_collection(tmp_path / name, migrated)
        rebuild(kept.changes, NEWS, threads=1)
        place = next(
            placement for placement in list_placements(kept.tables, NEWS, "d0") if placement.label
        )
        exclude(kept.changes, NEWS, "DEFAULT", place.label or "", ["d0"])
        engine = LocalEngine(tmp_path / "bulk", 2, 1)
        passes = build_engine_passes(engine, tmp_path / name) if name == "there" else None
        rebuild(kept.changes, NEWS, threads=1, passes=passes)
        assert find_faults(kept.tables, NEWS) == []
        (now,) = list_placements(kept.tables, NEWS, "d0")
        assert now.cluster_id != place.cluster_id
        places_found.append(now)
        kept.close()
    assert places_found[0] == places_found[1]


def test_what_an_engine_read_is_removed_when_it_fails(tmp_path: Path, migrated: Path) -> None:
    kept = fill_collection(tmp_path / "home", migrated)
    passes = build_engine_passes(LocalEngine(tmp_path / "bulk", 1, 1), tmp_path / "home")

    def dies(stage: str, done: int, total: int) -> None:
        if stage == "read documents" and done:
            assert [*kept.tables.iter_rows(READINGS, b"", ["main:slice"])] != []
            raise RuntimeError("died")

    with pytest.raises(RuntimeError, match="died"):
        rebuild(kept.changes, NEWS, passes=passes, progress=dies)
    assert [*kept.tables.iter_rows(READINGS, b"")] == []
    kept.close()


@pytest.mark.parametrize("size", [1, 7, 300, 5000])
def test_stretches_hold_every_document_once_and_in_order(
    tmp_path: Path, migrated: Path, size: int
) -> None:
    kept = fill_collection(tmp_path / "home", migrated)
    parts = split_key_ranges(kept.tables, NEWS, size)
    found = [
        row for part in parts for page in iter_rows(kept.tables, NEWS, part) for row, _ in page
    ]
    assert found == [row for row, _ in kept.tables.iter_rows(DOCUMENTS, NEWS.row, ["main:id"])]
    assert [part.number for part in parts] == list(range(len(parts)))
    kept.close()


def test_document_frequencies_are_those_counted_by_hand(tmp_path: Path, migrated: Path) -> None:
    kept = fill_collection(tmp_path / "home", migrated)
    opens = partial(open_collections, tmp_path / "home" / "table.sqlite")
    one = StoredClustering(NEWS, "DEFAULT", 0, 1, {})
    read = DocumentReader(opens, one, 10**9, PLAIN, "en", keeps_pages=False)
    job = build_reading_job(read, split_key_ranges(kept.tables, NEWS, 40), "frequencies")
    documents, counts = collect_frequencies(LocalEngine(tmp_path / "bulk", 1, 1).run(job))
    expected: Counter[str] = Counter()
    for _, cells in kept.tables.iter_rows(DOCUMENTS, NEWS.row, COLUMNS):
        language = cells["main:language"].decode() or "en"
        if len(cells["main:text"]) >= PLAIN.characters_min:
            expected.update(
                {term for term in split_terms(cells["main:text"].decode(), language) if term}
            )
    found = list(counts)
    assert documents == 282
    assert dict(found) == dict(expected)
    assert [term for term, _ in found] == sorted(expected)
    assert [*kept.tables.iter_rows(READINGS, b"")] == []
    kept.close()


def test_a_page_comes_back_as_it_was_and_an_altered_one_is_refused(
    tmp_path: Path, migrated: Path
) -> None:
    kept = fill_collection(tmp_path / "home", migrated)
    rows = kept.tables.get_page(DOCUMENTS, NEWS.row, COLUMNS)
    reader = TermReader()
    page = read_page(rows, 10**9, PLAIN, "en", reader)
    value = encode_page(page, reader.vocabulary)
    back = decode_page(value, reader.vocabulary)
    assert (back.ids, back.unclustered) == (page.ids, page.unclustered)
    assert back.unclustered == [("short", "short")]
    assert (back.terms.numbers == page.terms.numbers).all()
    assert (back.terms.frequencies != page.terms.frequencies).nnz == 0
    elsewhere = decode_page(value, Vocabulary(["harbour"]))
    assert elsewhere.terms.frequencies.shape == (len(page.ids), 1)
    for broken in (value[:-1], value[:50], b"", value[:60] + b"x" + value[61:]):
        with pytest.raises(DamagedInputError):
            decode_page(broken, reader.vocabulary)
    kept.close()
