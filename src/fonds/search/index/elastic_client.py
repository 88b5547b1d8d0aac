"""HTTP clients for Elasticsearch and OpenSearch with one common interface.

A request has a method, path, parameters and body. The response is JSON.
"""

from __future__ import annotations

import json
import logging
import threading
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, Protocol

import msgspec

from fonds.model.errors import FondsError, StoreUnavailableError
from fonds.model.index_generation import compute_generation

ANSWER_MAX_S = 25.0
CONNECTIONS = 8
JSON_TYPE, NDJSON_TYPE = "application/json", "application/x-ndjson"


class RequestRefusedError(Exception):
    """Error response of the search server. `message` is the body of the response."""

    def __init__(self, status: int, reason_value: object) -> None:
        super().__init__(f"{status}: {str(reason_value)[:500]}")
        self.status = status
        self.message = reason_value


def find_reason(reason_value: object) -> str:
    """Return the outermost and innermost reason in a search server's error, joined by ": "."""
    reasons = []
    while isinstance(reason_value, Mapping):
        if isinstance(reason_value.get("reason"), str):
            reasons.append(reason_value["reason"])
        reason_value = reason_value.get("caused_by") or reason_value.get("error")
    if isinstance(reason_value, str):
        reasons.append(reason_value)
    return ": ".join(dict.fromkeys([*reasons[:1], *reasons[-1:]]))[:500]


class ElasticClient(Protocol):
    """Client of one Elasticsearch or OpenSearch server."""

    def __call__(
        self, method: str, path: str, parameters: Mapping[str, Any], body: bytes | None, kind: str
    ) -> Any:
        """Send a request and return the JSON response.

        `kind` is the media type of the body. Raises RequestRefusedError if the server responds with
        an error, and StoreUnavailableError if it does not respond.
        """

    def close(self) -> None:
        """Close the connections to the server."""


class ElasticsearchClient:
    """Client of an Elasticsearch server, with the library elasticsearch-py."""

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
        self, method: str, path: str, parameters: Mapping[str, Any], body: bytes | None, kind: str
    ) -> Any:
        """Send a request and return the JSON response. `kind` is the media type of the body.

        Raises RequestRefusedError for an error response, and StoreUnavailableError without
        response.
        """
        from elasticsearch import ApiError, TransportError

        # The library's own media types carry its version; they mean the same as the plain ones.
        versioned_type = kind.replace("application/", "application/vnd.elasticsearch+")
        headers = {"accept": "application/vnd.elasticsearch+json; compatible-with=9"}
        if body is not None:
            headers["content-type"] = f"{versioned_type}; compatible-with=9"
        try:
            response = self._client.perform_request(
                method, path, params=parameters, headers=headers, body=body
            )
        except ApiError as error:
            raise RequestRefusedError(error.meta.status, error.body) from error
        except TransportError as error:
            raise StoreUnavailableError(
                f"{self._server_name} does not answer: {error.message}"
            ) from error
        return response.body if hasattr(response, "body") else response

    def close(self) -> None:
        """Close the connections to the server."""
        self._client.close()


class OpensearchClient:
    """Client of an OpenSearch server, with the library opensearch-py."""

    def __init__(self, address: str, user: str | None, password: str | None) -> None:
        from opensearchpy import OpenSearch

        # The library logs each failed request with its traceback. Fonds raises it as an error.
        logging.getLogger("opensearch").setLevel(logging.ERROR)
        self._server_name = address
        self._client = OpenSearch(
            address,
            http_auth=(user, password or "") if user else None,
            timeout=ANSWER_MAX_S,
            pool_maxsize=CONNECTIONS,
            max_retries=0,
        )

    def __call__(
        self, method: str, path: str, parameters: Mapping[str, Any], body: bytes | None, kind: str
    ) -> Any:
        """Send a request and return the JSON response. `kind` is the media type of the body.

        Raises RequestRefusedError for an error response, and StoreUnavailableError without
        response.
        """
        from opensearchpy import ConnectionError as NoConnectionError
        from opensearchpy import TransportError

        headers = {"content-type": kind} if body is not None else {}
        try:
            return self._client.transport.perform_request(
                method, path, params=dict(parameters), headers=headers, body=body
            )
        except NoConnectionError as error:
            message = f"{self._server_name} does not answer: {type(error).__name__}"
            raise StoreUnavailableError(message) from error
        except TransportError as error:
            if not isinstance(error.status_code, int):
                message = f"{self._server_name} does not answer: {error.error}"
                raise StoreUnavailableError(message) from error
            raise RequestRefusedError(error.status_code, error.info) from error

    def close(self) -> None:
        """Close the connections to the server."""
        self._client.close()


# Generation of the indices of an alias: their ids, and the last write to each of their shards.
#
# It is requested at most once a second, so that searches do not get slower. So a search may
# find what another process wrote in the last second, but name the generation before it. Writes of
# this process change the generation at once. A write counts before a refresh makes it searchable.


REQUEST_EVERY_S = 1.0
_FILTER_PATH = (
    "indices.*.uuid,indices.*.shards.*.routing.primary,indices.*.shards.*.seq_no.max_seq_no"
)


class GenerationReader:
    """Reader of the generation of an index: an id that changes with every write.

    - `call`: function that sends a request to the server.
    - `alias`: name under which the server searches the indices of Fonds.
    - `clock`: function that returns monotonic seconds.
    """

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
        """Return the generation of the index as it was at most one second ago.

        Returns None if the server does not provide it, for example to a user with search permission
        only.
        """
        with self._lock:
            at_s, writes = self._clock(), self._writes
            if self._read_at_s is not None and at_s - self._read_at_s < REQUEST_EVERY_S:
                return self._current
        generation = self._request()
        with self._lock:
            if writes == self._writes:
                self._current, self._read_at_s = generation, at_s
        return generation

    def invalidate(self) -> None:
        """Forget the cached generation of the index after a write.

        The next call of `get_current` requests the generation again.
        """
        with self._lock:
            self._read_at_s = None
            self._writes += 1

    def _request(self) -> str | None:
        path, parameters = (
            f"/{self._alias}/_stats",
            {"level": "shards", "filter_path": _FILTER_PATH},
        )
        try:
            response = self._call("GET", path, parameters)
            return _compute_generation(response)
        except (FondsError, KeyError, TypeError, AttributeError):
            return None


def _compute_generation(answer: Mapping[str, Any]) -> str:
    """Compute the generation of an index (an id of its state) from the statistics of its shards.

    The statistics give the highest sequence number of each primary shard, which grows with each
    write. The number is -1 for a shard without writes.
    """
    parts, count = [], 0
    for index in answer["indices"].values():
        for number, copies in index["shards"].items():
            highest = max(copy["seq_no"]["max_seq_no"] for copy in copies if _is_primary(copy))
            parts.append(f"{index['uuid']} {number} {highest}")
            count += highest + 1
    return compute_generation(count, parts)


def _is_primary(copy: Mapping[str, Any]) -> bool:
    return bool(copy["routing"]["primary"])


# Bulk requests.


REQUEST_MAX_BYTES = 8 * 1024 * 1024


def encode_json(value: Any) -> bytes:
    """Encode a value as JSON in UTF-8, without lone surrogates."""
    try:
        return msgspec.json.encode(value)
    except UnicodeEncodeError:
        return json.dumps(value, ensure_ascii=False).encode("utf-8", "ignore")


def format_action(action: str, index: str, key: str) -> bytes:
    """Return the line of a bulk request that precedes a document and states the action on it."""
    return encode_json({action: {"_index": index, "_id": key}}) + b"\n"


def iter_chunks(lines: Sequence[bytes]) -> Iterator[list[bytes]]:
    """Yield the lines of a bulk request in chunks of at most `REQUEST_MAX_BYTES` bytes.

    A longer line is a chunk of its own.
    """
    chunk: list[bytes] = []
    size_bytes = 0
    for line in lines:
        if chunk and size_bytes + len(line) > REQUEST_MAX_BYTES:
            yield chunk
            chunk, size_bytes = [], 0
        chunk.append(line)
        size_bytes += len(line)
    if chunk:
        yield chunk
