"""What is being typed into a search, and what completes it."""

from __future__ import annotations

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from fonds.model.completion import TypedText, TypingKind
from fonds.model.search import QueryError
from fonds.search.fields import (
    EXACT_FIELDS,
    FIELDS,
    LISTED_FIELDS,
    TEXT_FIELDS,
    get_field,
)
from fonds.search.query.completion import (
    find_typed_text,
    format_value,
    insert_completion,
    list_fields,
)
from fonds.search.query.parser import parse
from fonds.search.query.tokens import tokenize, tokenize_unfinished
from fonds.search.query.tree import ExactValue, IdSet, Node

CURSOR = "|"
VALUE, FIELD = TypingKind.VALUE, TypingKind.FIELD


def at_cursor(marked: str) -> tuple[str, TypedText]:
    """The text without its mark, and what is typed there."""
    before, _, behind = marked.partition(CURSOR)
    return before + behind, find_typed_text(before + behind, len(before))


@pytest.mark.parametrize(
    ("marked", "field", "said", "replaced"),
    [
        ("site:|", "site", "", ""),
        ("site:ne|", "site", "ne", "ne"),
        ("SITE:ne|", "site", "ne", "ne"),
        ("site:ne|ws.example flood", "site", "ne", "news.example"),
        ("site:|news.example", "site", "", "news.example"),
        ("flood -language:d|", "language", "d", "d"),
        ("flood NOT language:d|", "language", "d", "d"),
        ("flood OR kind:p| river", "kind", "p", "p"),
        ("(flood OR (kind:p|", "kind", "p", "p"),
        ("kind:(pdf OR st|)", "kind", "st", "st"),
        ("kind:(pdf OR -st|)", "kind", "st", "st"),
        ("kind:(pdf OR |)", "kind", "", ""),
        ("kind:(|", "kind", "", ""),
        ("kind:((pdf) st|", "kind", "st", "st"),
        ("site: ne|", "site", "ne", "ne"),
        ("site: | flood", "site", "", ""),
        ("site: -|ne", None, "", ""),
        ("collection:=Riv|", "collection", "Riv", "Riv"),
        ('collection:"River re|', "collection", "River re", '"River re'),
        ('collection:"River re|ports" flood', "collection", "River re", '"River reports"'),
        ('collection:="River re|', "collection", "River re", '"River re'),
        ('collection:"River re| "high water"', "collection", "River re", '"River re'),
        ("collection:(“River re|", "collection", "River re", "“River re"),
        ('collection:|"River"', "collection", "", '"River"'),
        ('site:"news.example"|', "site", "news.example", '"news.example"'),
        ("canonical_domain:ne|", "canonical_domain", "ne", "ne"),
        ("title:(a site:ne|", "site", "ne", "ne"),
        ("title:(site:x a|)", "title", "a", "a"),
    ],
)
def test_a_value_is_being_typed(marked: str, field: str | None, said: str, replaced: str):
    text, one = at_cursor(marked)
    if field is None:
        assert one.kind is TypingKind.NOTHING
        return
    assert (one.kind, one.field, one.prefix) == (VALUE, field, said)
    assert text[one.start : one.end] == replaced


@pytest.mark.parametrize(
    ("marked", "said", "replaced"),
    [
        ("si|", "si", "si"),
        ("flood -SI|", "SI", "SI"),
        ("(la|", "la", "la"),
        ("flood OR la| river", "la", "la"),
        ("si|te:news.example", "si", "site:"),
        ("si|t:news.example", "si", "sit:"),
        ("au|thor", "au", "author"),
        ("kind:pdf ti|", "ti", "ti"),
        ("kind:(pdf) ti|", "ti", "ti"),
    ],
)
def test_the_name_of_a_field_is_being_typed(marked: str, said: str, replaced: str):
    text, one = at_cursor(marked)
    assert (one.kind, one.prefix, text[one.start : one.end]) == (FIELD, said, replaced)
    assert list_fields(said)


@pytest.mark.parametrize(
    "marked",
    ["|", "flood |", "flood|", '"si|', '"title"|', "=ti|", "xyz:ne|", "xyz:(ne|", "a)|", "site:x) |",
     'title:"a b"~5|', "NOT|", "site:|(a b)", "|site:x", "https://si|", "word:si|"],
)  # fmt: skip
def test_nothing_is_being_typed_that_could_be_completed(marked: str):
    assert at_cursor(marked)[1].kind is TypingKind.NOTHING


def test_a_place_outside_of_the_text_is_refused():
    for at in (-1, 5):
        with pytest.raises(ValueError, match="outside the query"):
            find_typed_text("site", at)


@pytest.mark.parametrize(
    ("marked", "put", "becomes"),
    [
        ("flood site:ne|", "news.example", "flood site:news.example|"),
        ("site:ne| river", "news.example", "site:news.example| river"),
        ("kind:(pdf OR st|)", "story", "kind:(pdf OR story|)"),
        ('site:"ne| "high water"', "news.example", 'site:news.example| "high water"'),
        ('site:"ne|"x', "news.example", "site:news.example| x"),
        ("si|te:x", "site:", "site:|x"),
    ],
)
def test_a_completion_takes_the_place_of_what_was_typed(marked: str, put: str, becomes: str):
    text, one = at_cursor(marked)
    whole, at = insert_completion(text, one, put)
    assert f"{whole[:at]}{CURSOR}{whole[at:]}" == becomes


@pytest.mark.parametrize(
    ("field", "value", "put"),
    [
        ("site", "news.example", "news.example"),
        ("site", "", "none"),
        ("domain", "none", None),
        ("collection", "River reports", '"River reports"'),
        ("collection", "OR", '"OR"'),
        ("collection", "a:b", '"a:b"'),
        ("collection", 'a "b"', None),
        ("collection", "a “b”", None),
        ("collection", "a*", None),
        ("collection", " a", None),
        ("collection", "", None),
        ("theme", "flood, river", '"flood, river"'),
        ("theme", "news/2026/flood, river", '"news/2026/flood, river"'),
        ("year", "2024", "2024"),
        ("year", "", "none"),
        ("author", "Ana Müller", '"Ana Müller"'),
        ("author", "!?", None),
        ("language", "xx", None),
    ],
)
def test_a_value_is_written_as_the_parser_takes_it(field: str, value: str, put: str | None):
    assert format_value(field, value) == put


def test_every_field_has_a_form_and_an_example_that_is_understood():
    for field in FIELDS:
        form, shown = get_field(field).meaning, get_field(field).example
        assert form[0].islower()
        assert shown.startswith(f"{get_field(field).query_name}:")
        parse(shown, lambda asked: (asked,))


PIECES = st.sampled_from(
    ["site:", "kind:", "theme:", "sit:", "title:", "ne", "ti", "OR", "NOT", "-", "=", "(", ")", '"', "“",
     " ", "~5", "*", "//", "12", "é", "\U0001f600", "\ud800"]
)  # fmt: skip
TEXTS = st.one_of(st.text(max_size=30), st.lists(PIECES, max_size=12).map("".join))
EXAMPLES = {
    "added": "2024", "captured": "2024", "title": "x", "text": "x", "url": "x", "author": "x",
    "date": "2024", "year": "2024", "words": "5", "pages": "5", "doi": "10.1/a", "language": "en",
    "kind": "pdf",
}  # fmt: skip


def understood(text: str) -> Node:
    return parse(text, lambda asked: (asked,))


@given(TEXTS, st.integers(0, 60), st.text(max_size=10))
@example('site:"ne "high water"', 8, "a b")
@example("site:(ne", 8, 'a"b')
@example("(ti", 3, "a")
@example("add", 3, "a")
@example("cap", 3, "a")
def test_whatever_is_put_in_place_is_understood_and_the_rest_is_left(
    text: str, at: int, value: str
):
    at = min(at, len(text))
    one = find_typed_text(text, at)
    if one.kind is TypingKind.NOTHING:
        assert (one.start, one.end) == (at, at)
        return
    assert 0 <= one.start <= at <= one.end <= len(text)
    fields = [one.field] if one.kind is VALUE else list_fields(one.prefix)
    assert fields
    for field in fields:
        put = format_value(field, value) if one.kind is VALUE else f"{field}:"
        if put is None or (field not in {*EXACT_FIELDS, "theme"} and one.kind is VALUE):
            continue
        whole, cursor = insert_completion(text, one, put)
        assert whole[: one.start] == text[: one.start]
        assert whole[cursor:] in (text[one.end :], " " + text[one.end :])
        assert whole[one.start : cursor] == put
        if one.kind is VALUE:
            assert _stands_as(whole, cursor, put)
        else:
            understood(put + EXAMPLES.get(field, "x"))


def _stands_as(whole: str, cursor: int, put: str) -> bool:
    """What was put in is a token of the whole by itself, at its place."""
    found = [one for one in tokenize_unfinished(whole) if one.end == cursor]
    return bool(found) and found[-1].text == put.strip('"')


WORDS = st.sampled_from(
    ["flood", "-cup", "(a OR b)", '"high water"', "kind:(pdf OR story)", "year:2024"]
)
OPEN = st.sampled_from(
    ["site:ne", "site:", 'site:"ne', "-site:ne", "(site:ne", "kind:pdf OR site:ne", "site: ne"]
)


@given(st.lists(WORDS, max_size=3), OPEN, st.lists(WORDS, max_size=3))
def test_a_query_that_was_understood_is_understood_with_a_completion_in_it(
    before: list[str], opened: str, behind: list[str]
):
    first = " ".join([*before, opened])
    text = " ".join([first, *behind])
    one = find_typed_text(text, len(first))
    assert (one.kind, one.field) == (VALUE, "site")
    put = format_value("site", "news.example")
    assert put is not None
    whole, _ = insert_completion(text, one, put)
    assert "ExactValue(field='sites', value='news.example', is_prefix=False)" in repr(
        understood(whole)
    )


@given(TEXTS)
def test_unfinished_tokens_are_those_of_the_parser_until_one_is_wrong(text: str):
    open_tokens = list(tokenize_unfinished(text))
    wrong = [open_token for open_token in open_tokens if open_token.kind in ("unclosed", "unknown")]
    if wrong:
        with pytest.raises(QueryError) as told:
            list(tokenize(text))
        assert (told.value.start, told.value.end) == (wrong[0].start, wrong[0].end)
    else:
        assert list(tokenize(text)) == open_tokens


@given(st.sampled_from(sorted(EXACT_FIELDS)), st.text(max_size=20))
def test_what_is_written_of_a_value_means_that_value(field: str, value: str):
    put = format_value(field, value)
    if put is not None:
        assert understood(f"{field}:{put}") == ExactValue(EXACT_FIELDS[field], value)


def test_themes_are_written_with_all_their_words():
    put = format_value("theme", "flood, river")
    assert understood(f"theme:{put}") == IdSet(("flood, river",))
    assert {*TEXT_FIELDS, *EXACT_FIELDS} <= set(FIELDS)
    assert {get_field(name).query_name for name in FIELDS} == set(LISTED_FIELDS)
