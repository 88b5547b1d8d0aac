"""What is being typed into a search: the name of a field, a value of one, or neither; and how what completes
it is written. Read with the tokens the parser reads, so that both mean the same."""

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
_CONTINUE = frozenset({"not", "exact"})
"""What may stand between a field and its value."""


def find_typed(text: str, cursor: int | None = None) -> TypedText:
    """What is being typed at the cursor, in characters from 0; None: at the end. Raises ValueError for a
    place outside of the text."""
    cursor = len(text) if cursor is None else cursor
    if not 0 <= cursor <= len(text):
        raise ValueError(
            f"The query has {len(text):,} characters; there is no place {cursor:,} in it."
        )
    before = list(tokenize_unfinished(text[:cursor]))
    if not before or before[-1].end < cursor or before[-1].kind in ("open", "field"):
        found = _find_between(text, cursor, before)
    elif before[-1].kind in ("phrase", "unclosed"):
        found = _find_quoted(text, cursor, before)
    elif before[-1].kind == "word":
        found = _find_word(text, cursor, before)
    else:
        found = None
    return found or TypedText(TypingKind.NOTHING, cursor, cursor)


def insert_completion(text: str, typed: TypedText, put: str) -> tuple[str, int]:
    """The text with this in the place of what is being typed, and where the cursor stands then: directly
    behind it. Where something else would follow a value at once, a space comes between."""
    behind = text[typed.end :]
    is_apart = (
        typed.kind is TypingKind.FIELD or not behind or behind[0].isspace() or behind[0] in "()"
    )
    apart = "" if is_apart else " "
    return f"{text[: typed.start]}{put}{apart}{behind}", typed.start + len(put)


def list_fields(prefix: str) -> list[str]:
    """The fields whose name begins so, by the names people are told."""
    folded = prefix.lower()
    return [name for name in LISTED_FIELDS if folded and name.startswith(folded)]


def format_value(field: str, value: str) -> str | None:
    """A value as it is written behind the colon of its field, '' as none; None where it cannot be, as the
    parser would make another one of it."""
    said = value or NONE
    is_bare = _BARE.fullmatch(said) and said not in _OPERATORS
    put = said if is_bare else f'"{said}"'
    try:
        node = parse(f"{field}:{put}", lambda asked: (asked,))
        return put if field == VERSION or node == _parse_value(field, value) else None
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
    """The field whose value stands behind these tokens, '' for none, as the parser takes it: directly behind
    its colon, or anywhere in the parentheses there. And whether an equals sign stands before it."""
    held, pending = [""], ""
    for token in tokens:
        if token.kind == "open":
            held.append(pending or held[-1])
        elif token.kind == "close" and len(held) > 1:
            held.pop()
        if token.kind in ("field", "unknown"):
            pending = token.text
        elif token.kind not in _CONTINUE:
            pending = ""
    return pending or held[-1], bool(tokens) and tokens[-1].kind == "exact"


def _find_between(text: str, cursor: int, tokens: Sequence[Token]) -> TypedText | None:
    """Where nothing of a value is typed as yet; what follows at once is the rest of it."""
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
    """In quotes, or directly behind them. Where one quote of the whole text is open, it is this one, and ends
    at the cursor."""
    last, (field, _) = tokens[-1], _find_field(tokens[:-1])
    if field not in FIELDS or last.tail:
        return None
    is_open = last.kind == "unclosed" and normalize_quotes(text).count('"') % 2 == 1
    end = cursor if is_open else last.start + next(tokenize_unfinished(text[last.start :])).end
    return TypedText(TypingKind.VALUE, last.start, end, last.text, field)


def _find_word(text: str, cursor: int, tokens: Sequence[Token]) -> TypedText | None:
    last = tokens[-1]
    whole = list(islice(tokenize_unfinished(text[last.start :]), 3))
    if any(token.kind == "field" and token.start == last.start for token in tokens[-3:-1]):
        values = [one for one in whole if one.kind == "word" and one.start == 0]
        if whole[0].kind != "field" or not values:
            return None
        start, end = cursor - len(last.text), last.start + values[0].end
        return TypedText(TypingKind.VALUE, start, end, last.text, whole[0].text)
    return _build_typed_word(cursor, last, whole[0], *_find_field(tokens[:-1]))


def _build_typed_word(
    cursor: int, last: Token, full_token: Token, field: str, is_exact: bool
) -> TypedText | None:
    """A word by itself: a value where a field holds it, else maybe the beginning of the name of a field;
    `full_token` is what it is the beginning of."""
    end = last.start + full_token.end
    if full_token.kind in ("field", "unknown"):
        if cursor - last.start > len(full_token.text):
            return None
        end = last.start + len(full_token.text) + 1
    elif full_token.kind != "word":
        return None
    elif field:
        told = TypedText(TypingKind.VALUE, last.start, end, last.text, field)
        return told if field in FIELDS and last.text == last.display else None
    if is_exact or last.display.removesuffix(":") != last.text or not list_fields(last.text):
        return None
    return TypedText(TypingKind.FIELD, last.start, end, last.text)
