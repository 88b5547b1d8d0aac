"""Rights that hosts, responses and files state, for fetched pages and for the same pages from WARCs."""

from __future__ import annotations

import shutil
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, replace
from hashlib import sha1
from pathlib import Path

import pytest

from depth import partly_nightly
from e2e.running import call, fonds
from e2e.test_followed_sources import SETTINGS as FOLLOWING
from e2e.test_followed_sources import TEXT, run_until_settled
from filled_home import open_home
from fixtures.feeds import rss, rss_item
from fixtures.http_server import CannedResponse, HttpServer, serve_http
from fixtures.pdfs import text_pdf
from fixtures.warcs import gzip_records, http_response, warc_record
from fonds.model.keys import encode_sha1_base32
from fonds.model.rights import Rights, StatementSource
from fonds.model.rows import (
    CaptureRightsRow,
    CdxRow,
    EntryRow,
    FetchedPageRow,
    FileMetaRow,
    FileRightsRow,
    HostTextRow,
    Row,
)
from fonds.ports import Stores
from fonds.restrictions.traces import build_key
from fonds.rights.capture_rights import load_capture_rights

CC = "https://creativecommons.org/licenses/by-nc/4.0/"
PAGE = (
    f'<!doctype html><html><head><title>The river</title><link rel="license" href="{CC}">'
    '<meta name="robots" content="noarchive"></head><body><article><p>The river rose over the wall at'
    " night and nobody saw it come.</p><p>In the morning the streets stood under water.</p></article>"
    "</body></html>"
).encode()
ROBOTS = (
    b"User-agent: *\nDisallow: /private\nAllow: /news\nContent-Usage: train-ai=n\n"
    b"Content-Usage: /news train-ai=y\nContent-Signal: search=yes\n"
)
TDMREP = "/.well-known/tdmrep.json"
RESERVED = (
    b'[{"location": "/", "tdm-reservation": 0},'
    b' {"location": "/news/*", "tdm-reservation": 1, "tdm-policy": "https://x.example/policy"}]'
)
SETTINGS = ("--set", "elsewhere.private_addresses=true", "--set", "fetch.host_gap_s=0.05")
HOUR = "2024-03-05T06:00:00Z"
RESERVES, ALLOWS = "tdm-reservation=1", "tdm-reservation=0"
NEWS, TIDE_PAGE, PDF = "/news/1", "/other", "/x.pdf"


@contextmanager
def open_host() -> Iterator[HttpServer]:
    with serve_http() as state:
        html = {"Content-Type": "text/html"}
        state.responses["/robots.txt"] = CannedResponse(200, ROBOTS, {"Content-Type": "text/plain"})
        state.responses[TDMREP] = CannedResponse(
            200, RESERVED, {"Content-Type": "application/json"}
        )
        state.responses[NEWS] = CannedResponse(
            200, PAGE, {**html, "X-Robots-Tag": "noai, googlebot: none"}
        )
        state.responses[TIDE_PAGE] = CannedResponse(200, PAGE.replace(b"river", b"tide"), html)
        pdf = text_pdf(info={"Copyright": "© 2024 Ada Stroom"})
        headers = {"Content-Type": "application/pdf", "tdm-reservation": "1"}
        state.responses[PDF] = CannedResponse(200, pdf, headers)
        yield state


@pytest.fixture
def host() -> Iterator[HttpServer]:
    with open_host() as state:
        yield state


@dataclass(frozen=True)
class Homes:
    """A home that fetched the pages of the host, and one that ingested its WARC. Read-only for tests."""

    host: HttpServer
    fetched: Path
    ingested: Path


@pytest.fixture(scope="module")
def homes(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Homes]:
    folder = tmp_path_factory.mktemp("homes")
    with open_host() as host:
        filled_homes = Homes(host, folder / "fetched", folder / "ingested")
        fetch(filled_homes.fetched, host, NEWS, TIDE_PAGE, PDF)
        (warc,) = filled_homes.fetched.rglob("*.warc.gz")
        assert fonds(filled_homes.ingested, "ingest", warc).code == 0
        yield filled_homes


def fetch(home: Path, host: HttpServer, *paths: str) -> None:
    result = fonds(home, *SETTINGS, "fetch", *(host.url + path for path in paths))
    assert result.code in (0, 1), result.err


def load_newest_rights(stores: Stores, url: str) -> Rights:
    """Return the rights of the newest capture of a URL."""
    rows = list(
        stores.records.find(CdxRow, {"url": url}, order=("datetime", "warc_path", "warc_offset"))
    )
    return load_capture_rights(stores.records, {rows[-1].capture_id: rows[-1].sha1hex})[
        rows[-1].capture_id
    ]


def load_rights(home: Path, host: HttpServer) -> Mapping[str, Rights]:
    with open_home(home) as stores:
        return {
            path: load_newest_rights(stores, host.url + path) for path in (NEWS, TIDE_PAGE, PDF)
        }


def drop_robots_capture(rights: Rights) -> Rights:
    assert rights.robots is not None
    return replace(rights, robots=replace(rights.robots, capture_id=None))


def test_fetched_pages_and_ingested_ones_have_equal_rights(homes: Homes) -> None:
    host = homes.host
    fetched = load_rights(homes.fetched, host)
    stated = {
        path: (rights.licenses, rights.holders, rights.prefers) for path, rights in fetched.items()
    }
    assert stated == {
        NEWS: (
            ("cc-by-nc-4.0",),
            (),
            ("train-ai=y", "search=y", RESERVES, "tdm-policy", "noai", "none", "noarchive"),
        ),
        TIDE_PAGE: (("cc-by-nc-4.0",), (), ("train-ai=n", "search=y", ALLOWS, "noarchive")),
        PDF: ((), ("Ada Stroom",), ("train-ai=n", "search=y", ALLOWS, RESERVES)),
    }
    assert [path for path, _ in host.requests].count(TDMREP) == 1
    (policy,) = [
        statement for statement in fetched[NEWS].statements if statement.value == "tdm-policy"
    ]
    assert (policy.stated_in, policy.raw) == (StatementSource.TDMREP, "https://x.example/policy")
    robots = {path: rights.robots for path, rights in fetched.items()}
    assert {(robot.url, robot.answer) for robot in robots.values() if robot} == {
        (f"{host.url}/robots.txt", "200")
    }
    assert [robot.rule for robot in robots.values() if robot] == ["Allow: /news", "", ""]
    ingested = load_rights(homes.ingested, host)
    for path in (NEWS, TIDE_PAGE, PDF):
        assert drop_robots_capture(ingested[path]) == drop_robots_capture(fetched[path])
    for home in (homes.fetched, homes.ingested):
        assert call(home, "audit", "--deep").code == 0


@pytest.mark.parametrize("robots_at", partly_nightly((0, 1, 2), lambda place: place != 1))
def test_a_late_robots_txt_keeps_each_entry_about_its_own_file(
    tmp_path: Path, robots_at: int
) -> None:
    """Changed rights of earlier captures are reported with any entry of the batch."""
    home, site, mirror = tmp_path / "home", "http://news.example", "http://mirror.example"
    later = warc_record(
        record_type="revisit",
        url=f"{site}/1",
        date="2024-03-05T08:00:00Z",
        headers={"WARC-Payload-Digest": f"sha1:{encode_sha1_base32(sha1(PAGE).digest())}"},
    )
    batch = [http_response(PAGE, url=f"{mirror}/1"), later]
    plain = (("Content-Type", "text/plain"),)
    robots = http_response(ROBOTS, url=f"{site}/robots.txt", headers=plain, date=HOUR)
    batch.insert(robots_at, robots)
    for name, records in (("a", [http_response(PAGE, url=f"{site}/1")]), ("b", batch)):
        (tmp_path / f"{name}.warc.gz").write_bytes(gzip_records(records))
        assert fonds(home, "ingest", tmp_path / f"{name}.warc.gz").code == 0
    with open_home(home) as stores:
        about = {(row.url, row.about) for row in stores.records.find(EntryRow)}
        (capture,) = stores.records.find(CdxRow, {"url": f"{site}/1", "datetime": "20240305060708"})
        assert load_capture_rights(stores.records, {capture.capture_id: capture.sha1hex})[
            capture.capture_id
        ].robots
    page = sha1(PAGE).hexdigest()
    assert about == {
        (f"{site}/1", page),
        (f"{mirror}/1", page),
        (f"{site}/robots.txt", sha1(ROBOTS).hexdigest()),
    }
    assert fonds(home, "audit", "--deep").code == 0


def test_a_robots_txt_is_stored_once_per_change(tmp_path: Path, host: HttpServer) -> None:
    home = tmp_path / "home"
    fetch(home, host, NEWS, TIDE_PAGE)
    fetch(home, host, TIDE_PAGE, PDF)
    host.responses["/robots.txt"] = CannedResponse(200, b"User-agent: *\nAllow: /\n")
    fetch(home, host, TIDE_PAGE)
    with open_home(home) as stores:
        rows = list(stores.records.find(CdxRow, {"url": f"{host.url}/robots.txt"}))
        assert len(rows) == 2
        ids = {row.capture_id for row in rows}
        later = load_newest_rights(stores, host.url + TIDE_PAGE)
        assert later.robots is not None
        assert later.robots.rule == "Allow: /"
        assert later.robots.capture_id in ids
        assert {row.in_spool for row in stores.records.get(FetchedPageRow, sorted(ids))} == {False}
        files_by_capture = {row.capture_id: row for row in stores.records.find(FileMetaRow)}
        assert ids <= files_by_capture.keys()
    assert fonds(home, "audit").code == 0


def test_a_missing_robots_txt_or_an_html_one_has_no_capture(
    tmp_path: Path, host: HttpServer
) -> None:
    home = tmp_path / "home"
    host.responses["/robots.txt"] = CannedResponse(404, b"none")
    fetch(home, host, NEWS)
    host.responses["/robots.txt"] = CannedResponse(200, PAGE, {"Content-Type": "text/html"})
    fetch(home, host, TIDE_PAGE)
    with open_home(home) as stores:
        robots = [load_newest_rights(stores, host.url + path).robots for path in (NEWS, TIDE_PAGE)]
    assert [(robot.answer, robot.capture_id, robot.rule) for robot in robots if robot] == [
        ("404", None, ""),
        ("200", None, ""),
    ]
    assert fonds(home, "audit").code == 0


def test_an_unchanged_page_has_the_headers_of_its_new_capture(
    tmp_path: Path, host: HttpServer
) -> None:
    home = tmp_path / "home"
    html = {"Content-Type": "text/html", "ETag": '"1"'}
    host.responses[NEWS] = CannedResponse(200, PAGE, {**html, "X-Robots-Tag": "noai"})
    fetch(home, host, NEWS)
    host.responses[NEWS] = CannedResponse(304, b"", {"ETag": '"1"', "X-Robots-Tag": "noindex"})
    fetch(home, host, NEWS)
    with open_home(home) as stores:
        rows = list(stores.records.find(CdxRow, {"url": host.url + NEWS}))
        stated = load_capture_rights(stores.records, {row.capture_id: row.sha1hex for row in rows})
    tags = [
        [statement.value for statement in rights.statements if statement.name == "X-Robots-Tag"]
        for rights in stated.values()
    ]
    assert sorted(tags) == [["noai"], ["noindex"]]


def test_repair_restores_lost_rights_that_the_deep_audit_reports(
    tmp_path: Path, homes: Homes
) -> None:
    home, host = Path(shutil.copytree(homes.ingested, tmp_path / "home")), homes.host
    rights_before = load_rights(home, host)

    def check_restored(*kinds: type[Row]) -> None:
        with open_home(home) as stores:
            for kind in kinds:
                rows = list(stores.records.find(kind))
                assert rows
                stores.records.delete(kind, [build_key(row) for row in rows])
        assert load_rights(home, host) != rights_before or HostTextRow in kinds
        assert call(home, "audit", "--deep").code == 1
        assert fonds(home, "repair", "--yes").code == 0
        assert call(home, "audit", "--deep").code == 0
        assert load_rights(home, host) == rights_before

    check_restored(CaptureRightsRow)
    check_restored(HostTextRow)
    check_restored(FileRightsRow)
    check_restored(CaptureRightsRow, HostTextRow)


def test_a_story_of_a_feed_has_the_rights_of_feed_and_entry(
    tmp_path: Path, host: HttpServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    home = tmp_path / "home"
    for name, value in FOLLOWING.items():
        monkeypatch.setenv(name, value)
    text = "".join(f"<p>{TEXT} {number}</p>" for number in range(6))
    page = f"<html><title>The weir</title><article><h1>The weir</h1>{text}</article></html>"
    host.responses["/weir"] = CannedResponse(200, page.encode(), {"Content-Type": "text/html"})
    license_link = f'<atom:link rel="license" href="{CC}"/>'
    head = "<ttl>1</ttl><copyright>© 2024 The Basin Courier</copyright>"
    host.responses["/feed"] = CannedResponse(
        200, rss([rss_item(f"{host.url}/weir", extra_xml=license_link)], head)
    )
    assert fonds(home, "sources", "add", f"{host.url}/feed").code == 0
    run_until_settled(home)
    with open_home(home) as stores:
        rights = load_newest_rights(stores, f"{host.url}/weir")
    assert [(statement.value, str(statement.stated_in)) for statement in rights.statements] == [
        ("train-ai=n", "robots.txt"),
        ("search=y", "robots.txt"),
        (ALLOWS, "tdmrep.json"),
        ("cc-by-nc-4.0", "entry of the feed"),
        ("The Basin Courier", "feed"),
    ]
    assert fonds(home, "audit").code == 0


def test_repair_restores_tdmrep_statements_of_fetched_pages(tmp_path: Path, homes: Homes) -> None:
    home, host = Path(shutil.copytree(homes.fetched, tmp_path / "home")), homes.host

    def list_reservations() -> list[tuple[str, str]]:
        return [
            (path, statement.value)
            for path, rights in load_rights(home, host).items()
            for statement in rights.statements
            if statement.stated_in is StatementSource.TDMREP
        ]

    expected = list_reservations()
    assert expected == [(NEWS, RESERVES), (NEWS, "tdm-policy"), (TIDE_PAGE, ALLOWS), (PDF, ALLOWS)]
    for kind in (CaptureRightsRow, HostTextRow):
        with open_home(home) as stores:
            rows = list(stores.records.find(kind))
            stores.records.delete(kind, [build_key(row) for row in rows])
        assert call(home, "audit", "--deep").code == 1
        assert fonds(home, "repair", "--yes").code == 0
        assert call(home, "audit", "--deep").code == 0
        assert list_reservations() == expected
