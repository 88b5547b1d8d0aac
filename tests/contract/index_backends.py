"""The backends of the Index port, and the documents their suite puts into them."""

import hashlib
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from datetime import UTC, date, datetime
from pathlib import Path

from fonds.model.document import IndexDocument, SearchQuery
from fonds.model.file import Kind
from fonds.ports import Index
from fonds.stores.index.tantivy_index import TantivyIndex

# A backend is opened with a folder that is new for each test; opened twice it is the same index.
BACKENDS: dict[str, Callable[[Path], Index]] = {
    "tantivy": TantivyIndex,
}


@contextmanager
def opened(backend: str, folder: Path) -> Iterator[Index]:
    """An index that is closed at the end, if it can be."""
    index = BACKENDS[backend](folder)
    yield index
    close = getattr(index, "close", None)
    if close is not None:
        close()


def sha1hex(name: str) -> str:
    return hashlib.sha1(name.encode()).hexdigest()


def document(name: str, text: str = "some text", title: str | None = None, **rest) -> IndexDocument:
    plain = IndexDocument(
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
    return replace(plain, **rest)


def found(index: Index, text: str = "", **rest) -> set[str]:
    results = index.search(SearchQuery(text, count_max=100, **rest))
    names = {hit.document.url.rsplit("/", 1)[-1] for hit in results.hits}
    assert results.total == len(names)
    return names
