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
from fonds.model.document import IndexDocument, SearchQuery, SearchResults
from fonds.model.errors import (
    ConfigurationError,
    FondsError,
    PermanentError,
    StorageFullError,
    StoreUnavailableError,
)
from fonds.stores.index.asked import checked
from fonds.stores.index.elastic.clients import (
    JSON,
    LINES,
    Asking,
    ElasticsearchClient,
    OpensearchClient,
    Refused,
    reason,
)
from fonds.stores.index.elastic.generation import Generation
from fonds.stores.index.elastic.lines import chunks, line
from fonds.stores.index.elastic.mapping import (
    FIELDS,
    RAW_FIELDS,
    from_source,
    template,
    to_source,
)
from fonds.stores.index.elastic.query import body, suggestions
from fonds.stores.index.likeness import faults_allowed, likest
from fonds.stores.index.nothing_found import with_notes
from fonds.stores.index.passages import hit
from fonds.stores.index.query.parsing import parse_query

IDS_A_REQUEST = 500
TRIES, PAUSE_S = 4, 0.5
ROLLOVER_EVERY_S = 300.0
DOCUMENTS_MAX, SIZE_MAX = 200_000_000, "50gb"
BUSY = frozenset({429, 502, 503, 504})
GONE = 404


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
        self._where = f"{address}/{self._alias}"
        self._shards = int(options.get("shards", "1"))
        self._replicas = int(options.get("replicas", "0"))
        self._refresh = options.get("refresh", "false")
        self._rollover = {
            "max_docs": int(options.get("max_docs", DOCUMENTS_MAX)),
            "max_size": options.get("max_size", SIZE_MAX),
        }
        user = unquote(parts.username) if parts.username else None
        self._ask: Asking = client(address, user, unquote(parts.password or ""))
        self._lock = threading.Lock()
        self._ready = False
        self._rolled_at_s = time.monotonic()
        self._generation = Generation(self._call, self._alias)

    def put(self, documents: Sequence[IndexDocument]) -> None:
        """Written to the translog of every copy; of several documents with one id the last wins.

        Raises PermanentError for a document the server cannot take.
        """
        newest = {document.id: document for document in documents}
        if not newest:
            return
        self._prepare()
        places = self._places(list(newest))
        lines = [
            line("index", places.get(key, self._alias), key)
            + json.dumps(to_source(document), ensure_ascii=False)
            + "\n"
            for key, document in newest.items()
        ]
        for chunk in chunks(lines):
            self._bulk(chunk)
        self._roll_over()

    def delete(self, ids: Sequence[str]) -> None:
        """Remove documents."""
        self._prepare()
        found = {one["_id"]: one for one in self._fetch(ids, source=False)}
        lines = [line("delete", one["_index"], key) for key, one in found.items()]
        for chunk in chunks(lines):
            self._bulk(chunk)

    def get(self, ids: Sequence[str]) -> dict[str, IndexDocument]:
        """Whole documents by id, those that exist, as they are at this moment."""
        self._prepare()
        found = self._fetch(ids, source=True)
        return {one["_id"]: from_source(one["_source"]) for one in found}

    def search(self, query: SearchQuery) -> SearchResults:
        """Raises ValueError with a sentence for people."""
        query = checked(query)
        tree = parse_query(query)
        self._prepare()
        answer = self._call("POST", f"/{self._alias}/_search", {}, body(query, tree))
        hits = []
        for one in answer["hits"]["hits"]:
            text = one["_source"].pop("text_content", "")
            score = float(one["_score"] or 0.0) if query.sort == "score" else 0.0
            document = from_source(one["_source"])
            hits.append(hit(document, text, score, tree, with_snippets=query.with_snippets))
        found = SearchResults(
            answer["hits"]["total"]["value"],
            tuple(hits),
            generation=self._generation.now(),
            match=query.match,
        )
        if not query.facet_values_max:
            return with_notes(found, self, query, tree)
        counts = answer["aggregations"]
        found = replace(
            found,
            facets={name: _buckets(counts[name]) for name in RAW_FIELDS},
            beyond={name: counts[name]["sum_other_doc_count"] for name in RAW_FIELDS},
            dates=_buckets(counts["dates"]),
            undated=counts["undated"]["doc_count"],
        )
        return with_notes(found, self, query, tree)

    def alike(self, word: str) -> Sequence[str]:
        """As the server's term suggester finds them, in all texts."""
        if not faults_allowed(word):
            return []
        self._prepare()
        answer = self._call("POST", f"/{self._alias}/_search", {}, suggestions(word))
        options = (one for told in answer["suggest"].values() for one in told[0]["options"])
        return likest(word, [(one["text"], one["freq"]) for one in options])

    def count(self) -> int:
        """Exact: what was put before counts, also when it cannot be found yet."""
        self._prepare()
        self._call("POST", f"/{self._alias}/_refresh", {})
        return int(self._call("GET", f"/{self._alias}/_count", {})["count"])

    def remove(self) -> None:
        """Remove the indices behind the alias, and their template, for good."""
        self._prepare()
        for index in self._indices():
            self._call("DELETE", f"/{index}", {})
        self._call("DELETE", f"/_index_template/{self._alias}", {})
        self._ready = False

    def close(self) -> None:
        """End the connections."""
        self._ask.close()

    def _prepare(self) -> None:
        """Make template, first index and alias, once; another process may be faster."""
        with self._lock:
            if self._ready:
                return
            if not self._exists():
                self._make_template()
                first = {"aliases": {self._alias: {"is_write_index": True}}}
                try:
                    self._call("PUT", f"/{self._alias}-000001", {}, first)
                except ConfigurationError:
                    if not self._exists():
                        raise
            self._check_fields()
            self._ready = True

    def _exists(self) -> bool:
        try:
            self._call("GET", f"/_alias/{self._alias}", {})
        except _MissingError:
            return False
        return True

    def _check_fields(self) -> None:
        """Raises ConfigurationError for indices that were made without fields that are asked for now."""
        for index, told in self._call("GET", f"/{self._alias}/_mapping", {}).items():
            lacking = sorted(FIELDS - told["mappings"].get("properties", {}).keys())
            if lacking:
                raise ConfigurationError(
                    f"{index} at {self._where} was made by another version of Fonds: it lacks the fields"
                    f" {', '.join(lacking)}. Name another alias, and run `fonds reindex` to fill it from the"
                    " stored texts"
                )

    def _make_template(self) -> None:
        """With the type `wildcard` for URLs where the server has it."""
        path = f"/_index_template/{self._alias}"
        for wildcard in (True, False):
            wanted = template(self._alias, self._shards, self._replicas, wildcard=wildcard)
            try:
                self._call("PUT", path, {}, wanted)
            except ConfigurationError as error:
                if not wildcard or "[wildcard]" not in str(error):
                    raise
            else:
                return

    def _indices(self) -> list[str]:
        """The indices behind the alias, the newest first."""
        return sorted(self._call("GET", f"/_alias/{self._alias}", {}), reverse=True)

    def _places(self, keys: Sequence[str]) -> Mapping[str, str]:
        """In which older index each of `keys` is; those in none are absent."""
        _, *older = self._indices()
        if not older:
            return {}
        return {one["_id"]: one["_index"] for one in self._fetch(keys, source=False)}

    def _fetch(self, keys: Sequence[str], *, source: bool) -> list[dict[str, Any]]:
        """What each index has of `keys`, in real time; only what exists."""
        wanted = list(dict.fromkeys(key for key in keys if key))
        found: list[dict[str, Any]] = []
        indices = self._indices() if wanted else []
        for start in range(0, len(wanted), IDS_A_REQUEST):
            chunk = wanted[start : start + IDS_A_REQUEST]
            asked = [
                {"_index": index, "_id": key, "_source": source}
                for index in indices
                for key in chunk
            ]
            answer = self._call("POST", "/_mget", {}, {"docs": asked})
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
        answer = self._call("POST", f"/{self._alias}/_rollover", {}, wanted)
        return bool(answer["rolled_over"])

    def _bulk(self, lines: Sequence[str]) -> None:
        """Send lines, and those again that the server was too busy for."""
        left = list(lines)
        for attempt in range(TRIES):
            answer = self._send("POST", "/_bulk", {"refresh": self._refresh}, "".join(left), LINES)
            self._generation.forget()
            ended = [next(iter(item.values())) for item in answer["items"]]
            again = [line for line, one in zip(left, ended, strict=True) if one["status"] in BUSY]
            for one in ended:
                self._check(one)
            if not again:
                return
            left = again
            time.sleep(PAUSE_S * 2**attempt)
        busy = next(reason(one.get("error")) for one in ended if one["status"] in BUSY)
        raise StoreUnavailableError(f"{self._where} is too busy for {len(left)} documents: {busy}")

    def _check(self, ended: Mapping[str, Any]) -> None:
        """Raises for one document that was refused; one that was to be removed may be gone already."""
        status = ended["status"]
        if status < 300 or status in (*BUSY, GONE):
            return
        told = ended.get("error")
        fault = self._explained(Refused(status, told))
        if isinstance(fault, StorageFullError):
            raise fault
        raise PermanentError(
            Reason.INTERNAL_ERROR, f"{self._where} cannot take {ended['_id']}: {reason(told)}"
        )

    def _call(
        self, method: str, path: str, parameters: Mapping[str, Any], asked: Any = None
    ) -> Any:
        text = None if asked is None else json.dumps(asked, ensure_ascii=False)
        return self._send(method, path, parameters, text, JSON)

    def _send(
        self, method: str, path: str, parameters: Mapping[str, Any], text: str | None, kind: str
    ) -> Any:
        try:
            return self._ask(method, quote(path), parameters, text, kind)
        except Refused as answer:
            raise self._explained(answer) from answer

    def _explained(self, answer: Refused) -> FondsError:
        told = reason(answer.told)
        if "read-only-allow-delete" in told or "flood" in told or "disk usage exceeded" in told:
            return StorageFullError(f"no room left for the index at {self._where}: {told}")
        if answer.status in BUSY or "no_shard_available" in told or "search_phase" in told:
            return StoreUnavailableError(f"{self._where} refuses for now: {told}")
        if answer.status == GONE:
            self._ready = False
            return _MissingError(f"{self._where} is not there: {told}")
        return ConfigurationError(f"{self._where} refuses ({answer.status}): {told}")


class _MissingError(StoreUnavailableError):
    """An alias or index is not there (any more); it is made anew by the next call."""


def _buckets(counted: Mapping[str, Any]) -> tuple[tuple[str, int], ...]:
    """Values, days in their written form, with their counts."""
    return tuple(
        (one.get("key_as_string", one["key"]), one["doc_count"]) for one in counted["buckets"]
    )
