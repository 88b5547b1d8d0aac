"""Promise of the Index port for every backend: a query finds the same documents as brute force."""

from collections.abc import Iterator, Sequence
from datetime import date
from itertools import cycle

import pytest
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st

from brute_force import matches
from contract.index_backends import BACKENDS, document, open_index, search_names
from depth import examples
from fonds.model.document import DateKind, IndexDocument
from fonds.model.file import Kind
from fonds.model.search import MatchMode, SearchQuery
from fonds.ports import Index
from fonds.search.query.parser import get_themes, parse, parse_query
from real_servers import backend_params

_WORDS = (
    "network networks networked networking university universities flood floods flooding running runs "
    "école écoles ecoles élection élections fermée fermer Überschwemmung Überschwemmungen Straße strassen "
    "Gesundheit Gesundheitswesen новый новая новости كتاب الكتاب كتب تلميذ 東京 大雨 river rivers C++ 2024 "
    "C C#"
)
VOCABULARY = _WORDS.split()
LANGUAGES = ("en", "de", "fr", "ru", "ar", "ja", "xx", None)


LICENSES = (
    "cc-by-4.0", "cc-by-nc-4.0", "cc0-1.0", "mit", "https://press.example/terms?of=(use)+[1.0]*",
    "alle rechte vorbehalten", "cc.by", "ccxby",
)  # fmt: skip
PREFERENCES = (
    "noai", "noindex", "train-ai=n", "train-ai=y", "tdm-reservation=1", "a\\b|c", "no{2}ai^$",
)  # fmt: skip


def _make_documents() -> list[IndexDocument]:
    """Return documents of each language with words of the vocabulary and varied fields."""
    languages = cycle(LANGUAGES)
    documents = []
    for number in range(80):
        first, size = (number * 7) % len(VOCABULARY), number % 9
        words = [
            VOCABULARY[(first + step * (1 + number % 4)) % len(VOCABULARY)] for step in range(size)
        ]
        documents.append(
            document(
                f"d{number}",
                " ".join(words),
                " ".join(words[:1]) if number % 3 else None,
                language=next(languages),
                url=f"https://{'www.' if number % 2 else ''}site{number % 4}.example/d{number}",
                kind=Kind.PDF if number % 5 == 0 else Kind.STORY,
                publication_date=None
                if number % 6 == 0
                else date(2019 + number % 6, 1 + number % 12, 28),
                word_count=None if number % 7 == 0 else size,
                page_count=number % 4 if number % 5 == 0 else None,
                authors=("Ana Müller", "Bo Chen")[: number % 3],
                doi=f"10.5555/d{number % 3}" if number % 4 == 0 else None,
                status="success" if number % 2 else None,
                licenses=LICENSES[number % 9 : number % 9 + number % 3],
                holders=("Example Press", "Søren Kürten & Sons")[: number % 4],
                prefers=PREFERENCES[number % 7 : number % 7 + number % 3],
            )
        )
    return documents


DOCUMENTS = [
    *_make_documents(),
    document("near", "sea one two three four hills", word_count=6),
    document("book", "قرأت كتاب", language="ar"),
]


@pytest.fixture(scope="module", params=backend_params(BACKENDS))
def index(request: pytest.FixtureRequest, tmp_path_factory) -> Iterator[Index]:
    with open_index(request.param, tmp_path_factory.mktemp("queries") / "index") as index:
        index.put(DOCUMENTS)
        yield index


def find_by_brute_force(text: str) -> set[str]:
    tree = parse(text)
    return {item.url.rsplit("/", 1)[-1] for item in DOCUMENTS if matches(tree, item)}


@pytest.mark.parametrize(
    "text",
    [
        "network",
        "networks",
        "=networks",
        '"networks"',
        "universities",
        "ecole",
        "écoles",
        "elections",
        "fermee",
        "strasse",
        "überschwemmung",
        "новый",
        "كتاب",
        "الكتاب",
        "東京",
        "東",
        "gesundheit",
        "gesundheit*",
        "title:floods",
        "C++",
        "c",
        "=C#",
        '"C++ 2024"',
        "author:muller",
        'author:"Bo Chen"',
        "author:(ana bo)",
        "license:CC-BY-4.0",
        'license:"CC BY 4.0"',
        'license:"https://creativecommons.org/licenses/by-nc/4.0/deed.de"',
        "license:http://creativecommons.org/licenses/by/4.0/",
        "license:cc*",
        "license:CC-BY*",
        "license:cc.b*",
        "license:none",
        "-license:none",
        'license:"alle rechte vorbehalten"',
        'license:"https://press.example/terms?of=(use)+[1.0]"',
        "license:https://press.example/terms*",
        "license:zz*",
        "prefers:noai",
        "prefers:(noai OR noindex)",
        "prefers:train-ai=n",
        "prefers:train-ai=*",
        "prefers:no*",
        "prefers:a\\b|*",
        "prefers:no{2}ai^$",
        "prefers:no{2}*",
        "-prefers:no* license:cc*",
        "prefers:none license:none",
        "holder:press",
        'holder:"example press"',
        "holder:soren",
        "holder:kurt*",
        "site:example",
        "site:site1.example",
        "site:www.site1.example",
        "doi:10.5555/D1",
        "doi:none",
        "-doi:none",
        "status:success",
        "status:none",
        "year:2021",
        "year:2020..2022",
        "date:>2022-05",
        "date:<2020",
        "date:2024-06-28",
        "date:none",
        "-date:none year:..2020",
        "words:3",
        "words:>5",
        "words:<2",
        "words:0",
        "words:none",
        "pages:1..2",
        "pages:none kind:pdf",
        "pages:>=0",
        '"network flood"~0',
        '"flood network"~2',
        '"sea hills"~4',
        '"hills sea"~4',
        '"sea hills"~3',
        '"hills sea"~3',
        '"hills sea two"~4',
        '"network networks networked"~1',
        'title:"network flood"~3',
        "network -language:en",
        "(network OR flood) words:>4 -year:2020",
    ],
)
def test_a_query_finds_what_brute_force_finds(index, text):
    assert search_names(index, text) == find_by_brute_force(text)


def test_brute_force_finds_documents_for_the_queries():
    assert len(find_by_brute_force("network")) > len(find_by_brute_force("=networks")) > 0
    assert find_by_brute_force('"sea hills"~4') == find_by_brute_force('"hills sea"~4') == {"near"}
    assert (
        find_by_brute_force('"sea hills"~3')
        == find_by_brute_force('"sea one"~0') - {"near"}
        == set()
    )
    assert "book" in find_by_brute_force("الكتاب") - find_by_brute_force("=الكتاب")


_WORD = st.sampled_from([word.removesuffix("++") for word in VOCABULARY])
_ATOM = st.one_of(
    _WORD,
    _WORD.map("={}".format),
    st.lists(_WORD, min_size=1, max_size=3).map(lambda words: f'"{" ".join(words)}"'),
    st.lists(_WORD, min_size=2, max_size=3, unique_by=str.casefold).map(" ".join).flatmap(
        lambda words: st.integers(0, 6).map(lambda n: f'"{words}"~{n}')
    ),
    _WORD.filter(lambda word: len(word) > 4).map(lambda word: f"{word[:4]}*"),
    st.builds("{}:{}".format, st.sampled_from(["title", "text", "author"]), _WORD),
    st.builds("license:{}".format, st.sampled_from([*LICENSES[:4], "cc-b*", "none"])),
    st.builds("prefers:{}".format, st.sampled_from([*PREFERENCES[:5], "no*", "none"])),
    st.builds("words:{}{}".format, st.sampled_from(["", ">", "<=", ">="]), st.integers(0, 9)),
    st.builds("year:{}..{}".format, st.integers(2018, 2021), st.integers(2022, 2026)),
    st.builds("language:{}".format, st.sampled_from(["en", "de", "fr", "ru", "ar", "ja", "none"])),
)  # fmt: skip
_QUERY = st.recursive(
    _ATOM,
    lambda inner: st.one_of(
        inner.map("-({})".format),
        st.lists(inner, min_size=2, max_size=3).map(" ".join),
        st.lists(inner, min_size=2, max_size=3).map(lambda words: f"({' OR '.join(words)})"),
    ),
    max_leaves=6,
)


@settings(
    max_examples=examples(40),
    deadline=None,
    suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow],
)
@example("-(network) (Straße OR =strassen)")
@given(_QUERY)
def test_any_query_finds_what_brute_force_finds(index, text):
    try:
        expected_names = find_by_brute_force(text)
    except ValueError:
        return
    results = index.search(SearchQuery(text, count_max=100))
    assert {hit.document.url.rsplit("/", 1)[-1] for hit in results.hits} == expected_names
    assert results.total == len(expected_names)


@settings(
    max_examples=examples(20),
    deadline=None,
    suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow],
)
@example("what is the network of the university")
@example("(network language:en) OR (=floods rivers -2024)")
@given(_QUERY)
def test_best_match_finds_what_brute_force_and_exact_match_find(index, text):
    query = SearchQuery(text, count_max=100, match=MatchMode.BEST)
    try:
        tree = parse_query(query)
    except ValueError:
        return
    results = index.search(query)
    names = {hit.document.url.rsplit("/", 1)[-1] for hit in results.hits}
    assert names == {item.url.rsplit("/", 1)[-1] for item in DOCUMENTS if matches(tree, item)}
    assert names >= find_by_brute_force(text)


def get_marked_words(index: Index, text: str) -> Sequence[Sequence[str]]:
    hits = index.search(SearchQuery(text, count_max=100)).hits
    return [[hit.snippet.text[a:b] for a, b in hit.snippet.marks] for hit in hits]


def test_inflected_forms_of_a_word_are_marked(index):
    marked_words = {
        word for words in get_marked_words(index, "text:networking language:en") for word in words
    }
    assert marked_words <= {"network", "networks", "networked", "networking"}
    assert len(marked_words) > 2
    assert {word for words in get_marked_words(index, "=networks") for word in words} == {
        "networks"
    }


def test_get_returns_the_metadata_of_a_document(index):
    full = document(
        "told",
        authors=("Ana Müller", "Bo"),
        doi="10.1/x",
        status="success",
        date_kind=DateKind.CREATED,
        captured=date(2024, 5, 18),
        licenses=("cc-by-4.0", "mit"),
        holders=("Ana Müller",),
        prefers=("noai",),
    )
    index.put([full])
    assert index.get([full.id]) == {full.id: full}
    index.delete([full.id])


THEMES = {
    "Floods, rivers": [item.id for item in DOCUMENTS[::3]],
    "gone": ["no-such-document"],
    "nobody": [],
}


@pytest.mark.parametrize(
    "text",
    [
        'theme:"Floods, rivers"',
        'network theme:"Floods, rivers"',
        '-theme:"Floods, rivers"',
        'network OR theme:"Floods, rivers"',
        'theme:(gone OR "Floods, rivers")',
        "theme:gone",
        "theme:nobody",
        "-theme:nobody",
    ],
)
def test_a_theme_query_finds_the_ids_given_with_it(index: Index, text: str) -> None:
    tree = parse(text, get_themes(SearchQuery(themes=THEMES)))
    expected_names = {item.url.rsplit("/", 1)[-1] for item in DOCUMENTS if matches(tree, item)}
    assert search_names(index, text, themes=THEMES) == expected_names


def test_a_theme_of_fifty_thousand_documents_is_supported(index: Index) -> None:
    other_ids = [f"{number:040x}" for number in range(49_999)]
    assert search_names(index, "theme:x", themes={"x": [*other_ids, DOCUMENTS[-1].id]}) == {"book"}


def test_a_theme_without_ids_in_the_query_is_refused(index: Index) -> None:
    with pytest.raises(ValueError, match="themes cannot be searched here"):
        index.search(SearchQuery("flood theme:x"))
