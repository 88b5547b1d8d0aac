"""What is taken in arrives in the collections whose rules it fits, and leaves those it fits no more."""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import replace
from datetime import timedelta

import pytest

from fonds.grouping.changes.lifecycle import (
    CollectionRule,
    build_search,
    create,
    validate_rule,
)
from fonds.grouping.changes.membership import RuleCollector
from fonds.grouping.changes.writer import CollectionWriter
from fonds.grouping.names import CollectionName
from fonds.grouping.tables import Tables
from fonds.grouping.views.clusterings import find_collection, iter_collections
from fonds.grouping.views.documents import find_document
from fonds.ingest.steps.import_story import ImportStoryStep
from fonds.isolation.process_identity import create_worker_name
from fonds.leases.cells import LeaseTable
from fonds.leases.leases import Leases
from fonds.model.story import ContentMetadata, ParsedPage, Story
from kept_collections import Clock
from step_bench import LATER, MOMENT, PAGE, Bench, page_file

FLOODS = CollectionName("news", "floods")


def _parsed(bench: Bench, number: int, text: str, day: str, *, captured: int = 0) -> ParsedPage:
    body = PAGE + b"<!-- %d %d -->" % (number, captured)
    capture = replace(
        bench.write_file(body),
        id=f"c{number}-{captured}",
        url=f"http://site.example/{number}",
        captured_at=MOMENT + timedelta(seconds=captured),
    )
    told = ContentMetadata(
        url=capture.url,
        text_content=text,
        article_title=f"Story {number}",
        publication_date=day,
        language="en",
    )
    return ParsedPage(
        capture, page_file(body), Story(content_metadata=told), f"{number:064x}", "reader 1"
    )


def _take_in(bench: Bench, stories: Sequence[ParsedPage]) -> None:
    step = ImportStoryStep(bench.records, bench.blobs, bench.index, lambda: LATER)
    for story in stories:
        step([story])


@pytest.fixture
def filling(bench: Bench) -> RuleCollector:
    tables = Tables(bench.table, "t_")
    tables.declare()
    leases = Leases(LeaseTable(bench.records), create_worker_name(), time.monotonic)
    changes = CollectionWriter(tables, leases, Clock())
    return RuleCollector(changes, bench.records, bench.blobs, bench.index, lambda: LATER)


def _ids(filling: RuleCollector, name: CollectionName) -> set[int]:
    return {
        number
        for number in range(20)
        if find_document(filling.changes.tables, name, f"{number:064x}") is not None
    }


def test_what_matches_a_rule_is_put_whole_and_what_comes_later_too(
    bench: Bench, filling: RuleCollector
) -> None:
    long = "The flood came. " + "Rain fell all day. " * 300
    _take_in(bench, [_parsed(bench, 1, long, "2026-11-03"), _parsed(bench, 2, "A song", "")])
    create(filling.changes, FLOODS, "kind:story flood")
    assert filling.run().put == 1
    kept = find_document(filling.changes.tables, FLOODS, f"{1:064x}")
    assert kept is not None
    assert kept.text == f"Story 1\n\n{long}"
    assert (kept.language, kept.title, kept.time) == ("en", "Story 1", 1793664000)
    assert filling.run().put == 0
    _take_in(bench, [_parsed(bench, 3, "Another flood", "2026-11-04")])
    assert filling.run().put == 1
    assert _ids(filling, FLOODS) == {1, 3}


def test_a_version_that_fits_no_more_leaves(bench: Bench, filling: RuleCollector) -> None:
    _take_in(bench, [_parsed(bench, 1, "The flood came", "2026-11-03")])
    create(filling.changes, FLOODS, "flood")
    filling.run()
    _take_in(bench, [_parsed(bench, 1, "Corrected: it was rain", "2026-11-03", captured=60)])
    done = filling.run()
    assert done.removed == 1
    assert _ids(filling, FLOODS) == set()


def test_a_template_makes_a_collection_for_each_value(bench: Bench, filling: RuleCollector) -> None:
    days = ["2026-11-03", "2026-11-09", "2026-12-01", ""]
    _take_in(bench, [_parsed(bench, at, f"Flood {at}", day) for at, day in enumerate(days)])
    template = CollectionName("news", "{month}-{language}")
    create(filling.changes, template, "flood", template.key)
    filling.run()
    sizes = {
        collection.name.key: collection.size
        for collection in iter_collections(filling.changes.tables, "news")
        if not collection.template
    }
    assert sizes == {"2026-11-en": 2, "2026-12-en": 1, "none-en": 1}
    _take_in(bench, [_parsed(bench, 0, "Flood, dated anew", "2026-12-24", captured=60)])
    filling.run()
    collection = find_collection(filling.changes.tables, CollectionName("news", "2026-12-en"))
    assert collection is not None
    assert collection.size == 2
    assert _ids(filling, CollectionName("news", "2026-11-en")) == {1}


def test_documents_put_by_hand_stay_where_no_rule_speaks_of_them(
    bench: Bench, filling: RuleCollector
) -> None:
    from fonds.grouping.document import Document

    create(filling.changes, FLOODS, "flood")
    filling.changes.put(FLOODS, [Document("mine", "about something else")])
    _take_in(bench, [_parsed(bench, 1, "The flood came", "2026-11-03")])
    filling.run()
    assert find_document(filling.changes.tables, FLOODS, "mine") is not None


@pytest.mark.parametrize(
    ("query", "days"),
    [
        ("flood published:2026-02", ("flood", "2026-02-01", "2026-02-28")),
        ("published:2024 a b", ("a b", "2024-01-01", "2024-12-31")),
        ("published:2024-12-31", ("", "2024-12-31", "2024-12-31")),
        ("published:2024 published:2024-05", ("", "2024-05-01", "2024-05-31")),
        ("flood", ("flood", "None", "None")),
    ],
)
def test_the_day_of_publication_is_part_of_a_rule(query: str, days: tuple[str, str, str]) -> None:
    search = build_search(query)
    assert (search.text, str(search.date_from), str(search.date_to)) == days


@pytest.mark.parametrize(
    ("key", "query", "wrong"),
    [
        ("a", "published:2026-13", "is not a year, month or day"),
        ("a", "published:2024 published:2025", "no date can match"),
        ("a", '"open', "not closed"),
        ("{moth}", "flood", "Did you mean 'month'"),
        ("{month}", "", "needs a query"),
    ],
)
def test_a_rule_that_is_none_is_told(bench: Bench, key: str, query: str, wrong: str) -> None:
    with pytest.raises(ValueError, match=wrong):
        validate_rule(CollectionRule(CollectionName("news", key), query), bench.index)
