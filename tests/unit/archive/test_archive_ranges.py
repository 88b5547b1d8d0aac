"""Records read from URLs by range requests to a real server on this machine."""

from __future__ import annotations

import re
import threading
from collections.abc import Callable, Iterator
from dataclasses import replace
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import ClassVar

import pytest

from fixtures import warcs
from fonds.archive.store.folder import FolderArchive
from fonds.archive.store.options import ArchiveOptions
from fonds.archive.store.payloads import PlaceReader
from fonds.archive.store.remote import create_remote_bodies
from fonds.fetching.addresses import is_public
from fonds.fetching.service_client import ServiceClient
from fonds.model.capture import Place, PlaceKind
from fonds.model.disposition import Reason
from fonds.model.errors import PermanentError, TransientError

RECORDS = [warcs.warcinfo(), warcs.http_response(bytes(range(256)) * 4000), warcs.http_response()]
MEMBERS = [warcs.gzip_records([record]) for record in RECORDS]
OFFSETS = warcs.list_offsets(MEMBERS)
DICTIONARY = warcs.train_dictionary()
ZSTD = warcs.zstd_records(RECORDS, dictionary=DICTIONARY)


class Handler(BaseHTTPRequestHandler):
    """Serves ranges of files in memory; other paths misbehave as their names say."""

    files: ClassVar = {"/a.warc.gz": b"".join(MEMBERS), "/a.warc.zst": ZSTD}
    requested_ranges: ClassVar[list[tuple[int, int]]] = []

    def do_GET(self) -> None:
        path = self.path.partition("?")[0]
        if path in ("/404", "/403", "/500", "/429"):
            self._send(int(path[1:]))
        elif path == "/moved":
            self._send(302, Location=f"/a.warc.gz?{self.headers['Host']}")
        elif path == "/round":
            self._send(302, Location="/round")
        elif path == "/to-ftp":
            self._send(302, Location="ftp://127.0.0.1:21/a.warc.gz")
        elif path == "/to-private":
            self._send(302, Location="http://10.0.0.1/a.warc.gz")
        elif path == "/whole":
            self._send(200, self.files["/a.warc.gz"])
        elif path == "/elsewhere":
            self._send(206, b"abc", **{"Content-Range": "bytes 0-2/100"})
        elif path == "/nonsense":
            self._send(206, b"abc", **{"Content-Range": "lines 1 to 3"})
        elif path == "/cut":
            self.send_response(206)
            self.send_header("Content-Range", f"bytes {OFFSETS[1]}-9999/10000")
            self.send_header("Content-Length", "9999")
            self.end_headers()
            self.wfile.write(b"abc")
        else:
            self._send_range(self.files[path])

    def _send_range(self, data: bytes) -> None:
        match = re.fullmatch(r"bytes=(\d+)-(\d+)", self.headers["Range"])
        assert match
        start, stop = int(match[1]), min(int(match[2]) + 1, len(data))
        self.requested_ranges.append((start, stop))
        if start >= len(data):
            self._send(416)
        else:
            content_range = f"bytes {start}-{stop - 1}/{len(data)}"
            self._send(206, data[start:stop], **{"Content-Range": content_range})

    def _send(self, status: int, body: bytes = b"", **headers: str) -> None:
        self.send_response(status)
        for name, value in headers.items():
            self.send_header(name, value)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, format: str, *args: object) -> None:  # noqa: A002
        """Log nothing."""


@pytest.fixture(scope="module")
def server() -> Iterator[str]:
    with ThreadingHTTPServer(("127.0.0.1", 0), Handler) as http_server:
        thread = threading.Thread(target=http_server.serve_forever)
        thread.start()
        yield f"http://127.0.0.1:{http_server.server_port}"
        http_server.shutdown()
        thread.join()


def make_reader(home: Path, web: ServiceClient, body_max_bytes: int = 10**6) -> PlaceReader:
    return PlaceReader(home, create_remote_bodies(web, {}, "", ""), body_max_bytes=body_max_bytes)


@pytest.fixture
def read(server: str, tmp_path: Path) -> Callable[..., bytes]:
    Handler.requested_ranges.clear()
    reader = make_reader(tmp_path, ServiceClient(lambda address: address == "127.0.0.1"), 2_000_000)

    def read_at(path: str, offset: int = 0, size_bytes: int | None = None) -> bytes:
        return reader.read(Place(PlaceKind.WARC, server + path, offset, size_bytes)).body

    return read_at


def test_a_record_of_known_length_takes_one_request(read) -> None:
    body = read("/a.warc.gz", OFFSETS[1], len(MEMBERS[1]))
    assert body == bytes(range(256)) * 4000
    assert Handler.requested_ranges[0] == (OFFSETS[1], OFFSETS[2])
    assert len(Handler.requested_ranges) <= 2


def test_a_record_of_unknown_length_is_read_in_blocks(read) -> None:
    assert read("/a.warc.gz", OFFSETS[1]) == bytes(range(256)) * 4000
    assert read("/a.warc.gz", OFFSETS[2]) == warcs.PAGE


def test_the_zstd_dictionary_is_fetched_from_the_start_of_the_file(read) -> None:
    offset = ZSTD.rindex(b"\x28\xb5\x2f\xfd")
    assert read("/a.warc.zst", offset) == warcs.PAGE


def test_redirects_are_followed(read) -> None:
    assert read("/moved", OFFSETS[2]) == warcs.PAGE


@pytest.mark.parametrize(
    ("path", "reason"),
    [
        ("/404", Reason.MISSING_SOURCE),
        ("/403", Reason.UNREADABLE_SOURCE),
        ("/round", Reason.UNREADABLE_SOURCE),
        ("/whole", Reason.UNREADABLE_SOURCE),
        ("/elsewhere", Reason.UNREADABLE_SOURCE),
        ("/nonsense", Reason.UNREADABLE_SOURCE),
        ("/to-ftp", Reason.UNREADABLE_SOURCE),
        ("/to-private", Reason.UNREADABLE_SOURCE),
    ],
)
def test_a_refusing_server_is_a_permanent_error(path: str, reason: Reason, read) -> None:
    with pytest.raises(PermanentError) as raised:
        read(path, OFFSETS[1])
    assert raised.value.reason is reason
    assert path in str(raised.value)


@pytest.mark.parametrize("path", ["/500", "/429"])
def test_a_server_error_is_transient(path: str, read) -> None:
    with pytest.raises(TransientError):
        read(path)


def test_a_broken_connection_is_transient(read) -> None:
    with pytest.raises(TransientError):
        read("/cut", OFFSETS[1])


def test_an_offset_beyond_the_end_is_a_damaged_record(read) -> None:
    with pytest.raises(PermanentError) as raised:
        read("/a.warc.gz", 10**7)
    assert raised.value.reason is Reason.DAMAGED_RECORD


def test_a_missing_server_is_transient(tmp_path: Path) -> None:
    archive = FolderArchive(tmp_path / "archive", ArchiveOptions(allows_private_addresses=True))
    with pytest.raises(TransientError):
        archive.read(Place(PlaceKind.WARC, "http://127.0.0.1:9/a.warc.gz"))


@pytest.mark.parametrize(
    "host", ["127.0.0.1", "localhost", "[::1]", "[::ffff:127.0.0.1]", "0x7f.1"]
)
def test_private_addresses_are_refused_unless_allowed(host: str, tmp_path: Path) -> None:
    with pytest.raises(PermanentError) as raised:
        FolderArchive(tmp_path / "archive").read(
            Place(PlaceKind.WARC, f"http://{host}:1/a.warc.gz")
        )
    assert raised.value.reason is Reason.UNREADABLE_SOURCE


def test_one_private_address_among_several_is_refused(tmp_path: Path) -> None:
    reader = make_reader(
        tmp_path, ServiceClient(resolve=lambda host, port: ["93.184.216.34", "10.0.0.1"])
    )
    with pytest.raises(PermanentError, match="private"):
        reader.read(Place(PlaceKind.WARC, "http://example.org/a.warc.gz"))


@pytest.mark.parametrize(
    "url", ["http://", "http://:80/", "https://a:99999/", "http://[::1/", "http://bücher.example/"]
)
def test_an_invalid_url_is_a_permanent_error(url: str, tmp_path: Path) -> None:
    with pytest.raises(PermanentError):
        FolderArchive(tmp_path / "archive").read(Place(PlaceKind.WARC, url))


def test_zip_members_are_not_read_from_urls(tmp_path: Path) -> None:
    with pytest.raises(PermanentError, match="Download the file first") as raised:
        FolderArchive(tmp_path / "archive").read(
            Place(PlaceKind.ZIP, "https://example.org/a.zip", member="a")
        )
    assert raised.value.reason is Reason.UNREADABLE_SOURCE


def test_a_record_that_needs_too_many_bytes_is_too_large(server: str, tmp_path: Path) -> None:
    remote_bodies = replace(
        create_remote_bodies(ServiceClient(lambda _: True), {}, "", ""), slack_bytes=0
    )
    reader = PlaceReader(tmp_path, remote_bodies, body_max_bytes=1000)
    with pytest.raises(PermanentError) as raised:
        reader.read(Place(PlaceKind.WARC, server + "/a.warc.gz", OFFSETS[1]))
    assert raised.value.reason is Reason.TOO_LARGE


@pytest.mark.parametrize(
    ("address", "public"),
    [
        ("93.184.216.34", True),
        ("2606:2800:220:1::1", True),
        ("127.0.0.1", False),
        ("10.1.2.3", False),
        ("192.168.1.1", False),
        ("169.254.169.254", False),
        ("100.64.0.1", False),
        ("0.0.0.0", False),
        ("224.0.0.1", False),
        ("::1", False),
        ("fe80::1%eth0", False),
        ("fd00::1", False),
        ("::ffff:10.0.0.1", False),
        ("2002:7f00:1::", False),
        ("64:ff9b::7f00:1", False),
    ],
)
def test_private_addresses_are_recognized_in_every_spelling(address: str, public: bool) -> None:
    assert is_public(address) is public
