"""What a query means, held against one document after the other without any index."""

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
    """Whether the document is one the query asks for."""
    match node:
        case AndNode():
            return all(matches(one, document) for one in node.nodes)
        case OrNode():
            return any(matches(one, document) for one in node.nodes)
        case NotNode():
            return not matches(node.node, document)
        case IdSet():
            return document.id in node.ids
        case ExactValue():
            there = _values(node.field, document)
            if node.is_prefix:
                return any(value.startswith(node.value) for value in there)
            return node.value in there
        case NumberRange():
            return _within(node, document)
        case NearWords():
            return any(_near(node, split_words(text)) for text in _texts(node.field, document))
    return any(_term(node, text, document) for text in _texts(node.field, document))


def _texts(field: str | None, document: IndexDocument) -> list[str]:
    known = {
        "article_title": document.article_title or "",
        "text_content": document.text_content,
        "url": document.url,
        "authors": " ".join(document.authors),
        "holders": " ".join(document.holders),
    }
    return [known[field]] if field else [known["article_title"], known["text_content"]]


def _values(field: str, document: IndexDocument) -> list[str]:
    if field == "sites":
        return list_sites(document.url)
    value = getattr(document, field) or ""
    return list(value) if isinstance(value, tuple) else [value]


def _within(node: NumberRange, document: IndexDocument) -> bool:
    dates = {one.field_name: one for one in DateOf}.get(node.field)
    value = document.get_day(dates) if dates else getattr(document, node.field)
    if node.first is None and node.last is None:
        return value is None
    if value is None:
        return False
    number = value.toordinal() if dates else value
    return (node.first is None or number >= node.first) and (
        node.last is None or number <= node.last
    )


def _term(term: Term, text: str, document: IndexDocument) -> bool:
    wanted, there = split_words(term.text), split_words(text)
    if term.is_prefix:
        return any(word.startswith(wanted[0]) for word in there)
    has_forms = not term.is_exact and term.field not in ("url", "authors", "holders")
    if len(wanted) == 1 and has_forms and not is_spaceless(wanted[0][0]):
        return _has_form(term.text, text, document.language)
    size = len(wanted)
    return any(there[n : n + size] == wanted for n in range(len(there) - size + 1))


def _has_form(word: str, text: str, language: str | None) -> bool:
    stems = list_stems(word, language)
    return any(stems & list_stems(written, language) for written, _ in iter_written_words(text))


def _near(near: NearWords, there: list[str]) -> bool:
    places = {word: [n for n, one in enumerate(there) if one == word] for word in near.words}
    return all(
        any(abs(a - b) <= near.between + 1 for a in places[one] for b in places[other])
        for one, other in combinations(near.words, 2)
    )
