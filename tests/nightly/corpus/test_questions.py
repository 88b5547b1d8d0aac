"""Ranking by best match, for questions about abstracts of a computer science journal.

Every question has results, and the mean nDCG of the first ten documents has a lower bound.
"""

from __future__ import annotations

import gzip
import hashlib
import json
from datetime import UTC, datetime
from functools import partial
from math import log2
from pathlib import Path
from statistics import mean

import pytest

from fonds.model.document import IndexDocument
from fonds.model.file import Kind
from fonds.model.search import SearchQuery
from fonds.search.best_match import search_with_fallback
from fonds.search.index.tantivy_index import TantivyIndex
from fonds.search.results import search_uncollapsed

QUESTIONS = Path(__file__).parents[3].parent / "shared" / "corpus" / "gold" / "questions"
RANKED = 10
NDCG_MIN = 0.34

pytestmark = [
    pytest.mark.skipif(not QUESTIONS.is_dir(), reason=f"no questions in {QUESTIONS}"),
]


@pytest.fixture(scope="module")
def index(tmp_path_factory: pytest.TempPathFactory) -> TantivyIndex:
    """An index of the abstracts."""
    built = TantivyIndex(tmp_path_factory.mktemp("abstracts"))
    with gzip.open(QUESTIONS / "cacm-documents.jsonl.gz") as lines:
        built.put([_document(json.loads(line)) for line in lines])
    built.close()
    return built


def _document(abstract: dict[str, str]) -> IndexDocument:
    return IndexDocument(
        id=abstract["id"],
        sha1hex=hashlib.sha1(abstract["id"].encode()).hexdigest(),
        kind=Kind.STORY,
        url=f"https://abstracts.example/{abstract['id']}",
        canonical_domain="abstracts.example",
        publication_date=None,
        language="en",
        article_title=abstract["title"],
        text_content=abstract["text"],
        indexed_date=datetime(2026, 11, 25, tzinfo=UTC),
    )


def _ndcg(ids: list[str], relevant: set[str]) -> float:
    """Normalized discounted cumulative gain; each relevant document gains 1."""
    gain = sum(1 / log2(place + 2) for place, id_ in enumerate(ids) if id_ in relevant)
    return gain / sum(1 / log2(place + 2) for place in range(min(RANKED, len(relevant))))


def test_every_question_finds_documents_and_ranks_the_relevant_ones_first(
    index: TantivyIndex,
) -> None:
    lines = (QUESTIONS / "cacm-questions.jsonl").read_text("utf-8").splitlines()
    gains, without_results = [], []
    for question in map(json.loads, lines):
        query = SearchQuery(question["question"], count_max=RANKED, facet_values_max=0)
        results = search_with_fallback(partial(search_uncollapsed, index), query).results
        if not results.total:
            without_results.append(question["id"])
        gains.append(_ndcg([hit.document.id for hit in results.hits], {*question["relevant"]}))
    print(f"{len(gains)} questions, nDCG@{RANKED} {mean(gains):.3f}")
    assert not without_results
    assert mean(gains) >= NDCG_MIN
