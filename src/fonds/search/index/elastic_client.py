"""The two clients behind one way of asking: method, path, parameters and body in, JSON out."""

from __future__ import annotations

import json
import threading
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, Protocol

from fonds.model.errors import FondsError, StoreUnavailableError
from fonds.model.index_generation import compute_generation

ANSWER_MAX_S = 25.0
CONNECTIONS = 8
JSON, LINES = "application/json", "application/x-ndjson"


class RequestRefusedError(Exception):
    """The server answered with a status that is no success; `message` is what it said."""

    def __init__(self, status: int, reason_value: object) -> None:
        super().__init__(f"{status}: {str(reason_value)[:500]}")
        self.status = status
        self.message = reason_value


def find_reason(reason_value: object) -> str:
    """The innermost of the reasons a server gives, with the outermost before it."""
    reasons = []
    while isinstance(reason_value, Mapping):
        if isinstance(reason_value.get("reason"), str):
            reasons.append(reason_value["reason"])
        reason_value = reason_value.get("caused_by") or reason_value.get("error")
    if isinstance(reason_value, str):
        reasons.append(reason_value)
    return ": ".join(dict.fromkeys([*reasons[:1], *reasons[-1:]]))[:500]


class ElasticClient(Protocol):
    """One client."""

    def __call__(
        self, method: str, path: str, parameters: Mapping[str, Any], body: str | None, kind: str
    ) -> Any:
        """The answer as JSON. Raises Refused, and StoreUnavailableError when there is none."""

    def close(self) -> None:
        """End the connections."""


class ElasticsearchClient:
    """By elasticsearch-py."""

    def __init__(self, address: str, user: str | None, password: str | None) -> None:
        from elasticsearch import Elasticsearch

        self._server_name = address
        self._client = Elasticsearch(
            address,
            basic_auth=(user, password or "") if user else None,
            request_timeout=ANSWER_MAX_S,
            connections_per_node=CONNECTIONS,
            max_retries=0,
        )

    def __call__(
        self, method: str, path: str, parameters: Mapping[str, Any], body: str | None, kind: str
    ) -> Any:
        """As Asking says."""
        from elasticsearch import ApiError, TransportError

        # The client's own media types carry its version; they are sent with the plain ones' meaning.
        versioned = kind.replace("application/", "application/vnd.elasticsearch+")
        headers = {"accept": "application/vnd.elasticsearch+json; compatible-with=9"}
        if body is not None:
            headers["content-type"] = f"{versioned}; compatible-with=9"
        try:
            answer = self._client.perform_request(
                method, path, params=parameters, headers=headers, body=_encode_body(body)
            )
        except ApiError as error:
            raise RequestRefusedError(error.meta.status, error.body) from error
        except TransportError as error:
            raise StoreUnavailableError(
                f"{self._server_name} does not answer: {error.message}"
            ) from error
        return answer.body if hasattr(answer, "body") else answer

    def close(self) -> None:
        """End the connections."""
        self._client.close()


class OpensearchClient:
    """By opensearch-py."""

    def __init__(self, address: str, user: str | None, password: str | None) -> None:
        from opensearchpy import OpenSearch

        self._server_name = address
        self._client = OpenSearch(
            address,
            http_auth=(user, password or "") if user else None,
            timeout=ANSWER_MAX_S,
            pool_maxsize=CONNECTIONS,
            max_retries=0,
        )

    def __call__(
        self, method: str, path: str, parameters: Mapping[str, Any], body: str | None, kind: str
    ) -> Any:
        """As Asking says."""
        from opensearchpy import ConnectionError as NoConnectionError
        from opensearchpy import TransportError

        headers = {"content-type": kind} if body is not None else {}
        try:
            return self._client.transport.perform_request(
                method, path, params=dict(parameters), headers=headers, body=_encode_body(body)
            )
        except NoConnectionError as error:
            told = f"{self._server_name} does not answer: {type(error).__name__}"
            raise StoreUnavailableError(told) from error
        except TransportError as error:
            if not isinstance(error.status_code, int):
                told = f"{self._server_name} does not answer: {error.error}"
                raise StoreUnavailableError(told) from error
            raise RequestRefusedError(error.status_code, error.info) from error

    def close(self) -> None:
        """End the connections."""
        self._client.close()


def _encode_body(body: str | None) -> bytes | None:
    return None if body is None else body.encode("utf-8", "ignore")


# The generation of what stands behind an alias: the indices, and how far their shards were written.
#
# The server is asked at most once a second, so that searches cost nothing by it. What another process
# wrote in the second before may have been found already by a search that tells the generation of before;
# what this process wrote makes another at once. What is written counts before a refresh makes it
# searchable.


REQUEST_EVERY_S = 1.0
_FILTER_PATH = (
    "indices.*.uuid,indices.*.shards.*.routing.primary,indices.*.shards.*.seq_no.max_seq_no"
)


class GenerationReader:
    """That of the indices behind `alias`; `call` asks the server."""

    def __init__(
        self,
        call: Callable[[str, str, Mapping[str, Any]], Any],
        alias: str,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._call, self._alias, self._clock = call, alias, clock
        self._lock = threading.Lock()
        self._current: str | None = None
        self._read_at_s: float | None = None
        self._writes = 0

    def get_current(self) -> str | None:
        """At most a second old; None where the server does not say it, as to who may only search."""
        with self._lock:
            at_s, writes = self._clock(), self._writes
            if self._read_at_s is not None and at_s - self._read_at_s < REQUEST_EVERY_S:
                return self._current
        said = self._request()
        with self._lock:
            if writes == self._writes:
                self._current, self._read_at_s = said, at_s
        return said

    def invalidate(self) -> None:
        """Something was written: who asks next asks the server."""
        with self._lock:
            self._read_at_s = None
            self._writes += 1

    def _request(self) -> str | None:
        path, asked = f"/{self._alias}/_stats", {"level": "shards", "filter_path": _FILTER_PATH}
        try:
            answer = self._call("GET", path, asked)
            return _compute_generation(answer)
        except (FondsError, KeyError, TypeError, AttributeError):
            return None


def _compute_generation(answer: Mapping[str, Any]) -> str:
    """Of what the server tells of each shard; a shard that was not written to yet has the number -1."""
    parts, count = [], 0
    for index in answer["indices"].values():
        for number, copies in index["shards"].items():
            highest = max(copy["seq_no"]["max_seq_no"] for copy in copies if _is_primary(copy))
            parts.append(f"{index['uuid']} {number} {highest}")
            count += highest + 1
    return compute_generation(count, parts)


def _is_primary(copy: Mapping[str, Any]) -> bool:
    return bool(copy["routing"]["primary"])


# The lines of a bulk request, and how many go together.


REQUEST_MAX_BYTES = 8 * 1024 * 1024


def format_action(action: str, index: str, key: str) -> str:
    """What is to be done with one document; the document itself is the next line."""
    return json.dumps({action: {"_index": index, "_id": key}}) + "\n"


def iter_chunks(lines: Sequence[str]) -> Iterator[list[str]]:
    """Lines together in requests that are not too large."""
    chunk: list[str] = []
    size_bytes = 0
    for line in lines:
        if chunk and size_bytes + len(line) > REQUEST_MAX_BYTES:
            yield chunk
            chunk, size_bytes = [], 0
        chunk.append(line)
        size_bytes += len(line)
    if chunk:
        yield chunk
