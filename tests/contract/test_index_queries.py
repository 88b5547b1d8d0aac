"""The promises of the Index port, kept by every backend: a query finds what brute force finds."""

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


def _documents() -> list[IndexDocument]:
    """Each language with runs of the vocabulary, of several lengths, dates and other values."""
    languages = cycle(LANGUAGES)
    made = []
    for number in range(80):
        first, size = (number * 7) % len(VOCABULARY), number % 9
        some = [
            VOCABULARY[(first + step * (1 + number % 4)) % len(VOCABULARY)] for step in range(size)
        ]
        made.append(
            document(
                f"d{number}",
                " ".join(some),
                " ".join(some[:1]) if number % 3 else None,
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
    return made


DOCUMENTS = [
    *_documents(),
    document("near", "sea one two three four hills", word_count=6),
    document("book", "قرأت كتاب", language="ar"),
]


@pytest.fixture(scope="module", params=backend_params(BACKENDS))
def index(request: pytest.FixtureRequest, tmp_path_factory) -> Iterator[Index]:
    with open_index(request.param, tmp_path_factory.mktemp("queries") / "index") as index:
        index.put(DOCUMENTS)
        yield index


def expected(text: str) -> set[str]:
    tree = parse(text)
    return {one.url.rsplit("/", 1)[-1] for one in DOCUMENTS if matches(tree, one)}


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
    assert search_names(index, text) == expected(text)


def test_the_documents_answer_most_of_these_queries():
    assert len(expected("network")) > len(expected("=networks")) > 0
    assert expected('"sea hills"~4') == expected('"hills sea"~4') == {"near"}
    assert expected('"sea hills"~3') == expected('"sea one"~0') - {"near"} == set()
    assert "book" in expected("الكتاب") - expected("=الكتاب")


_WORD = st.sampled_from([word.removesuffix("++") for word in VOCABULARY])
_ATOM = st.one_of(
    _WORD,
    _WORD.map("={}".format),
    st.lists(_WORD, min_size=1, max_size=3).map(lambda some: f'"{" ".join(some)}"'),
    st.lists(_WORD, min_size=2, max_size=3, unique_by=str.casefold).map(" ".join).flatmap(
        lambda some: st.integers(0, 6).map(lambda n: f'"{some}"~{n}')
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
        st.lists(inner, min_size=2, max_size=3).map(lambda some: f"({' OR '.join(some)})"),
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
def test_any_query_counts_what_brute_force_counts(index, text):
    try:
        wanted = expected(text)
    except ValueError:
        return
    results = index.search(SearchQuery(text, count_max=100))
    assert {hit.document.url.rsplit("/", 1)[-1] for hit in results.hits} == wanted
    assert results.total == len(wanted)


@settings(
    max_examples=examples(20),
    deadline=None,
    suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow],
)
@example("what is the network of the university")
@example("(network language:en) OR (=floods rivers -2024)")
@given(_QUERY)
def test_best_match_finds_what_brute_force_finds_and_all_that_exact_finds(index, text):
    query = SearchQuery(text, count_max=100, match=MatchMode.BEST)
    try:
        tree = parse_query(query)
    except ValueError:
        return
    results = index.search(query)
    names = {hit.document.url.rsplit("/", 1)[-1] for hit in results.hits}
    assert names == {one.url.rsplit("/", 1)[-1] for one in DOCUMENTS if matches(tree, one)}
    assert names >= expected(text)


def marked(index: Index, text: str) -> Sequence[Sequence[str]]:
    hits = index.search(SearchQuery(text, count_max=100)).hits
    return [[hit.snippet.text[a:b] for a, b in hit.snippet.marks] for hit in hits]


def test_other_forms_of_a_word_are_marked_where_they_stand(index):
    every = {word for some in marked(index, "text:networking language:en") for word in some}
    assert every <= {"network", "networks", "networked", "networking"}
    assert len(every) > 2
    assert {word for some in marked(index, "=networks") for word in some} == {"networks"}


def test_what_is_said_of_a_document_comes_back(index):
    told = document(
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
    index.put([told])
    assert index.get([told.id]) == {told.id: told}
    index.delete([told.id])


THEMES = {
    "Floods, rivers": [one.id for one in DOCUMENTS[::3]],
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
def test_documents_of_a_theme_are_those_whose_ids_came_with_the_query(
    index: Index, text: str
) -> None:
    tree = parse(text, get_themes(SearchQuery(themes=THEMES)))
    wanted = {one.url.rsplit("/", 1)[-1] for one in DOCUMENTS if matches(tree, one)}
    assert search_names(index, text, themes=THEMES) == wanted


def test_a_theme_of_fifty_thousand_documents_can_be_asked_for(index: Index) -> None:
    some = [f"{number:040x}" for number in range(49_999)]
    assert search_names(index, "theme:x", themes={"x": [*some, DOCUMENTS[-1].id]}) == {"book"}


def test_a_theme_the_query_does_not_bring_is_refused(index: Index) -> None:
    with pytest.raises(ValueError, match="themes cannot be searched here"):
        index.search(SearchQuery("flood theme:x"))
