"""The port Index over an alias of Elasticsearch or OpenSearch.

Behind the alias stand indices `ALIAS-000001` and on; a new one begins when the last has grown large.
A document stays in the index that has it: before writing, older indices are asked.
"""

from __future__ import annotations

import json
import threading
import time
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any
from urllib.parse import parse_qsl, quote, unquote, urlsplit

from fonds.model.disposition import Reason
from fonds.model.document import IndexDocument
from fonds.model.errors import (
    ConfigurationError,
    FondsError,
    PermanentError,
    StorageFullError,
    StoreUnavailableError,
)
from fonds.model.search import SearchQuery, SearchResults
from fonds.search.fields import FACET_FIELDS
from fonds.search.index.elastic_client import (
    JSON,
    LINES,
    ElasticClient,
    ElasticsearchClient,
    GenerationReader,
    OpensearchClient,
    RequestRefusedError,
    find_reason,
    format_action,
    iter_chunks,
)
from fonds.search.index.elastic_mapping import (
    FIELDS,
    build_template,
    decode_document,
    encode_document,
)
from fonds.search.index.elastic_query import build_body, build_suggestions
from fonds.search.index.passages import build_hit
from fonds.search.index.suggestions import (
    add_notes,
    get_max_edits,
    rank_similar,
)
from fonds.search.query.filters import normalize_query
from fonds.search.query.parser import parse_query

IDS_A_REQUEST = 500
TRIES, PAUSE_S = 4, 0.5
ROLLOVER_EVERY_S = 300.0
DOCUMENTS_MAX, SIZE_MAX = 200_000_000, "50gb"
BUSY = frozenset({429, 502, 503, 504})
NOT_FOUND = 404


def open_elasticsearch(url: str) -> ElasticIndex:
    """The index at `elasticsearch://[user:password@]host:port/alias`; options as ElasticIndex says."""
    return ElasticIndex(url, ElasticsearchClient)


def open_opensearch(url: str) -> ElasticIndex:
    """The index at `opensearch://[user:password@]host:port/alias`."""
    return ElasticIndex(url, OpensearchClient)


class ElasticIndex:
    """Implements the port Index. Options in the URL: `scheme` (http), `shards` (1), `replicas` (0),
    `refresh` (false; `true` makes what is put searchable at once), `max_docs` and
    `max_size`, at which a new index begins.
    """

    def __init__(self, url: str, client: type[ElasticsearchClient | OpensearchClient]) -> None:
        """Raises ConfigurationError for a URL that is none; connects when it is first needed."""
        parts = urlsplit(url)
        options = dict(parse_qsl(parts.query))
        self._alias = parts.path.strip("/") or "fonds"
        if not parts.hostname or "/" in self._alias or self._alias != self._alias.lower():
            raise ConfigurationError(
                "index: the URL is SCHEME://host:port/alias, and an alias is lower case"
            )
        address = f"{options.get('scheme', 'http')}://{parts.hostname}:{parts.port or 9200}"
        self._server_name = f"{address}/{self._alias}"
        self._shards = int(options.get("shards", "1"))
        self._replicas = int(options.get("replicas", "0"))
        self._refresh = options.get("refresh", "false")
        self._rollover = {
            "max_docs": int(options.get("max_docs", DOCUMENTS_MAX)),
            "max_size": options.get("max_size", SIZE_MAX),
        }
        user = unquote(parts.username) if parts.username else None
        self._client: ElasticClient = client(address, user, unquote(parts.password or ""))
        self._lock = threading.Lock()
        self._ready = False
        self._rolled_at_s = time.monotonic()
        self._generation = GenerationReader(self._request, self._alias)

    def put(self, documents: Sequence[IndexDocument]) -> None:
        """Written to the translog of every copy; of several documents with one id the last wins.

        Raises PermanentError for a document the server cannot take.
        """
        newest = {document.id: document for document in documents}
        if not newest:
            return
        self._prepare()
        places = self._find_places(list(newest))
        lines = [
            format_action("index", places.get(key, self._alias), key)
            + json.dumps(encode_document(document), ensure_ascii=False)
            + "\n"
            for key, document in newest.items()
        ]
        for chunk in iter_chunks(lines):
            self._send_bulk(chunk)
        self._roll_over()

    def delete(self, ids: Sequence[str]) -> None:
        """Remove documents."""
        self._prepare()
        found = {one["_id"]: one for one in self._fetch(ids, source=False)}
        lines = [format_action("delete", one["_index"], key) for key, one in found.items()]
        for chunk in iter_chunks(lines):
            self._send_bulk(chunk)

    def get(self, ids: Sequence[str]) -> dict[str, IndexDocument]:
        """Whole documents by id, those that exist, as they are at this moment."""
        self._prepare()
        found = self._fetch(ids, source=True)
        return {one["_id"]: decode_document(one["_source"]) for one in found}

    def search(self, query: SearchQuery) -> SearchResults:
        """Raises ValueError with a sentence for people."""
        query = normalize_query(query)
        tree = parse_query(query)
        self._prepare()
        answer = self._request("POST", f"/{self._alias}/_search", {}, build_body(query, tree))
        hits = []
        for one in answer["hits"]["hits"]:
            text = one["_source"].pop("text_content", "")
            score = float(one["_score"] or 0.0) if query.sort == "score" else 0.0
            document = decode_document(one["_source"])
            hits.append(build_hit(document, text, score, tree, with_snippets=query.with_snippets))
        found = SearchResults(
            answer["hits"]["total"]["value"],
            tuple(hits),
            generation=self._generation.get_current(),
            match=query.match,
        )
        if not query.facet_values_max:
            return add_notes(found, self, query, tree)
        counts = answer["aggregations"]
        found = replace(
            found,
            facets={name: _parse_buckets(counts[name]) for name in FACET_FIELDS},
            beyond={name: counts[name]["sum_other_doc_count"] for name in FACET_FIELDS},
            dates=_parse_buckets(counts["dates"]),
            undated=counts["undated"]["doc_count"],
        )
        return add_notes(found, self, query, tree)

    def find_similar_words(self, word: str) -> Sequence[str]:
        """As the server's term suggester finds them, in all texts."""
        if not get_max_edits(word):
            return []
        self._prepare()
        answer = self._request("POST", f"/{self._alias}/_search", {}, build_suggestions(word))
        options = (one for told in answer["suggest"].values() for one in told[0]["options"])
        return rank_similar(word, [(option["text"], option["freq"]) for option in options])

    def count(self) -> int:
        """Exact: what was put before counts, also when it cannot be found yet."""
        self._prepare()
        self._request("POST", f"/{self._alias}/_refresh", {})
        return int(self._request("GET", f"/{self._alias}/_count", {})["count"])

    def remove(self) -> None:
        """Remove the indices behind the alias, and their template, for good."""
        self._prepare()
        for index in self._list_indices():
            self._request("DELETE", f"/{index}", {})
        self._request("DELETE", f"/_index_template/{self._alias}", {})
        self._ready = False

    def close(self) -> None:
        """End the connections."""
        self._client.close()

    def _prepare(self) -> None:
        """Make template, first index and alias, once; another process may be faster."""
        with self._lock:
            if self._ready:
                return
            if not self._exists():
                self._make_template()
                first = {"aliases": {self._alias: {"is_write_index": True}}}
                try:
                    self._request("PUT", f"/{self._alias}-000001", {}, first)
                except ConfigurationError:
                    if not self._exists():
                        raise
            self._check_fields()
            self._ready = True

    def _exists(self) -> bool:
        try:
            self._request("GET", f"/_alias/{self._alias}", {})
        except _MissingError:
            return False
        return True

    def _check_fields(self) -> None:
        """Raises ConfigurationError for indices that were made without fields that are asked for now."""
        for index, told in self._request("GET", f"/{self._alias}/_mapping", {}).items():
            lacking = sorted(FIELDS - told["mappings"].get("properties", {}).keys())
            if lacking:
                raise ConfigurationError(
                    f"{index} at {self._server_name} was made by another version of"
                    " Fonds: it lacks the fields"
                    f" {', '.join(lacking)}. Name another alias, and run `fonds reindex` to fill it from the"
                    " stored texts"
                )

    def _make_template(self) -> None:
        """With the type `wildcard` for URLs where the server has it."""
        path = f"/_index_template/{self._alias}"
        for wildcard in (True, False):
            template = build_template(self._alias, self._shards, self._replicas, wildcard=wildcard)
            try:
                self._request("PUT", path, {}, template)
            except ConfigurationError as error:
                if not wildcard or "[wildcard]" not in str(error):
                    raise
            else:
                return

    def _list_indices(self) -> list[str]:
        """The indices behind the alias, the newest first."""
        return sorted(self._request("GET", f"/_alias/{self._alias}", {}), reverse=True)

    def _find_places(self, keys: Sequence[str]) -> Mapping[str, str]:
        """In which older index each of `keys` is; those in none are absent."""
        _, *older = self._list_indices()
        if not older:
            return {}
        return {one["_id"]: one["_index"] for one in self._fetch(keys, source=False)}

    def _fetch(self, keys: Sequence[str], *, source: bool) -> list[dict[str, Any]]:
        """What each index has of `keys`, in real time; only what exists."""
        wanted = list(dict.fromkeys(key for key in keys if key))
        found: list[dict[str, Any]] = []
        indices = self._list_indices() if wanted else []
        for start in range(0, len(wanted), IDS_A_REQUEST):
            chunk = wanted[start : start + IDS_A_REQUEST]
            asked = [
                {"_index": index, "_id": key, "_source": source}
                for index in indices
                for key in chunk
            ]
            answer = self._request("POST", "/_mget", {}, {"docs": asked})
            found += [one for one in answer["docs"] if one.get("found")]
        return found

    def _roll_over(self) -> None:
        """Begin a new index when the last has grown large; asked for now and then."""
        with self._lock:
            if time.monotonic() - self._rolled_at_s < ROLLOVER_EVERY_S:
                return
            self._rolled_at_s = time.monotonic()
        self.roll_over()

    def roll_over(self) -> bool:
        """Begin a new index if the last is as large as the options say; whether one was begun."""
        self._prepare()
        wanted = {"conditions": self._rollover}
        answer = self._request("POST", f"/{self._alias}/_rollover", {}, wanted)
        return bool(answer["rolled_over"])

    def _send_bulk(self, lines: Sequence[str]) -> None:
        """Send lines, and those again that the server was too busy for."""
        left = list(lines)
        for attempt in range(TRIES):
            answer = self._send("POST", "/_bulk", {"refresh": self._refresh}, "".join(left), LINES)
            self._generation.invalidate()
            ended = [next(iter(item.values())) for item in answer["items"]]
            again = [line for line, one in zip(left, ended, strict=True) if one["status"] in BUSY]
            for one in ended:
                self._check(one)
            if not again:
                return
            left = again
            time.sleep(PAUSE_S * 2**attempt)
        busy = next(find_reason(one.get("error")) for one in ended if one["status"] in BUSY)
        raise StoreUnavailableError(
            f"{self._server_name} is too busy for {len(left)} documents: {busy}"
        )

    def _check(self, response: Mapping[str, Any]) -> None:
        """Raises for one document that was refused; one that was to be removed may be gone already."""
        status = response["status"]
        if status < 300 or status in (*BUSY, NOT_FOUND):
            return
        told = response.get("error")
        fault = self._explain_error(RequestRefusedError(status, told))
        if isinstance(fault, StorageFullError):
            raise fault
        raise PermanentError(
            Reason.INTERNAL_ERROR,
            f"{self._server_name} cannot take {response['_id']}: {find_reason(told)}",
        )

    def _request(
        self, method: str, path: str, parameters: Mapping[str, Any], body: Any = None
    ) -> Any:
        text = None if body is None else json.dumps(body, ensure_ascii=False)
        return self._send(method, path, parameters, text, JSON)

    def _send(
        self, method: str, path: str, parameters: Mapping[str, Any], text: str | None, kind: str
    ) -> Any:
        try:
            return self._client(method, quote(path), parameters, text, kind)
        except RequestRefusedError as answer:
            raise self._explain_error(answer) from answer

    def _explain_error(self, answer: RequestRefusedError) -> FondsError:
        reason = find_reason(answer.message)
        if (
            "read-only-allow-delete" in reason
            or "flood" in reason
            or "disk usage exceeded" in reason
        ):
            return StorageFullError(f"no room left for the index at {self._server_name}: {reason}")
        if answer.status in BUSY or "no_shard_available" in reason or "search_phase" in reason:
            return StoreUnavailableError(f"{self._server_name} refuses for now: {reason}")
        if answer.status == NOT_FOUND:
            self._ready = False
            return _MissingError(f"{self._server_name} is not there: {reason}")
        return ConfigurationError(f"{self._server_name} refuses ({answer.status}): {reason}")


class _MissingError(StoreUnavailableError):
    """An alias or index is not there (any more); it is made anew by the next call."""


def _parse_buckets(aggregation: Mapping[str, Any]) -> tuple[tuple[str, int], ...]:
    """Values, days in their written form, with their counts."""
    return tuple(
        (one.get("key_as_string", one["key"]), one["doc_count"]) for one in aggregation["buckets"]
    )
