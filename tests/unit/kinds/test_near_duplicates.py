"""Of results that say nearly the same the first stands, and the others beside it."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import UTC, datetime
from hashlib import sha1
from pathlib import Path

import pytest
from starlette.testclient import TestClient

from filled_home import opened
from fonds.kinds.similarity.near_duplicates import near_duplicates
from fonds.kinds.similarity.sketch import sketch
from fonds.model.document import IndexDocument
from fonds.model.file import Kind
from fonds.model.rows import StoryMetaRow
from fonds.ports import Stores
from fonds.web.app import create_app

NOW = datetime(2026, 3, 14, tzinfo=UTC)
REPORT = " ".join(
    f"Sentence {n} of the agency tells of the river and bridge {n}." for n in range(60)
)
OTHER = " ".join(
    f"Line {n} is about apples, pears and what {n} of them cost now." for n in range(60)
)
TEXTS = {
    "wire": f"flood {REPORT}",
    "paper": f"flood {REPORT} The paper adds a sentence of its own.",
    "apples": f"flood {OTHER}",
    "copy": f"flood {REPORT}",
    "short": "flood water",
    "again": "flood water",
    "other": "flood over",
}


def document(name: str, text: str) -> IndexDocument:
    return IndexDocument(
        id=name,
        sha1hex=sha1(name.encode()).hexdigest(),
        kind=Kind.STORY,
        url=f"http://{name}.example/",
        canonical_domain=f"{name}.example",
        publication_date=None,
        language="en",
        article_title=name,
        text_content=text,
        indexed_date=NOW,
        collection="",
    )


def row(one: IndexDocument) -> StoryMetaRow:
    return StoryMetaRow(
        sha1hex=one.sha1hex,
        story_id=one.id,
        captured="20260301000000",
        updated=NOW,
        status="success",
        url=one.url,
        canonical_domain=one.canonical_domain,
        publication_date=None,
        language="en",
        article_title=one.article_title,
        word_count=len(one.text_content.split()),
        story={},
        extractor="article/1",
    )


DOCUMENTS = [document(name, text) for name, text in TEXTS.items()]


@pytest.fixture(scope="module")
def stores(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Stores]:
    folder: Path = tmp_path_factory.mktemp("alike")
    with opened(folder) as found:
        found.records.put([sketch(row(one), one.text_content) for one in DOCUMENTS])
        found.index.put(DOCUMENTS)
        yield found


def test_each_goes_beside_the_first_that_says_the_same(stores: Stores) -> None:
    found = near_duplicates(stores.records, DOCUMENTS)
    assert found == {"paper": "wire", "copy": "wire", "again": "short"}


def test_the_first_of_the_order_that_is_given_stands(stores: Stores) -> None:
    found = near_duplicates(stores.records, DOCUMENTS[::-1])
    assert found == {"paper": "copy", "wire": "copy", "short": "again"}
    assert near_duplicates(stores.records, []) == {}


def test_what_has_no_sketch_stands_alone(stores: Stores) -> None:
    unknown = [document("x", REPORT), document("y", REPORT)]
    assert near_duplicates(stores.records, unknown) == {}


def test_the_page_folds_them_and_the_api_names_them(stores: Stores) -> None:
    with TestClient(create_app(stores), base_url="http://localhost:8765") as client:
        told = client.get("/api/search?q=flood").json()
        page = client.get("/search?q=flood").text
    said = {one["id"]: one["near_duplicate_of"] for one in told["results"]}
    assert told["total"] == len(said) == len(TEXTS)
    firsts = [name for name, first in said.items() if first is None]
    assert len(firsts) == len(TEXTS) - 3
    assert page.count('class="hit unpictured"') == len(firsts)
    assert "2 near-duplicates among these results" in page
    assert "1 near-duplicate among these results" in page
    for name in TEXTS:
        assert page.count(f">{name}</a>") == 1
