"""Complete files behind URLs and in petabox items, from a real server on this machine."""

from __future__ import annotations

import gzip
from collections.abc import Callable, Iterator
from pathlib import Path
from urllib.parse import unquote

import brotli
import pytest
from hypothesis import given
from hypothesis import strategies as st

from fixtures.http_server import CannedResponse, HttpServer, serve_http
from fonds.archive.store.folder import FolderArchive
from fonds.archive.store.options import ArchiveOptions
from fonds.archive.store.payloads import PlaceReader
from fonds.archive.store.remote import RemoteReader, build_item_url, create_remote_bodies
from fonds.fetching.service_client import ServiceClient
from fonds.model.capture import Place, PlaceKind
from fonds.model.disposition import Reason
from fonds.model.errors import (
    ConfigurationError,
    LimitError,
    PermanentError,
    TransientError,
)

PDF = b"%PDF-1.4\n" + bytes(range(256)) * 300
BODY_MAX_BYTES = 100_000
SERVE_TEMPLATE = "http://petabox.example/serve/{item}/{path}"


@pytest.fixture
def server() -> Iterator[HttpServer]:
    with serve_http() as state:
        yield state


@pytest.fixture
def archive(server: HttpServer, tmp_path: Path) -> FolderArchive:
    return FolderArchive(
        tmp_path / "archive",
        ArchiveOptions(
            body_max_bytes=BODY_MAX_BYTES,
            allows_private_addresses=True,
            petabox_url=server.url + "/serve/{item}/{path}",
        ),
    )


@pytest.fixture
def read(archive: FolderArchive, server: HttpServer) -> Callable[[str], bytes]:
    return lambda path: archive.read(Place(PlaceKind.FILE, server.url + path)).body


def get_error(read: Callable[[str], bytes], path: str) -> PermanentError:
    with pytest.raises(PermanentError) as raised:
        read(path)
    assert path in str(raised.value)
    return raised.value


def test_a_file_is_read_with_one_uncoded_request(read, server) -> None:
    server.responses["/a.pdf?x=1"] = CannedResponse(body=PDF)
    assert read("/a.pdf?x=1") == PDF
    ((_, headers),) = server.requests
    assert headers["Accept-Encoding"] == "identity"
    assert "Range" not in headers


@pytest.mark.parametrize(("coding", "pack"), [("gzip", gzip.compress), ("br", brotli.compress)])
def test_unrequested_content_codings_are_decoded(coding, pack, read, server) -> None:
    server.responses["/a"] = CannedResponse(body=pack(PDF), headers={"Content-Encoding": coding})
    assert read("/a") == PDF


def test_a_loose_gzip_file_is_unpacked(read, server) -> None:
    server.responses["/a.pdf.gz"] = CannedResponse(body=gzip.compress(PDF))
    assert read("/a.pdf.gz") == PDF


def test_redirects_are_followed_and_each_target_is_checked(read, server) -> None:
    server.responses["/to"] = CannedResponse(302, headers={"Location": "/a.pdf"})
    server.responses["/a.pdf"] = CannedResponse(body=PDF)
    assert read("/to") == PDF
    for number, target in enumerate(["ftp://127.0.0.1/a", "file:///etc/passwd", "/round4"]):
        server.responses[f"/round{number + 2}"] = CannedResponse(302, headers={"Location": target})
        assert get_error(read, f"/round{number + 2}").reason is Reason.UNREADABLE_SOURCE


def test_a_redirect_to_a_private_address_is_not_followed(server, tmp_path) -> None:
    server.responses["/to"] = CannedResponse(302, headers={"Location": "http://10.0.0.1/a.pdf"})
    remote_bodies = create_remote_bodies(
        ServiceClient(lambda address: address == "127.0.0.1"), {}, "", ""
    )
    reader = PlaceReader(tmp_path, remote_bodies, body_max_bytes=BODY_MAX_BYTES)
    with pytest.raises(PermanentError, match="private address"):
        reader.read(Place(PlaceKind.FILE, server.url + "/to"))


def test_private_addresses_are_not_requested_unless_allowed(server, tmp_path) -> None:
    server.responses["/a.pdf"] = CannedResponse(body=PDF)
    strict_archive = FolderArchive(
        tmp_path / "archive", ArchiveOptions(petabox_url=server.url + "/{item}/{path}")
    )
    places = [
        Place(PlaceKind.FILE, server.url + "/a.pdf"),
        Place(PlaceKind.PETABOX, "a/b.pdf"),
    ]
    for place in places:
        with pytest.raises(PermanentError, match="private address") as raised:
            strict_archive.read(place)
        assert raised.value.reason is Reason.UNREADABLE_SOURCE
    assert server.requests == []


def test_only_a_file_within_the_limit_is_read(read, server) -> None:
    server.responses["/at"] = CannedResponse(body=bytes(BODY_MAX_BYTES))
    server.responses["/over"] = CannedResponse(body=bytes(BODY_MAX_BYTES + 1))
    server.responses["/says"] = CannedResponse(body=b"", headers={"Content-Length": "999999999"})
    assert len(read("/at")) == BODY_MAX_BYTES
    for path in ("/over", "/says"):
        error = get_error(read, path)
        assert isinstance(error, LimitError)
        assert error.reason is Reason.TOO_LARGE


def test_a_decompression_bomb_is_refused(read, server) -> None:
    bomb = gzip.compress(bytes(30_000_000))
    server.responses["/a"] = CannedResponse(body=bomb, headers={"Content-Encoding": "gzip"})
    assert get_error(read, "/a").reason in (Reason.BOMB, Reason.TOO_LARGE)


@pytest.mark.parametrize(
    ("status", "reason"),
    [
        (404, Reason.MISSING_SOURCE),
        (410, Reason.MISSING_SOURCE),
        (401, Reason.UNREADABLE_SOURCE),
        (403, Reason.UNREADABLE_SOURCE),
        (451, Reason.UNREADABLE_SOURCE),
        (206, Reason.UNREADABLE_SOURCE),
        (302, Reason.UNREADABLE_SOURCE),
    ],
)
def test_a_refusing_server_is_a_permanent_error(status, reason, read, server) -> None:
    server.responses["/a"] = CannedResponse(status)
    assert get_error(read, "/a").reason is reason


@pytest.mark.parametrize(
    "response",
    [
        CannedResponse(429),
        CannedResponse(500),
        CannedResponse(503),
        CannedResponse(body=b"x", missing_bytes=9),
    ],
)
def test_a_server_error_is_transient(response, read, server) -> None:
    server.responses["/a"] = response
    with pytest.raises(TransientError, match="/a"):
        read("/a")


def test_the_password_of_a_url_is_in_no_message(archive, server) -> None:
    url = server.url.replace("//", "//me:secret@") + "/none"
    with pytest.raises(PermanentError) as raised:
        archive.read(Place(PlaceKind.FILE, url))
    assert "/none" in str(raised.value)
    assert "secret" not in str(raised.value)


def test_the_path_of_a_petabox_item_is_escaped(archive, server) -> None:
    server.responses["/go"] = CannedResponse(body=PDF)
    server.responses["/serve/an%20item/dir/a%23b%3Fc%25%C3%A4.pdf"] = CannedResponse(
        302, headers={"Location": "/go"}
    )
    place = Place(PlaceKind.PETABOX, "an item/dir/a#b?c%ä.pdf")
    assert archive.read(place).body == PDF


@pytest.mark.parametrize(
    "path",
    [
        "",
        "item",
        "item/",
        "/a.pdf",
        "../a",
        "item/../a",
        "item/./a",
        "item//a",
        "a/\x00",
        "a/\udc00",
    ],
)
def test_a_petabox_path_outside_its_item_is_not_requested(path, archive, server) -> None:
    with pytest.raises(PermanentError) as raised:
        archive.read(Place(PlaceKind.PETABOX, path))
    assert raised.value.reason is Reason.UNREADABLE_SOURCE
    assert server.requests == []


@given(st.text(min_size=1), st.text(min_size=1))
def test_a_petabox_url_stays_in_its_item(item: str, path: str) -> None:
    try:
        url = build_item_url(SERVE_TEMPLATE, f"{item}/{path}")
    except PermanentError:
        return
    prefix = "http://petabox.example/serve/"
    assert url.startswith(prefix)
    assert url.isascii()
    assert unquote(url[len(prefix) :]) == f"{item}/{path}"
    assert not {"..", ".", ""} & set(url[len(prefix) :].split("/"))


class MissingLibrary:
    """Remote reader whose library is not installed."""

    def __call__(self) -> RemoteReader:
        raise ConfigurationError("pip install 'fonds[s3]'")


def test_a_missing_library_fails_only_its_place(tmp_path) -> None:
    archive = FolderArchive(tmp_path / "archive", ArchiveOptions(remotes={"s3": MissingLibrary()}))
    with pytest.raises(PermanentError, match="pip install") as raised:
        archive.read(Place(PlaceKind.FILE, "s3://bucket/key"))
    assert raised.value.reason is Reason.UNREADABLE_SOURCE
