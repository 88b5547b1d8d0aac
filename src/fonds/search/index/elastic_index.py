"""Full-text index behind an alias of Elasticsearch or OpenSearch. Implements the Index port.

The alias refers to indices `ALIAS-000001` and up. If the newest index is large, a new one is
created. A document stays in the index that first stored it, so older indices are searched before
each write.
"""

from __future__ import annotations

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
    JSON_TYPE,
    NDJSON_TYPE,
    ElasticClient,
    ElasticsearchClient,
    GenerationReader,
    OpensearchClient,
    RequestRefusedError,
    encode_json,
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

IDS_PER_REQUEST = 500
ATTEMPTS, PAUSE_S = 4, 0.5
ROLLOVER_EVERY_S = 300.0
DOCUMENTS_MAX, SIZE_MAX = 200_000_000, "50gb"
BUSY = frozenset({429, 502, 503, 504})
NOT_FOUND = 404


def open_elasticsearch(url: str) -> ElasticIndex:
    """Return the index at `elasticsearch://[user:password@]host:port/alias`.

    `ElasticIndex` describes the options. Raises ConfigurationError if the URL is invalid.
    """
    return ElasticIndex(url, ElasticsearchClient)


def open_opensearch(url: str) -> ElasticIndex:
    """Return the index at `opensearch://[user:password@]host:port/alias`.

    `ElasticIndex` describes the options. Raises ConfigurationError if the URL is invalid.
    """
    return ElasticIndex(url, OpensearchClient)


PURGE_MAX_S, PURGE_PAUSE_S = 120.0, 3.0
"""Longest wait for the server to merge deleted documents, and pause between attempts."""


class ElasticIndex:
    """Full-text index on an Elasticsearch or OpenSearch server. Implements the Index port.

    Options in the query string of the URL, with their defaults:
    - `scheme` (http): scheme of requests to the server.
    - `shards` (1): number of shards of each index.
    - `replicas` (0): number of replicas of each shard.
    - `refresh` (false): `true` makes documents searchable as soon as they are put.
    - `max_docs` and `max_size` (200 million and 50gb): size of the newest index from which a new
      index is created.
    """

    def __init__(self, url: str, client: type[ElasticsearchClient | OpensearchClient]) -> None:
        """Parse the URL of the index. No connection is opened before the first request.

        Raises ConfigurationError if the URL is invalid.
        """
        parts = urlsplit(url)
        options = dict(parse_qsl(parts.query))
        self._alias = parts.path.strip("/") or "fonds"
        if not parts.hostname or "/" in self._alias or self._alias != self._alias.lower():
            raise ConfigurationError(
                "The setting index must be SCHEME://host:port/alias, with a lower-case alias."
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
        """Write documents to the translog of every copy of a shard.

        If several documents have the same id, the last one is stored. Raises PermanentError if the
        server rejects a document.
        """
        newest = {document.id: document for document in documents}
        if not newest:
            return
        self._prepare()
        indices = self._find_indices(list(newest))
        lines = [
            format_action("index", indices.get(key, self._alias), key)
            + encode_json(encode_document(document))
            + b"\n"
            for key, document in newest.items()
        ]
        for chunk in iter_chunks(lines):
            self._send_bulk(chunk)
        self._roll_over()

    def delete(self, ids: Sequence[str]) -> None:
        """Delete the documents with these ids from the index."""
        self._prepare()
        matches = {match["_id"]: match for match in self._fetch(ids, source=False)}
        lines = [format_action("delete", match["_index"], key) for key, match in matches.items()]
        for chunk in iter_chunks(lines):
            self._send_bulk(chunk)

    def get(self, ids: Sequence[str]) -> dict[str, IndexDocument]:
        """Return the documents with these ids, with texts, by id, without waiting for a refresh.

        Unknown ids are omitted.
        """
        self._prepare()
        matches = self._fetch(ids, source=True)
        return {match["_id"]: decode_document(match["_source"]) for match in matches}

    def search(self, query: SearchQuery) -> SearchResults:
        """Search the index. Raises ValueError with a message for users if the query is invalid."""
        query = normalize_query(query)
        tree = parse_query(query)
        self._prepare()
        response = self._request("POST", f"/{self._alias}/_search", {}, build_body(query, tree))
        hits = []
        for match in response["hits"]["hits"]:
            text = match["_source"].pop("text_content", "")
            score = float(match["_score"] or 0.0) if query.sort == "score" else 0.0
            document = decode_document(match["_source"])
            hits.append(build_hit(document, text, score, tree, with_snippets=query.with_snippets))
        results = SearchResults(
            response["hits"]["total"]["value"],
            tuple(hits),
            generation=self._generation.get_current(),
            match=query.match,
        )
        if not query.facet_values_max:
            return add_notes(results, self, query, tree)
        counts = response["aggregations"]
        results = replace(
            results,
            facets={name: _parse_buckets(counts[name]) for name in FACET_FIELDS},
            beyond={name: counts[name]["sum_other_doc_count"] for name in FACET_FIELDS},
            dates=_parse_buckets(counts["dates"]),
            undated=counts["undated"]["doc_count"],
        )
        return add_notes(results, self, query, tree)

    def find_similar_words(self, word: str) -> Sequence[str]:
        """Return indexed words that are spelled like `word`, from the server's term suggester."""
        if not get_max_edits(word):
            return []
        self._prepare()
        response = self._request("POST", f"/{self._alias}/_search", {}, build_suggestions(word))
        options = (
            option
            for suggestions in response["suggest"].values()
            for option in suggestions[0]["options"]
        )
        return rank_similar(word, [(option["text"], option["freq"]) for option in options])

    def count(self) -> int:
        """Return the number of documents in the index, including those not searchable yet."""
        self._prepare()
        self._request("POST", f"/{self._alias}/_refresh", {})
        return int(self._request("GET", f"/{self._alias}/_count", {})["count"])

    def purge(self) -> Sequence[str]:
        """Let the server merge all parts of the index that contain deleted documents.

        Waits until it has done so: servers keep deleted documents for their replicas for about half
        a minute.
        """
        self._prepare()
        deadline_s = time.monotonic() + PURGE_MAX_S
        while True:
            self._request("POST", f"/{self._alias}/_flush", {"wait_if_ongoing": "true"})
            self._request("POST", f"/{self._alias}/_forcemerge", {"max_num_segments": "1"})
            answer = self._request("GET", f"/{self._alias}/_stats/docs", {})
            count = int(answer["_all"]["primaries"]["docs"].get("deleted", 0))
            if not count or time.monotonic() > deadline_s:
                break
            time.sleep(PURGE_PAUSE_S)
        left = (
            [f"{self._server_name} has not merged {count:,} deleted documents yet."]
            if count
            else []
        )
        return [
            *left,
            f"{self._server_name} keeps deleted documents in snapshots, if there are any.",
        ]

    def remove(self) -> None:
        """Delete all indices of the alias and their template permanently."""
        self._prepare()
        for index in self._list_indices():
            self._request("DELETE", f"/{index}", {})
        self._request("DELETE", f"/_index_template/{self._alias}", {})
        self._ready = False

    def close(self) -> None:
        """Close the connections to the server."""
        self._client.close()

    def _prepare(self) -> None:
        """Create the index template, the first index and the alias once, if they are missing.

        Another process may create them at the same time.
        """
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
        """Raise ConfigurationError if an index lacks search fields of this version of Fonds."""
        for index, mapping in self._request("GET", f"/{self._alias}/_mapping", {}).items():
            missing = sorted(FIELDS - mapping["mappings"].get("properties", {}).keys())
            if missing:
                raise ConfigurationError(
                    f"{index} at {self._server_name} was made by another version of"
                    " Fonds: it lacks the fields"
                    f" {', '.join(missing)}. Choose another alias, and run `fonds reindex` to fill it"
                    " from the stored texts"
                )

    def _make_template(self) -> None:
        """Create the index template, with the type `wildcard` for URLs if the server supports this
        type.
        """
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
        """Return the names of the indices of the alias, the newest first."""
        return sorted(self._request("GET", f"/_alias/{self._alias}", {}), reverse=True)

    def _find_indices(self, keys: Sequence[str]) -> Mapping[str, str]:
        """Return the name of the index that stores each document, by document id.

        A write to that index replaces the document. Documents that are not stored are omitted. The
        result is empty if the alias has only one index.
        """
        _, *older = self._list_indices()
        if not older:
            return {}
        return {match["_id"]: match["_index"] for match in self._fetch(keys, source=False)}

    def _fetch(self, keys: Sequence[str], *, source: bool) -> list[dict[str, Any]]:
        """Return the stored documents with these ids from every index, without waiting for a
        refresh.
        """
        distinct_keys = list(dict.fromkeys(key for key in keys if key))
        matches: list[dict[str, Any]] = []
        indices = self._list_indices() if distinct_keys else []
        for start in range(0, len(distinct_keys), IDS_PER_REQUEST):
            chunk = distinct_keys[start : start + IDS_PER_REQUEST]
            lookups = [
                {"_index": index, "_id": key, "_source": source}
                for index in indices
                for key in chunk
            ]
            response = self._request("POST", "/_mget", {}, {"docs": lookups})
            matches += [match for match in response["docs"] if match.get("found")]
        return matches

    def _roll_over(self) -> None:
        """Create a new index if the newest one is too large.

        Within `ROLLOVER_EVERY_S` seconds after a check, calls do nothing.
        """
        with self._lock:
            if time.monotonic() - self._rolled_at_s < ROLLOVER_EVERY_S:
                return
            self._rolled_at_s = time.monotonic()
        self.roll_over()

    def roll_over(self) -> bool:
        """Create a new index if the newest exceeds `max_docs` or `max_size`.

        Return whether one was created.
        """
        self._prepare()
        body = {"conditions": self._rollover}
        response = self._request("POST", f"/{self._alias}/_rollover", {}, body)
        return bool(response["rolled_over"])

    def _send_bulk(self, lines: Sequence[bytes]) -> None:
        """Send the lines of a bulk request.

        Lines that the server was too busy for are sent again, at most `ATTEMPTS` times in all.
        """
        pending = list(lines)
        for attempt in range(ATTEMPTS):
            response = self._send(
                "POST", "/_bulk", {"refresh": self._refresh}, b"".join(pending), NDJSON_TYPE
            )
            self._generation.invalidate()
            outcomes = [next(iter(item.values())) for item in response["items"]]
            rejected_lines = [
                line
                for line, outcome in zip(pending, outcomes, strict=True)
                if outcome["status"] in BUSY
            ]
            for outcome in outcomes:
                self._check(outcome)
            if not rejected_lines:
                return
            pending = rejected_lines
            time.sleep(PAUSE_S * 2**attempt)
        busy = next(
            find_reason(outcome.get("error")) for outcome in outcomes if outcome["status"] in BUSY
        )
        raise StoreUnavailableError(
            f"{self._server_name} is too busy for {len(pending)} documents: {busy}"
        )

    def _check(self, response: Mapping[str, Any]) -> None:
        """Raise an error if the server rejected one document of a bulk request.

        `response` is the outcome for this document. A document that is missing, or that the server
        was too busy for, is not an error.
        """
        status = response["status"]
        if status < 300 or status in (*BUSY, NOT_FOUND):
            return
        error = response.get("error")
        explained_error = self._explain_error(RequestRefusedError(status, error))
        if isinstance(explained_error, StorageFullError):
            raise explained_error
        raise PermanentError(
            Reason.INTERNAL_ERROR,
            f"{self._server_name} cannot store the document {response['_id']}: {find_reason(error)}",
        )

    def _request(
        self, method: str, path: str, parameters: Mapping[str, Any], body: Any = None
    ) -> Any:
        encoded_body = None if body is None else encode_json(body)
        return self._send(method, path, parameters, encoded_body, JSON_TYPE)

    def _send(
        self, method: str, path: str, parameters: Mapping[str, Any], body: bytes | None, kind: str
    ) -> Any:
        try:
            return self._client(method, quote(path), parameters, body, kind)
        except RequestRefusedError as answer:
            raise self._explain_error(answer) from answer

    def _explain_error(self, answer: RequestRefusedError) -> FondsError:
        reason = find_reason(answer.message)
        if (
            "read-only-allow-delete" in reason
            or "flood" in reason
            or "disk usage exceeded" in reason
        ):
            return StorageFullError(f"no space left for the index at {self._server_name}: {reason}")
        if answer.status in BUSY or "no_shard_available" in reason or "search_phase" in reason:
            return StoreUnavailableError(f"{self._server_name} refuses for now: {reason}")
        if answer.status == NOT_FOUND:
            self._ready = False
            return _MissingError(f"{self._server_name} is unavailable: {reason}")
        return ConfigurationError(f"{self._server_name} refuses ({answer.status}): {reason}")


class _MissingError(StoreUnavailableError):
    """Error: the alias or its index is missing on the server. The next operation creates both."""


def _parse_buckets(aggregation: Mapping[str, Any]) -> tuple[tuple[str, int], ...]:
    """Return the values of an aggregation with their counts.

    Days are formatted as the server writes them.
    """
    return tuple(
        (bucket.get("key_as_string", bucket["key"]), bucket["doc_count"])
        for bucket in aggregation["buckets"]
    )
