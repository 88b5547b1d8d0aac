"""Links from the command line: each enters once, and reading resumes at every mark."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from datetime import UTC, datetime, timedelta

from fonds.config import Settings
from fonds.ingest.sources.named_links import NamedLinkSource
from fonds.model.disposition import Reason
from fonds.model.entry import Entry, Link, TlsCheck
from fonds.model.rows import InputRow
from fonds.ports import Source
from fonds.wiring.links import build_link_rules, build_named_link_rules

NOW = datetime(2026, 11, 22, 1, 2, 3, tzinfo=UTC)


def read(
    source: Source, row: InputRow | None = None
) -> tuple[list[str], dict[str, int], list[int]]:
    """Return URLs, tally and marks."""
    row = row or next(source.iter_inputs())
    urls, tally, marks = [], dict[str, int](), []
    for entry in source.iter_entries(row):
        if isinstance(entry, Entry):
            urls.append(entry.url)
        elif isinstance(entry, Mapping):
            tally |= {name: tally.get(name, 0) + count for name, count in entry.items()}
        else:
            marks.append(entry)
    return urls, tally, marks


def test_links_named_at_another_time_are_another_input() -> None:
    first = NamedLinkSource(["https://a.example/"], "news", NOW, TlsCheck.NONE)
    later = replace(first, named_at=NOW + timedelta(seconds=1))
    assert next(first.iter_inputs()).input_id != next(later.iter_inputs()).input_id
    (entry,) = first.iter_entries(next(first.iter_inputs()))
    assert isinstance(entry, Entry)
    assert isinstance(entry.item, Link)
    assert (entry.item.tls, entry.item.rss_entry.fetch_date) == (TlsCheck.NONE, "2026-11-22")
    assert entry.collection == "news"
    assert list(NamedLinkSource([], "news", NOW).iter_inputs()) == []


def test_repeated_urls_are_counted_and_reading_resumes_at_every_mark() -> None:
    urls = [f"https://a.example/{number % 700}#{number}" for number in range(1000)]
    source = NamedLinkSource(urls, "news", NOW)
    row = next(source.iter_inputs())
    read_urls, counts, marks = read(source, row)
    assert (read_urls, counts) == (
        [url.partition("#")[0] for url in urls[:700]],
        {Reason.REPEATED: 300},
    )
    assert len(marks) == 5
    for nth, mark in enumerate(marks, 1):
        rest, tally, _ = read(source, replace(row, position=mark))
        assert rest == read_urls[200 * nth :]
        assert sum(tally.values()) + len(rest) == 1000 - 200 * nth


def test_any_text_is_passed_on_unchanged() -> None:
    assert read(NamedLinkSource(["no address", "\udcff"], "news", NOW))[0] == [
        "no address",
        "\udcff",
    ]


def test_a_named_link_can_lead_to_any_site_but_not_to_a_private_network() -> None:
    """Feeds and lists contain many pages that are not news. A person names a page on purpose."""
    page, private = "https://en.wikipedia.org/wiki/Flood", "http://192.168.0.1/admin"
    refusals = [
        [refusal and refusal[0] for refusal in map(rules.find_refusal, (page, private))]
        for rules in (build_link_rules(Settings()), build_named_link_rules(Settings()))
    ]
    assert refusals == [[Reason.NON_NEWS, Reason.BAD_HOST], [None, Reason.BAD_HOST]]
