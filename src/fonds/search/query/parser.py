"""Parse a query that people write into a tree that every index backend translates.

    flood river              both words, in any of their forms, anywhere in title or text
    "flood river"  =floods   as written; several words next to each other, in this order
    "flood river"~5          at most five other words between them, in any order
    -cup  NOT cup            without this word
    flood OR drought         either of them; OR binds less tightly than adjacency, (…) groups
    flood*                   words that begin with this; at least three characters
    field:value              in that field, see `fonds.search.fields`; field:(…) for several values
    text:none                documents without text; text:"none" for the word
    domain:none              documents without a value, for every field that may have none
    year:2020..2024          dates and numbers, see `ranges.py`
    license:cc-by*           values that begin with this, for fields that accept it
    *                        everything

The parser is lenient where the meaning is clear. It closes an open parenthesis at the end, and
ignores a dangling OR and bare punctuation. In a sentence it also ignores marks that break the
syntax. Anything else it does not understand raises QueryError with the token and its position.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from itertools import combinations, pairwise

from fonds.model.search import QUERY_MAX_CHARS, MatchMode, QueryError, SearchQuery
from fonds.search.exact_values import NONE
from fonds.search.fields import (
    EXACT_FIELDS,
    PREFIX_FIELDS,
    RANGE_FIELDS,
    TEXT_FIELDS,
    THEME,
    VERSION,
    VERSION_VALUES,
    normalize_exact_value,
)
from fonds.search.query.ranges import parse_range
from fonds.search.query.tokens import Token, shorten, tokenize, tokenize_unfinished
from fonds.search.query.tree import (
    AndNode,
    ExactValue,
    IdSet,
    NearWords,
    Node,
    NotNode,
    NumberRange,
    OrNode,
    Term,
    relax_to_any,
    set_versions,
)
from fonds.text.stop_words import find_query_stop_words
from fonds.text.words import is_spaceless, normalize_text, split_words

CLAUSES_MAX = 256
DEPTH_MAX = 32
PREFIX_MIN_CHARS = 3
VALUE_PREFIX_MIN_CHARS = 2
NEAR_WORDS_MAX = 4
WORDS_BETWEEN_MAX = 100
ALL_VERSIONS = VERSION_VALUES[0]
ONLY_IN_QUERIES = {"field", "not", "or", "and", "exact"}
SENTENCE_STOP_WORDS_MIN = 3
"""Number of distinct stop words of one language from which a text counts as a sentence."""


Themes = Callable[[str], Sequence[str]]
"""Function that returns the ids of the documents of a theme, by the theme's name.

Raises ValueError with a message for users if the theme is unknown.
"""


def get_themes(query: SearchQuery) -> Themes:
    """Return a function that looks up the document ids of a theme among those stored in a query.

    The function raises ValueError for a theme that the query does not store.
    """

    def find_ids(value: str) -> Sequence[str]:
        if value not in query.themes:
            raise ValueError("themes cannot be searched here")
        return query.themes[value]

    return find_ids


def parse(text: str, themes: Themes | None = None) -> Node:
    """Return the syntax tree of a query text; `AndNode()` for an empty text.

    In a sentence, characters that break the syntax count as punctuation. In any other text they
    raise QueryError with a message for users. If `themes` is None, any theme in the query raises
    QueryError.
    """
    try:
        return _parse_syntax(text, themes)
    except QueryError:
        if not _is_sentence(text):
            raise
        return _parse_syntax(" ".join(normalize_text(text).split()), themes)


def _is_sentence(text: str) -> bool:
    """Return whether a query text looks like a sentence.

    A sentence has at least three different stop words of one language and no syntax that only
    queries have.
    """
    tokens = list(tokenize_unfinished(text))
    if any(token.tail or token.kind in ONLY_IN_QUERIES for token in tokens):
        return False
    # Single letters are names and variables as often as they are stop words.
    distinct = {word for word in split_words(text) if len(word) > 1 or is_spaceless(word)}
    return len(distinct & find_query_stop_words(distinct)) >= SENTENCE_STOP_WORDS_MIN


def _parse_syntax(text: str, themes: Themes | None) -> Node:
    if len(text) > QUERY_MAX_CHARS:
        raise QueryError(
            f"The query has {len(text):,} characters; the limit is {QUERY_MAX_CHARS:,}."
        )
    if not text.strip():
        return AndNode()
    tokens = list(tokenize(text))
    if sum(token.kind in ("word", "phrase") for token in tokens) > CLAUSES_MAX:
        raise QueryError(f"The query has more than {CLAUSES_MAX} words. Shorten it.")
    parser = _Parser(tokens, themes or get_themes(SearchQuery()))
    node = parser.parse()
    if node is None and not parser.versions:
        raise QueryError(f"“{shorten(text)}” has no letters or digits to search for.")
    node = node or AndNode()
    return set_versions(node) if ALL_VERSIONS in parser.versions else node


def parse_query(query: SearchQuery) -> Node:
    """Return the syntax tree of a query, ready to be searched.

    If the query asks for any of its words instead of all, or for certain versions of stories, the
    tree says so. Raises QueryError with a message for users if the text cannot be parsed.
    """
    tree = parse(query.text.encode("utf-8", "ignore").decode(), get_themes(query))
    if query.in_versions is not None:
        tree = set_versions(tree, in_versions=query.in_versions)
    return relax_to_any(tree) if query.match is MatchMode.BEST else tree


def has_all_versions(text: str) -> bool:
    """Return whether a query text contains `version:all`, also if the text cannot be parsed."""
    if f"{VERSION}:" not in text.lower():
        return False
    tokens = list(tokenize_unfinished(text))
    return any(
        (field.kind, field.text) == ("field", VERSION)
        and value.text.strip().lower() == ALL_VERSIONS
        for field, value in pairwise(tokens)
    )


def add_all_versions(text: str) -> str:
    """Return a query text for the same words that also searches earlier versions of stories.

    In a sentence, characters that would break the syntax are removed.
    """
    plain = " ".join(normalize_text(text).split()) if _is_sentence(text) else text.strip()
    return f"{VERSION}:{ALL_VERSIONS} {plain}"


class _Parser:
    """Recursive descent parser of query tokens.

    It parses alternatives (OR), then sequences, then exclusions (NOT), then single terms.
    """

    def __init__(self, tokens: Sequence[Token], themes: Themes) -> None:
        self._tokens = tokens
        self._themes = themes
        self._position = 0
        self.versions: set[str] = set()
        """Values of the field `version` in the query: `all` or `current`."""

    def parse(self) -> Node | None:
        nodes = []
        while self._next() is not None:
            node = self._parse_alternatives(None, 0)
            if node is not None:
                nodes.append(node)
            self._take("close")
        return _join_nodes(nodes)

    def _next(self) -> Token | None:
        return self._tokens[self._position] if self._position < len(self._tokens) else None

    def _take(self, kind: str) -> bool:
        token = self._next()
        if token is None or token.kind != kind:
            return False
        self._position += 1
        return True

    def _parse_alternatives(self, field: str | None, depth: int) -> Node | None:
        sequences = [self._parse_sequence(field, depth)]
        while self._take("or"):
            sequences.append(self._parse_sequence(field, depth))
        nodes = [node for node in sequences if node is not None]
        if len(nodes) > 1:
            return OrNode(tuple(nodes))
        return nodes[0] if nodes else None

    def _parse_sequence(self, field: str | None, depth: int) -> Node | None:
        nodes = []
        while (token := self._next()) is not None and token.kind not in ("close", "or"):
            if self._take("and"):
                continue
            node = self._parse_operand(field, depth)
            if node is not None:
                nodes.append(node)
        return _join_nodes(nodes)

    def _parse_operand(self, field: str | None, depth: int) -> Node | None:
        is_excluded = False
        while self._take("not"):
            is_excluded = True
        token = self._next()
        if is_excluded and token is not None and (token.kind, token.text) == ("field", VERSION):
            raise token.build_error(": only words and values can be excluded, not versions.")
        node = self._parse_single(field, depth)
        return NotNode(node) if is_excluded and node is not None else node

    def _parse_single(self, field: str | None, depth: int) -> Node | None:
        token = self._next()
        if depth > DEPTH_MAX:
            message = f"The query is nested deeper than {DEPTH_MAX} levels."
            raise QueryError(message, *((token.start, token.end) if token else (0, 0)))
        if token is None or token.kind in ("close", "or", "and"):
            return None
        self._position += 1
        if token.kind == "field":
            if token.text == VERSION:
                self._apply_version(token)
                return None
            return self._parse_field(token, depth + 1)
        if token.kind == "open":
            node = self._parse_alternatives(field, depth + 1)
            self._take("close")
            return node
        if token.kind == "exact":
            following = self._next()
            if following is None or following.kind not in ("word", "phrase"):
                raise token.build_error(
                    ": write the equals sign directly before a word or a quote."
                )
            self._position += 1
            if field == THEME:
                return self._parse_theme(following)
            return _build_term(following, field, exact=True)
        if field == THEME:
            return self._parse_theme(token)
        return _build_term(token, field, exact=False)

    def _apply_version(self, token: Token) -> None:
        """Read the value of `version:` at the current token, and add it to `versions`.

        The version is not part of the syntax tree, because it applies to the whole query. Raises
        QueryError for any other value than `all` or `current`.
        """
        value = self._next()
        if value is None or value.kind not in ("word", "phrase"):
            raise token.build_error(f": write {VERSION}:all or {VERSION}:current.")
        self._position += 1
        if value.text.strip().lower() not in VERSION_VALUES:
            raise value.build_error(f": {VERSION} is {' or '.join(VERSION_VALUES)}.")
        self.versions.add(value.text.strip().lower())

    def _parse_theme(self, token: Token) -> IdSet:
        value = _get_full_value(token)
        try:
            return IdSet(tuple(self._themes(value)))
        except ValueError as error:
            raise token.build_error(f": {error}") from None

    def _parse_field(self, token: Token, depth: int) -> Node:
        operand = self._parse_operand(token.text, depth)
        if operand is None:
            raise token.build_error(" needs a value after the colon.")
        return operand


def _join_nodes(nodes: Sequence[Node]) -> Node | None:
    if not nodes:
        return None
    return nodes[0] if len(nodes) == 1 else AndNode(tuple(nodes))


_MODIFIER = re.compile(r"(~[\d.]*|\^[\d.]+)$")


def _build_term(token: Token, field: str | None, *, exact: bool) -> Node | None:
    if field in PREFIX_FIELDS and token.kind == "word" and token.text.endswith("*"):
        return _build_prefix_exact(token, EXACT_FIELDS[field])
    if field in EXACT_FIELDS:
        return _build_exact(token, EXACT_FIELDS[field])
    if field in RANGE_FIELDS:
        return _build_range(token, field)
    document_field = TEXT_FIELDS[field] if field else None
    if token.tail:
        return _build_near(token, document_field)
    if token.kind == "phrase":
        return (
            Term(token.text.strip(), document_field, is_exact=True)
            if split_words(token.text)
            else None
        )
    if token.text in ("*", "*:*"):
        return AndNode()
    if document_field == "text_content" and not exact and token.text.lower() == NONE:
        return OrNode((NumberRange("word_count"), NumberRange("word_count", None, 0)))
    modifier = _MODIFIER.search(token.text)
    if modifier:
        raise _build_modifier_error(token, modifier.group())
    if "*" in token.text.rstrip(".,;:!?"):
        return _build_prefix(token, document_field)
    return Term(token.text, document_field, is_exact=exact) if split_words(token.text) else None


def _build_exact(token: Token, field: str) -> ExactValue:
    value = _get_full_value(token)
    try:
        return ExactValue(field, normalize_exact_value(field, value))
    except ValueError as error:
        raise token.build_error(f": {error}") from None


def _build_prefix_exact(token: Token, field: str) -> ExactValue:
    """Return a query tree node for all values of an exact field that begin with a typed text.

    The token is this text and a star. Raises QueryError if the text is too short or has another
    star.
    """
    start = token.text.removesuffix("*").lower()
    if len(start) < VALUE_PREFIX_MIN_CHARS or "*" in start:
        raise token.build_error(
            f": write at least {VALUE_PREFIX_MIN_CHARS} characters, then one star."
        )
    return ExactValue(field, start, is_prefix=True)


def _get_full_value(token: Token) -> str:
    value = token.text.strip()
    if not value or "*" in value:
        raise token.build_error(": write the whole value, without a star.")
    return value


def _build_range(token: Token, name: str) -> NumberRange:
    try:
        return parse_range(name, RANGE_FIELDS[name], token.text)
    except ValueError as error:
        raise token.build_error(f": {error}") from None


def _build_near(token: Token, field: str | None) -> Node:
    """Return a query tree node for two to four different words with few other words between them.

    The maximum number of words between is in the token's tail, as in `"a b"~5`. Raises QueryError
    if the words or the number are invalid.
    """
    distance = token.tail.removeprefix("~")
    if token.tail[0] == "^" or not (
        distance.isascii() and distance.isdigit() and len(distance) <= 3
    ):
        raise _build_modifier_error(token, token.tail)
    parts = tuple(split_words(token.text))
    if not 2 <= len(parts) <= NEAR_WORDS_MAX or len(set(parts)) < len(parts):
        raise token.build_error(f": a distance (~) needs two to {NEAR_WORDS_MAX} different words.")
    if int(distance) > WORDS_BETWEEN_MAX:
        raise token.build_error(f": at most {WORDS_BETWEEN_MAX} words can be between them.")
    return NearWords(parts, int(distance), field)


def list_pairs(near: NearWords) -> list[tuple[str, str]]:
    """Return all pairs of the words that must be near each other, as in `"flood river"~5`."""
    return list(combinations(near.words, 2))


def _build_prefix(token: Token, field: str | None) -> Term:
    """Return a query tree node for words that begin with the text before the star.

    The star must be at the end of a word with at least three letters or digits, so that few words
    match. Raises QueryError otherwise.
    """
    stem = token.text.rstrip(".,;:!?").removesuffix("*")
    parts = split_words(stem)
    if "*" in stem:
        raise token.build_error(": a star is only allowed at the end of a word.")
    if parts and is_spaceless(parts[-1][0]):
        return Term(stem, field, is_exact=True)
    if len(parts) != 1 or len(parts[0]) < PREFIX_MIN_CHARS:
        raise token.build_error(
            f": a star needs one word of at least {PREFIX_MIN_CHARS} letters or digits before it."
        )
    return Term(parts[0], field, is_prefix=True)


def _build_modifier_error(token: Token, tail: str) -> QueryError:
    return token.build_error(
        f": weights (^) are not supported, and a distance follows a quote, such as"
        f' "a b"~5. Remove “{tail}”.'
    )
