"""Versions and near-duplicates: told alike whatever came first, both ways, within bounds."""

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


def words(seed: int, count: int = 200) -> str:
    return " ".join(random.Random(seed).choices(WORDS, k=count))


WIRE = words(1)
COPIES = [WIRE, f"By our own staff. {WIRE}", f"{WIRE} Copyright by the agency. All rights."]


def story(
    bench: Bench, number: int, text: str, *, story_id: str = "", seconds: int = 0
) -> ParsedPage:
    """A page of its own bytes with this text."""
    body = PAGE + b"<!-- %d -->" % number
    url = f"http://site{number}.example/story"
    capture = replace(
        bench.write_file(body),
        id=f"c{number}",
        url=url,
        captured_at=MOMENT + timedelta(seconds=seconds),
    )
    told = Story(content_metadata=ContentMetadata(url=url, text_content=text))
    return ParsedPage(capture, page_file(body), told, story_id or f"{number:064x}", "reader 1")


def imported(bench: Bench, stories: Sequence[ParsedPage]) -> None:
    step = ImportStoryStep(bench.records, bench.blobs, bench.index, lambda: LATER)
    for one in stories:
        step([one])


def beside(bench: Bench, parsed: ParsedPage) -> FileRelations:
    rows = bench.records.get(TextSketchRow, [parsed.file.sha1])
    return KIND.find_related(bench.records, rows)[parsed.file.sha1]


def near(bench: Bench, parsed: ParsedPage) -> set[str]:
    return {near_duplicate.sha1hex for near_duplicate in beside(bench, parsed).near_duplicates}


def test_copies_are_linked_both_ways_and_others_are_not(bench: Bench) -> None:
    copies = [story(bench, number, text) for number, text in enumerate(COPIES)]
    others = [story(bench, 10 + seed, words(seed)) for seed in range(2, 8)]
    imported(bench, [*copies, *others])
    keys = {copy.file.sha1 for copy in copies}
    for one in copies:
        assert near(bench, one) == keys - {one.file.sha1}
    assert all(near(bench, one) == set() for one in others)
    told = beside(bench, copies[0])
    assert [near_duplicate.resemblance for near_duplicate in told.near_duplicates] == sorted(
        (near_duplicate.resemblance or 0 for near_duplicate in told.near_duplicates), reverse=True
    )
    assert told.near_duplicates_total == 2
    assert len(list(bench.index.get([copy.story_id for copy in copies]))) == 3


def test_links_are_the_same_in_whatever_order_and_however_often(bench: Bench) -> None:
    stories = [story(bench, number, text) for number, text in enumerate([*COPIES, words(2)])]
    imported(bench, stories)
    first = [beside(bench, one) for one in stories]
    rows = sorted(bench.records.find(TextBandRow), key=str)
    imported(bench, [stories[2], stories[3], stories[0], stories[1], stories[0]])
    assert [beside(bench, one) for one in stories] == first
    assert sorted(bench.records.find(TextBandRow), key=str) == rows


def test_the_same_text_elsewhere_says_so(bench: Bench) -> None:
    one, other = story(bench, 1, WIRE), story(bench, 2, WIRE)
    imported(bench, [one, other])
    (found,) = beside(bench, one).near_duplicates
    assert (found.same_text, found.resemblance, found.url) == (True, 1.0, other.capture.url)


def test_versions_of_a_story_are_told_apart_and_are_no_near_duplicates(bench: Bench) -> None:
    id_ = "a" * 64
    made = [
        story(bench, 3, words(5), story_id=id_, seconds=90),
        story(bench, 1, WIRE, story_id=id_, seconds=0),
        story(bench, 2, WIRE, story_id=id_, seconds=60),
    ]
    imported(bench, made)
    last, first, second = (beside(bench, one) for one in made)
    assert [version.sha1hex for version in last.versions] == [made[1].file.sha1, made[2].file.sha1]
    assert [version.same_text for version in last.versions] == [False, False]
    assert [version.same_text for version in second.versions] == [True, False]
    assert (first.versions_total, first.near_duplicates) == (2, [])
    rows = {row["sha1hex"]: row for row in _exported(bench)}
    assert [rows[one.file.sha1]["version_change"] for one in made] == [
        "changed-text",
        "first",
        "same-text",
    ]
    assert {row["versions"] for row in rows.values()} == {3}


def _exported(bench: Bench) -> list[dict[str, object]]:
    """Rows as the export has them of the kind's own columns."""
    rows = list(bench.records.find(TextSketchRow))
    related = KIND.find_related(bench.records, rows)
    return [
        {"sha1hex": row.sha1hex, **KIND.build_related_values(row, related[row.sha1hex])}
        for row in rows
    ]


def test_the_columns_of_the_export_are_those_that_are_filled(bench: Bench) -> None:
    imported(bench, [story(bench, 1, WIRE)])
    (row,) = _exported(bench)
    assert set(row) == {"sha1hex", *KIND.columns} <= FIELDS.keys()


def test_short_texts_have_no_near_duplicates_and_are_told_apart(bench: Bench) -> None:
    one, other = story(bench, 1, "Subscribe to read on."), story(bench, 2, "Subscribe to read on.")
    imported(bench, [one, other])
    assert near(bench, one) == set()
    (row,) = bench.records.get(TextSketchRow, [one.file.sha1])
    assert (row.status, row.signature, build_bands(row)) == (TOO_SHORT, "", [])
    assert next(bench.records.find(TextBandRow), None) is None


def test_a_text_that_is_read_otherwise_leaves_no_bands_behind(bench: Bench) -> None:
    copy = story(bench, 2, WIRE)
    imported(bench, [story(bench, 1, WIRE), copy])
    imported(bench, [story(bench, 1, words(9))])
    assert near(bench, copy) == set()
    promised = {
        (band.band, band.sha1hex)
        for row in bench.records.find(TextSketchRow)
        for band in build_bands(row)
    }
    there = {(one.band, one.sha1hex) for one in bench.records.find(TextBandRow)}
    assert there == promised


def test_what_was_lost_is_made_again_from_the_texts(bench: Bench) -> None:
    stories = [story(bench, number, text) for number, text in enumerate(COPIES)]
    imported(bench, stories)
    before = (sorted(bench.records.find(TextBandRow), key=str), list(_sketches(bench)))
    keys = [one.file.sha1 for one in stories]
    assert rebuild_sketches(bench.records, bench.blobs, keys) == 0
    bench.records.delete(TextSketchRow, keys[:1])
    bench.records.delete(FixityRow, [(keys[0], TextSketchRow.TABLE)])
    some = next(bench.records.find(TextBandRow, {"sha1hex": keys[1]}))
    bench.records.delete(TextBandRow, [(some.band, some.sha1hex)])
    (third,) = bench.records.get(TextSketchRow, [keys[2]])
    bench.records.put([replace(third, extractor="minhash/0", signature="00" * 256)])
    assert rebuild_sketches(bench.records, bench.blobs, keys) == 3
    assert (sorted(bench.records.find(TextBandRow), key=str), list(_sketches(bench))) == before


def _sketches(bench: Bench) -> list[TextSketchRow]:
    return list(bench.records.find(TextSketchRow))


def test_bands_that_very_many_share_are_read_within_bounds(
    bench: Bench, monkeypatch: pytest.MonkeyPatch
) -> None:
    stories = [story(bench, number, WIRE) for number in range(12)]
    imported(bench, stories)
    monkeypatch.setattr(sketch, "BAND_MAX", 4)
    monkeypatch.setattr(sketch, "RELATIVES_MAX", 3)
    for at_once in (20_000, 10):
        monkeypatch.setattr(sketch, "_ROW_BATCH", at_once)
        told = beside(bench, stories[0])
        assert len(told.near_duplicates) == 3
        assert told.near_duplicates_total in (3, 4)
        smallest = sorted(one.file.sha1 for one in stories)[:4]
        assert {near_duplicate.sha1hex for near_duplicate in told.near_duplicates} <= set(smallest)


def test_of_very_many_versions_those_around_are_told(
    bench: Bench, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sketch, "RELATIVES_MAX", 4)
    made = [
        story(bench, number, f"text {number}", story_id="b" * 64, seconds=number)
        for number in range(12)
    ]
    imported(bench, made)
    for at, one in enumerate(made):
        told = beside(bench, one)
        keys = [version.sha1hex for version in told.versions]
        around = [made[n].file.sha1 for n in range(max(0, at - 2), min(12, at + 3)) if n != at]
        assert (keys, told.versions_total) == (around, 11)


def test_a_file_is_shown_and_exported_with_what_stands_beside_it(bench: Bench) -> None:
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
    one, other = story(bench, 1, WIRE), story(bench, 2, f"{WIRE} and more")
    persist = PersistFileStep(bench.table, bench.records, JOURNAL, False, lambda: LATER)
    persist([IdentifiedCapture(each.capture, each.file) for each in (one, other)])
    imported(bench, [one, other])
    keys = (one.file.sha1, other.file.sha1)
    found = build_description(stores, keys[0]).relatives
    assert [near_duplicate.sha1hex for near_duplicate in found.near_duplicates] == [keys[1]]
    rows = {row["sha1hex"]: row for row in iter_library_rows(stores, with_text=False)}
    told = rows[keys[0]]
    assert (told["near_duplicates"], told["near_duplicate_count"]) == ([keys[1]], 1)
    assert (told["version_change"], told["versions"]) == ("first", 1)


@pytest.mark.parametrize("dies_at", ["delete", "put"])
def test_killed_between_its_acts_and_done_again_it_leaves_what_it_leaves(
    dies_at: str, bench: Bench, monkeypatch: pytest.MonkeyPatch
) -> None:
    class KilledError(Exception):
        pass

    def dies(*_: object, **__: object) -> None:
        raise KilledError

    other = story(bench, 2, WIRE)
    imported(bench, [story(bench, 1, words(9)), other])
    changed = story(bench, 1, WIRE)
    with monkeypatch.context() as patched:
        patched.setattr(bench.records, dies_at, dies)
        with pytest.raises(KilledError):
            imported(bench, [changed])
    imported(bench, [changed])
    assert near(bench, changed) == {other.file.sha1}
    assert near(bench, other) == {changed.file.sha1}
    promised = {
        (band.band, band.sha1hex)
        for row in bench.records.find(TextSketchRow)
        for band in build_bands(row)
    }
    assert {(one.band, one.sha1hex) for one in bench.records.find(TextBandRow)} == promised


def test_several_who_import_copies_at_once_leave_them_linked(bench: Bench) -> None:
    stories = [story(bench, number, f"{WIRE} edition {number}") for number in range(8)]
    with ThreadPoolExecutor(4) as pool:
        list(pool.map(lambda one: imported(bench, [one]), stories))
    keys = {one.file.sha1 for one in stories}
    assert all(near(bench, one) == keys - {one.file.sha1} for one in stories)
