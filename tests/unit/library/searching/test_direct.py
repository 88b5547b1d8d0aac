"""Names of things, pasted into the search box, lead to the things."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from filled_home import Filled, fill_home, opened
from fonds.library.searching.direct import THINGS_MAX, Named, direct, readings
from fonds.model.document import SearchQuery
from fonds.ports import Stores


@pytest.fixture(scope="module")
def home(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[Stores, Filled]]:
    folder: Path = tmp_path_factory.mktemp("direct")
    filled = fill_home(folder)
    with opened(folder) as stores:
        document = stores.index.get([filled.pdfs[0]])[filled.pdfs[0]]
        stores.index.put(
            [replace(document, doi="10.5555/abc.1", url="http://x.example/a/Big%20report.pdf?x=1")]
        )
        yield stores, filled


@pytest.mark.parametrize(
    ("text", "named"),
    [
        ("3f786850e387550fdab836ed7e6dc881de23001b", [Named.SHA1]),
        ("3F786850", [Named.SHORT_SHA1]),
        ("3f78685", []),
        ("a" * 64, [Named.STORY_ID]),
        ("10.1234/abc", [Named.DOI]),
        ("https://doi.org/10.1234/abc", [Named.DOI, Named.URL]),
        ("http://x.example/a.html", [Named.URL]),
        ("report 2024.pdf", [Named.FILE_NAME]),
        ("x.example", []),
        ("flood river", []),
        ("", []),
        ("http://x.example/ and more", []),
    ],
)
def test_what_a_text_may_be_the_name_of(text: str, named: list[Named]) -> None:
    assert readings(text) == named


@given(st.text(max_size=80))
def test_any_text_is_read(text: str) -> None:
    assert len(readings(text)) <= 3


def test_a_sha1_and_its_beginning_lead_to_the_file(home: tuple[Stores, Filled]) -> None:
    stores, filled = home
    for text in (filled.pdfs[0], filled.pdfs[0][:8], filled.pdfs[0].upper(), f" {filled.pdfs[0]} "):
        (one,) = direct(stores, text)
        assert (one.sha1hex, one.kind) == (filled.pdfs[0], "pdf")
        assert one.title


def test_a_url_and_a_story_id_lead_to_the_story(home: tuple[Stores, Filled]) -> None:
    stores, filled = home
    versions = direct(stores, filled.twice_url)
    assert [one.named for one in versions] == [Named.URL, Named.URL]
    (one,) = direct(stores, filled.story_id)
    assert (one.named, one.kind) == (Named.STORY_ID, "story")


def test_a_doi_and_a_file_name_lead_to_their_document(home: tuple[Stores, Filled]) -> None:
    stores, filled = home
    for text in ("10.5555/ABC.1", "https://doi.org/10.5555/abc.1", "big report.PDF"):
        assert [one.sha1hex for one in direct(stores, text)] == [filled.pdfs[0]]
    assert direct(stores, "report.pdf") == []


def test_what_nothing_here_is_called_leads_nowhere(home: tuple[Stores, Filled]) -> None:
    stores, _ = home
    for text in ("0" * 40, "0" * 8, "f" * 64, "10.1/none", "http://never.example/", "no.pdf", "x"):
        assert direct(stores, text) == []


def test_of_many_ten_are_told(home: tuple[Stores, Filled]) -> None:
    stores, filled = home
    document = stores.index.get([filled.pdfs[1]])[filled.pdfs[1]]
    many = [
        replace(
            document, id=f"{n:040x}", sha1hex=f"{n:040x}", url=f"http://m.example/{n}/index.html"
        )
        for n in range(12)
    ]
    stores.index.put(many)
    assert len(direct(stores, "index.html")) == THINGS_MAX
    stores.index.delete([one.id for one in many])
    assert stores.index.search(SearchQuery("url:index")).total == 0
