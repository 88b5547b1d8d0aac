"""Explain why a search found nothing: values and words that no document has, and similar ones."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import replace

from fonds.model.file import Kind
from fonds.model.search import MatchMode, SearchQuery, SearchResults
from fonds.model.suggestions import find_nearest_name
from fonds.ports import Index
from fonds.search.fields import FACET_FIELDS, TEXT_FIELDS, list_filter_values
from fonds.search.query.filters import FACET_VALUES_MAX
from fonds.search.query.parser import add_all_versions, parse_query
from fonds.search.query.tree import (
    AndNode,
    Node,
    Term,
    drop_stop_words,
    is_in_versions,
    list_exact_values,
)
from fonds.text.words import normalize_text, split_words

TERMS_MAX = 20
"""Maximum number of values, and of words, that are looked up for one search."""

_NAMES = {document_field: name for name, document_field in reversed(TEXT_FIELDS.items())}


def add_notes(
    results: SearchResults, index: Index, query: SearchQuery, tree: Node
) -> SearchResults:
    """Add notes for users to search results that are empty. Return other results unchanged.

    Each note names a value or word that no document has, with the most similar existing one. The
    results also get a corrected query, and the number of stories that match in an earlier version.
    Nothing is added if the query requests no hits (`count_max` 0) or no notes (`with_notes`).
    """
    if results.total or not (query.count_max and query.with_notes):
        return results
    if query.match is MatchMode.BEST:
        tree = parse_query(replace(query, match=MatchMode.EXACT))
    results = _add_earlier_count(results, index, query, tree)
    notes = [*_iter_value_notes(index, query, tree)]
    corrected_query = _add_word_notes(
        index, query.text, tree, notes, in_earlier=results.earlier_count > 0
    )
    if not notes and _is_filtered(query):
        notes += _iter_filter_notes(index, query)
    elif not (notes or results.earlier_count) and isinstance(tree, AndNode) and tree.nodes:
        notes.append("Documents match each part of this search, but no document matches all of it.")
    return replace(
        results,
        notes=notes,
        corrected_query=corrected_query if corrected_query != query.text else None,
    )


def _add_word_notes(
    index: Index, text: str, tree: Node, notes: list[str], *, in_earlier: bool
) -> str:
    """Add a note to `notes` for each required word of a query that no document has.

    Return the query with these words replaced by similar existing words. If only earlier versions
    of stories have a word, the note says so. With `in_earlier`, this note is omitted, because
    another note covers all words.
    """
    corrected_text = text
    required_terms = _list_required_terms(tree)
    content_terms = list(drop_stop_words(required_terms))
    for term in [
        *content_terms,
        *(term_left for term_left in required_terms if term_left not in content_terms),
    ][:TERMS_MAX]:
        if notes and term not in content_terms:
            break
        if _count(index, format_term(term), in_versions=term.in_versions):
            continue
        if not term.in_versions and (count := _count(index, format_term(term), in_versions=True)):
            if not in_earlier:
                notes.append(
                    f"Only earlier versions of {_format_story_count(count)} contain"
                    f" {_format_short_term(term)}."
                )
            continue
        similar_word = _find_similar_word(index, term)
        ending = f"; did you mean “{similar_word}”?" if similar_word else "."
        notes.append(f"No document contains {_format_short_term(term)}{ending}")
        if similar_word:
            corrected_text = _replace_word(corrected_text, term.text, similar_word)
    return corrected_text


def _add_earlier_count(
    results: SearchResults, index: Index, query: SearchQuery, tree: Node
) -> SearchResults:
    """Return search results with the number of stories that match only in an earlier version."""
    if not query.text.strip() or is_in_versions(tree):
        return results
    version_query = replace(
        query, in_versions=True, offset=0, after=None, count_max=0, facet_values_max=0, sort="score"
    )
    count = index.search(version_query).total
    text = add_all_versions(query.text) if count else None
    return replace(results, earlier_count=count, earlier_text=text)


def _format_story_count(count: int) -> str:
    return "1 story" if count == 1 else f"{count:,} stories"


def format_term(term: Term) -> str:
    """Return a search term as a user would write it in a query."""
    name = f"{_NAMES[term.field]}:" if term.field else ""
    plain = " ".join(normalize_text(term.text).split())
    if term.is_prefix:
        return f"{name}{plain}*"
    if term.is_exact or len(split_words(term.text)) > 1:
        return f'{name}"{plain}"'
    return f"{name}{plain}"


def _format_short_term(term: Term) -> str:
    """Return a search term as a note for users quotes it, without punctuation at its end.

    It is as typed if the query syntax adds nothing but lower case, otherwise in query syntax.
    """
    query, typed_text = format_term(term), term.text.rstrip(".,;:!?…")
    return f"“{typed_text}”" if query == typed_text.lower() else query


def _list_required_terms(tree: Node) -> list[Term]:
    """Return the words and phrases of a query tree that every matching document must contain.

    Alternatives (OR) and exclusions (NOT) are omitted.
    """
    if isinstance(tree, Term):
        return [tree]
    if isinstance(tree, AndNode):
        return [term for node in tree.nodes for term in _list_required_terms(node)]
    return []


def _count(index: Index, text: str, *, in_versions: bool | None = None) -> int:
    query = SearchQuery(text, count_max=0, facet_values_max=0, in_versions=in_versions)
    return index.search(query).total


def _find_similar_word(index: Index, term: Term) -> str | None:
    """Return an existing word with a spelling similar to that of a search term, or None.

    Only terms of one complete word in title or text are compared. At least one document has the
    returned word.
    """
    parts = split_words(term.text)
    if (
        len(parts) != 1
        or term.is_prefix
        or term.field not in (None, "article_title", "text_content")
    ):
        return None
    for similar_word in index.find_similar_words(parts[0]):
        if _count(
            index, format_term(replace(term, text=similar_word)), in_versions=term.in_versions
        ):
            return similar_word
    return None


def _replace_word(text: str, misspelled_word: str, correction: str) -> str:
    """Replace the first occurrence of a misspelled word in a query by its correction."""
    return re.sub(
        rf"(?<!\w){re.escape(misspelled_word)}(?!\w)", lambda _: correction, text, count=1
    )


def _is_filtered(query: SearchQuery) -> bool:
    filters = query.kinds, query.languages, query.domains, query.collections, query.ids
    return any(filters) or bool(query.date_from or query.date_to or query.undated)


def _iter_filter_notes(index: Index, query: SearchQuery) -> Iterator[str]:
    unfiltered_query = SearchQuery(
        query.text, count_max=0, facet_values_max=0, match=query.match, themes=query.themes
    )
    count = index.search(unfiltered_query).total
    if count:
        yield f"Without the filters, the search finds {count:,}."


def _iter_value_notes(index: Index, query: SearchQuery, tree: Node) -> Iterator[str]:
    """Yield a note for users for each filter value in a query that no document has.

    Values of fields with a facet are checked, such as kind, language, domain and collection.
    """
    filters = list(dict.fromkeys(_iter_filter_values(query, tree)))[:TERMS_MAX]
    missing = [(field, value) for field, value in filters if not _has_matches(index, field, value)]
    if not missing:
        return
    facets = index.search(SearchQuery(count_max=0, facet_values_max=FACET_VALUES_MAX)).facets
    for field, value in missing:
        yield _format_note(FACET_FIELDS[field], value, [name for name, _ in facets.get(field, ())])


def _iter_filter_values(query: SearchQuery, tree: Node) -> Iterator[tuple[str, str]]:
    for field, values in list_filter_values(query).items():
        yield from ((field, value) for value in values)
    for exact in list_exact_values(tree):
        if exact.field in FACET_FIELDS:
            yield exact.field, exact.value


def _has_matches(index: Index, field: str, value: str) -> bool:
    count_only = SearchQuery(count_max=0, facet_values_max=0)
    filtered_query = {
        "kind": lambda: replace(count_only, kinds=[Kind(value)]),
        "language": lambda: replace(count_only, languages=[value]),
        "canonical_domain": lambda: replace(count_only, domains=[value]),
        "collection": lambda: replace(count_only, collections=[value]),
    }[field]()
    return index.search(filtered_query).total > 0


def _format_note(word: str, value: str, known_values: list[str]) -> str:
    if not value:
        return f"Every document has a {word}."
    similar_value = find_nearest_name(value, known_values)
    ending = f"; did you mean “{similar_value}”?" if similar_value else "."
    return f"No document has the {word} “{value}”{ending}"


# Similar spelling: letters exchanged, left out, inserted or swapped with the next.


SIMILAR_WORDS_MAX = 5
WORD_MIN_CHARS, WORD_MAX_CHARS = 4, 40


def get_max_edits(word: str) -> int:
    """Return the maximum number of edits between a word and a similar word.

    Returns 0 if the word is too short or too long for a comparison.
    """
    if not WORD_MIN_CHARS <= len(word) <= WORD_MAX_CHARS:
        return 0
    return 1 if len(word) < 2 * WORD_MIN_CHARS else 2


def rank_similar(word: str, counts: Iterable[tuple[str, int]]) -> list[str]:
    """Return up to five words similar to `word`: fewest edits first, then the most frequent.

    `counts` has pairs of an indexed word and the number of its documents.
    """
    edits_max = get_max_edits(word)
    ranked_words = sorted(
        (edits, -count, other_word)
        for other_word, count in Counter(dict(counts)).items()
        if other_word != word
        and abs(len(other_word) - len(word)) <= edits_max
        and 0 < (edits := count_edits(word, other_word)) <= edits_max
    )
    return [other_word for _, _, other_word in ranked_words[:SIMILAR_WORDS_MAX]]


def count_edits(first: str, other_word: str) -> int:
    """Return the edit distance of two words: letters replaced, removed, inserted or swapped.

    Source: the restricted Damerau-Levenshtein distance. Time is proportional to the product of the
    lengths.
    """
    row_before_last: list[int] = []
    last_row = list(range(len(other_word) + 1))
    for row, letter in enumerate(first, 1):
        current_row = [row]
        for column, other_letter in enumerate(other_word, 1):
            cost = min(
                last_row[column] + 1,
                current_row[-1] + 1,
                last_row[column - 1] + (letter != other_letter),
            )
            if (
                row > 1
                and column > 1
                and letter == other_word[column - 2]
                and first[row - 2] == other_letter
            ):
                cost = min(cost, row_before_last[column - 2] + 1)
            current_row.append(cost)
        row_before_last, last_row = last_row, current_row
    return last_row[-1]
