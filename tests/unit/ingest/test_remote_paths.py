"""URLs as inputs: file names in the inbox, which files stay there, and the places of captures."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path

import pytest

from fixtures.http_server import CannedResponse, HttpServer, serve_http
from fixtures.warcs import PAGE, gzip_records, http_response, revisit
from fonds.config import load_settings
from fonds.ingest.sources.paths import PathSource
from fonds.ingest.sources.remote_files import RemoteFiles
from fonds.ingest.sources.remote_paths import RemotePathSource
from fonds.model.capture import Capture, PlaceKind
from fonds.model.disposition import Reason
from fonds.wiring.archive import create_service_client, open_archive

NOW = datetime(2026, 1, 2, tzinfo=UTC)
CDX = (
    " CDX N b a m s k r M S V g\n"
    "org,example)/ 20170706005950 http://example.org/ text/html 200"
    " MQHD36X5MNZPWFNMD5LFOYZSFGCHUN3V - - 90 0 warcs/crawl.warc.gz\n"
)


@pytest.fixture
def server() -> Iterator[HttpServer]:
    with serve_http() as state:
        yield state


def create_source(home: Path, *urls: str, keeps_files: bool, base: str = "") -> RemotePathSource:
    settings = load_settings(home, {"elsewhere.private_addresses": "true"})
    remotes = RemoteFiles(create_service_client(settings), lambda: None)
    local = PathSource([], home, "default", base)
    return RemotePathSource(local, urls, remotes, lambda: NOW, keeps_files=keeps_files)


def read_captures(remote_source: RemotePathSource) -> list[Capture]:
    entries = [
        entry for row in remote_source.iter_inputs() for entry in remote_source.iter_entries(row)
    ]
    items = [getattr(entry, "item", None) for entry in entries]
    return [item for item in items if isinstance(item, Capture)]


def list_inbox(home: Path) -> list[str]:
    inbox = home / "inbox"
    return sorted(path.relative_to(inbox).as_posix() for path in inbox.rglob("*"))


def serve_file(server: HttpServer, target: str, body: bytes) -> str:
    server.responses[target] = CannedResponse(
        body=body, headers={"ETag": '"1"', "Accept-Ranges": "bytes"}
    )
    return server.url + target


@pytest.mark.parametrize("keeps_files", [True, False])
def test_the_records_of_a_remote_warc_are_readable_at_their_places(
    server: HttpServer, tmp_path: Path, keeps_files: bool
) -> None:
    url = serve_file(server, "/x/item/crawl.warc.gz", gzip_records([http_response(), revisit()]))
    url_captures = read_captures(create_source(tmp_path, url, keeps_files=keeps_files))
    assert [capture.record_type for capture in url_captures] == ["response", "revisit"]
    (input_id,) = {capture.input_id for capture in url_captures}
    inbox_path = tmp_path / "inbox" / input_id / "item" / "crawl.warc.gz"
    assert {capture.place.path for capture in url_captures} == {
        str(inbox_path) if keeps_files else url
    }
    assert list_inbox(tmp_path)[-1:] == ([f"{input_id}/item/crawl.warc.gz"] if keeps_files else [])
    settings = load_settings(tmp_path, {"elsewhere.private_addresses": "true"})
    assert open_archive(tmp_path, settings).read(url_captures[0].place).body == PAGE


def test_reading_resumes_at_any_position(server: HttpServer, tmp_path: Path) -> None:
    url = serve_file(server, "/item/crawl.warc.gz", gzip_records([http_response(), revisit()]))
    url_source = create_source(tmp_path, url, keeps_files=False)
    (row,) = url_source.iter_inputs()
    all_entries = list(url_source.iter_entries(row))
    marks = [entry for entry in all_entries if isinstance(entry, int)]
    assert len(marks) == 2
    remaining = list(url_source.iter_entries(replace(row, position=marks[1])))
    assert remaining == all_entries[all_entries.index(marks[1]) :]


@pytest.mark.parametrize(
    ("base", "path"),
    [("", "{url}/cdx/warcs/crawl.warc.gz"), ("{url}/w", "{url}/w/warcs/crawl.warc.gz")],
)
def test_the_warcs_of_a_remote_index_are_next_to_it_or_below_the_base(
    server: HttpServer, tmp_path: Path, base: str, path: str
) -> None:
    url = serve_file(server, "/cdx/index.cdx", CDX.encode())
    base = base.format(url=server.url)
    (capture,) = read_captures(create_source(tmp_path, url, keeps_files=True, base=base))
    assert capture.place.path == path.format(url=server.url)
    assert capture.place.kind is PlaceKind.WARC
    assert list_inbox(tmp_path) == []


def test_a_damaged_remote_index_is_reported_by_url(server: HttpServer, tmp_path: Path) -> None:
    url = serve_file(server, "/cdx/index.cdx", (CDX + "one two\n").encode())
    damaged = read_captures(create_source(tmp_path, url, keeps_files=True))[-1]
    assert damaged.damage_reason is Reason.BAD_INDEX_LINE
    assert damaged.place.path.startswith(url)
    assert damaged.url.startswith(url)


def test_the_parts_of_a_compressed_index_must_be_named_with_it(
    server: HttpServer, tmp_path: Path
) -> None:
    index = serve_file(
        server, "/z/cluster.idx", b"org,example)/ 20170706005950\tcdx-00000.gz\t0\t100\t1\n" * 2
    )
    part = serve_file(server, "/z/cdx-00000.gz", b"x")
    (damaged,) = read_captures(create_source(tmp_path, index, keeps_files=True))
    assert damaged.damage_reason is Reason.MISSING_SOURCE
    both_urls = create_source(tmp_path, index, part, keeps_files=True)
    first, _ = both_urls.iter_inputs()
    assert list(both_urls.iter_entries(first)) == [{str(Reason.NOT_A_CAPTURE): 1}]


@pytest.mark.parametrize(
    ("target", "name"),
    [
        ("/../../etc/passwd", "etc/passwd"),
        ("/a/..%2F..%2Fb", "a/.._.._b"),
        ("/", "file"),
        ("/a/%00", "a"),
        ("/" + "x" * 300, "x" * 200),
        ("/a/b?c=/../d", "a/b"),
    ],
)
def test_file_names_from_urls_stay_in_the_inbox(
    server: HttpServer, tmp_path: Path, target: str, name: str
) -> None:
    url = serve_file(server, target, b"%PDF-1.4 nothing")
    (capture,) = read_captures(create_source(tmp_path, url, keeps_files=True))
    assert capture.damage is None
    assert capture.place.path == str(tmp_path / "inbox" / capture.input_id / name)
    assert capture.url == url
