"""Split a query text into tokens with their positions."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass

from fonds.model.search import QueryError
from fonds.model.suggestions import find_nearest_name
from fonds.search.fields import FIELDS, LISTED_FIELDS
from fonds.text.words import split_words

_PLAIN_QUOTES = str.maketrans(dict.fromkeys("“”„‟«»", '"'))
_TOKEN = re.compile(
    r"""
      (?P<sign> [-+]+ (?=[^\s)+-]) )
    | (?P<open> \( )
    | (?P<close> \) )
    | (?P<exact> = (?=[^\s()=]) )
    | " (?P<phrase> [^"]* ) (?P<end> "|$) (?P<tail> [~^][^\s()"]* )?
    | (?P<name> [^\W\d][\w-]* ) : (?!//) (?P<equals> = (?=[^\s()=]) )? (?P<value> [^\s()"]* )
      (?P<opens> (?=[("]) )?
    | (?P<word> [^\s()"]+ )
    """,
    re.VERBOSE,
)
_OPERATORS = {"OR": "or", "AND": "and", "NOT": "not"}


@dataclass(frozen=True, slots=True)
class Token:
    """Token of a query text.

    - `kind`: open, close, not, and, or, exact, field, word or phrase. In an unfinished query also
      `unclosed` (a phrase without closing quote) or `unknown` (an unknown field with its value).
    - `text`: content of the token without quotes.
    - `display`: text as typed.
    - `start`, `end`: position of the token in the query, in characters.
    - `tail`: modifier directly after a phrase, such as `~5`; "" if there is none.
    """

    kind: str
    text: str
    display: str
    start: int = 0
    end: int = 0
    tail: str = ""

    def build_error(self, message: str) -> QueryError:
        """Return an error for users that quotes the token, followed by `message`."""
        return QueryError(f"“{shorten(self.display)}”{message}", self.start, self.end)


def shorten(text: str) -> str:
    """Shorten typed text to at most 60 characters for an error message."""
    return text if len(text) <= 60 else f"{text[:57]}…"


def normalize_quotes(text: str) -> str:
    """Replace typographic quotes by plain double quotes. Positions of characters stay the same."""
    return text.translate(_PLAIN_QUOTES)


def tokenize(text: str) -> Iterator[Token]:
    """Yield the tokens of a query text in order.

    Raises QueryError if a field is unknown or a quote is not closed.
    """
    for token in tokenize_unfinished(text):
        if token.kind == "unclosed":
            raise token.build_error(": the quote is not closed. Close or remove it.")
        if token.kind == "unknown":
            raise token.build_error(_format_unknown_field(token.text))
        yield token


def tokenize_unfinished(text: str) -> Iterator[Token]:
    """Yield the tokens of a query text that a user is typing.

    Unknown fields and unclosed quotes become tokens of the kinds `unknown` and `unclosed` instead
    of errors.
    """
    for match in _TOKEN.finditer(normalize_quotes(text)):
        display, span = match.group(), match.span()
        if match["sign"]:
            if "-" in display:
                yield Token("not", "", display, *span)
        elif match["open"] or match["close"]:
            yield Token("open" if match["open"] else "close", "", display, *span)
        elif match["exact"]:
            yield Token("exact", "", display, *span)
        elif match["phrase"] is not None:
            kind = "phrase" if match["end"] else "unclosed"
            yield Token(kind, match["phrase"], display, *span, match["tail"] or "")
        elif match["name"]:
            yield from _iter_field_tokens(match)
        else:
            yield Token(_OPERATORS.get(display, "word"), display, display, *span)


def _iter_field_tokens(match: re.Match[str]) -> Iterator[Token]:
    """Yield the tokens of `name:value` in a query text.

    If there is no field with this name, yield a word if nothing follows the colon, otherwise a
    token of the kind `unknown`.
    """
    name, value, display = match["name"], match["value"], match.group()
    field, start, end = name.lower(), match.start(), match.end()
    if field in FIELDS:
        yield Token("field", field, display, start, end)
        if match["equals"]:
            yield Token("exact", "", "=", match.end("name") + 1, match.end("name") + 2)
        if value:
            yield Token("word", value, display, start, end)
    elif match["opens"] is None and not split_words(value):
        yield Token("word", name, display, start, end)
    else:
        yield Token("unknown", name, display, start, end)


def _format_unknown_field(name: str) -> str:
    near = find_nearest_name(name, FIELDS)
    hint = f"Did you mean {near}? " if near else ""
    return (
        f": there is no field “{name}”. {hint}Use {', '.join(LISTED_FIELDS[:-1])} or {LISTED_FIELDS[-1]}, "
        "or put the words in quotes."
    )
