"""Reading objects by their s3:// URLs: which are allowed, and what the responses of a server mean."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from fixtures.http_server import CannedResponse, HttpServer, serve_http
from fonds.model.disposition import Reason
from fonds.model.errors import (
    ConfigurationError,
    DamagedInputError,
    LimitError,
    PermanentError,
    TransientError,
)
from fonds.stores.s3.objects import S3Objects

DATE_HEADERS = {"Last-Modified": "Wed, 01 Jan 2020 00:00:00 GMT", "ETag": '"a"'}


@pytest.fixture
def server() -> Iterator[HttpServer]:
    with serve_http() as state:
        yield state


def s3_url(server: HttpServer, path: str = "") -> str:
    return f"s3://me:hidden@{server.url.removeprefix('http://')}{path}?scheme=http"


def build_error(status: int, code: str) -> CannedResponse:
    return CannedResponse(
        status, f"<Error><Code>{code}</Code><Message>No.</Message></Error>".encode()
    )


def test_an_object_of_any_bucket_is_read_from_the_configured_server(server) -> None:
    server.responses["/crawls/a/b.pdf"] = CannedResponse(body=b"0123456789", headers=DATE_HEADERS)
    objects = S3Objects(s3_url(server))
    assert objects.read_all("s3://crawls/a/b.pdf", 10) == b"0123456789"
    with pytest.raises(LimitError) as error:
        objects.read_all("S3://crawls/a/b.pdf", 9)
    assert error.value.reason is Reason.TOO_LARGE
    assert "hidden" not in repr(objects) + repr(vars(objects))


def test_fetching_a_range_returns_the_total_length(server) -> None:
    head = {**DATE_HEADERS, "Content-Range": "bytes 4-6/10"}
    server.responses["/crawls/a"] = CannedResponse(206, b"456", head)
    assert S3Objects(s3_url(server)).fetch("s3://crawls/a", 4, 3) == (b"456", 10)
    assert server.requests[0][1]["range"] == "bytes=4-6"


@pytest.mark.parametrize(
    ("response", "reason"),
    [
        (build_error(404, "NoSuchKey"), Reason.MISSING_SOURCE),
        (build_error(404, "NoSuchBucket"), Reason.MISSING_SOURCE),
        (CannedResponse(404), Reason.MISSING_SOURCE),
        (build_error(404, "NoSuchUser"), Reason.UNREADABLE_SOURCE),
        (build_error(403, "AccessDenied"), Reason.UNREADABLE_SOURCE),
        (build_error(403, "SignatureDoesNotMatch"), Reason.UNREADABLE_SOURCE),
        (build_error(400, "AuthorizationHeaderMalformed"), Reason.UNREADABLE_SOURCE),
        (build_error(416, "InvalidRange"), Reason.DAMAGED_RECORD),
    ],
)
def test_a_refusal_raises_a_permanent_error(response, reason, server) -> None:
    server.responses["/crawls/a"] = response
    with pytest.raises(PermanentError) as error:
        S3Objects(s3_url(server)).fetch("s3://crawls/a", 0, 3)
    assert error.value.reason is reason
    assert isinstance(error.value, DamagedInputError) is (reason is Reason.DAMAGED_RECORD)


@pytest.mark.parametrize(
    "response", [build_error(503, "SlowDown"), CannedResponse(500), CannedResponse(429)]
)
def test_a_busy_server_raises_a_transient_error(response, server) -> None:
    server.responses["/crawls/a"] = response
    with pytest.raises(TransientError):
        S3Objects(s3_url(server)).read_all("s3://crawls/a", 100)


@pytest.mark.parametrize(
    "url",
    [
        "s3://",
        "s3://crawls",
        "s3://crawls/",
        "s3://crawls/a/",
        "s3://crawls//a",
        "s3://crawls/a//b",
        "s3://crawls/../other/a",
        "s3://key:secret@host/crawls/a",
        "s3://host:9000/crawls/a",
        "https://crawls/a",
        "s3://crawls/a\udc00",
    ],
)
def test_invalid_urls_are_refused_without_a_request(url: str, server) -> None:
    with pytest.raises(PermanentError) as error:
        S3Objects(s3_url(server)).read_all(url, 100)
    assert error.value.reason is Reason.UNREADABLE_SOURCE
    assert "secret@" not in str(error.value)
    assert server.requests == []


@pytest.mark.parametrize("url", ["s3://other/in/a", "s3://crawls/a", "s3://crawls/inner/a"])
def test_the_configured_bucket_and_prefix_restrict_reading(url: str, server) -> None:
    server.responses["/crawls/in/a"] = CannedResponse(body=b"here", headers=DATE_HEADERS)
    objects = S3Objects(s3_url(server, "/crawls/in"))
    assert objects.read_all("s3://crawls/in/a", 100) == b"here"
    with pytest.raises(PermanentError, match="only allows reading"):
        objects.read_all(url, 100)
    assert len(server.requests) == 1


def test_a_configured_aws_bucket_restricts_reading() -> None:
    with pytest.raises(PermanentError, match="only allows reading in s3://crawls"):
        S3Objects("s3://crawls").read_all("s3://other/a", 100)


@pytest.mark.parametrize("url", ["s3:", "s3:?region=eu-north-1", "s3://crawls/in?region=x-1"])
def test_aws_urls_need_no_server(url: str) -> None:
    assert repr(S3Objects(url)) == "S3Objects('AWS')"


@pytest.mark.parametrize(
    "url", ["s3://k:hidden@", "s3://k@h", "s3://[", "s3://k:hidden@h?scheme=ftp"]
)
def test_an_invalid_setting_is_refused_without_its_secret(url: str) -> None:
    with pytest.raises(ConfigurationError, match="s3_url") as error:
        S3Objects(url)
    assert "hidden" not in str(error.value)
