"""A query cut into tokens, each with where it stands."""

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
    """`kind` is open, close, not, and, or, exact, field, word or phrase, of an unfinished query also
    unclosed (a quote left open) and unknown (a field there is not, with its value); `display` is how it
    was typed, from `start` to `end` in the query. `tail` is what stands directly behind a phrase, as ~5.
    """

    kind: str
    text: str
    display: str
    start: int = 0
    end: int = 0
    tail: str = ""

    def build_error(self, message: str) -> QueryError:
        """The error that says this of the token."""
        return QueryError(f"“{shorten(self.display)}”{message}", self.start, self.end)


def shorten(text: str) -> str:
    """What is shown of something people typed."""
    return text if len(text) <= 60 else f"{text[:57]}…"


def normalize_quotes(text: str) -> str:
    """The text with one sort of quotes, each character in its place."""
    return text.translate(_PLAIN_QUOTES)


def tokenize(text: str) -> Iterator[Token]:
    """The tokens of a query in order. Raises QueryError for a field there is not and a quote left open."""
    for token in tokenize_unfinished(text):
        if token.kind == "unclosed":
            raise token.build_error(": this quote is never closed; close it, or leave it out.")
        if token.kind == "unknown":
            raise token.build_error(_format_unknown_field(token.text))
        yield token


def tokenize_unfinished(text: str) -> Iterator[Token]:
    """The tokens of a query that is being typed; what is wrong as yet is a token too."""
    for match in _TOKEN.finditer(normalize_quotes(text)):
        shown, at = match.group(), match.span()
        if match["sign"]:
            if "-" in shown:
                yield Token("not", "", shown, *at)
        elif match["open"] or match["close"]:
            yield Token("open" if match["open"] else "close", "", shown, *at)
        elif match["exact"]:
            yield Token("exact", "", shown, *at)
        elif match["phrase"] is not None:
            kind = "phrase" if match["end"] else "unclosed"
            yield Token(kind, match["phrase"], shown, *at, match["tail"] or "")
        elif match["name"]:
            yield from _iter_field_tokens(match)
        else:
            yield Token(_OPERATORS.get(shown, "word"), shown, shown, *at)


def _iter_field_tokens(match: re.Match[str]) -> Iterator[Token]:
    """What stands before a colon, and its value; a word where there is no such field and nothing behind."""
    name, value, shown = match["name"], match["value"], match.group()
    field, start, end = name.lower(), match.start(), match.end()
    if field in FIELDS:
        yield Token("field", field, shown, start, end)
        if match["equals"]:
            yield Token("exact", "", "=", match.end("name") + 1, match.end("name") + 2)
        if value:
            yield Token("word", value, shown, start, end)
    elif match["opens"] is None and not split_words(value):
        yield Token("word", name, shown, start, end)
    else:
        yield Token("unknown", name, shown, start, end)


def _format_unknown_field(name: str) -> str:
    near = find_nearest_name(name, FIELDS)
    meant = f"Did you mean {near}? " if near else ""
    return (
        f": there is no field “{name}”. {meant}Use {', '.join(LISTED_FIELDS[:-1])} or {LISTED_FIELDS[-1]}, "
        "or put the words in quotes."
    )
