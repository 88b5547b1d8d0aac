"""Ingested documents enter collections whose rules they match, and leave them when they no longer match."""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import replace
from datetime import timedelta

import pytest

from fonds.grouping.changes.lifecycle import (
    CollectionRule,
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


def write_story(bench: Bench, number: int, text: str, day: str, *, captured: int = 0) -> ParsedPage:
    body = PAGE + b"<!-- %d %d -->" % (number, captured)
    capture = replace(
        bench.write_file(body),
        id=f"c{number}-{captured}",
        url=f"http://site.example/{number}",
        captured_at=MOMENT + timedelta(seconds=captured),
    )
    content = ContentMetadata(
        url=capture.url,
        text_content=text,
        article_title=f"Story {number}",
        publication_date=day,
        language="en",
    )
    return ParsedPage(
        capture, page_file(body), Story(content_metadata=content), f"{number:064x}", "reader 1"
    )


def import_stories(bench: Bench, stories: Sequence[ParsedPage]) -> None:
    step = ImportStoryStep(bench.records, bench.blobs, bench.index, lambda: LATER)
    for story in stories:
        step([story])


@pytest.fixture
def collector(bench: Bench) -> RuleCollector:
    tables = Tables(bench.table, "t_")
    tables.declare()
    leases = Leases(LeaseTable(bench.records), create_worker_name(), time.monotonic)
    writer = CollectionWriter(tables, leases, Clock())
    return RuleCollector(writer, bench.records, bench.blobs, bench.index, lambda: LATER)


def list_ids(collector: RuleCollector, name: CollectionName) -> set[int]:
    return {
        number
        for number in range(20)
        if find_document(collector.writer.tables, name, f"{number:064x}") is not None
    }


def test_matching_documents_are_added_with_full_text_also_later(
    bench: Bench, collector: RuleCollector
) -> None:
    long = "The flood came. " + "Rain fell all day. " * 300
    import_stories(
        bench, [write_story(bench, 1, long, "2026-11-03"), write_story(bench, 2, "A song", "")]
    )
    create(collector.writer, FLOODS, "kind:story flood")
    assert collector.run().put_count == 1
    stored = find_document(collector.writer.tables, FLOODS, f"{1:064x}")
    assert stored is not None
    assert stored.text == f"Story 1\n\n{long}"
    assert (stored.language, stored.title, stored.time) == ("en", "Story 1", 1793664000)
    assert collector.run().put_count == 0
    import_stories(bench, [write_story(bench, 3, "Another flood", "2026-11-04")])
    assert collector.run().put_count == 1
    assert list_ids(collector, FLOODS) == {1, 3}


def test_a_new_version_that_does_not_match_is_removed(
    bench: Bench, collector: RuleCollector
) -> None:
    import_stories(bench, [write_story(bench, 1, "The flood came", "2026-11-03")])
    create(collector.writer, FLOODS, "flood")
    collector.run()
    import_stories(
        bench, [write_story(bench, 1, "Corrected: it was rain", "2026-11-03", captured=60)]
    )
    done = collector.run()
    assert done.removed_count == 1
    assert list_ids(collector, FLOODS) == set()


def test_a_template_creates_a_collection_for_each_value(
    bench: Bench, collector: RuleCollector
) -> None:
    days = ["2026-11-03", "2026-11-09", "2026-12-01", ""]
    import_stories(
        bench,
        [write_story(bench, number, f"Flood {number}", day) for number, day in enumerate(days)],
    )
    template = CollectionName("news", "{month}-{language}")
    create(collector.writer, template, "flood", template.key)
    collector.run()
    sizes = {
        collection.name.key: collection.size
        for collection in iter_collections(collector.writer.tables, "news")
        if not collection.template
    }
    assert sizes == {"2026-11-en": 2, "2026-12-en": 1, "none-en": 1}
    import_stories(bench, [write_story(bench, 0, "Flood, new date", "2026-12-24", captured=60)])
    collector.run()
    collection = find_collection(collector.writer.tables, CollectionName("news", "2026-12-en"))
    assert collection is not None
    assert collection.size == 2
    assert list_ids(collector, CollectionName("news", "2026-11-en")) == {1}


def test_documents_added_by_hand_are_kept(bench: Bench, collector: RuleCollector) -> None:
    from fonds.grouping.document import Document

    create(collector.writer, FLOODS, "flood")
    collector.writer.put(FLOODS, [Document("mine", "about something else")])
    import_stories(bench, [write_story(bench, 1, "The flood came", "2026-11-03")])
    collector.run()
    assert find_document(collector.writer.tables, FLOODS, "mine") is not None


@pytest.mark.parametrize(
    ("query", "ids"),
    [
        ("flood date:2026-02", {1, 2}),
        ("date:2026 flood", {1, 2, 3}),
        ("date:2026-02-28", {2}),
        ("date:2026 date:2026-03", {3}),
        ("flood date:none", {4}),
        ("flood", {1, 2, 3, 4, 5}),
    ],
)
def test_a_rule_is_a_query_that_may_restrict_days(
    bench: Bench, collector: RuleCollector, query: str, ids: set[int]
) -> None:
    days = ["2026-02-01", "2026-02-28", "2026-03-01", "", "2025-02-28"]
    import_stories(
        bench,
        [write_story(bench, number, f"Flood {number}", day) for number, day in enumerate(days, 1)],
    )
    create(collector.writer, FLOODS, query)
    collector.run()
    assert list_ids(collector, FLOODS) == ids


@pytest.mark.parametrize(
    ("key", "query", "message"),
    [
        ("a", "date:2026-13", "There is no date"),
        ("a", "published:2026", "published"),
        ("a", '"open', "not closed"),
        ("{moth}", "flood", "Did you mean 'month'"),
        ("{month}", "", "needs a query"),
    ],
)
def test_an_invalid_rule_is_refused_with_a_message(
    bench: Bench, key: str, query: str, message: str
) -> None:
    with pytest.raises(ValueError, match=message):
        validate_rule(CollectionRule(CollectionName("news", key), query), bench.index)
