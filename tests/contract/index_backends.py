"""The backends of the Index port, and the documents that their suite indexes."""

import hashlib
import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from datetime import UTC, date, datetime
from pathlib import Path

from fonds.model.document import IndexDocument
from fonds.model.file import Kind
from fonds.model.search import SearchQuery
from fonds.ports import Index
from fonds.search.index.tantivy_index import TantivyIndex

# A backend is opened with a folder that is new for each test; the same folder opens the same index.
BACKENDS: dict[str, Callable[[Path], Index]] = {
    "tantivy": TantivyIndex,
}


def _open_on_server(variable: str, open_at: Callable[[str], Index]) -> Callable[[Path], Index]:
    """Return an opener of indexes on the server in `variable`; the folder determines the alias."""

    def open_one(folder: Path) -> Index:
        alias = f"t{hashlib.sha1(str(folder).encode()).hexdigest()[:12]}"
        return open_at(os.environ[variable].rpartition("/")[0] + f"/{alias}?refresh=true")

    return open_one


if os.environ.get("TEST_ELASTICSEARCH_URL"):
    from fonds.search.index.elastic_index import open_elasticsearch

    BACKENDS["elasticsearch"] = _open_on_server("TEST_ELASTICSEARCH_URL", open_elasticsearch)
if os.environ.get("TEST_OPENSEARCH_URL"):
    from fonds.search.index.elastic_index import open_opensearch

    BACKENDS["opensearch"] = _open_on_server("TEST_OPENSEARCH_URL", open_opensearch)


@contextmanager
def open_index(backend: str, folder: Path) -> Iterator[Index]:
    """Open an index; afterwards close it, and remove it from its server."""
    index = BACKENDS[backend](folder)
    yield index
    remove = getattr(index, "remove", None)
    if remove is not None:
        remove()
    close = getattr(index, "close", None)
    if close is not None:
        close()


def sha1hex(name: str) -> str:
    return hashlib.sha1(name.encode()).hexdigest()


def document(name: str, text: str = "some text", title: str | None = None, **rest) -> IndexDocument:
    template = IndexDocument(
        id=sha1hex(name),
        sha1hex=sha1hex(name),
        kind=Kind.STORY,
        url=f"https://news.example/{name}",
        canonical_domain="news.example",
        publication_date=date(2024, 5, 17),
        language="en",
        article_title=title,
        text_content=text,
        indexed_date=datetime(2024, 5, 18, 9, 30, 0, 123456, tzinfo=UTC),
    )
    return replace(template, **rest)


def search_names(index: Index, text: str = "", **rest) -> set[str]:
    results = index.search(SearchQuery(text, count_max=100, **rest))
    names = {hit.document.url.rsplit("/", 1)[-1] for hit in results.hits}
    assert results.total == len(names)
    return names
