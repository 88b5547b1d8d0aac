"""The query syntax of people, parsed into a small tree that every index backend can translate.

    flood river              both words, in any of their forms, anywhere in title or text
    "flood river"  =floods   as they are written; several next to each other, in this order
    "flood river"~5          each at most five words from the other, in any order
    -cup  NOT cup            without
    flood OR drought         one of them; OR binds less than standing side by side, (…) groups
    flood*                   words that begin so; at least three characters
    title:… text:… url:… author:… holder:…   in that field; title:(flood river) for several words
    text:none                documents without text; text:"none" for the word
    domain:… site:… language:… kind:… collection:… doi:… status:…   that value; domain:none for without
    license:… prefers:…      that value; license:cc-by* for all that begin so
    theme:"flood, river"     the documents of a theme of a collection, by its label or id
    date:2024-05 year:2020..2024 captured:2024 added:>=2024-05-17   days, as `ranges.py` says
    words:>500 pages:none    numbers, as it says
    version:all              words of the whole query may be in an earlier version of a story
    *                        everything

Lenient where the meaning is plain: an open parenthesis closes at the end, a dangling OR and bare
punctuation are passed over, and in a sentence so are marks that break the syntax. What else cannot be
understood raises QueryError naming the token and its place.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from itertools import combinations, pairwise

from fonds.model.document import Match, SearchQuery
from fonds.model.query_error import QueryError
from fonds.stop_words import stop_words_of_query
from fonds.stores.index.asked import NONE, exact_value
from fonds.stores.index.query.fields import (
    EXACT_FIELDS,
    PREFIX_FIELDS,
    RANGE_FIELDS,
    TEXT_FIELDS,
    THEME,
    VERSION,
    VERSION_VALUES,
)
from fonds.stores.index.query.ranges import range_of
from fonds.stores.index.query.tokens import Token, shortened, tokens, unfinished
from fonds.stores.index.query.tree import (
    Among,
    And,
    Exact,
    Near,
    Node,
    Not,
    Or,
    Range,
    Term,
    best_match,
    in_all_versions,
)
from fonds.words import is_spaceless, letters, words

QUERY_CHARACTERS_MAX = 4_000
CLAUSES_MAX = 256
DEPTH_MAX = 32
PREFIX_CHARACTERS_MIN = 3
VALUE_PREFIX_CHARACTERS_MIN = 2
NEAR_WORDS_MAX = 4
BETWEEN_MAX = 100
ALL_VERSIONS = VERSION_VALUES[0]
ONLY_IN_QUERIES = {"field", "not", "or", "and", "exact"}
SENTENCE_STOP_WORDS_MIN = 3
"""Distinct stop words of one language that make a text a sentence."""


Themes = Callable[[str], Sequence[str]]
"""Gives the ids of the documents of a theme by what names it. Raises ValueError with a sentence."""


def themes_of(query: SearchQuery) -> Themes:
    """The themes a query was given."""

    def ids(value: str) -> Sequence[str]:
        if value not in query.themes:
            raise ValueError("themes cannot be asked for here")
        return query.themes[value]

    return ids


def parse(text: str, themes: Themes | None = None) -> Node:
    """Return the tree of a query; And(()) for an empty one.

    In a sentence, marks that break the syntax are punctuation. Otherwise raises QueryError with a sentence
    for people, as it does for any theme without `themes`.
    """
    try:
        return _parse_syntax(text, themes)
    except QueryError:
        if not _is_sentence(text):
            raise
        return _parse_syntax(" ".join(letters(text).split()), themes)


def _is_sentence(text: str) -> bool:
    """Whether the text has stop words as a sentence has, and nothing that only a query has."""
    found = list(unfinished(text))
    if any(token.tail or token.kind in ONLY_IN_QUERIES for token in found):
        return False
    # Single letters are names and variables as often as they are stop words.
    distinct = {word for word in words(text) if len(word) > 1 or is_spaceless(word)}
    return len(distinct & stop_words_of_query(distinct)) >= SENTENCE_STOP_WORDS_MIN


def _parse_syntax(text: str, themes: Themes | None) -> Node:
    if len(text) > QUERY_CHARACTERS_MAX:
        raise QueryError(
            f"The query has {len(text):,} characters; at most {QUERY_CHARACTERS_MAX:,} can be used."
        )
    if not text.strip():
        return And()
    found = list(tokens(text))
    if sum(token.kind in ("word", "phrase") for token in found) > CLAUSES_MAX:
        raise QueryError(f"The query has more than {CLAUSES_MAX} words; please shorten it.")
    parser = _Parser(found, themes or themes_of(SearchQuery()))
    node = parser.parse()
    if node is None and not parser.versions:
        raise QueryError(f"“{shortened(text)}” has no letters or digits to search for.")
    node = node or And()
    return in_all_versions(node) if ALL_VERSIONS in parser.versions else node


def parse_query(query: SearchQuery) -> Node:
    """Return the tree of a query, by the kind of match and the versions it asks for. Raises QueryError as
    `parse` does."""
    tree = parse(query.text.encode("utf-8", "ignore").decode(), themes_of(query))
    if query.in_versions is not None:
        tree = in_all_versions(tree, wanted=query.in_versions)
    return best_match(tree) if query.match is Match.BEST else tree


def asks_for_versions(text: str) -> bool:
    """Whether a query has `version:all` in it; False for one that cannot be understood."""
    if f"{VERSION}:" not in text.lower():
        return False
    found = list(unfinished(text))
    return any(
        (field.kind, field.text) == ("field", VERSION)
        and value.text.strip().lower() == ALL_VERSIONS
        for field, value in pairwise(found)
    )


def with_all_versions(text: str) -> str:
    """Return the query that looks for the same words in earlier versions too. In a sentence, marks that would
    break the syntax are left out."""
    plain = " ".join(letters(text).split()) if _is_sentence(text) else text.strip()
    return f"{VERSION}:{ALL_VERSIONS} {plain}"


class _Parser:
    """Recursive descent over the tokens: alternatives, sequences, exclusions, then single terms."""

    def __init__(self, found: Sequence[Token], themes: Themes) -> None:
        self._tokens = found
        self._themes = themes
        self._position = 0
        self.versions: set[str] = set()
        """The values of `version:` in the query."""

    def parse(self) -> Node | None:
        found = []
        while self._next() is not None:
            node = self._alternatives(None, 0)
            if node is not None:
                found.append(node)
            self._take("close")
        return _together(found)

    def _next(self) -> Token | None:
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
        token = self._next()
        if excluded and token is not None and (token.kind, token.text) == ("field", VERSION):
            raise token.refused(": only words and values can be excluded, not versions.")
        node = self._single(field, depth)
        return Not(node) if excluded and node is not None else node

    def _single(self, field: str | None, depth: int) -> Node | None:
        token = self._next()
        if depth > DEPTH_MAX:
            told = f"The query has more than {DEPTH_MAX} parts inside one another."
            raise QueryError(told, *((token.start, token.end) if token else (0, 0)))
        if token is None or token.kind in ("close", "or", "and"):
            return None
        self._position += 1
        if token.kind == "field":
            if token.text == VERSION:
                self._version(token)
                return None
            return self._in_field(token, depth + 1)
        if token.kind == "open":
            node = self._alternatives(field, depth + 1)
            self._take("close")
            return node
        if token.kind == "exact":
            following = self._next()
            if following is None or following.kind not in ("word", "phrase"):
                raise token.refused(": an equals sign stands directly before a word or a quote.")
            self._position += 1
            if field == THEME:
                return self._theme(following)
            return _term(following, field, exact=True)
        if field == THEME:
            return self._theme(token)
        return _term(token, field, exact=False)

    def _version(self, token: Token) -> None:
        """It is no part of the tree: it holds for the whole query, wherever it stands."""
        value = self._next()
        if value is None or value.kind not in ("word", "phrase"):
            raise token.refused(f": write {VERSION}:all, or {VERSION}:current.")
        self._position += 1
        if value.text.strip().lower() not in VERSION_VALUES:
            raise value.refused(f": {VERSION} is {' or '.join(VERSION_VALUES)}.")
        self.versions.add(value.text.strip().lower())

    def _theme(self, token: Token) -> Among:
        value = _whole_value(token)
        try:
            return Among(tuple(self._themes(value)))
        except ValueError as error:
            raise token.refused(f": {error}") from None

    def _in_field(self, token: Token, depth: int) -> Node:
        operand = self._operand(token.text, depth)
        if operand is None:
            raise token.refused(" has nothing to look for after the colon.")
        return operand


def _together(nodes: Sequence[Node]) -> Node | None:
    if not nodes:
        return None
    return nodes[0] if len(nodes) == 1 else And(tuple(nodes))


_MODIFIER = re.compile(r"(~[\d.]*|\^[\d.]+)$")


def _term(token: Token, field: str | None, *, exact: bool) -> Node | None:
    if field in PREFIX_FIELDS and token.kind == "word" and token.text.endswith("*"):
        return _beginning(token, EXACT_FIELDS[field])
    if field in EXACT_FIELDS:
        return _exact(token, EXACT_FIELDS[field])
    if field in RANGE_FIELDS:
        return _range(token, field)
    within = TEXT_FIELDS[field] if field else None
    if token.tail:
        return _near(token, within)
    if token.kind == "phrase":
        return Term(token.text.strip(), within, exact=True) if words(token.text) else None
    if token.text in ("*", "*:*"):
        return And()
    if within == "text_content" and not exact and token.text.lower() == NONE:
        return Or((Range("word_count"), Range("word_count", None, 0)))
    modifier = _MODIFIER.search(token.text)
    if modifier:
        raise _no_modifier(token, modifier.group())
    if "*" in token.text.rstrip(".,;:!?"):
        return _prefix(token, within)
    return Term(token.text, within, exact=exact) if words(token.text) else None


def _exact(token: Token, field: str) -> Exact:
    value = _whole_value(token)
    try:
        return Exact(field, exact_value(field, value))
    except ValueError as error:
        raise token.refused(f": {error}") from None


def _beginning(token: Token, field: str) -> Exact:
    """Every value of the field that begins so."""
    start = token.text.removesuffix("*").lower()
    if len(start) < VALUE_PREFIX_CHARACTERS_MIN or "*" in start:
        raise token.refused(
            f": give at least {VALUE_PREFIX_CHARACTERS_MIN} characters, and one star behind them."
        )
    return Exact(field, start, prefix=True)


def _whole_value(token: Token) -> str:
    value = token.text.strip()
    if not value or "*" in value:
        raise token.refused(": give the whole value, without a star.")
    return value


def _range(token: Token, name: str) -> Range:
    try:
        return range_of(name, RANGE_FIELDS[name], token.text)
    except ValueError as error:
        raise token.refused(f": {error}") from None


def _near(token: Token, within: str | None) -> Node:
    """Two to four different words and how many others may stand between them."""
    said = token.tail.removeprefix("~")
    if token.tail[0] == "^" or not (said.isascii() and said.isdigit() and len(said) <= 3):
        raise _no_modifier(token, token.tail)
    parts = tuple(words(token.text))
    if not 2 <= len(parts) <= NEAR_WORDS_MAX or len(set(parts)) < len(parts):
        raise token.refused(f": nearness is for two to {NEAR_WORDS_MAX} different words.")
    if int(said) > BETWEEN_MAX:
        raise token.refused(f": at most {BETWEEN_MAX} words may stand between.")
    return Near(parts, int(said), within)


def pairs(near: Near) -> list[tuple[str, str]]:
    """All pairs of its words; each must be near."""
    return list(combinations(near.words, 2))


def _prefix(token: Token, within: str | None) -> Term:
    """A star is allowed once, behind a word long enough that few words begin so."""
    stem = token.text.rstrip(".,;:!?").removesuffix("*")
    parts = words(stem)
    if "*" in stem:
        raise token.refused(": a star can only stand at the end of a word.")
    if parts and is_spaceless(parts[-1][0]):
        return Term(stem, within, exact=True)
    if len(parts) != 1 or len(parts[0]) < PREFIX_CHARACTERS_MIN:
        raise token.refused(
            f": a star needs one word of at least {PREFIX_CHARACTERS_MIN} letters or digits before it."
        )
    return Term(parts[0], within, prefix=True)


def _no_modifier(token: Token, tail: str) -> QueryError:
    return token.refused(
        f": weights (^) are not known, and a distance is a number behind a quote, as"
        f' "a b"~5; leave “{tail}” out.'
    )
