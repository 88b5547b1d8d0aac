"""Captures replayed by a web archive, for which a real server on this machine responds."""

from __future__ import annotations

import gzip
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fixtures.http_server import CannedResponse, HttpServer, serve_http
from fonds.archive.store.folder import FolderArchive
from fonds.archive.store.options import ArchiveOptions
from fonds.archive.store.remote import WebArchiveReader
from fonds.fetching.service_client import ServiceClient
from fonds.model.archive import Payload
from fonds.model.capture import Place, PlaceKind
from fonds.model.disposition import Reason
from fonds.model.errors import PermanentError, TransientError

URL = "http://example.org/a.pdf"
CAPTURE = f"20200101000000/{URL}"
AT = f"/web/20200101000000id_/{URL}"
PDF = b"%PDF-1.4 a paper"
MEMENTO = {"Memento-Datetime": "Wed, 01 Jan 2020 00:00:00 GMT"}
TEMPLATE = "http://archive.example/web/{timestamp}id_/{url}"


@pytest.fixture
def server() -> Iterator[HttpServer]:
    with serve_http() as state:
        yield state


@pytest.fixture
def replay(server: HttpServer, tmp_path: Path) -> Callable[..., Payload]:
    archive = FolderArchive(
        tmp_path / "archive",
        ArchiveOptions(
            body_max_bytes=100_000,
            allows_private_addresses=True,
            replay_url=server.url + "/web/{timestamp}id_/{url}",
        ),
    )
    return lambda path=CAPTURE: archive.read(Place(PlaceKind.REPLAY, path))


def redirect_to(target: str, **headers: str) -> CannedResponse:
    return CannedResponse(302, headers={"Location": target, **headers})


def test_a_replay_returns_the_original_headers(replay, server) -> None:
    head = {**MEMENTO, "Content-Type": "application/pdf", "X-Archive-Orig-Server": "Old/1.0"}
    server.responses[AT] = CannedResponse(body=PDF, headers=head)
    payload = replay()
    assert payload.body == PDF
    assert payload.http is not None
    assert (payload.http.status, payload.http.status_line) == (200, "HTTP/1.1 200 OK")
    assert payload.http.get("content-type") == "application/pdf"
    assert payload.http.get("server") == "Old/1.0"
    assert payload.http.get("memento-datetime") is None
    assert payload.warc_headers["WARC-Date"] == "2020-01-01T00:00:00Z"


def test_a_content_coding_of_the_replay_is_decoded(replay, server) -> None:
    server.responses[AT] = CannedResponse(
        body=gzip.compress(PDF), headers={"Content-Encoding": "gzip"}
    )
    assert replay().body == PDF


def test_a_redirect_to_another_time_of_the_url_sets_its_date(replay, server) -> None:
    server.responses[AT] = redirect_to("/web/20190506070809id_/https://www.example.org/a.pdf")
    server.responses["/web/20190506070809id_/https://www.example.org/a.pdf"] = CannedResponse(
        body=PDF
    )
    payload = replay()
    assert payload.body == PDF
    assert payload.warc_headers["WARC-Date"] == "2019-05-06T07:08:09Z"


@pytest.mark.parametrize(
    "target",
    [
        "/web/20200101000000id_/http://example.org/login",
        "/web/20200101000000/http://example.org/a.pdf",
        "/account/login",
        "http://example.org/a.pdf",
        "ftp://127.0.0.1/web/20200101000000id_/http://example.org/a.pdf",
    ],
)
def test_a_redirect_to_anything_else_is_not_followed(target, replay, server) -> None:
    server.responses[AT] = redirect_to(target)
    with pytest.raises(PermanentError) as raised:
        replay()
    assert raised.value.reason is Reason.UNREADABLE_SOURCE
    assert len(server.requests) == 1


def test_a_captured_redirect_is_returned_itself(replay, server) -> None:
    target = "/web/20200101000000id_/https://example.org/a.pdf"
    server.responses[AT] = redirect_to(target, **MEMENTO)
    payload = replay()
    assert payload.http is not None
    assert payload.http.status == 302
    assert len(server.requests) == 1


@pytest.mark.parametrize("status", [404, 403, 503])
def test_a_captured_status_is_returned(status: int, replay, server) -> None:
    server.responses[AT] = CannedResponse(status, b"sorry", MEMENTO)
    payload = replay()
    assert payload.http is not None
    assert payload.http.status == status


@pytest.mark.parametrize(
    ("status", "reason"),
    [
        (404, Reason.MISSING_SOURCE),
        (403, Reason.UNREADABLE_SOURCE),
        (451, Reason.UNREADABLE_SOURCE),
        (204, Reason.UNREADABLE_SOURCE),
    ],
)
def test_a_status_of_the_archive_itself_is_a_permanent_error(
    status, reason, replay, server
) -> None:
    server.responses[AT] = CannedResponse(status)
    with pytest.raises(PermanentError) as raised:
        replay()
    assert raised.value.reason is reason
    assert CAPTURE in str(raised.value)


@pytest.mark.parametrize(
    "response",
    [
        CannedResponse(429),
        CannedResponse(503),
        CannedResponse(500),
        CannedResponse(body=b"x", missing_bytes=5),
    ],
)
def test_an_unavailable_archive_is_transient(response, replay, server) -> None:
    server.responses[AT] = response
    with pytest.raises(TransientError, match="20200101000000"):
        replay()


def test_the_original_url_keeps_its_query_and_escapes_without_fragment(replay, server) -> None:
    path = "/web/20200101000000id_/http://example.org/a%20b/%C3%A4?q=1&r=x%2Fy"
    server.responses[path] = CannedResponse(body=PDF)
    assert replay("20200101000000/http://example.org/a b/ä?q=1&r=x%2Fy#page=2").body == PDF


@pytest.mark.parametrize(
    "path",
    ["", URL, "2020/http://a/", "20200101000000/", "20200101000000/http://a/\udc00", "/etc/passwd"],
)
def test_an_invalid_capture_path_is_not_requested(path: str, replay, server) -> None:
    with pytest.raises(PermanentError) as raised:
        replay(path)
    assert raised.value.reason is Reason.UNREADABLE_SOURCE
    assert server.requests == []


def test_a_private_archive_is_refused_unless_allowed(server, tmp_path) -> None:
    strict_archive = FolderArchive(
        tmp_path / "archive", ArchiveOptions(replay_url=server.url + "/{timestamp}/{url}")
    )
    with pytest.raises(PermanentError, match="private address"):
        strict_archive.read(Place(PlaceKind.REPLAY, CAPTURE))
    assert server.requests == []


@given(st.from_regex(r"[0-9]{14}", fullmatch=True), st.text(min_size=1))
def test_a_replay_requests_only_the_archive(timestamp: str, url: str) -> None:
    requested_hosts: list[str] = []

    def note(host: str, port: int) -> list[str]:
        requested_hosts.append(host)
        raise OSError("no name is known here")

    with pytest.raises((PermanentError, TransientError)):
        WebArchiveReader(ServiceClient(resolve=note), TEMPLATE).read(f"{timestamp}/{url}", 1000)
    assert set(requested_hosts) <= {"archive.example"}
