"""Parsing queries into trees."""

from dataclasses import replace
from datetime import date

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from fonds.model.search import RESULTS_MAX, QueryError, SearchQuery
from fonds.search.query.filters import normalize_query
from fonds.search.query.parser import CLAUSES_MAX, parse
from fonds.search.query.tree import (
    AndNode,
    ExactValue,
    NearWords,
    Node,
    NotNode,
    NumberRange,
    OrNode,
    Term,
    list_highlighted_terms,
)
from fonds.text.words import split_words

TITLE, TEXT, URL, AUTHORS = "article_title", "text_content", "url", "authors"


def build_days(first: str, last: str | None) -> NumberRange:
    end = date.fromisoformat(last).toordinal() if last else None
    return NumberRange("publication_date", date.fromisoformat(first).toordinal(), end)


@pytest.mark.parametrize(
    ("text", "tree"),
    [
        ("", AndNode()),
        ("  \n ", AndNode()),
        ("*", AndNode()),
        ("*:*", AndNode()),
        ("flood", Term("flood")),
        ("flood river", AndNode((Term("flood"), Term("river")))),
        ("flood AND river", AndNode((Term("flood"), Term("river")))),
        ("and or not", AndNode((Term("and"), Term("or"), Term("not")))),
        ('"flood river"', Term("flood river", is_exact=True)),
        ("„flood river“", Term("flood river", is_exact=True)),
        ("«flood river»", Term("flood river", is_exact=True)),
        ("-cup", NotNode(Term("cup"))),
        ("NOT cup", NotNode(Term("cup"))),
        ("flood +river", AndNode((Term("flood"), Term("river")))),
        ("well-known", Term("well-known")),
        ("flood - river", AndNode((Term("flood"), Term("river")))),
        ("flood OR river", OrNode((Term("flood"), Term("river")))),
        ("a b OR c", OrNode((AndNode((Term("a"), Term("b"))), Term("c")))),
        ("a (b OR c)", AndNode((Term("a"), OrNode((Term("b"), Term("c")))))),
        ("-(b OR c)", NotNode(OrNode((Term("b"), Term("c"))))),
        ("flood*", Term("flood", is_prefix=True)),
        ("Flut*.", Term("flut", is_prefix=True)),
        ("東京*", Term("東京", is_exact=True)),
        ("title:flood", Term("flood", TITLE)),
        ("TITLE:flood", Term("flood", TITLE)),
        ("article_title:flood", Term("flood", TITLE)),
        ("title: flood", Term("flood", TITLE)),
        ('title:"the flood"', Term("the flood", TITLE, is_exact=True)),
        ("title:flo*", Term("flo", TITLE, is_prefix=True)),
        ("title:(flood river)", AndNode((Term("flood", TITLE), Term("river", TITLE)))),
        ("title:(flood OR text:river)", OrNode((Term("flood", TITLE), Term("river", TEXT)))),
        ("-title:flood", NotNode(Term("flood", TITLE))),
        ("title:-flood", Term("-flood", TITLE)),
        ("url:https://x.example/a:b?c=d", Term("https://x.example/a:b?c=d", URL)),
        ("domain:X.example", ExactValue("canonical_domain", "x.example")),
        ("canonical_domain:x.example", ExactValue("canonical_domain", "x.example")),
        (
            "domain:(a.example OR b.example)",
            OrNode(
                (
                    ExactValue("canonical_domain", "a.example"),
                    ExactValue("canonical_domain", "b.example"),
                )
            ),
        ),
        ("language:EN", ExactValue("language", "en")),
        ("language:eng", ExactValue("language", "en")),
        ("language:none", ExactValue("language", "")),
        ("domain:none", ExactValue("canonical_domain", "")),
        ("kind:PDF", ExactValue("kind", "pdf")),
        ('collection:"River Reports"', ExactValue("collection", "River Reports")),
        ("=networks", Term("networks", is_exact=True)),
        ('="the networks"', Term("the networks", is_exact=True)),
        ("title:=floods", Term("floods", TITLE, is_exact=True)),
        ('title:="floods"', Term("floods", TITLE, is_exact=True)),
        ("-=floods", NotNode(Term("floods", is_exact=True))),
        ("a=b", Term("a=b")),
        ('"flood river"~5', NearWords(("flood", "river"), 5)),
        ('title:"Flood the River"~0', NearWords(("flood", "the", "river"), 0, TITLE)),
        ("author:steinbach", Term("steinbach", AUTHORS)),
        ('author:"Peter Steinbach"', Term("Peter Steinbach", AUTHORS, is_exact=True)),
        ("doi:10.1234/ABC", ExactValue("doi", "10.1234/abc")),
        ("doi:https://doi.org/10.1234/ABC", ExactValue("doi", "10.1234/abc")),
        ("site:https://News.example/path", ExactValue("sites", "news.example")),
        ("site:none", ExactValue("sites", "")),
        ("license:CC-BY-4.0", ExactValue("licenses", "cc-by-4.0")),
        ('license:"CC BY 4.0"', ExactValue("licenses", "cc-by-4.0")),
        (
            "license:https://creativecommons.org/licenses/by/4.0/",
            ExactValue("licenses", "cc-by-4.0"),
        ),
        ("license:cc-by-3.0-de", ExactValue("licenses", "cc-by-3.0-de")),
        ("license:CC*", ExactValue("licenses", "cc", is_prefix=True)),
        ("license:none", ExactValue("licenses", "")),
        ("prefers:Train-AI=n", ExactValue("prefers", "train-ai=n")),
        ("prefers:train-ai=*", ExactValue("prefers", "train-ai=", is_prefix=True)),
        ("prefers:none", ExactValue("prefers", "")),
        ('holder:"Example Press"', Term("Example Press", "holders", is_exact=True)),
        ("status:empty-pdf", ExactValue("status", "empty-pdf")),
        ("year:2024", build_days("2024-01-01", "2024-12-31")),
        ("year:2020..2024", build_days("2020-01-01", "2024-12-31")),
        ("year:>2023", build_days("2024-01-01", None)),
        ("date:2024-02", build_days("2024-02-01", "2024-02-29")),
        ("date:2024-2-7", build_days("2024-02-07", "2024-02-07")),
        ("date:2024-01..2024-06-15", build_days("2024-01-01", "2024-06-15")),
        ("date:<2024", build_days("0001-01-01", "2023-12-31")),
        ("date:<=2024-02", build_days("0001-01-01", "2024-02-29")),
        ("date:..2024", build_days("0001-01-01", "2024-12-31")),
        ("date:none", NumberRange("publication_date")),
        ("words:500", NumberRange("word_count", 500, 500)),
        ("words:>500", NumberRange("word_count", 501, None)),
        ("words:<500", NumberRange("word_count", 0, 499)),
        ("pages:10..", NumberRange("page_count", 10, None)),
        (
            "pages:(1 OR 3)",
            OrNode((NumberRange("page_count", 1, 1), NumberRange("page_count", 3, 3))),
        ),
        ("https://x.example/a", Term("https://x.example/a")),
        ("12:30", Term("12:30")),
        ("Breaking: flood", AndNode((Term("Breaking"), Term("flood")))),
    ],
)
def test_a_query_is_parsed_into_a_tree(text: str, tree: Node):
    assert parse(text) == tree


@pytest.mark.parametrize(
    ("text", "tree"),
    [
        ("(flood", Term("flood")),
        ("flood)", Term("flood")),
        (") flood (", Term("flood")),
        ("flood OR", Term("flood")),
        ("OR flood", Term("flood")),
        ("flood OR OR river", OrNode((Term("flood"), Term("river")))),
        ("flood AND", Term("flood")),
        ("flood NOT", Term("flood")),
        ("flood -", Term("flood")),
        ("Ben & Jerry", AndNode((Term("Ben"), Term("Jerry")))),
        ("why ?", Term("why")),
        ('() flood ""', Term("flood")),
        ("--flood", NotNode(Term("flood"))),
        ("NOT NOT flood", NotNode(Term("flood"))),
    ],
)
def test_incomplete_queries_are_parsed(text: str, tree: Node):
    assert parse(text) == tree


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("river autor:smith", "“autor:smith”: there is no field “autor”"),
        (
            "kind:film",
            "“kind:film”: No kind named 'film'. Known: pdf, story, jats",
        ),
        ("kind:stroy", "Did you mean 'story'?"),
        ("language:english", "There is no language code 'english'"),
        (
            'river autors:"Peter Steinbach"',
            "“autors:”: there is no field “autors”. Did you mean author?",
        ),
        ("autor:(a OR b)", "there is no field “autor”"),
        ("collections:x", "Did you mean collection?"),
        ("título:x", "there is no field “título”. Did you mean title?"),
        ("my-field:x", "there is no field “my-field”"),
        ('"flood river', '“"flood river”: the quote is not closed'),
        ('river "', "the quote is not closed"),
        ("fl*", "“fl*”: a star needs one word of at least 3"),
        ("license:c*", "“license:c*”: write at least 2 characters, then one star"),
        ("license:*", "“license:*”: write at least 2 characters"),
        ("prefers:**", "“prefers:**”: write at least 2 characters"),
        ("license:a*b", "“license:a*b”: write the whole value, without a star"),
        ('license:"cc*"', "write the whole value, without a star"),
        ("kind:pd*", "write the whole value, without a star"),
        ("well-know*", "“well-know*”: a star needs one word"),
        ("*flood", "“*flood”: a star is only allowed at the end"),
        ("f*d", "“f*d”: a star is only allowed at the end"),
        ("flo**", "“flo**”: a star is only allowed at the end"),
        ("title:*d", "“title:*d”: a star is only"),
        ("language:e*", "“language:e*”: write the whole value"),
        ('domain:""', '“""”: write the whole value'),
        ("title:", "“title:” needs a value"),
        ("title:()", "“title:” needs a value"),
        ("title: OR flood", "“title:” needs a value"),
        ("theme:floods", "“theme:floods”: themes cannot be searched here"),
        ("theme:flo*", "“theme:flo*”: write the whole value"),
        ('"a b"~', "Remove “~”"),
        ('"a b"^2', "Remove “^2”"),
        ('"a"~5', "a distance (~) needs two to 4 different words"),
        ('"a b c d e"~5', "a distance (~) needs two to 4 different words"),
        ('"a A"~5', "a distance (~) needs two to 4 different words"),
        ('"a b"~101', "at most 100 words"),
        ("==", "“==” has no letters"),
        ("doi:abc", "A DOI begins with 10."),
        ("year:24", "Write a year, such as 2024"),
        ("year:2024-05", "Write a year"),
        ("date:yesterday", "Write a day, month or year"),
        ("date:2024-02-30", "There is no date 2024-02-30"),
        ("date:2024-13", "There is no date 2024-13"),
        ("date:0000", "There is no date 0000"),
        ("date:2024-06..2024-01", "Write 2024-01..2024-06"),
        ("date:<0001", "No value is less than 0001"),
        ("date:>9999", "No date is later than 9999"),
        ("date:..", "Write a day"),
        ("words:many", "Write a number"),
        ("words:-5", "Write a number"),
        ("words:<0", "No value is less than 0"),
        ("pages:９", "Write a number"),
        ("words:99999999999999999999999", "Write a number"),
        ("river^2.5", "Remove “^2.5”"),
        ("rivr~", "Remove “~”"),
        ("?!", "“?!” has no letters or digits"),
        ("OR", "“OR” has no letters or digits"),
        ("(" * 40 + "a", "nested deeper than 32 levels"),
        ("title: " * 500 + "a", "nested deeper than 32 levels"),
        ("a " * (CLAUSES_MAX + 1), f"more than {CLAUSES_MAX} words"),
        ("a" * 4_001, "4,001 characters"),
        ("verylong" * 20 + ":x", "verylongverylong"),
    ],
)
def test_invalid_queries_are_refused_with_the_token(text: str, message: str):
    with pytest.raises(ValueError) as error:
        parse(text)
    assert message in str(error.value)
    assert len(str(error.value)) < 450


_PIECES = st.sampled_from(
    [
        "(",
        ")",
        '"',
        "-",
        "+",
        "OR",
        "AND",
        "NOT",
        "title:",
        "url:",
        "kind:pdf",
        "flo*",
        "a",
        "東",
        " ",
        "~2",
        "x:y",
    ]
)


@given(st.text(max_size=60) | st.lists(_PIECES, max_size=60).map("".join))
@example("title:" * 600)
@example("-" * 4_000)
@example('"' * 3_999)
def test_any_text_gives_a_valid_tree_or_a_message(text: str):
    try:
        tree = parse(text)
    except ValueError as error:
        refusal = str(error)
    else:
        _check(tree, 0)
        return
    assert refusal.endswith((".", "?"))


def _check(node: Node, depth: int) -> None:
    """Check that the depth is bounded, terms have words, and groups have several nodes."""
    assert depth <= 140
    if isinstance(node, Term):
        assert split_words(node.text)
        assert not node.is_prefix or len(split_words(node.text)) == 1
    elif isinstance(node, ExactValue):
        assert node.value
    elif isinstance(node, NearWords):
        assert 2 <= len(node.words) <= 4
    elif isinstance(node, NotNode):
        _check(node.node, depth + 1)
    else:
        assert len(node.nodes) != 1
        assert node.nodes or isinstance(node, AndNode)
        for child in node.nodes:
            _check(child, depth + 1)


@given(st.lists(st.from_regex(r"[a-z]{1,8}", fullmatch=True), min_size=2, max_size=8))
def test_adjacent_words_are_all_required(words: list[str]):
    assert parse(" ".join(words)) == AndNode(tuple(map(Term, words)))


def test_only_terms_of_the_text_are_highlighted():
    tree = parse('river "deep water" -cup title:flood text:boat kind:pdf (rain OR -snow)')
    assert [term.text for term in list_highlighted_terms(tree)] == [
        "river",
        "deep water",
        "boat",
        "rain",
    ]


@pytest.mark.parametrize(
    ("text", "token"),
    [
        ("river autor:smith", "autor:smith"),
        ('a "b c"^2 d', '"b c"^2'),
        ("words:>10 pages:x", "pages:x"),
        ("(a OR year:24) b", "year:24"),
        ('"fl oods', '"fl oods'),
        ("a" * 4_001, ""),
    ],
)
def test_an_error_has_the_position_of_the_token(text: str, token: str):
    with pytest.raises(QueryError) as error:
        parse(text)
    assert text[error.value.start : error.value.end] == token


def test_pages_beyond_the_result_limit_are_refused() -> None:
    last = SearchQuery("flood", offset=RESULTS_MAX - 10, count_max=10)
    assert normalize_query(last).offset == last.offset
    for query in (
        replace(last, count_max=11),
        replace(last, offset=RESULTS_MAX - 9),
        replace(last, offset=RESULTS_MAX + 1, count_max=0),
    ):
        with pytest.raises(ValueError, match="Narrow the search"):
            normalize_query(query)
