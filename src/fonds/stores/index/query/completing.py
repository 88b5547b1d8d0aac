"""What is being typed into a search: the name of a field, a value of one, or neither; and how what completes
it is written. Read with the tokens the parser reads, so that both mean the same."""

from __future__ import annotations

import re
from collections.abc import Sequence
from itertools import islice

from fonds.model.completing import Typed, Typing
from fonds.model.query_error import QueryError
from fonds.stores.index.query.fields import (
    EXACT_FIELDS,
    FIELDS,
    RANGE_FIELDS,
    SHOWN,
    TEXT_FIELDS,
    THEME,
    VERSION,
)
from fonds.stores.index.query.parsing import parse
from fonds.stores.index.query.ranges import range_of
from fonds.stores.index.query.tokens import Token, plain_quotes, unfinished
from fonds.stores.index.query.tree import Among, Exact, Node, Term

NONE = "none"
_BARE = re.compile(r"\w[\w.-]*")
_OPERATORS = frozenset({"OR", "AND", "NOT"})
_CONTINUE = frozenset({"not", "exact"})
"""What may stand between a field and its value."""


def typed(text: str, at: int | None = None) -> Typed:
    """What is being typed at the cursor, in characters from 0; None: at the end. Raises ValueError for a
    place outside of the text."""
    at = len(text) if at is None else at
    if not 0 <= at <= len(text):
        raise ValueError(f"The query has {len(text):,} characters; there is no place {at:,} in it.")
    before = list(unfinished(text[:at]))
    if not before or before[-1].end < at or before[-1].kind in ("open", "field"):
        found = _between(text, at, before)
    elif before[-1].kind in ("phrase", "unclosed"):
        found = _quoted(text, at, before)
    elif before[-1].kind == "word":
        found = _worded(text, at, before)
    else:
        found = None
    return found or Typed(Typing.NOTHING, at, at)


def completed(text: str, one: Typed, put: str) -> tuple[str, int]:
    """The text with this in the place of what is being typed, and where the cursor stands then: directly
    behind it. Where something else would follow a value at once, a space comes between."""
    behind = text[one.end :]
    is_apart = one.kind is Typing.FIELD or not behind or behind[0].isspace() or behind[0] in "()"
    apart = "" if is_apart else " "
    return f"{text[: one.start]}{put}{apart}{behind}", one.start + len(put)


def fields_named(said: str) -> list[str]:
    """The fields whose name begins so, by the names people are told."""
    folded = said.lower()
    return [name for name in SHOWN if folded and name.startswith(folded)]


def written(field: str, value: str) -> str | None:
    """A value as it is written behind the colon of its field, '' as none; None where it cannot be, as the
    parser would make another one of it."""
    said = value or NONE
    is_bare = _BARE.fullmatch(said) and said not in _OPERATORS
    put = said if is_bare else f'"{said}"'
    try:
        node = parse(f"{field}:{put}", lambda asked: (asked,))
        return put if field == VERSION or node == _node(field, value) else None
    except QueryError:
        return None


def _node(field: str, value: str) -> Node:
    if field in EXACT_FIELDS:
        return Exact(EXACT_FIELDS[field], value)
    if field in RANGE_FIELDS:
        return range_of(field, RANGE_FIELDS[field], value or NONE)
    if field == THEME:
        return Among((value,))
    return Term(value, TEXT_FIELDS[field], exact=not _BARE.fullmatch(value))


def _context(before: Sequence[Token]) -> tuple[str, bool]:
    """The field whose value stands behind these tokens, '' for none, as the parser takes it: directly behind
    its colon, or anywhere in the parentheses there. And whether an equals sign stands before it."""
    held, pending = [""], ""
    for token in before:
        if token.kind == "open":
            held.append(pending or held[-1])
        elif token.kind == "close" and len(held) > 1:
            held.pop()
        if token.kind in ("field", "unknown"):
            pending = token.text
        elif token.kind not in _CONTINUE:
            pending = ""
    return pending or held[-1], bool(before) and before[-1].kind == "exact"


def _between(text: str, at: int, before: Sequence[Token]) -> Typed | None:
    """Where nothing of a value is typed as yet; what follows at once is the rest of it."""
    field, _ = _context(before)
    if field not in FIELDS:
        return None
    following = next(unfinished(text[at:]), None)
    if following is None or following.start > 0 or following.kind == "close":
        return Typed(Typing.VALUE, at, at, "", field)
    if following.kind == "phrase" or (
        following.kind == "word" and following.text == following.shown
    ):
        return Typed(Typing.VALUE, at, at + following.end, "", field)
    return None


def _quoted(text: str, at: int, before: Sequence[Token]) -> Typed | None:
    """In quotes, or directly behind them. Where one quote of the whole text is open, it is this one, and ends
    at the cursor."""
    last, (field, _) = before[-1], _context(before[:-1])
    if field not in FIELDS or last.tail:
        return None
    is_open = last.kind == "unclosed" and plain_quotes(text).count('"') % 2 == 1
    end = at if is_open else last.start + next(unfinished(text[last.start :])).end
    return Typed(Typing.VALUE, last.start, end, last.text, field)


def _worded(text: str, at: int, before: Sequence[Token]) -> Typed | None:
    last = before[-1]
    whole = list(islice(unfinished(text[last.start :]), 3))
    if any(one.kind == "field" and one.start == last.start for one in before[-3:-1]):
        values = [one for one in whole if one.kind == "word" and one.start == 0]
        if whole[0].kind != "field" or not values:
            return None
        start, end = at - len(last.text), last.start + values[0].end
        return Typed(Typing.VALUE, start, end, last.text, whole[0].text)
    return _word(at, last, whole[0], *_context(before[:-1]))


def _word(at: int, last: Token, whole: Token, field: str, is_exact: bool) -> Typed | None:
    """A word by itself: a value where a field holds it, else maybe the beginning of the name of a field;
    `whole` is what it is the beginning of."""
    end = last.start + whole.end
    if whole.kind in ("field", "unknown"):
        if at - last.start > len(whole.text):
            return None
        end = last.start + len(whole.text) + 1
    elif whole.kind != "word":
        return None
    elif field:
        told = Typed(Typing.VALUE, last.start, end, last.text, field)
        return told if field in FIELDS and last.text == last.shown else None
    if is_exact or last.shown.removesuffix(":") != last.text or not fields_named(last.text):
        return None
    return Typed(Typing.FIELD, last.start, end, last.text)
