"""Identifiers in the search box lead to their files and stories."""

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
    filled_home = fill_home(folder)
    with open_home(folder) as stores:
        document = stores.index.get([filled_home.pdfs[0]])[filled_home.pdfs[0]]
        stores.index.put(
            [replace(document, doi="10.5555/abc.1", url="http://x.example/a/Big%20report.pdf?x=1")]
        )
        yield stores, filled_home


@pytest.mark.parametrize(
    ("text", "expected"),
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
def test_a_text_is_interpreted_as_an_identifier(text: str, expected: list[Identifier]) -> None:
    assert list_interpretations(text) == expected


@given(st.text(max_size=80))
def test_any_text_has_at_most_three_interpretations(text: str) -> None:
    assert len(list_interpretations(text)) <= 3


def test_a_sha1_and_its_prefix_find_the_file(home: tuple[Stores, FilledHome]) -> None:
    stores, filled_home = home
    for text in (
        filled_home.pdfs[0],
        filled_home.pdfs[0][:8],
        filled_home.pdfs[0].upper(),
        f" {filled_home.pdfs[0]} ",
    ):
        (hit,) = find_direct_hits(stores, text)
        assert (hit.sha1hex, hit.kind) == (filled_home.pdfs[0], "pdf")
        assert hit.title


def test_a_url_and_a_story_id_find_the_story(home: tuple[Stores, FilledHome]) -> None:
    stores, filled_home = home
    versions = find_direct_hits(stores, filled_home.twice_url)
    assert [version.named for version in versions] == [Identifier.URL, Identifier.URL]
    (hit,) = find_direct_hits(stores, filled_home.story_id)
    assert (hit.named, hit.kind) == (Identifier.STORY_ID, "story")


def test_a_doi_and_a_file_name_find_the_document(home: tuple[Stores, FilledHome]) -> None:
    stores, filled_home = home
    for text in ("10.5555/ABC.1", "https://doi.org/10.5555/abc.1", "big report.PDF"):
        assert [hit.sha1hex for hit in find_direct_hits(stores, text)] == [filled_home.pdfs[0]]
    assert find_direct_hits(stores, "report.pdf") == []


def test_unknown_identifiers_find_nothing(home: tuple[Stores, FilledHome]) -> None:
    stores, _ = home
    for text in ("0" * 40, "0" * 8, "f" * 64, "10.1/none", "http://never.example/", "no.pdf", "x"):
        assert find_direct_hits(stores, text) == []


def test_direct_hits_are_limited(home: tuple[Stores, FilledHome]) -> None:
    stores, filled_home = home
    document = stores.index.get([filled_home.pdfs[1]])[filled_home.pdfs[1]]
    documents = [
        replace(
            document,
            id=f"{number:040x}",
            sha1hex=f"{number:040x}",
            url=f"http://m.example/{number}/index.html",
        )
        for number in range(12)
    ]
    stores.index.put(documents)
    assert len(find_direct_hits(stores, "index.html")) == DIRECT_HITS_MAX
    stores.index.delete([document.id for document in documents])
    assert stores.index.search(SearchQuery("url:index")).total == 0
