"""Elasticsearch and OpenSearch beyond the port: rollover, mapping, refused documents, a restart."""

from __future__ import annotations

import json
import os
import urllib.request
from collections.abc import Callable, Iterator
from dataclasses import replace
from typing import Any
from urllib.parse import urlsplit

import pytest

from contract.index_backends import document, search_names, sha1hex
from fonds.model.errors import (
    ConfigurationError,
    PermanentError,
    StoreUnavailableError,
)
from fonds.search.index.elastic_index import (
    ElasticIndex,
    open_elasticsearch,
    open_opensearch,
)
from real_servers import free_port, run_private_server, url_of

pytestmark = pytest.mark.servers

OPENERS: dict[str, Callable[[str], ElasticIndex]] = {
    "elasticsearch": open_elasticsearch,
    "opensearch": open_opensearch,
}
SEED_FIELDS = {
    "url",
    "canonical_domain",
    "publication_date",
    "language",
    "article_title",
    "text_content",
    "indexed_date",
}


@pytest.fixture(params=list(OPENERS))
def kind(request: pytest.FixtureRequest) -> str:
    return str(request.param)


@pytest.fixture
def address(kind: str) -> str:
    """The URL of a new alias with immediate refresh."""
    url = url_of(f"TEST_{kind.upper()}_URL")
    return f"{url.rpartition('/')[0]}/t{os.urandom(6).hex()}?refresh=true"


@pytest.fixture
def index(kind: str, address: str) -> Iterator[ElasticIndex]:
    opened = OPENERS[kind](address)
    yield opened
    opened.remove()
    opened.close()


def get_json(address: str, path: str) -> Any:
    parts = urlsplit(address)
    url = f"http://{parts.netloc}{path.replace('ALIAS', parts.path.strip('/'))}"
    with urllib.request.urlopen(url, timeout=20) as answer:
        return json.load(answer)


def send_request(address: str, method: str, path: str, body: bytes | None = None) -> None:
    """Send a plain request, like other programs."""
    url = f"http://{urlsplit(address).netloc}/{path}"
    request = urllib.request.Request(url, body, {"Content-Type": "application/json"}, method=method)
    urllib.request.urlopen(request, timeout=20).close()


def test_an_index_without_fields_is_refused_with_a_remedy(kind: str, address: str) -> None:
    alias = urlsplit(address).path.strip("/")
    send_request(address, "PUT", f"{alias}-000001", json.dumps({"aliases": {alias: {}}}).encode())
    index = OPENERS[kind](address)
    try:
        for ask in (index.count, lambda: index.put([document("a", "words")])):
            with pytest.raises(ConfigurationError, match=r"another version.*fonds reindex"):
                ask()
    finally:
        send_request(address, "DELETE", f"{alias}-000001")
        index.close()


def test_a_purge_merges_deleted_documents_away(index: ElasticIndex, address: str) -> None:
    index.put([document(str(number), "words") for number in range(20)])
    index.delete([document(str(number), "words").id for number in range(1, 20)])

    def count_deleted() -> int:
        stats = get_json(address, "/ALIAS/_stats/docs")
        return int(stats["_all"]["primaries"]["docs"]["deleted"])

    (sentence,) = index.purge()
    assert "snapshots" in sentence
    assert count_deleted() == 0
    assert index.count() == 1


def test_ids_stay_unique_after_a_rollover(kind: str, address: str) -> None:
    index = OPENERS[kind](f"{address}&max_docs=2")
    index.put([document("a", "old"), document("b", "old")])
    assert index.roll_over()
    assert not index.roll_over()
    index.put([document("a", "new"), document("c", "new")])
    assert index.count() == 3
    assert search_names(index, "new") == {"a", "c"}
    assert len(get_json(address, "/_alias/ALIAS")) == 2
    index.delete([sha1hex("a")])
    assert index.count() == 2
    index.remove()
    index.close()


def test_fields_of_the_seed_have_its_types(index: ElasticIndex, address: str) -> None:
    index.put([document("a")])
    (definition,) = get_json(address, "/ALIAS/_mapping").values()
    mapping = definition["mappings"]
    types = {name: field["type"] for name, field in mapping["properties"].items()}
    assert set(types) >= SEED_FIELDS
    assert types["url"] in ("wildcard", "keyword")
    assert (types["article_title"], types["text_content"]) == ("text", "text")
    assert (types["indexed_date"], types["publication_date"]) == ("date_nanos", "date")
    assert (types["language"], types["canonical_domain"]) == ("keyword", "keyword")
    assert mapping["dynamic"] == "false"


def test_a_plain_client_finds_a_story_by_the_fields_of_the_seed(
    index: ElasticIndex, address: str
) -> None:
    index.put([document("a", "The river rose over its banks.", "Flood")])
    hits = get_json(address, "/ALIAS/_search?q=text_content:river")["hits"]["hits"]
    assert [hit["_source"]["article_title"] for hit in hits] == ["Flood"]
    assert "text_words" not in hits[0]["_source"]


def test_documents_are_returned_and_counted_without_a_refresh(kind: str, address: str) -> None:
    index = OPENERS[kind](address.replace("refresh=true", "refresh=false"))
    index.put([document("a")])
    assert set(index.get([sha1hex("a")])) == {sha1hex("a")}
    assert index.count() == 1
    index.remove()
    index.close()


def test_a_refused_document_is_named_and_the_others_are_indexed(
    index: ElasticIndex,
) -> None:
    wrong = replace(document("wrong"), page_count="not a number")  # type: ignore[arg-type]
    with pytest.raises(PermanentError, match=wrong.id):
        index.put([document("fine"), wrong])
    assert set(index.get([sha1hex("fine"), wrong.id])) == {sha1hex("fine")}


def test_large_batches_are_sent_in_several_requests(index: ElasticIndex) -> None:
    text = "w " * 1_000_000
    index.put([document(str(number), text) for number in range(12)])
    assert index.count() == 12


def test_long_words_and_urls_are_stored(index: ElasticIndex) -> None:
    long = document("long", "x" * 40_000, url="https://x.example/" + "y" * 40_000)
    index.put([long])
    assert index.get([long.id])[long.id] == long


def test_an_unreachable_server_is_reported_without_the_password(kind: str) -> None:
    url_of(f"TEST_{kind.upper()}_URL")
    index = OPENERS[kind](f"{kind}://user:s3cret@127.0.0.1:{free_port()}/alias")
    with pytest.raises(StoreUnavailableError, match="does not answer") as raised:
        index.count()
    assert "s3cret" not in f"{raised.value} {raised.value.__cause__}"
    index.close()


def test_invalid_urls_are_refused(kind: str) -> None:
    for url in (f"{kind}:/alias", f"{kind}://host/Upper", f"{kind}://host/a/b"):
        with pytest.raises(ConfigurationError, match="lower-case"):
            OPENERS[kind](url)


def test_a_stopped_server_is_reported_and_used_again(kind: str) -> None:
    with run_private_server(kind) as server:
        index = OPENERS[kind](f"{server.url}?refresh=true")
        index.put([document("a")])
        server.stop()
        with pytest.raises(StoreUnavailableError):
            index.put([document("b")])
        server.start()
        index.put([document("b")])
        assert index.count() == 2
        index.close()
