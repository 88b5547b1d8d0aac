"""The query syntax of people, parsed into a small tree that every index backend can translate.

    flood river              both words, anywhere in title or text
    "flood river"            next to each other, in this order
    -cup  NOT cup            without
    flood OR drought         one of them; OR binds less than standing side by side, (…) groups
    flood*                   words that begin so; at least three characters
    title:… text:… url:…     in that field; title:(flood river) for several words
    domain:… language:… kind:… collection:…   exactly that value; domain:none language:none for without
    *                        everything

Lenient where the meaning is plain: an open parenthesis closes at the end, a dangling OR and bare
punctuation are passed over. What cannot be understood raises ValueError naming the token: a field there
is not, a quote that is never closed.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import TypeAlias

from fonds.model.names import nearest
from fonds.stores.index.asked import exact_value
from fonds.words import is_spaceless, words

QUERY_CHARACTERS_MAX = 4_000
CLAUSES_MAX = 256
DEPTH_MAX = 32
PREFIX_CHARACTERS_MIN = 3

TEXT_FIELDS = {
    "title": "article_title",
    "article_title": "article_title",
    "text": "text_content",
    "text_content": "text_content",
    "url": "url",
}
EXACT_FIELDS = {
    "domain": "canonical_domain",
    "canonical_domain": "canonical_domain",
    "language": "language",
    "kind": "kind",
    "collection": "collection",
}


@dataclass(frozen=True, slots=True)
class Term:
    """Words next to each other in `field`, unfolded as typed; None means title or text.

    With `prefix`, `text` is the beginning of one word.
    """

    text: str
    field: str | None = None
    prefix: bool = False


@dataclass(frozen=True, slots=True)
class Exact:
    """Documents whose `field` has exactly this value."""

    field: str
    value: str


@dataclass(frozen=True, slots=True)
class Not:
    """Documents that `node` does not match."""

    node: Node


@dataclass(frozen=True, slots=True)
class And:
    """Documents that all nodes match; with no nodes, every document."""

    nodes: tuple[Node, ...] = ()


@dataclass(frozen=True, slots=True)
class Or:
    """Documents that at least one of two or more nodes matches."""

    nodes: tuple[Node, ...]


Node: TypeAlias = Term | Exact | Not | And | Or


def parse(text: str) -> Node:
    """The tree of a query; And(()) for an empty one. Raises ValueError with a sentence for people."""
    if len(text) > QUERY_CHARACTERS_MAX:
        raise ValueError(
            f"The query has {len(text):,} characters; at most {QUERY_CHARACTERS_MAX:,} can be used."
        )
    if not text.strip():
        return And()
    tokens = list(_tokens(text.translate(_PLAIN_QUOTES)))
    if sum(token.kind in ("word", "phrase") for token in tokens) > CLAUSES_MAX:
        raise ValueError(f"The query has more than {CLAUSES_MAX} words; please shorten it.")
    node = _Parser(tokens).parse()
    if node is None:
        raise ValueError(f"“{_shortened(text)}” has no letters or digits to search for.")
    return node


def wanted_terms(node: Node) -> tuple[Term, ...]:
    """The terms a matching text may contain, for marking them; excluded ones are left out."""
    if isinstance(node, Term):
        return (node,) if node.field in (None, "text_content") else ()
    if isinstance(node, And | Or):
        return tuple(term for child in node.nodes for term in wanted_terms(child))
    return ()


def exact_values(node: Node) -> tuple[Exact, ...]:
    """The exact values a matching document may have; excluded ones are left out."""
    if isinstance(node, Exact):
        return (node,)
    if isinstance(node, And | Or):
        return tuple(value for child in node.nodes for value in exact_values(child))
    return ()


@dataclass(frozen=True, slots=True)
class _Token:
    """`kind` is open, close, not, and, or, field, word or phrase; `shown` is how it was typed."""

    kind: str
    text: str
    shown: str


_PLAIN_QUOTES = str.maketrans(dict.fromkeys("“”„‟«»", '"'))
_TOKEN = re.compile(
    r"""
      (?P<sign> [-+]+ (?=[^\s)+-]) )
    | (?P<open> \( )
    | (?P<close> \) )
    | " (?P<phrase> [^"]* ) (?P<end> "|$) (?P<tail> [~^][^\s()"]* )?
    | (?P<name> [^\W\d][\w-]* ) : (?!//) (?P<value> [^\s()"]* ) (?P<opens> (?=[("]) )?
    | (?P<word> [^\s()"]+ )
    """,
    re.VERBOSE,
)
_MODIFIER = re.compile(r"(~[\d.]*|\^[\d.]+)$")
_OPERATORS = {"OR": "or", "AND": "and", "NOT": "not"}


def _tokens(text: str) -> Iterator[_Token]:
    for match in _TOKEN.finditer(text):
        shown = match.group()
        if match["sign"]:
            if "-" in shown:
                yield _Token("not", "", shown)
        elif match["open"] or match["close"]:
            yield _Token("open" if match["open"] else "close", "", shown)
        elif match["phrase"] is not None:
            _refuse_open_quote(match["end"], shown)
            _refuse_modifier(match["tail"] or "", shown)
            yield _Token("phrase", match["phrase"], shown)
        elif match["name"]:
            is_plain = match["opens"] is None and not words(match["value"])
            yield from _field_tokens(match["name"], match["value"], shown, is_plain)
        else:
            yield _Token(_OPERATORS.get(shown, "word"), shown, shown)


def _field_tokens(name: str, value: str, shown: str, is_plain: bool) -> Iterator[_Token]:
    """What stands before a colon; `is_plain` where nothing to look for stands behind it: a word then."""
    field = name.lower()
    if field in TEXT_FIELDS or field in EXACT_FIELDS:
        yield _Token("field", field, shown)
        if value:
            yield _Token("word", value, shown)
    elif is_plain:
        yield _Token("word", name, shown)
    else:
        near = nearest(name, (*TEXT_FIELDS, *EXACT_FIELDS))
        meant = f"Did you mean {near}? " if near else ""
        raise ValueError(
            f"“{_shortened(shown)}”: there is no field “{name}”. {meant}Use title, text, url, domain, "
            f'language, kind or collection, or put the words in quotes: "{_shortened(shown)}".'
        )


class _Parser:
    """Recursive descent over the tokens: alternatives, sequences, exclusions, then single terms."""

    def __init__(self, tokens: Sequence[_Token]) -> None:
        self._tokens = tokens
        self._position = 0

    def parse(self) -> Node | None:
        found = []
        while self._next() is not None:
            node = self._alternatives(None, 0)
            if node is not None:
                found.append(node)
            self._take("close")
        return _together(found)

    def _next(self) -> _Token | None:
        return self._tokens[self._position] if self._position < len(self._tokens) else None

    def _take(self, kind: str) -> bool:
        token = self._next()
        if token is None or token.kind != kind:
            return False
        self._position += 1
        return True

    def _alternatives(self, field: str | None, depth: int) -> Node | None:
        found = [self._sequence(field, depth)]
        while self._take("or"):
            found.append(self._sequence(field, depth))
        nodes = [node for node in found if node is not None]
        if len(nodes) > 1:
            return Or(tuple(nodes))
        return nodes[0] if nodes else None

    def _sequence(self, field: str | None, depth: int) -> Node | None:
        found = []
        while (token := self._next()) is not None and token.kind not in ("close", "or"):
            if self._take("and"):
                continue
            node = self._operand(field, depth)
            if node is not None:
                found.append(node)
        return _together(found)

    def _operand(self, field: str | None, depth: int) -> Node | None:
        excluded = False
        while self._take("not"):
            excluded = True
        node = self._single(field, depth)
        return Not(node) if excluded and node is not None else node

    def _single(self, field: str | None, depth: int) -> Node | None:
        if depth > DEPTH_MAX:
            raise ValueError(f"The query has more than {DEPTH_MAX} parts inside one another.")
        token = self._next()
        if token is None or token.kind in ("close", "or", "and"):
            return None
        self._position += 1
        if token.kind == "field":
            return self._in_field(token, depth + 1)
        if token.kind == "open":
            node = self._alternatives(field, depth + 1)
            self._take("close")
            return node
        return _term(token, field)

    def _in_field(self, token: _Token, depth: int) -> Node:
        operand = self._operand(token.text, depth)
        if operand is None:
            raise ValueError(
                f"“{_shortened(token.shown)}” has nothing to look for after the colon."
            )
        return operand


def _together(nodes: Sequence[Node]) -> Node | None:
    if not nodes:
        return None
    return nodes[0] if len(nodes) == 1 else And(tuple(nodes))


def _term(token: _Token, field: str | None) -> Node | None:
    if field in EXACT_FIELDS:
        return _exact(token, EXACT_FIELDS[field])
    within = TEXT_FIELDS[field] if field else None
    if token.kind == "phrase":
        return Term(token.text.strip(), within) if words(token.text) else None
    if token.text in ("*", "*:*"):
        return And()
    modifier = _MODIFIER.search(token.text)
    _refuse_modifier(modifier.group() if modifier else "", token.shown)
    if "*" in token.text.rstrip(".,;:!?"):
        return replace(_prefix(token), field=within)
    return Term(token.text, within) if words(token.text) else None


def _exact(token: _Token, field: str) -> Exact:
    value = token.text.strip()
    if not value or "*" in value:
        raise ValueError(f"“{_shortened(token.shown)}”: give the whole value, without a star.")
    try:
        return Exact(field, exact_value(field, value))
    except ValueError as error:
        raise ValueError(f"“{_shortened(token.shown)}”: {error}") from None


def _prefix(token: _Token) -> Term:
    """A star is allowed once, behind a word long enough that few words begin so."""
    stem = token.text.rstrip(".,;:!?").removesuffix("*")
    parts = words(stem)
    if "*" in stem:
        raise ValueError(
            f"“{_shortened(token.shown)}”: a star can only stand at the end of a word."
        )
    if parts and is_spaceless(parts[-1][0]):
        return Term(stem)
    if len(parts) != 1 or len(parts[0]) < PREFIX_CHARACTERS_MIN:
        raise ValueError(
            f"“{_shortened(token.shown)}”: a star needs one word of at least "
            f"{PREFIX_CHARACTERS_MIN} letters or digits before it."
        )
    return Term(parts[0], prefix=True)


def _refuse_open_quote(end: str, shown: str) -> None:
    if not end:
        raise ValueError(
            f"“{_shortened(shown)}”: this quote is never closed; close it, or leave it out."
        )


def _refuse_modifier(tail: str, shown: str) -> None:
    if tail:
        raise ValueError(
            f"“{_shortened(shown)}”: distances (~) and weights (^) are not known here; leave “{tail}” out."
        )


def _shortened(text: str) -> str:
    return text if len(text) <= 60 else f"{text[:57]}…"
