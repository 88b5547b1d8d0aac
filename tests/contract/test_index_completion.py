"""Completions of field values with counts, from every index."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import date
from pathlib import Path

import pytest

from contract.index_backends import BACKENDS, document, open_index
from fonds.model.completion import CompletionList, NamedTheme
from fonds.model.file import Kind
from fonds.model.search import SearchQuery
from fonds.ports import Index, QueryCompleter
from fonds.search.index.field_values import VALUES_MAX
from fonds.wiring.index import create_completer
from real_servers import backend_params

CHARS_MAX = 1_000
THEMES = (
    NamedTheme("news/a", "flood, river", 4),
    NamedTheme("news/b", "Flood, River", 5),
    NamedTheme("news/b", "harvest", 2),
    NamedTheme("news/b", 'a "quote"', 9),
)
NAMES = {"de": "German", "en": "English"}


@pytest.fixture(params=backend_params(BACKENDS))
def index(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Index]:
    with open_index(request.param, tmp_path / "index") as index:
        yield index


@pytest.fixture
def library(index: Index) -> QueryCompleter:
    def names(_: str, value: str) -> str:
        return NAMES.get(value, value or "none")

    return create_completer(index, lambda: iter(THEMES), names, CHARS_MAX)


def count_by_value(completions: CompletionList) -> dict[str, int | None]:
    return {completion.value: completion.count for completion in completions.completions}


class TestValues:
    @pytest.fixture(autouse=True)
    def _documents(self, index: Index) -> None:
        index.put(
            [
                document("a", language="de", collection="River reports", authors=("Ana Müller",),
                         licenses=("cc-by-4.0", "https://press.example/terms"), prefers=("train-ai=n",)),
                document("b", publication_date=date(2020, 1, 1), status="success", licenses=("cc-by-4.0",),
                         holders=("Kürten Press",)),
                document("c", kind=Kind.PDF, status="partial", authors=("Ana Müller", "Bo Ann")),
                document("d", publication_date=None, canonical_domain="new.example",
                         url="https://www.new.example/d"),
                document("e", publication_date=None, canonical_domain="", url="file:///e", language=None),
            ]
        )  # fmt: skip

    @pytest.mark.parametrize(
        ("typed", "expected"),
        [
            ("site:", {"news.example": 3, "new.example": 1, "none": 1}),
            ("site:new.", {"new.example": 1}),
            ("site:www.new.example", {"www.new.example": 1}),
            ("domain:n", {"news.example": 3, "new.example": 1, "none": 1}),
            ("language:", {"en": 3, "de": 1, "none": 1}),
            ("language:ger", {"de": 1}),
            ("collection:", {"default": 4, "River reports": 1}),
            ("kind:", {"story": 4, "pdf": 1, "jats": 0}),
            ("year:", {"2024": 2, "none": 2, "2020": 1}),
            ("year:202", {"2024": 2, "2020": 1}),
            ("status:", {"partial": 1, "success": 1, "text-truncated": 0}),
            ('author:"mul', {"Ana Müller": 2}),
            ("author:ann", {"Bo Ann": 1}),
            ("author:ana", {"Ana Müller": 2}),
            ('author:"ana mül', {"Ana Müller": 2}),
            ("author:ana mul", {}),
            ('holder:"kur', {"Kürten Press": 1}),
            ("license:cc", {"cc-by-4.0": 2}),
            ('license:"CC-B', {"cc-by-4.0": 2}),
            ("license:", {"cc-by-4.0": 2, "https://press.example/terms": 1, "none": 3}),
            ("license:no", {"none": 3}),
            ("prefers:tr", {"train-ai=n": 1}),
            ("prefers:train-ai=", {"train-ai=n": 1}),
            ("site:-", {}),
            ("title:", {}),
            ("theme:", {"news/b/Flood, River": 5, "news/a/flood, river": 4, "harvest": 2}),
            ('theme:"riv', {"news/b/Flood, River": 5, "news/a/flood, river": 4}),
            ("-theme:harv", {"harvest": 2}),
            ("version:", {"all": None, "current": None}),
            ("version:a", {"all": None}),
        ],
    )
    def test_values_of_a_field_are_sorted_by_frequency(
        self, library: QueryCompleter, typed: str, expected: dict[str, int | None]
    ) -> None:
        completions = library.complete(typed)
        assert list(count_by_value(completions).items()) == list(expected.items())
        assert not completions.has_more

    @pytest.mark.parametrize(
        "typed",
        [
            "site:",
            "language:",
            "collection:",
            "kind:",
            "year:",
            "author:ana",
            "license:",
            "prefers:",
        ],
    )
    def test_the_count_of_a_completion_is_that_of_its_search(
        self, index: Index, library: QueryCompleter, typed: str
    ) -> None:
        for completion in library.complete(typed).completions:
            assert index.search(SearchQuery(completion.text)).total == completion.count, completion


def test_a_typed_domain_is_found_among_more_than_the_counted_ones(
    index: Index, library: QueryCompleter
) -> None:
    count = VALUES_MAX + 60
    index.put(
        [
            document(f"d{n}", canonical_domain=f"{name}.example", url=f"https://{name}.example/{n}")
            for n in range(count)
            for name in [f"site{n:04d}"]
        ]
    )
    index.put(
        [document("last", canonical_domain="zebra.example", url="https://zebra.example/last")]
    )
    completions = library.complete("site:zeb")
    assert count_by_value(completions) == {"zebra.example": 1}
    assert not completions.has_more
    assert library.complete("site:").has_more
    assert len(library.complete("site:site0").completions) == 10
