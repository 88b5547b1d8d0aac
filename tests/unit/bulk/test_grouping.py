"""Rebuilds by an engine leave the rows one process leaves; frequencies are as counted by hand."""

from __future__ import annotations

from collections import Counter
from functools import partial
from pathlib import Path

import pytest

from bulk_jobs import open_collections
from engine_rebuilds import by_engine, filled, left
from fonds.bulk.grouping.parts import rows_of, stretches
from fonds.bulk.grouping.reading import ReadDocuments, frequencies_of, reading_job
from fonds.bulk.grouping.slices import from_value, to_value
from fonds.collections.building.reading_in import read_page
from fonds.collections.building.rebuilding import rebuild
from fonds.collections.changing.curating.excluding import exclude
from fonds.collections.clusterings import Known
from fonds.collections.configurations import Configuration
from fonds.collections.documents import COLUMNS
from fonds.collections.reading.documents import places
from fonds.collections.tables import DOCUMENTS, READINGS
from fonds.engines.local.engine import LocalEngine
from fonds.grouping.text.reading import Reader
from fonds.grouping.text.tokens import Vocabulary, terms
from fonds.model.errors import DamagedInputError
from kept_collections import NEWS, faults

PLAIN = Configuration()


@pytest.mark.parametrize(("workers", "conf"), [(1, "dense"), (2, "deep")])
def test_an_engine_leaves_the_rows_one_process_leaves(
    tmp_path: Path, migrated: Path, workers: int, conf: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("fonds.bulk.grouping.placing.PART_PLACES", 70)
    here, there = filled(tmp_path / "here", migrated), filled(tmp_path / "there", migrated)
    first = rebuild(here.changes, NEWS, conf, threads=1)
    engine = LocalEngine(tmp_path / "bulk", workers, 1)
    passes = by_engine(engine, tmp_path / "there")
    second = rebuild(there.changes, NEWS, conf, threads=1, passes=passes)
    assert first == second
    assert left(there) == left(here)
    assert left(there)[READINGS] == []
    assert list((tmp_path / "bulk").iterdir()) == []
    assert faults(there.tables, NEWS) == []
    for kept in (here, there):
        kept.close()


def test_an_engine_keeps_documents_out_of_themes_as_it_is_kept_here(
    tmp_path: Path, migrated: Path
) -> None:
    places_found = []
    for name in ("here", "there"):
        kept = filled(tmp_path / name, migrated)
        rebuild(kept.changes, NEWS, threads=1)
        place = next(one for one in places(kept.tables, NEWS, "d0") if one.label)
        exclude(kept.changes, NEWS, "DEFAULT", place.label or "", ["d0"])
        engine = LocalEngine(tmp_path / "bulk", 2, 1)
        passes = by_engine(engine, tmp_path / name) if name == "there" else None
        rebuild(kept.changes, NEWS, threads=1, passes=passes)
        assert faults(kept.tables, NEWS) == []
        (now,) = places(kept.tables, NEWS, "d0")
        assert now.cluster_id != place.cluster_id
        places_found.append(now)
        kept.close()
    assert places_found[0] == places_found[1]


def test_what_an_engine_read_is_removed_when_it_fails(tmp_path: Path, migrated: Path) -> None:
    kept = filled(tmp_path / "home", migrated)
    passes = by_engine(LocalEngine(tmp_path / "bulk", 1, 1), tmp_path / "home")

    def dies(stage: str, done: int, total: int) -> None:
        if stage == "read documents" and done:
            assert [*kept.tables.scan(READINGS, b"", ["main:slice"])] != []
            raise RuntimeError("died")

    with pytest.raises(RuntimeError, match="died"):
        rebuild(kept.changes, NEWS, passes=passes, progress=dies)
    assert [*kept.tables.scan(READINGS, b"")] == []
    kept.close()


@pytest.mark.parametrize("size", [1, 7, 300, 5000])
def test_stretches_hold_every_document_once_and_in_order(
    tmp_path: Path, migrated: Path, size: int
) -> None:
    kept = filled(tmp_path / "home", migrated)
    parts = stretches(kept.tables, NEWS, size)
    found = [row for part in parts for page in rows_of(kept.tables, NEWS, part) for row, _ in page]
    assert found == [row for row, _ in kept.tables.scan(DOCUMENTS, NEWS.row, ["main:id"])]
    assert [part.number for part in parts] == list(range(len(parts)))
    kept.close()


def test_document_frequencies_are_those_counted_by_hand(tmp_path: Path, migrated: Path) -> None:
    kept = filled(tmp_path / "home", migrated)
    opens = partial(open_collections, tmp_path / "home" / "table.sqlite")
    one = Known(NEWS, "DEFAULT", 0, 1, {})
    read = ReadDocuments(opens, one, 10**9, PLAIN, "en", keeps_pages=False)
    job = reading_job(read, stretches(kept.tables, NEWS, 40), "frequencies")
    documents, counts = frequencies_of(LocalEngine(tmp_path / "bulk", 1, 1).run(job))
    expected: Counter[str] = Counter()
    for _, cells in kept.tables.scan(DOCUMENTS, NEWS.row, COLUMNS):
        language = cells["main:language"].decode() or "en"
        if len(cells["main:text"]) >= PLAIN.characters_min:
            expected.update({term for term in terms(cells["main:text"].decode(), language) if term})
    found = list(counts)
    assert documents == 282
    assert dict(found) == dict(expected)
    assert [term for term, _ in found] == sorted(expected)
    assert [*kept.tables.scan(READINGS, b"")] == []
    kept.close()


def test_a_page_comes_back_as_it_was_and_an_altered_one_is_refused(
    tmp_path: Path, migrated: Path
) -> None:
    kept = filled(tmp_path / "home", migrated)
    rows = kept.tables.page(DOCUMENTS, NEWS.row, COLUMNS)
    reader = Reader()
    page = read_page(rows, 10**9, PLAIN, "en", reader)
    value = to_value(page, reader.vocabulary)
    back = from_value(value, reader.vocabulary)
    assert (back.ids, back.apart) == (page.ids, page.apart)
    assert back.apart == [("short", "short")]
    assert (back.terms.numbers == page.terms.numbers).all()
    assert (back.terms.frequencies != page.terms.frequencies).nnz == 0
    elsewhere = from_value(value, Vocabulary(["harbour"]))
    assert elsewhere.terms.frequencies.shape == (len(page.ids), 1)
    for broken in (value[:-1], value[:50], b"", value[:60] + b"x" + value[61:]):
        with pytest.raises(DamagedInputError):
            from_value(broken, reader.vocabulary)
    kept.close()
