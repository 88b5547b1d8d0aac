"""Listing the versions of an object: signed requests, and checked responses."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import UTC, datetime

import pytest

from fixtures.http_server import CannedResponse, HttpServer, serve_http
from fonds.model.disposition import Reason
from fonds.model.errors import LimitError, PermanentError, TransientError
from fonds.stores.s3.client import S3Address
from fonds.stores.s3.objects import (
    ANSWER_MAX_BYTES,
    S3Objects,
    _sign_headers,
    list_versions,
)

TARGET = "/old?max-keys=1000&prefix=downloads%2F5&versions="


def build_version(key: str, id_: str, day: int, name: str = "Version") -> str:
    return (
        f"<{name}><Key>{key}</Key><VersionId>{id_}</VersionId>"
        f"<LastModified>2021-10-{day:02}T05:06:07.000Z</LastModified></{name}>"
    )


def build_list(*versions: str, is_truncated: bool = False) -> CannedResponse:
    content = "".join(versions) + f"<IsTruncated>{str(is_truncated).lower()}</IsTruncated>"
    space = "http://s3.amazonaws.com/doc/2006-03-01/"
    return CannedResponse(
        body=f'<ListVersionsResult xmlns="{space}">{content}</ListVersionsResult>'.encode()
    )


@pytest.fixture
def server() -> Iterator[HttpServer]:
    with serve_http() as state:
        yield state


@pytest.fixture
def objects(server: HttpServer) -> S3Objects:
    return S3Objects(f"s3://me:hidden@{server.url.removeprefix('http://')}?scheme=http")


def test_only_the_versions_of_the_object_are_listed(server, objects) -> None:
    server.responses[TARGET] = build_list(
        build_version("downloads/5", "b", 2),
        build_version("downloads/5", "gone", 3, "DeleteMarker"),
        build_version("downloads/5", "a", 1),
        build_version("downloads/55", "c", 4),
        is_truncated=True,
    )
    times = [datetime(2021, 10, day, 5, 6, 7, tzinfo=UTC) for day in (2, 1)]
    assert objects.list_versions("s3://old/downloads/5") == [("b", times[0]), ("a", times[1])]
    headers = {name.lower(): value for name, value in server.requests[0][1].items()}
    assert headers["authorization"].startswith("AWS4-HMAC-SHA256 Credential=me/")
    assert "hidden" not in str(headers)


def test_a_version_is_read_by_its_id(server, objects) -> None:
    headers = {"Last-Modified": "Wed, 01 Jan 2020 00:00:00 GMT", "ETag": '"a"'}
    server.responses["/old/downloads/5?versionId=a"] = CannedResponse(body=b"abc", headers=headers)
    assert objects.read_dated("s3://old/downloads/5", 10, "a") == (
        b"abc",
        datetime(2020, 1, 1, tzinfo=UTC),
    )


@pytest.mark.parametrize(
    ("response", "kind"),
    [
        (CannedResponse(403), PermanentError),
        (CannedResponse(307, headers={"Location": "http://127.0.0.1:1/"}), PermanentError),
        (CannedResponse(500), TransientError),
        (CannedResponse(429), TransientError),
        (CannedResponse(body=b"<a"), PermanentError),
        (CannedResponse(body=b'<!DOCTYPE a [<!ENTITY b "c">]><a>&b;</a>'), PermanentError),
        (build_list(build_version("downloads/5", "a", 32)), PermanentError),
        (build_list("<Version><Key>downloads/5</Key></Version>"), PermanentError),
        (build_list(build_version("downloads/5", "a", 1), is_truncated=True), LimitError),
        (CannedResponse(body=bytes(ANSWER_MAX_BYTES + 1)), LimitError),
    ],
)
def test_invalid_lists_raise_an_error(response, kind, server, objects) -> None:
    server.responses[TARGET] = response
    with pytest.raises(kind) as error:
        objects.list_versions("s3://old/downloads/5")
    assert "hidden" not in str(error.value)


def test_an_unreachable_server_raises_a_transient_error() -> None:
    address = S3Address("old", "", "http://127.0.0.1:1", "us-east-1", "me", "hidden")
    with pytest.raises(TransientError):
        list_versions(address, "downloads/5")


def test_other_buckets_are_refused_without_a_request(server) -> None:
    host = server.url.removeprefix("http://")
    objects = S3Objects(f"s3://me:hidden@{host}/mine?scheme=http")
    with pytest.raises(PermanentError) as error:
        objects.list_versions("s3://old/downloads/5")
    assert error.value.reason is Reason.UNREADABLE_SOURCE
    assert server.requests == []


def test_signatures_match_the_examples_of_amazon() -> None:
    """The two examples of listing a bucket in the manual of Amazon, with its keys, host and time."""
    secret = "wJalrXUtnFEMI/K7MDENG/bPxRfiCYEXAMPLEKEY"
    address = S3Address("examplebucket", "", None, "us-east-1", "AKIAIOSFODNN7EXAMPLE", secret)
    moment, host = datetime(2013, 5, 24, tzinfo=UTC), "examplebucket.s3.amazonaws.com"
    signatures = {
        "lifecycle=": "fea454ca298b7da1c68078a5d1bdbfbbe0d65c699e0f91ac7a200a0136783543",
        "max-keys=2&prefix=J": "34b48302e7b5fa45bde8084f4b7868a86f0a534bc59db6670ed5711ef69dc6f7",
    }
    for query, signature in signatures.items():
        headers = _sign_headers(address, host, "/", query, moment)
        assert headers["authorization"].endswith(f"Signature={signature}")
    public_address = S3Address("examplebucket", "")
    assert _sign_headers(public_address, host, "/", "versions=", moment) == {}
