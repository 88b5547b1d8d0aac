"""Turns the tree of a query, and the filters beside it, into the query language of Elasticsearch."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from datetime import date
from typing import Any

from fonds.model.document import DateOf, SearchQuery
from fonds.model.keys import order_key
from fonds.stores.index.elastic.mapping import (
    ABSENT_FIELDS,
    CUT_VERSIONS,
    DAYS,
    MONTHS,
    ORDER,
    RAW_FIELDS,
    STEM_FIELDS,
    WORD_FIELDS,
)
from fonds.stores.index.keys import EARLIER, EARLIER_WEIGHT
from fonds.stores.index.query.parsing import pairs
from fonds.stores.index.query.tree import Among, Exact, Near, Node, Not, Or, Range, Term
from fonds.word_forms import Stem, stems_everywhere
from fonds.words import is_spaceless, words

TITLE_WEIGHT = 5.0
# What the weaker of title and text adds to the score of the stronger.
TIE_BREAKER = 0.2
SHARD_VALUES_MAX = 2_000
MONTHS_MAX = 12_000
SUGGESTED_MAX = 50

Clause = dict[str, Any]
EVERYTHING: Clause = {"constant_score": {"filter": {"match_all": {}}, "boost": 0.0}}
SORTS: dict[str, list[Clause]] = {
    "score": [{"_score": "desc"}, {"id": "asc"}],
    "added": [{"indexed_date": "desc"}, {"id": "asc"}],
    "id": [{ORDER: "asc"}, {"id": "asc"}],
}


RISING = {"newest": "desc", "oldest": "asc"}
DATE_FIELDS = {one.field: DAYS[one] for one in DateOf}


def _sort(query: SearchQuery) -> list[Clause]:
    if query.sort not in RISING:
        return SORTS[query.sort]
    return [{DAYS[query.dates]: {"order": RISING[query.sort], "missing": "_last"}}, {"id": "asc"}]


def body(query: SearchQuery, tree: Node) -> Clause:
    """The whole request: hits of one page, counts over all matches. Filters do not change the score."""
    return {
        "query": {"bool": {"must": [_node(tree)], "filter": _filters(query)}},
        "from": query.offset,
        "size": query.count_max,
        "sort": _sort(query),
        "track_scores": query.sort == "score",
        "track_total_hits": True,
        **({} if query.after is None else {"search_after": [order_key(query.after), query.after]}),
        **({"aggs": _counts(query.facet_values_max, query)} if query.facet_values_max else {}),
        **({} if query.with_snippets else {"_source": {"excludes": ["text_content"]}}),
    }


def _counts(values_max: int, query: SearchQuery) -> Clause:
    """Counts over all matches, by value and by month or day."""
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
                **({"missing": ""} if name in ABSENT_FIELDS else {}),
                "shard_size": SHARD_VALUES_MAX,
                "order": [{"_count": "desc"}, {"_key": "asc"}],
            }
        }
        for name in RAW_FIELDS
    }
    return counts | {
        "dates": {"terms": {**dates, "size": MONTHS_MAX, "order": {"_key": "asc"}}},
        "undated": {"missing": {"field": month}},
    }


def suggestions(word: str) -> Clause:
    """A request for words of titles and texts like this one, of two faults at most."""
    asked = {"suggest_mode": "always", "max_edits": 2, "prefix_length": 0, "size": SUGGESTED_MAX}
    fields = WORD_FIELDS["article_title"], WORD_FIELDS["text_content"]
    return {
        "size": 0,
        "suggest": {
            field: {"text": word, "term": {"field": field, "min_word_length": 4, **asked}}
            for field in fields
        },
    }


def _node(node: Node) -> Clause:
    if isinstance(node, Term):
        return _term(node)
    if isinstance(node, Near):
        return _near(node)
    if isinstance(node, Range):
        return _silent(_range(node))
    if isinstance(node, Exact):
        begins = {"prefix": {node.field: {"value": node.value}}}
        return _silent(begins if node.prefix else _one_of(node.field, [node.value]))
    if isinstance(node, Among):
        return _silent(_one_of("id", [_clean(id_) for id_ in node.ids]))
    if isinstance(node, Or):
        alternatives = [_node(child) for child in node.nodes]
        return {"bool": {"should": alternatives, "minimum_should_match": 1}}
    if isinstance(node, Not):
        return {"bool": {"must": [EVERYTHING], "must_not": [_node(node.node)]}}
    wanted = [_node(child) for child in node.nodes if not isinstance(child, Not)]
    excluded = [_node(child.node) for child in node.nodes if isinstance(child, Not)]
    return {"bool": {"must": wanted or [EVERYTHING], "must_not": excluded}}


def _silent(clause: Clause) -> Clause:
    return {"constant_score": {"filter": clause, "boost": 0.0}}


def _term(term: Term) -> Clause:
    return _in_fields(term, lambda field, boost: _in_field(field, term, boost))


def _in_fields(node: Term | Near, build_in: Callable[[str, float], Clause]) -> Clause:
    """The query in the field of a node, or in title and text, where a match in the title weighs more."""
    weights = (
        {node.field: 1.0} if node.field else {"article_title": TITLE_WEIGHT, "text_content": 1.0}
    )
    if node.in_versions:
        weights |= {EARLIER[field]: EARLIER_WEIGHT * of for field, of in weights.items()}
    built = [build_in(field, of) for field, of in weights.items()]
    if len(built) == 1:
        return built[0]
    return {"dis_max": {"queries": built, "tie_breaker": TIE_BREAKER}}


def _in_field(field: str, term: Term, boost: float) -> Clause:
    parts = words(term.text)
    if term.prefix:
        return {"prefix": {WORD_FIELDS[field]: {"value": parts[0], "boost": boost}}}
    if len(parts) > 1 or term.exact or field not in STEM_FIELDS or is_spaceless(parts[0][0]):
        return _phrase(WORD_FIELDS[field], parts, 0, boost)
    found = [_stem(STEM_FIELDS[field], stem, boost) for stem in stems_everywhere(term.text)]
    return {"bool": {"should": found, "minimum_should_match": 1}}


def _phrase(field: str, parts: Sequence[str], slop: int, boost: float) -> Clause:
    return {"match_phrase": {field: {"query": " ".join(parts), "slop": slop, "boost": boost}}}


def _stem(field: str, stem: Stem, boost: float) -> Clause:
    """Documents with this stem, of the languages it counts in."""
    having: Clause = {"term": {field: {"value": stem.text, "boost": boost}}}
    if stem.languages is not None:
        return {"bool": {"must": [having], "filter": [{"terms": {"language": stem.languages}}]}}
    others = [{"terms": {"language": stem.others}}] if stem.others else []
    return {"bool": {"must": [having], "must_not": others}}


def _near(near: Near) -> Clause:
    def within(field: str, boost: float) -> Clause:
        name, between = WORD_FIELDS[field], near.between
        return {"bool": {"must": [_pair(name, *pair, between, boost) for pair in pairs(near)]}}

    return _in_fields(near, within)


def _pair(field: str, one: str, other: str, between: int, boost: float) -> Clause:
    """Both orders by themselves: the servers take an exchange of words for two steps."""
    orders = [_phrase(field, order, between, boost) for order in ((one, other), (other, one))]
    return {"bool": {"should": orders, "minimum_should_match": 1}}


def _range(node: Range) -> Clause:
    field = DATE_FIELDS.get(node.field, node.field)
    if node.first is None and node.last is None:
        return {"bool": {"must_not": [{"exists": {"field": field}}]}}
    limits: dict[str, Any] = {"gte": node.first, "lte": node.last}
    if node.field in DATE_FIELDS:
        limits = {
            name: _day(date.fromordinal(max(day, 1))) if day is not None else None
            for name, day in limits.items()
        }
    return {"range": {field: {name: one for name, one in limits.items() if one is not None}}}


def _filters(query: SearchQuery) -> list[Clause]:
    allowed = {
        "kind": query.kinds,
        "language": query.languages,
        "canonical_domain": query.domains,
        "collection": query.collections,
        "id": query.ids,
    }
    filters: list[Clause] = [
        _one_of(field, [_clean(str(value)) for value in values])
        for field, values in allowed.items()
        if values
    ]
    if query.cut_versions:
        filters.append({"exists": {"field": CUT_VERSIONS}})
    if query.undated:
        filters.append({"bool": {"must_not": [{"exists": {"field": MONTHS[query.dates]}}]}})
    limits = {"gte": query.date_from, "lte": query.date_to}
    days = {name: _day(day) for name, day in limits.items() if day}
    if days:
        filters.append({"range": {DAYS[query.dates]: days}})
    return filters


def _one_of(field: str, values: list[str]) -> Clause:
    """Documents with one of these values; of a field some documents do not have, '' asks for those."""
    having: Clause = {"terms": {field: values}}
    if field not in ABSENT_FIELDS or "" not in values:
        return having
    without = {"bool": {"must_not": [{"exists": {"field": field}}]}}
    return {"bool": {"should": [having, without], "minimum_should_match": 1}}


def _day(day: Any) -> str:
    return f"{day.year:04d}-{day.month:02d}-{day.day:02d}"


def _clean(text: str) -> str:
    return text.encode("utf-8", "ignore").decode()
