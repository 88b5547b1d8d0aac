"""Links out of lists and off the command line: each once, gone on with where it was left."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from fonds.model.disposition import Reason
from fonds.model.entry import Entry
from fonds.model.errors import ConfigurationError
from fonds.model.link import Link, TlsCheck
from fonds.model.rows import InputRow
from fonds.ports import Source
from fonds.sources import links
from fonds.sources.links import ListedLinks, NamedLinks

NOW = datetime(2026, 11, 22, 1, 2, 3, tzinfo=UTC)


def read(
    source: Source, row: InputRow | None = None
) -> tuple[list[str], dict[str, int], list[int]]:
    """Addresses, what was counted, and marks."""
    row = row or next(source.inputs())
    urls, counted, marks = [], dict[str, int](), []
    for one in source.entries(row):
        if isinstance(one, Entry):
            urls.append(one.url)
        elif isinstance(one, Mapping):
            counted = {name: counted.get(name, 0) + count for name, count in one.items()}
        else:
            marks.append(one)
    return urls, counted, marks


def listed(folder: Path, text: str, **more: bool) -> ListedLinks:
    path = folder / "urls.txt"
    path.write_bytes(text.encode())
    return ListedLinks(path, "news", NOW, **more)


def test_a_list_has_an_address_a_line(tmp_path: Path) -> None:
    text = "\ufeffhttps://a.example/1\r\n\n# not this\n  https://b.example/2  \nno address\nhttps://a.example/3"
    urls, counted, _ = read(listed(tmp_path, text))
    assert urls == [
        "https://a.example/1",
        "https://b.example/2",
        "no address",
        "https://a.example/3",
    ]
    assert counted == {}


def test_an_address_named_again_is_counted_and_no_second_link(tmp_path: Path) -> None:
    text = "https://a.example/1\nhttps://a.example/1#part\nhttps://a.example/1\n"
    urls, counted, _ = read(listed(tmp_path, text))
    assert (urls, counted) == (["https://a.example/1"], {Reason.REPEATED: 2})


def test_a_list_is_gone_on_with_from_any_mark_and_nothing_is_named_twice(tmp_path: Path) -> None:
    text = "\n".join(f"https://a.example/{number % 700}" for number in range(1000))
    source = listed(tmp_path, text)
    row = next(source.inputs())
    urls, counted, marks = read(source, row)
    assert (len(urls), counted) == (700, {Reason.REPEATED: 300})
    assert len(marks) == 5
    for nth, mark in enumerate(marks, 1):
        rest, again, _ = read(source, replace(row, position=mark))
        assert rest == urls[200 * nth :]
        assert sum(again.values()) + len(rest) == 1000 - 200 * nth


def test_the_same_list_is_the_same_input_until_it_changes_or_is_wanted_again(
    tmp_path: Path,
) -> None:
    source = listed(tmp_path, "https://a.example/")
    first = next(source.inputs()).input_id
    later = replace(source, now=NOW + timedelta(days=1))
    assert next(later.inputs()).input_id == first
    assert next(replace(later, again=True).inputs()).input_id != first
    assert next(listed(tmp_path, "https://a.example/2").inputs()).input_id != first


def test_what_is_named_now_is_another_input_each_time() -> None:
    first = NamedLinks(["https://a.example/"], "news", NOW, TlsCheck.NONE)
    again = replace(first, asked_at=NOW + timedelta(seconds=1))
    assert next(first.inputs()).input_id != next(again.inputs()).input_id
    (entry,) = first.entries(next(first.inputs()))
    assert isinstance(entry, Entry)
    assert isinstance(entry.item, Link)
    assert (entry.item.tls, entry.item.rss_entry.fetch_date) == (TlsCheck.NONE, "2026-11-22")
    assert entry.collection == "news"
    assert list(NamedLinks([], "news", NOW).inputs()) == []


def test_a_list_that_is_none_or_too_long_is_told(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with pytest.raises(ConfigurationError, match="none"):
        list(ListedLinks(tmp_path / "none", "news", NOW).inputs())
    monkeypatch.setattr(links, "LINKS_MAX", 2)
    with pytest.raises(ConfigurationError, match="split it"):
        read(listed(tmp_path, "a\nb\nc\n"))


def test_a_line_without_end_is_bounded(tmp_path: Path) -> None:
    urls, _, _ = read(listed(tmp_path, "x" * (links.LINE_MAX_BYTES + 10)))
    assert [len(url) for url in urls] == [links.LINE_MAX_BYTES, 10]
