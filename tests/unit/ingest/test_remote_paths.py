"""Files behind URLs as inputs: what they are called, what stays here, and where their captures lie."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path

import pytest

from fixtures.answering import Answering, Given, answering
from fixtures.warcs import PAGE, gzipped, http_response, revisit
from fonds.config import load_settings
from fonds.ingest.sources.paths import PathSource
from fonds.ingest.sources.remote_files import RemoteFiles
from fonds.ingest.sources.remote_paths import RemotePathSource
from fonds.model.capture import Capture, PlaceKind
from fonds.model.disposition import Reason
from fonds.wiring.stores import create_service_client, open_archive

NOW = datetime(2026, 1, 2, tzinfo=UTC)
CDX = (
    " CDX N b a m s k r M S V g\n"
    "org,example)/ 20170706005950 http://example.org/ text/html 200"
    " MQHD36X5MNZPWFNMD5LFOYZSFGCHUN3V - - 90 0 warcs/crawl.warc.gz\n"
)


@pytest.fixture
def server() -> Iterator[Answering]:
    with answering() as state:
        yield state


def source(home: Path, *urls: str, keeps_files: bool, base: str = "") -> RemotePathSource:
    settings = load_settings(home, {"elsewhere.private_addresses": "true"})
    remotes = RemoteFiles(create_service_client(settings), lambda: None)
    local = PathSource([], home, "default", base)
    return RemotePathSource(local, urls, remotes, lambda: NOW, keeps_files=keeps_files)


def captures(source: RemotePathSource) -> list[Capture]:
    found = [entry for row in source.iter_inputs() for entry in source.iter_entries(row)]
    items = [getattr(one, "item", None) for one in found]
    return [item for item in items if isinstance(item, Capture)]


def left(home: Path) -> list[str]:
    inbox = home / "inbox"
    return sorted(one.relative_to(inbox).as_posix() for one in inbox.rglob("*"))


def offer(server: Answering, target: str, body: bytes) -> str:
    server.answers[target] = Given(body=body, headers={"ETag": '"1"', "Accept-Ranges": "bytes"})
    return server.url + target


@pytest.mark.parametrize("keeps_files", [True, False])
def test_the_records_of_a_warc_can_be_read_where_their_captures_lie(
    server: Answering, tmp_path: Path, keeps_files: bool
) -> None:
    url = offer(server, "/x/item/crawl.warc.gz", gzipped([http_response(), revisit()]))
    found = captures(source(tmp_path, url, keeps_files=keeps_files))
    assert [one.record_type for one in found] == ["response", "revisit"]
    (input_id,) = {one.input_id for one in found}
    kept = tmp_path / "inbox" / input_id / "item" / "crawl.warc.gz"
    assert {one.place.path for one in found} == {str(kept) if keeps_files else url}
    assert left(tmp_path)[-1:] == ([f"{input_id}/item/crawl.warc.gz"] if keeps_files else [])
    settings = load_settings(tmp_path, {"elsewhere.private_addresses": "true"})
    assert open_archive(tmp_path, settings).read(found[0].place).body == PAGE


def test_reading_can_go_on_behind_any_position(server: Answering, tmp_path: Path) -> None:
    url = offer(server, "/item/crawl.warc.gz", gzipped([http_response(), revisit()]))
    of_url = source(tmp_path, url, keeps_files=False)
    (row,) = of_url.iter_inputs()
    everything = list(of_url.iter_entries(row))
    marks = [one for one in everything if isinstance(one, int)]
    assert len(marks) == 2
    rest = list(of_url.iter_entries(replace(row, position=marks[1])))
    assert rest == everything[everything.index(marks[1]) :]


@pytest.mark.parametrize(
    ("base", "path"),
    [("", "{url}/cdx/warcs/crawl.warc.gz"), ("{url}/w", "{url}/w/warcs/crawl.warc.gz")],
)
def test_the_warcs_of_an_index_lie_beside_it_or_below_the_base(
    server: Answering, tmp_path: Path, base: str, path: str
) -> None:
    url = offer(server, "/cdx/index.cdx", CDX.encode())
    base = base.format(url=server.url)
    (one,) = captures(source(tmp_path, url, keeps_files=True, base=base))
    assert one.place.path == path.format(url=server.url)
    assert one.place.kind is PlaceKind.WARC
    assert left(tmp_path) == []


def test_a_damaged_list_is_named_by_its_url(server: Answering, tmp_path: Path) -> None:
    url = offer(server, "/cdx/index.cdx", (CDX + "one two\n").encode())
    damaged = captures(source(tmp_path, url, keeps_files=True))[-1]
    assert damaged.damage_reason is Reason.BAD_INDEX_LINE
    assert damaged.place.path.startswith(url)
    assert damaged.url.startswith(url)


def test_the_parts_of_a_compressed_index_are_those_named_with_it(
    server: Answering, tmp_path: Path
) -> None:
    index = offer(
        server, "/z/cluster.idx", b"org,example)/ 20170706005950\tcdx-00000.gz\t0\t100\t1\n" * 2
    )
    part = offer(server, "/z/cdx-00000.gz", b"x")
    (alone,) = captures(source(tmp_path, index, keeps_files=True))
    assert alone.damage_reason is Reason.MISSING_SOURCE
    both = source(tmp_path, index, part, keeps_files=True)
    first, _ = both.iter_inputs()
    assert list(both.iter_entries(first)) == [{str(Reason.NOT_A_CAPTURE): 1}]


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
def test_names_of_urls_stay_in_the_inbox(
    server: Answering, tmp_path: Path, target: str, name: str
) -> None:
    url = offer(server, target, b"%PDF-1.4 nothing")
    (one,) = captures(source(tmp_path, url, keeps_files=True))
    assert one.damage is None
    assert one.place.path == str(tmp_path / "inbox" / one.input_id / name)
    assert one.url == url
