"""Evaluate a query on each document in turn, without an index."""

from __future__ import annotations

from itertools import combinations

from fonds.model.document import DateOf, IndexDocument
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
)
from fonds.search.sites import list_sites
from fonds.text.stems import iter_written_words, list_stems
from fonds.text.words import is_spaceless, split_words


def matches(node: Node, document: IndexDocument) -> bool:
    """Return whether a document matches a query."""
    match node:
        case AndNode():
            return all(matches(child, document) for child in node.nodes)
        case OrNode():
            return any(matches(child, document) for child in node.nodes)
        case NotNode():
            return not matches(node.node, document)
        case IdSet():
            return document.id in node.ids
        case ExactValue():
            values = _values(node.field, document)
            if node.is_prefix:
                return any(value.startswith(node.value) for value in values)
            return node.value in values
        case NumberRange():
            return _within(node, document)
        case NearWords():
            return any(_near(node, split_words(text)) for text in _texts(node.field, document))
    return any(_term(node, text, document) for text in _texts(node.field, document))


def _texts(field: str | None, document: IndexDocument) -> list[str]:
    field_texts = {
        "article_title": document.article_title or "",
        "text_content": document.text_content,
        "url": document.url,
        "authors": " ".join(document.authors),
        "holders": " ".join(document.holders),
    }
    return (
        [field_texts[field]]
        if field
        else [field_texts["article_title"], field_texts["text_content"]]
    )


def _values(field: str, document: IndexDocument) -> list[str]:
    if field == "sites":
        return list_sites(document.url)
    value = getattr(document, field) or ""
    return list(value) if isinstance(value, tuple) else [value]


def _within(node: NumberRange, document: IndexDocument) -> bool:
    date_kind = {kind.field_name: kind for kind in DateOf}.get(node.field)
    value = document.get_day(date_kind) if date_kind else getattr(document, node.field)
    if node.first is None and node.last is None:
        return value is None
    if value is None:
        return False
    number = value.toordinal() if date_kind else value
    return (node.first is None or number >= node.first) and (
        node.last is None or number <= node.last
    )


def _term(term: Term, text: str, document: IndexDocument) -> bool:
    query_words, text_words = split_words(term.text), split_words(text)
    if term.is_prefix:
        return any(word.startswith(query_words[0]) for word in text_words)
    has_forms = not term.is_exact and term.field not in ("url", "authors", "holders")
    if len(query_words) == 1 and has_forms and not is_spaceless(query_words[0][0]):
        return _has_form(term.text, text, document.language)
    size = len(query_words)
    return any(text_words[n : n + size] == query_words for n in range(len(text_words) - size + 1))


def _has_form(word: str, text: str, language: str | None) -> bool:
    stems = list_stems(word, language)
    return any(
        stems & list_stems(word_in_text, language) for word_in_text, _ in iter_written_words(text)
    )


def _near(near: NearWords, text_words: list[str]) -> bool:
    positions = {
        word: [n for n, text_word in enumerate(text_words) if text_word == word]
        for word in near.words
    }
    return all(
        any(
            abs(a - b) <= near.between + 1
            for a in positions[left_word]
            for b in positions[right_word]
        )
        for left_word, right_word in combinations(near.words, 2)
    )
