"""Find what a user is typing in a search (a field name or a value), and insert a completion.

Completion uses the tokens of the parser, so that both understand a query in the same way.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from itertools import islice

from fonds.model.completion import TypedText, TypingKind
from fonds.model.search import QueryError
from fonds.search.exact_values import NONE
from fonds.search.fields import (
    EXACT_FIELDS,
    FIELDS,
    LISTED_FIELDS,
    RANGE_FIELDS,
    TEXT_FIELDS,
    THEME,
    VERSION,
)
from fonds.search.query.parser import parse
from fonds.search.query.ranges import parse_range
from fonds.search.query.tokens import Token, normalize_quotes, tokenize_unfinished
from fonds.search.query.tree import ExactValue, IdSet, Node, Term

_BARE = re.compile(r"\w[\w.-]*")
_OPERATORS = frozenset({"OR", "AND", "NOT"})
_OPERATOR_KINDS = frozenset({"not", "exact"})
"""Kinds of tokens that may occur between a field name and its value in a query."""


def find_typed_text(text: str, cursor: int | None = None) -> TypedText:
    """Return the field name or value that a user is typing at the cursor of a query.

    The cursor is a number of characters from the start of the text; None means the end. The result
    has the kind NOTHING if nothing can be completed. Raises ValueError if the cursor is outside the
    text.
    """
    cursor = len(text) if cursor is None else cursor
    if not 0 <= cursor <= len(text):
        raise ValueError(
            f"The position {cursor:,} is outside the query, which has {len(text):,} characters."
        )
    tokens = list(tokenize_unfinished(text[:cursor]))
    if not tokens or tokens[-1].end < cursor or tokens[-1].kind in ("open", "field"):
        typed_text = _find_empty_value(text, cursor, tokens)
    elif tokens[-1].kind in ("phrase", "unclosed"):
        typed_text = _find_quoted(text, cursor, tokens)
    elif tokens[-1].kind == "word":
        typed_text = _find_word(text, cursor, tokens)
    else:
        typed_text = None
    return typed_text or TypedText(TypingKind.NOTHING, cursor, cursor)


def insert_completion(text: str, typed_text: TypedText, query_value: str) -> tuple[str, int]:
    """Replace the part of a query that a user is typing by a completion.

    Return the new text and the cursor position directly after the completion. A space is added if a
    completed value would touch the following text.
    """
    following = text[typed_text.end :]
    is_separated = (
        typed_text.kind is TypingKind.FIELD
        or not following
        or following[0].isspace()
        or following[0] in "()"
    )
    separator = "" if is_separated else " "
    return f"{text[: typed_text.start]}{query_value}{separator}{following}", typed_text.start + len(
        query_value
    )


def list_fields(prefix: str) -> list[str]:
    """Return the names of search fields that begin with `prefix`; an empty list for an empty
    prefix.
    """
    folded_prefix = prefix.lower()
    return [name for name in LISTED_FIELDS if folded_prefix and name.startswith(folded_prefix)]


def format_value(field: str, value: str) -> str | None:
    """Return a field value as a user writes it after the colon in a query; `none` for ''.

    Returns None if the parser would read the written value as another value.
    """
    text = value or NONE
    is_bare = _BARE.fullmatch(text) and text not in _OPERATORS
    query_value = text if is_bare else f'"{text}"'
    try:
        node = parse(f"{field}:{query_value}", lambda theme: (theme,))
        return query_value if field == VERSION or node == _parse_value(field, value) else None
    except QueryError:
        return None


def _parse_value(field: str, value: str) -> Node:
    if field in EXACT_FIELDS:
        return ExactValue(EXACT_FIELDS[field], value)
    if field in RANGE_FIELDS:
        return parse_range(field, RANGE_FIELDS[field], value or NONE)
    if field == THEME:
        return IdSet((value,))
    return Term(value, TEXT_FIELDS[field], is_exact=not _BARE.fullmatch(value))


def _find_field(tokens: Sequence[Token]) -> tuple[str, bool]:
    """Return the search field to which a value directly after the given tokens belongs.

    A value belongs to a field if it follows the colon, or is in parentheses after the colon, as in
    the parser. The field is '' if the value belongs to none. The second result is whether the last
    token is an equals sign, which requests an exact match.
    """
    fields, pending = [""], ""
    for token in tokens:
        if token.kind == "open":
            fields.append(pending or fields[-1])
        elif token.kind == "close" and len(fields) > 1:
            fields.pop()
        if token.kind in ("field", "unknown"):
            pending = token.text
        elif token.kind not in _OPERATOR_KINDS:
            pending = ""
    return pending or fields[-1], bool(tokens) and tokens[-1].kind == "exact"


def _find_empty_value(text: str, cursor: int, tokens: Sequence[Token]) -> TypedText | None:
    """Return the field value that begins at the cursor of a query.

    Text directly after the cursor is part of the value. Returns None if no value of a field can
    begin at the cursor.
    """
    field, _ = _find_field(tokens)
    if field not in FIELDS:
        return None
    following = next(tokenize_unfinished(text[cursor:]), None)
    if following is None or following.start > 0 or following.kind == "close":
        return TypedText(TypingKind.VALUE, cursor, cursor, "", field)
    if following.kind == "phrase" or (
        following.kind == "word" and following.text == following.display
    ):
        return TypedText(TypingKind.VALUE, cursor, cursor + following.end, "", field)
    return None


def _find_quoted(text: str, cursor: int, tokens: Sequence[Token]) -> TypedText | None:
    """Return the quoted field value that has the cursor inside its quotes or directly after them.

    Returns None if there is none. If the query has one unclosed quote, it belongs to this value,
    and the value ends at the cursor.
    """
    last, (field, _) = tokens[-1], _find_field(tokens[:-1])
    if field not in FIELDS or last.tail:
        return None
    is_open = last.kind == "unclosed" and normalize_quotes(text).count('"') % 2 == 1
    end = cursor if is_open else last.start + next(tokenize_unfinished(text[last.start :])).end
    return TypedText(TypingKind.VALUE, last.start, end, last.text, field)


def _find_word(text: str, cursor: int, tokens: Sequence[Token]) -> TypedText | None:
    last = tokens[-1]
    following = list(islice(tokenize_unfinished(text[last.start :]), 3))
    if any(token.kind == "field" and token.start == last.start for token in tokens[-3:-1]):
        values = [
            token_here
            for token_here in following
            if token_here.kind == "word" and token_here.start == 0
        ]
        if following[0].kind != "field" or not values:
            return None
        start, end = cursor - len(last.text), last.start + values[0].end
        return TypedText(TypingKind.VALUE, start, end, last.text, following[0].text)
    return _build_typed_word(cursor, last, following[0], *_find_field(tokens[:-1]))


def _build_typed_word(
    cursor: int, last: Token, full_token: Token, field: str, is_exact: bool
) -> TypedText | None:
    """Return the word that a user is typing at the cursor: a field value or a field name.

    - `last`: token up to the cursor.
    - `full_token`: the whole token that begins with `last`.
    - `field`: field to which a value at the cursor belongs; '' if it belongs to none.
    - `is_exact`: whether an equals sign precedes the word.

    Returns None if nothing can be completed.
    """
    end = last.start + full_token.end
    if full_token.kind in ("field", "unknown"):
        if cursor - last.start > len(full_token.text):
            return None
        end = last.start + len(full_token.text) + 1
    elif full_token.kind != "word":
        return None
    elif field:
        typed_text = TypedText(TypingKind.VALUE, last.start, end, last.text, field)
        return typed_text if field in FIELDS and last.text == last.display else None
    if is_exact or last.display.removesuffix(":") != last.text or not list_fields(last.text):
        return None
    return TypedText(TypingKind.FIELD, last.start, end, last.text)
