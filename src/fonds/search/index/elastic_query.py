"""Translate the syntax tree and filters of a query into the query language of Elasticsearch."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from datetime import date
from typing import Any

from fonds.model.document import DateOf
from fonds.model.keys import compute_order_key
from fonds.model.search import SearchQuery
from fonds.search.fields import (
    EARLIER_FIELDS,
    FACET_FIELDS,
    OPTIONAL_FIELDS,
    STEM_FIELDS,
    WORD_FIELDS,
    list_filter_values,
)
from fonds.search.index.elastic_mapping import (
    DAYS,
    MONTHS,
    ORDER,
)
from fonds.search.index.words import CUT_VERSIONS_FIELD, EARLIER_WEIGHT
from fonds.search.query.parser import list_pairs
from fonds.search.query.tree import (
    ExactValue,
    IdSet,
    NearWords,
    Node,
    NotNode,
    NumberRange,
    OrNode,
    Term,
)
from fonds.text.stems import Stem, list_search_stems
from fonds.text.words import is_spaceless, split_words

TITLE_WEIGHT = 5.0
# Share of the weaker of title and text that is added to the score of the stronger.
TIE_BREAKER = 0.2
SHARD_VALUES_MAX = 2_000
MONTHS_MAX = 12_000
SUGGESTED_MAX = 50

Clause = dict[str, Any]
MATCH_ALL: Clause = {"constant_score": {"filter": {"match_all": {}}, "boost": 0.0}}
SORTS: dict[str, list[Clause]] = {
    "score": [{"_score": "desc"}, {"id": "asc"}],
    "added": [{"indexed_date": "desc"}, {"id": "asc"}],
    "id": [{ORDER: "asc"}, {"id": "asc"}],
}


DATE_SORT_ORDERS = {"newest": "desc", "oldest": "asc"}
DATE_FIELDS = {kind.field_name: DAYS[kind] for kind in DateOf}


def _build_sort(query: SearchQuery) -> list[Clause]:
    if query.sort not in DATE_SORT_ORDERS:
        return SORTS[query.sort]
    return [
        {DAYS[query.dates]: {"order": DATE_SORT_ORDERS[query.sort], "missing": "_last"}},
        {"id": "asc"},
    ]


def build_body(query: SearchQuery, tree: Node) -> Clause:
    """Build a search request for the hits of one page and for counts over all matches.

    Filters do not change the score.
    """
    return {
        "query": {"bool": {"must": [_build_clause(tree)], "filter": _build_filters(query)}},
        "from": query.offset,
        "size": query.count_max,
        "sort": _build_sort(query),
        "track_scores": query.sort == "score",
        "track_total_hits": True,
        **(
            {}
            if query.after is None
            else {"search_after": [compute_order_key(query.after), query.after]}
        ),
        **(
            {"aggs": _build_counts(query.facet_values_max, query)} if query.facet_values_max else {}
        ),
        **({} if query.with_snippets else {"_source": {"excludes": ["text_content"]}}),
    }


def _build_counts(values_max: int, query: SearchQuery) -> Clause:
    """Build the aggregations that count all matches by facet value and by month or day."""
    month = MONTHS[query.dates]
    dates = (
        {"field": DAYS[query.dates], "format": "yyyy-MM-dd"}
        if query.is_by_day
        else {"field": month}
    )
    counts: Clause = {
        name: {
            "terms": {
                "field": name,
                "size": values_max,
                **({"missing": ""} if name in OPTIONAL_FIELDS else {}),
                "shard_size": SHARD_VALUES_MAX,
                "order": [{"_count": "desc"}, {"_key": "asc"}],
            }
        }
        for name in FACET_FIELDS
    }
    return counts | {
        "dates": {"terms": {**dates, "size": MONTHS_MAX, "order": {"_key": "asc"}}},
        "undated": {"missing": {"field": month}},
    }


def build_suggestions(word: str) -> Clause:
    """Build a request for indexed words of titles and texts that are spelled like `word`.

    The words differ from `word` by at most two edits.
    """
    options = {"suggest_mode": "always", "max_edits": 2, "prefix_length": 0, "size": SUGGESTED_MAX}
    fields = WORD_FIELDS["article_title"], WORD_FIELDS["text_content"]
    return {
        "size": 0,
        "suggest": {
            field: {"text": word, "term": {"field": field, "min_word_length": 4, **options}}
            for field in fields
        },
    }


def _build_clause(node: Node) -> Clause:
    if isinstance(node, Term):
        return _build_term(node)
    if isinstance(node, NearWords):
        return _build_near(node)
    if isinstance(node, NumberRange):
        return _make_constant(_build_range(node))
    if isinstance(node, ExactValue):
        prefix = {"prefix": {node.field: {"value": node.value}}}
        return _make_constant(prefix if node.is_prefix else _build_any_of(node.field, [node.value]))
    if isinstance(node, IdSet):
        return _make_constant(_build_any_of("id", [_clean(id_) for id_ in node.ids]))
    if isinstance(node, OrNode):
        alternatives = [_build_clause(child) for child in node.nodes]
        return {"bool": {"should": alternatives, "minimum_should_match": 1}}
    if isinstance(node, NotNode):
        return {"bool": {"must": [MATCH_ALL], "must_not": [_build_clause(node.node)]}}
    required_clauses = [
        _build_clause(child) for child in node.nodes if not isinstance(child, NotNode)
    ]
    excluded_clauses = [
        _build_clause(child.node) for child in node.nodes if isinstance(child, NotNode)
    ]
    return {"bool": {"must": required_clauses or [MATCH_ALL], "must_not": excluded_clauses}}


def _make_constant(clause: Clause) -> Clause:
    return {"constant_score": {"filter": clause, "boost": 0.0}}


def _build_term(term: Term) -> Clause:
    return _build_in_fields(term, lambda field, boost: _build_in_field(field, term, boost))


def _build_in_fields(node: Term | NearWords, build_in: Callable[[str, float], Clause]) -> Clause:
    """Build a query for words in the field that the syntax tree node names, or in title and text.

    A match in the title weighs more. `build_in` builds the query for one field and its weight.
    Earlier versions of stories are searched too if the node says so.
    """
    weights = (
        {node.field: 1.0} if node.field else {"article_title": TITLE_WEIGHT, "text_content": 1.0}
    )
    if node.in_versions:
        weights |= {
            EARLIER_FIELDS[field]: EARLIER_WEIGHT * weight for field, weight in weights.items()
        }
    clauses = [build_in(field, weight) for field, weight in weights.items()]
    if len(clauses) == 1:
        return clauses[0]
    return {"dis_max": {"queries": clauses, "tie_breaker": TIE_BREAKER}}


def _build_in_field(field: str, term: Term, boost: float) -> Clause:
    parts = split_words(term.text)
    if term.is_prefix:
        return {"prefix": {WORD_FIELDS[field]: {"value": parts[0], "boost": boost}}}
    if len(parts) > 1 or term.is_exact or field not in STEM_FIELDS or is_spaceless(parts[0][0]):
        return _build_phrase(WORD_FIELDS[field], parts, 0, boost)
    clauses = [
        _build_stem(STEM_FIELDS[field], stem, boost) for stem in list_search_stems(term.text)
    ]
    return {"bool": {"should": clauses, "minimum_should_match": 1}}


def _build_phrase(field: str, parts: Sequence[str], slop: int, boost: float) -> Clause:
    return {"match_phrase": {field: {"query": " ".join(parts), "slop": slop, "boost": boost}}}


def _build_stem(field: str, stem: Stem, boost: float) -> Clause:
    """Build a query for documents with a stem, in the languages to which the stem applies."""
    with_stem: Clause = {"term": {field: {"value": stem.text, "boost": boost}}}
    if stem.languages is not None:
        return {"bool": {"must": [with_stem], "filter": [{"terms": {"language": stem.languages}}]}}
    excluded_clauses = (
        [{"terms": {"language": stem.other_languages}}] if stem.other_languages else []
    )
    return {"bool": {"must": [with_stem], "must_not": excluded_clauses}}


def _build_near(near: NearWords) -> Clause:
    def build_in_field(field: str, boost: float) -> Clause:
        name, between = WORD_FIELDS[field], near.between
        return {
            "bool": {
                "must": [_build_pair(name, *pair, between, boost) for pair in list_pairs(near)]
            }
        }

    return _build_in_fields(near, build_in_field)


def _build_pair(
    field: str, first_word: str, second_word: str, words_between_max: int, boost: float
) -> Clause:
    """Build a query for two words near each other, in either order.

    Each order is a query of its own, because the servers count a swap of words as two steps.
    """
    orders = [
        _build_phrase(field, order, words_between_max, boost)
        for order in ((first_word, second_word), (second_word, first_word))
    ]
    return {"bool": {"should": orders, "minimum_should_match": 1}}


def _build_range(node: NumberRange) -> Clause:
    field = DATE_FIELDS.get(node.field, node.field)
    if node.first is None and node.last is None:
        return {"bool": {"must_not": [{"exists": {"field": field}}]}}
    limits: dict[str, Any] = {"gte": node.first, "lte": node.last}
    if node.field in DATE_FIELDS:
        limits = {
            name: _format_day(date.fromordinal(max(day, 1))) if day is not None else None
            for name, day in limits.items()
        }
    return {"range": {field: {name: limit for name, limit in limits.items() if limit is not None}}}


def _build_filters(query: SearchQuery) -> list[Clause]:
    allowed_values = {**list_filter_values(query), "id": query.ids}
    filters: list[Clause] = [
        _build_any_of(field, [_clean(str(value)) for value in values])
        for field, values in allowed_values.items()
        if values
    ]
    if query.cut_versions:
        filters.append({"exists": {"field": CUT_VERSIONS_FIELD}})
    if query.undated:
        filters.append({"bool": {"must_not": [{"exists": {"field": MONTHS[query.dates]}}]}})
    limits = {"gte": query.date_from, "lte": query.date_to}
    days = {name: _format_day(day) for name, day in limits.items() if day}
    if days:
        filters.append({"range": {DAYS[query.dates]: days}})
    return filters


def _build_any_of(field: str, values: list[str]) -> Clause:
    """Build a query for documents with one of several exact values in a field.

    In a field that documents may lack, '' matches documents without a value.
    """
    with_value: Clause = {"terms": {field: values}}
    if field not in OPTIONAL_FIELDS or "" not in values:
        return with_value
    without_value = {"bool": {"must_not": [{"exists": {"field": field}}]}}
    return {"bool": {"should": [with_value, without_value], "minimum_should_match": 1}}


def _format_day(day: Any) -> str:
    return f"{day.year:04d}-{day.month:02d}-{day.day:02d}"


def _clean(text: str) -> str:
    return text.encode("utf-8", "ignore").decode()
