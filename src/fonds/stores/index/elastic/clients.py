"""The two clients behind one way of asking: method, path, parameters and body in, JSON out."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Protocol

from fonds.model.errors import StoreUnavailableError

ANSWER_MAX_S = 25.0
CONNECTIONS = 8
JSON, LINES = "application/json", "application/x-ndjson"


class Refused(Exception):  # noqa: N818 (an answer, understood by whoever asked)
    """The server answered with a status that is no success; `told` is what it said."""

    def __init__(self, status: int, told: object) -> None:
        super().__init__(f"{status}: {str(told)[:500]}")
        self.status = status
        self.told = told


def reason(told: object) -> str:
    """The innermost of the reasons a server gives, with the outermost before it."""
    reasons = []
    while isinstance(told, Mapping):
        if isinstance(told.get("reason"), str):
            reasons.append(told["reason"])
        told = told.get("caused_by") or told.get("error")
    if isinstance(told, str):
        reasons.append(told)
    return ": ".join(dict.fromkeys([*reasons[:1], *reasons[-1:]]))[:500]


class Asking(Protocol):
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

        self._where = address
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
                method, path, params=parameters, headers=headers, body=_encoded(body)
            )
        except ApiError as error:
            raise Refused(error.meta.status, error.body) from error
        except TransportError as error:
            raise StoreUnavailableError(
                f"{self._where} does not answer: {error.message}"
            ) from error
        return answer.body if hasattr(answer, "body") else answer

    def close(self) -> None:
        """End the connections."""
        self._client.close()


class OpensearchClient:
    """By opensearch-py."""

    def __init__(self, address: str, user: str | None, password: str | None) -> None:
        from opensearchpy import OpenSearch

        self._where = address
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
                method, path, params=dict(parameters), headers=headers, body=_encoded(body)
            )
        except NoConnectionError as error:
            told = f"{self._where} does not answer: {type(error).__name__}"
            raise StoreUnavailableError(told) from error
        except TransportError as error:
            if not isinstance(error.status_code, int):
                told = f"{self._where} does not answer: {error.error}"
                raise StoreUnavailableError(told) from error
            raise Refused(error.status_code, error.info) from error

    def close(self) -> None:
        """End the connections."""
        self._client.close()


def _encoded(body: str | None) -> bytes | None:
    return None if body is None else body.encode("utf-8", "ignore")
