"""Names of things, pasted into the search box, lead to the things."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from filled_home import FilledHome, fill_home, open_home
from fonds.model.search import SearchQuery
from fonds.ports import Stores
from fonds.search.direct_hits import (
    DIRECT_HITS_MAX,
    Identifier,
    find_direct_hits,
    list_interpretations,
)


@pytest.fixture(scope="module")
def home(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[Stores, FilledHome]]:
    folder: Path = tmp_path_factory.mktemp("direct")
    filled = fill_home(folder)
    with open_home(folder) as stores:
        document = stores.index.get([filled.pdfs[0]])[filled.pdfs[0]]
        stores.index.put(
            [replace(document, doi="10.5555/abc.1", url="http://x.example/a/Big%20report.pdf?x=1")]
        )
        yield stores, filled


@pytest.mark.parametrize(
    ("text", "named"),
    [
        ("3f786850e387550fdab836ed7e6dc881de23001b", [Identifier.SHA1]),
        ("3F786850", [Identifier.SHORT_SHA1]),
        ("3f78685", []),
        ("a" * 64, [Identifier.STORY_ID]),
        ("10.1234/abc", [Identifier.DOI]),
        ("https://doi.org/10.1234/abc", [Identifier.DOI, Identifier.URL]),
        ("http://x.example/a.html", [Identifier.URL]),
        ("report 2024.pdf", [Identifier.FILE_NAME]),
        ("x.example", []),
        ("flood river", []),
        ("", []),
        ("http://x.example/ and more", []),
    ],
)
def test_what_a_text_may_be_the_name_of(text: str, named: list[Identifier]) -> None:
    assert list_interpretations(text) == named


@given(st.text(max_size=80))
def test_any_text_is_read(text: str) -> None:
    assert len(list_interpretations(text)) <= 3


def test_a_sha1_and_its_beginning_lead_to_the_file(home: tuple[Stores, FilledHome]) -> None:
    stores, filled = home
    for text in (filled.pdfs[0], filled.pdfs[0][:8], filled.pdfs[0].upper(), f" {filled.pdfs[0]} "):
        (one,) = find_direct_hits(stores, text)
        assert (one.sha1hex, one.kind) == (filled.pdfs[0], "pdf")
        assert one.title


def test_a_url_and_a_story_id_lead_to_the_story(home: tuple[Stores, FilledHome]) -> None:
    stores, filled = home
    versions = find_direct_hits(stores, filled.twice_url)
    assert [version.named for version in versions] == [Identifier.URL, Identifier.URL]
    (one,) = find_direct_hits(stores, filled.story_id)
    assert (one.named, one.kind) == (Identifier.STORY_ID, "story")


def test_a_doi_and_a_file_name_lead_to_their_document(home: tuple[Stores, FilledHome]) -> None:
    stores, filled = home
    for text in ("10.5555/ABC.1", "https://doi.org/10.5555/abc.1", "big report.PDF"):
        assert [direct_hit.sha1hex for direct_hit in find_direct_hits(stores, text)] == [
            filled.pdfs[0]
        ]
    assert find_direct_hits(stores, "report.pdf") == []


def test_what_nothing_here_is_called_leads_nowhere(home: tuple[Stores, FilledHome]) -> None:
    stores, _ = home
    for text in ("0" * 40, "0" * 8, "f" * 64, "10.1/none", "http://never.example/", "no.pdf", "x"):
        assert find_direct_hits(stores, text) == []


def test_of_many_ten_are_told(home: tuple[Stores, FilledHome]) -> None:
    stores, filled = home
    document = stores.index.get([filled.pdfs[1]])[filled.pdfs[1]]
    many = [
        replace(
            document, id=f"{n:040x}", sha1hex=f"{n:040x}", url=f"http://m.example/{n}/index.html"
        )
        for n in range(12)
    ]
    stores.index.put(many)
    assert len(find_direct_hits(stores, "index.html")) == DIRECT_HITS_MAX
    stores.index.delete([one.id for one in many])
    assert stores.index.search(SearchQuery("url:index")).total == 0
