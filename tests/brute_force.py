"""What a query means, held against one document after the other without any index."""

from __future__ import annotations

from itertools import combinations

from fonds.model.document import DateOf, IndexDocument
from fonds.stores.index.keys import sites
from fonds.stores.index.query.tree import Among, And, Exact, Near, Node, Not, Or, Range, Term
from fonds.word_forms import stems_of, words_written
from fonds.words import is_spaceless, words


def matches(node: Node, document: IndexDocument) -> bool:
    """Whether the document is one the query asks for."""
    match node:
        case And():
            return all(matches(one, document) for one in node.nodes)
        case Or():
            return any(matches(one, document) for one in node.nodes)
        case Not():
            return not matches(node.node, document)
        case Among():
            return document.id in node.ids
        case Exact():
            there = _values(node.field, document)
            if node.prefix:
                return any(value.startswith(node.value) for value in there)
            return node.value in there
        case Range():
            return _within(node, document)
        case Near():
            return any(_near(node, words(text)) for text in _texts(node.field, document))
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
        return sites(document.url)
    value = getattr(document, field) or ""
    return list(value) if isinstance(value, tuple) else [value]


def _within(node: Range, document: IndexDocument) -> bool:
    dates = {one.field: one for one in DateOf}.get(node.field)
    value = document.day(dates) if dates else getattr(document, node.field)
    if node.first is None and node.last is None:
        return value is None
    if value is None:
        return False
    number = value.toordinal() if dates else value
    return (node.first is None or number >= node.first) and (
        node.last is None or number <= node.last
    )


def _term(term: Term, text: str, document: IndexDocument) -> bool:
    wanted, there = words(term.text), words(text)
    if term.prefix:
        return any(word.startswith(wanted[0]) for word in there)
    has_forms = not term.exact and term.field not in ("url", "authors", "holders")
    if len(wanted) == 1 and has_forms and not is_spaceless(wanted[0][0]):
        return _has_form(term.text, text, document.language)
    size = len(wanted)
    return any(there[n : n + size] == wanted for n in range(len(there) - size + 1))


def _has_form(word: str, text: str, language: str | None) -> bool:
    wanted = stems_of(word, language)
    return any(wanted & stems_of(written, language) for written, _ in words_written(text))


def _near(near: Near, there: list[str]) -> bool:
    places = {word: [n for n, one in enumerate(there) if one == word] for word in near.words}
    return all(
        any(abs(a - b) <= near.between + 1 for a in places[one] for b in places[other])
        for one, other in combinations(near.words, 2)
    )
