"""Versions and near-duplicates of stories: the same in any order, in both directions, within
limits."""

from __future__ import annotations

import random
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from datetime import timedelta

import pytest

from fonds.derivatives import sketch
from fonds.derivatives.kind import FileRelations
from fonds.derivatives.sketch import KIND, TOO_SHORT, build_bands, rebuild_sketches
from fonds.ingest.steps.import_story import ImportStoryStep
from fonds.ingest.steps.persist_file import PersistFileStep
from fonds.model.file import IdentifiedCapture
from fonds.model.rows import FixityRow, TextBandRow, TextSketchRow
from fonds.model.story import ContentMetadata, ParsedPage, Story
from fonds.ports import Stores
from fonds.search.export_rows import FIELDS, iter_library_rows
from fonds.viewer.description import build_description
from step_bench import JOURNAL, LATER, MOMENT, PAGE, Bench, page_file

WORDS = [f"{first}{second}" for first in "bcdfghklmnprst" for second in ("ald", "emo", "irk", "un")]


def make_words(seed: int, count: int = 200) -> str:
    return " ".join(random.Random(seed).choices(WORDS, k=count))


WIRE = make_words(1)
COPIES = [WIRE, f"By our own staff. {WIRE}", f"{WIRE} Copyright by the agency. All rights."]


def make_page(
    bench: Bench, number: int, text: str, *, story_id: str = "", seconds: int = 0
) -> ParsedPage:
    """Return a page with its own bytes and this text."""
    body = PAGE + b"<!-- %d -->" % number
    url = f"http://site{number}.example/story"
    capture = replace(
        bench.write_file(body),
        id=f"c{number}",
        url=url,
        captured_at=MOMENT + timedelta(seconds=seconds),
    )
    content = Story(content_metadata=ContentMetadata(url=url, text_content=text))
    return ParsedPage(capture, page_file(body), content, story_id or f"{number:064x}", "reader 1")


def import_stories(bench: Bench, stories: Sequence[ParsedPage]) -> None:
    step = ImportStoryStep(bench.records, bench.blobs, bench.index, lambda: LATER)
    for page in stories:
        step([page])


def find_relations(bench: Bench, parsed: ParsedPage) -> FileRelations:
    rows = bench.records.get(TextSketchRow, [parsed.file.sha1])
    return KIND.find_related(bench.records, rows)[parsed.file.sha1]


def list_near_duplicates(bench: Bench, parsed: ParsedPage) -> set[str]:
    return {
        near_duplicate.sha1hex for near_duplicate in find_relations(bench, parsed).near_duplicates
    }


def test_copies_are_linked_both_ways_and_others_are_not(bench: Bench) -> None:
    copies = [make_page(bench, number, text) for number, text in enumerate(COPIES)]
    other_pages = [make_page(bench, 10 + seed, make_words(seed)) for seed in range(2, 8)]
    import_stories(bench, [*copies, *other_pages])
    keys = {copy.file.sha1 for copy in copies}
    for page in copies:
        assert list_near_duplicates(bench, page) == keys - {page.file.sha1}
    assert all(list_near_duplicates(bench, page) == set() for page in other_pages)
    relations = find_relations(bench, copies[0])
    assert [near_duplicate.resemblance for near_duplicate in relations.near_duplicates] == sorted(
        (near_duplicate.resemblance or 0 for near_duplicate in relations.near_duplicates),
        reverse=True,
    )
    assert relations.near_duplicates_total == 2
    assert len(list(bench.index.get([copy.story_id for copy in copies]))) == 3


def test_links_do_not_depend_on_order_or_repetition(bench: Bench) -> None:
    stories = [
        make_page(bench, number, text) for number, text in enumerate([*COPIES, make_words(2)])
    ]
    import_stories(bench, stories)
    first = [find_relations(bench, page) for page in stories]
    rows = sorted(bench.records.find(TextBandRow), key=str)
    import_stories(bench, [stories[2], stories[3], stories[0], stories[1], stories[0]])
    assert [find_relations(bench, page) for page in stories] == first
    assert sorted(bench.records.find(TextBandRow), key=str) == rows


def test_an_equal_text_of_another_story_is_marked(bench: Bench) -> None:
    first, second = make_page(bench, 1, WIRE), make_page(bench, 2, WIRE)
    import_stories(bench, [first, second])
    (near_duplicate,) = find_relations(bench, first).near_duplicates
    assert (near_duplicate.same_text, near_duplicate.resemblance, near_duplicate.url) == (
        True,
        1.0,
        second.capture.url,
    )


def test_versions_of_a_story_are_no_near_duplicates(bench: Bench) -> None:
    id_ = "a" * 64
    pages = [
        make_page(bench, 3, make_words(5), story_id=id_, seconds=90),
        make_page(bench, 1, WIRE, story_id=id_, seconds=0),
        make_page(bench, 2, WIRE, story_id=id_, seconds=60),
    ]
    import_stories(bench, pages)
    last, first, second = (find_relations(bench, page) for page in pages)
    assert [version.sha1hex for version in last.versions] == [
        pages[1].file.sha1,
        pages[2].file.sha1,
    ]
    assert [version.same_text for version in last.versions] == [False, False]
    assert [version.same_text for version in second.versions] == [True, False]
    assert (first.versions_total, first.near_duplicates) == (2, [])
    rows = {row["sha1hex"]: row for row in _list_exported(bench)}
    assert [rows[page.file.sha1]["version_change"] for page in pages] == [
        "changed-text",
        "first",
        "same-text",
    ]
    assert {row["versions"] for row in rows.values()} == {3}


def _list_exported(bench: Bench) -> list[dict[str, object]]:
    """Return the values of the export columns of this kind."""
    rows = list(bench.records.find(TextSketchRow))
    related = KIND.find_related(bench.records, rows)
    return [
        {"sha1hex": row.sha1hex, **KIND.build_related_values(row, related[row.sha1hex])}
        for row in rows
    ]


def test_the_export_columns_are_the_filled_ones(bench: Bench) -> None:
    import_stories(bench, [make_page(bench, 1, WIRE)])
    (row,) = _list_exported(bench)
    assert set(row) == {"sha1hex", *KIND.columns} <= FIELDS.keys()


def test_short_texts_have_no_near_duplicates(bench: Bench) -> None:
    first, second = (
        make_page(bench, 1, "Subscribe to read on."),
        make_page(bench, 2, "Subscribe to read on."),
    )
    import_stories(bench, [first, second])
    assert list_near_duplicates(bench, first) == set()
    (row,) = bench.records.get(TextSketchRow, [first.file.sha1])
    assert (row.status, row.signature, build_bands(row)) == (TOO_SHORT, "", [])
    assert next(bench.records.find(TextBandRow), None) is None


def test_a_changed_text_leaves_no_old_bands(bench: Bench) -> None:
    copy = make_page(bench, 2, WIRE)
    import_stories(bench, [make_page(bench, 1, WIRE), copy])
    import_stories(bench, [make_page(bench, 1, make_words(9))])
    assert list_near_duplicates(bench, copy) == set()
    expected = {
        (band.band, band.sha1hex)
        for row in bench.records.find(TextSketchRow)
        for band in build_bands(row)
    }
    stored = {(band.band, band.sha1hex) for band in bench.records.find(TextBandRow)}
    assert stored == expected


def test_missing_sketches_are_rebuilt_from_the_texts(bench: Bench) -> None:
    stories = [make_page(bench, number, text) for number, text in enumerate(COPIES)]
    import_stories(bench, stories)
    before = (sorted(bench.records.find(TextBandRow), key=str), list(_list_sketches(bench)))
    keys = [page.file.sha1 for page in stories]
    assert rebuild_sketches(bench.records, bench.blobs, keys) == 0
    bench.records.delete(TextSketchRow, keys[:1])
    bench.records.delete(FixityRow, [(keys[0], TextSketchRow.TABLE)])
    band = next(bench.records.find(TextBandRow, {"sha1hex": keys[1]}))
    bench.records.delete(TextBandRow, [(band.band, band.sha1hex)])
    (third,) = bench.records.get(TextSketchRow, [keys[2]])
    bench.records.put([replace(third, extractor="minhash/0", signature="00" * 256)])
    assert rebuild_sketches(bench.records, bench.blobs, keys) == 3
    assert (sorted(bench.records.find(TextBandRow), key=str), list(_list_sketches(bench))) == before


def _list_sketches(bench: Bench) -> list[TextSketchRow]:
    return list(bench.records.find(TextSketchRow))


def test_bands_that_many_files_share_are_read_within_limits(
    bench: Bench, monkeypatch: pytest.MonkeyPatch
) -> None:
    stories = [make_page(bench, number, WIRE) for number in range(12)]
    import_stories(bench, stories)
    monkeypatch.setattr(sketch, "BAND_MAX", 4)
    monkeypatch.setattr(sketch, "RELATIVES_MAX", 3)
    monkeypatch.setattr(sketch, "NEIGHBOURS_MAX", 1)
    for batch_size in (20_000, 10):
        monkeypatch.setattr(sketch, "_ROW_BATCH", batch_size)
        relations = find_relations(bench, stories[0])
        assert len(relations.near_duplicates) == 3
        assert relations.near_duplicates_total in (3, 4)
        smallest = sorted(page.file.sha1 for page in stories)[:4]
        assert {near_duplicate.sha1hex for near_duplicate in relations.near_duplicates} <= set(
            smallest
        )


def test_only_the_nearest_of_many_versions_are_returned(
    bench: Bench, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sketch, "RELATIVES_MAX", 4)
    monkeypatch.setattr(sketch, "NEIGHBOURS_MAX", 2)
    pages = [
        make_page(bench, number, f"text {number}", story_id="b" * 64, seconds=number)
        for number in range(12)
    ]
    import_stories(bench, pages)
    for position, page in enumerate(pages):
        relations = find_relations(bench, page)
        keys = [version.sha1hex for version in relations.versions]
        neighbours = [
            pages[n].file.sha1
            for n in range(max(0, position - 2), min(12, position + 3))
            if n != position
        ]
        assert (keys, relations.versions_total) == (neighbours, 11)


def test_a_file_is_shown_and_exported_with_its_near_duplicates(bench: Bench) -> None:
    stores = Stores(
        queue=None,  # type: ignore[arg-type]
        table=bench.table,
        records=bench.records,
        ledger=bench.records.ledger,
        blobs=bench.blobs,
        index=bench.index,
        archive=bench.archive,
        journal=JOURNAL,
    )
    first, second = make_page(bench, 1, WIRE), make_page(bench, 2, f"{WIRE} and more")
    persist = PersistFileStep(bench.table, bench.records, JOURNAL, False, lambda: LATER)
    persist([IdentifiedCapture(page.capture, page.file) for page in (first, second)])
    import_stories(bench, [first, second])
    keys = (first.file.sha1, second.file.sha1)
    relatives = build_description(stores, keys[0]).relatives
    assert [near_duplicate.sha1hex for near_duplicate in relatives.near_duplicates] == [keys[1]]
    rows = {row["sha1hex"]: row for row in iter_library_rows(stores, with_text=False)}
    export_row = rows[keys[0]]
    assert (export_row["near_duplicates"], export_row["near_duplicate_count"]) == ([keys[1]], 1)
    assert (export_row["version_change"], export_row["versions"]) == ("first", 1)


@pytest.mark.parametrize("dies_at", ["delete", "put"])
def test_a_killed_import_that_is_repeated_has_the_same_rows(
    dies_at: str, bench: Bench, monkeypatch: pytest.MonkeyPatch
) -> None:
    class KilledError(Exception):
        pass

    def die(*_: object, **__: object) -> None:
        raise KilledError

    other = make_page(bench, 2, WIRE)
    import_stories(bench, [make_page(bench, 1, make_words(9)), other])
    changed = make_page(bench, 1, WIRE)
    with monkeypatch.context() as patched:
        patched.setattr(bench.records, dies_at, die)
        with pytest.raises(KilledError):
            import_stories(bench, [changed])
    import_stories(bench, [changed])
    assert list_near_duplicates(bench, changed) == {other.file.sha1}
    assert list_near_duplicates(bench, other) == {changed.file.sha1}
    expected = {
        (band.band, band.sha1hex)
        for row in bench.records.find(TextSketchRow)
        for band in build_bands(row)
    }
    assert {(band.band, band.sha1hex) for band in bench.records.find(TextBandRow)} == expected


def test_copies_that_are_imported_in_parallel_are_linked(bench: Bench) -> None:
    stories = [make_page(bench, number, f"{WIRE} edition {number}") for number in range(8)]
    with ThreadPoolExecutor(4) as pool:
        list(pool.map(lambda page: import_stories(bench, [page]), stories))
    keys = {page.file.sha1 for page in stories}
    assert all(list_near_duplicates(bench, page) == keys - {page.file.sha1} for page in stories)
