"""Finding what is being typed into a search, and completing it."""

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


def find_at_cursor(text_with_cursor: str) -> tuple[str, TypedText]:
    """Return the text without the cursor, and the text typed there."""
    before, _, after = text_with_cursor.partition(CURSOR)
    return before + after, find_typed_text(before + after, len(before))


@pytest.mark.parametrize(
    ("text_with_cursor", "field", "prefix", "replaced_text"),
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
def test_a_typed_value_is_found_at_the_cursor(
    text_with_cursor: str, field: str | None, prefix: str, replaced_text: str
):
    text, typed = find_at_cursor(text_with_cursor)
    if field is None:
        assert typed.kind is TypingKind.NOTHING
        return
    assert (typed.kind, typed.field, typed.prefix) == (VALUE, field, prefix)
    assert text[typed.start : typed.end] == replaced_text


@pytest.mark.parametrize(
    ("text_with_cursor", "prefix", "replaced_text"),
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
def test_a_typed_field_name_is_found_at_the_cursor(
    text_with_cursor: str, prefix: str, replaced_text: str
):
    text, typed = find_at_cursor(text_with_cursor)
    assert (typed.kind, typed.prefix, text[typed.start : typed.end]) == (
        FIELD,
        prefix,
        replaced_text,
    )
    assert list_fields(prefix)


@pytest.mark.parametrize(
    "text_with_cursor",
    ["|", "flood |", "flood|", '"si|', '"title"|', "=ti|", "xyz:ne|", "xyz:(ne|", "a)|", "site:x) |",
     'title:"a b"~5|', "NOT|", "site:|(a b)", "|site:x", "https://si|", "word:si|"],
)  # fmt: skip
def test_other_text_at_the_cursor_is_not_completed(text_with_cursor: str):
    assert find_at_cursor(text_with_cursor)[1].kind is TypingKind.NOTHING


def test_a_cursor_outside_the_text_is_refused():
    for at in (-1, 5):
        with pytest.raises(ValueError, match="outside the query"):
            find_typed_text("site", at)


@pytest.mark.parametrize(
    ("text_with_cursor", "completion", "expected"),
    [
        ("flood site:ne|", "news.example", "flood site:news.example|"),
        ("site:ne| river", "news.example", "site:news.example| river"),
        ("kind:(pdf OR st|)", "story", "kind:(pdf OR story|)"),
        ('site:"ne| "high water"', "news.example", 'site:news.example| "high water"'),
        ('site:"ne|"x', "news.example", "site:news.example| x"),
        ("si|te:x", "site:", "site:|x"),
    ],
)
def test_a_completion_replaces_the_typed_text(
    text_with_cursor: str, completion: str, expected: str
):
    text, typed = find_at_cursor(text_with_cursor)
    full_text, at = insert_completion(text, typed, completion)
    assert f"{full_text[:at]}{CURSOR}{full_text[at:]}" == expected


@pytest.mark.parametrize(
    ("field", "value", "expected"),
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
def test_a_value_is_quoted_for_the_parser(field: str, value: str, expected: str | None):
    assert format_value(field, value) == expected


def test_every_field_has_a_form_and_a_valid_example():
    for field in FIELDS:
        form, shown_example = get_field(field).meaning, get_field(field).example
        assert form[0].islower()
        assert shown_example.startswith(f"{get_field(field).query_name}:")
        parse(shown_example, lambda theme: (theme,))


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


def parse_query(text: str) -> Node:
    return parse(text, lambda theme: (theme,))


@given(TEXTS, st.integers(0, 60), st.text(max_size=10))
@example('site:"ne "high water"', 8, "a b")
@example("site:(ne", 8, 'a"b')
@example("(ti", 3, "a")
@example("add", 3, "a")
@example("cap", 3, "a")
def test_any_completion_parses_and_keeps_the_rest(text: str, at: int, value: str):
    at = min(at, len(text))
    typed = find_typed_text(text, at)
    if typed.kind is TypingKind.NOTHING:
        assert (typed.start, typed.end) == (at, at)
        return
    assert 0 <= typed.start <= at <= typed.end <= len(text)
    fields = [typed.field] if typed.kind is VALUE else list_fields(typed.prefix)
    assert fields
    for field in fields:
        completion = format_value(field, value) if typed.kind is VALUE else f"{field}:"
        if completion is None or (field not in {*EXACT_FIELDS, "theme"} and typed.kind is VALUE):
            continue
        full_text, cursor = insert_completion(text, typed, completion)
        assert full_text[: typed.start] == text[: typed.start]
        assert full_text[cursor:] in (text[typed.end :], " " + text[typed.end :])
        assert full_text[typed.start : cursor] == completion
        if typed.kind is VALUE:
            assert _is_token(full_text, cursor, completion)
        else:
            parse_query(completion + EXAMPLES.get(field, "x"))


def _is_token(full_text: str, cursor: int, completion: str) -> bool:
    """Return whether the completion is a token of its own at the cursor."""
    tokens = [token for token in tokenize_unfinished(full_text) if token.end == cursor]
    return bool(tokens) and tokens[-1].text == completion.strip('"')


WORDS = st.sampled_from(
    ["flood", "-cup", "(a OR b)", '"high water"', "kind:(pdf OR story)", "year:2024"]
)
UNFINISHED = st.sampled_from(
    ["site:ne", "site:", 'site:"ne', "-site:ne", "(site:ne", "kind:pdf OR site:ne", "site: ne"]
)


@given(st.lists(WORDS, max_size=3), UNFINISHED, st.lists(WORDS, max_size=3))
def test_a_completed_query_parses(before: list[str], unfinished: str, after: list[str]):
    typed_text = " ".join([*before, unfinished])
    text = " ".join([typed_text, *after])
    typed = find_typed_text(text, len(typed_text))
    assert (typed.kind, typed.field) == (VALUE, "site")
    completion = format_value("site", "news.example")
    assert completion is not None
    full_text, _ = insert_completion(text, typed, completion)
    assert "ExactValue(field='sites', value='news.example', is_prefix=False)" in repr(
        parse_query(full_text)
    )


@given(TEXTS)
def test_unfinished_tokens_match_the_tokens_of_valid_queries(text: str):
    open_tokens = list(tokenize_unfinished(text))
    invalid = [
        open_token for open_token in open_tokens if open_token.kind in ("unclosed", "unknown")
    ]
    if invalid:
        with pytest.raises(QueryError) as error:
            list(tokenize(text))
        assert (error.value.start, error.value.end) == (invalid[0].start, invalid[0].end)
    else:
        assert list(tokenize(text)) == open_tokens


@given(st.sampled_from(sorted(EXACT_FIELDS)), st.text(max_size=20))
def test_a_formatted_value_parses_to_the_value(field: str, value: str):
    query_text = format_value(field, value)
    if query_text is not None:
        assert parse_query(f"{field}:{query_text}") == ExactValue(EXACT_FIELDS[field], value)


def test_a_formatted_theme_parses_to_the_theme():
    query_text = format_value("theme", "flood, river")
    assert parse_query(f"theme:{query_text}") == IdSet(("flood, river",))
    assert {*TEXT_FIELDS, *EXACT_FIELDS} <= set(FIELDS)
    assert {get_field(name).query_name for name in FIELDS} == set(LISTED_FIELDS)
