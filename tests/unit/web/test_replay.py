"""Replaying captures: lookup by time, Memento links, and sandboxed responses."""

from __future__ import annotations

import re
from collections.abc import Iterator
from hashlib import sha1
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from starlette.testclient import TestClient

from cdx_rows import build_cdx_row
from filled_home import open_home
from fonds.archive.replay.memento import MementoOrigin, escape_link_url, parse_replay_path
from fonds.ports import Stores
from fonds.urls.surt import build_surt
from fonds.web import replay as replay_app
from fonds.web.access.security import REPLAY_POLICY
from fonds.web.app import create_app
from fonds.web.html.rendering import ReplayOrigin
from fonds.web.replay import create_replay
from replayed_home import BODY, HOSTILE, LATIN1, ODD, PAGE, PDF, TIMES, fill

ORIGIN = "http://localhost:8766"


@pytest.fixture(scope="module")
def stores(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Stores]:
    with open_home(tmp_path_factory.mktemp("replayed")) as stores:
        fill(stores, "http://localhost:8765")
        yield stores


@pytest.fixture(scope="module")
def client(stores: Stores) -> Iterator[TestClient]:
    with TestClient(create_replay(stores), base_url=ORIGIN, follow_redirects=False) as client:
        yield client


def parse_links(header: str) -> dict[str, str]:
    """Return the target of each relation. The last one wins."""
    return {
        relation: target
        for target, relations in re.findall(r'<([^>]*)>; rel="([^"]*)"', header)
        for relation in (
            [relations]
            if relations in ("original", "timegate", "timemap", "self")
            else relations.split()
        )
    }


def test_a_capture_is_replayed_with_its_time(client: TestClient) -> None:
    for number, at in enumerate(TIMES[:2]):
        response = client.get(f"/web/{at}/{PAGE}")
        assert response.status_code == 200
        assert response.text == BODY(at[:4])
        assert (
            response.headers["memento-datetime"]
            == f"{('Wed', 'Fri')[number]}, 01 Jan {at[:4]} 00:00:00 GMT"
        )
        assert response.headers["content-type"] == "text/html; charset=utf-8"
        raw = client.get(f"/web/{at}id_/{PAGE}")
        assert (raw.content, raw.status_code) == (response.content, 200)


def test_a_revisit_replays_the_earlier_body_with_its_own_headers(client: TestClient) -> None:
    response = client.get(f"/web/{TIMES[2]}/{PAGE}")
    assert response.text == BODY(TIMES[1][:4])
    assert response.headers["x-archive-orig-x-second"] == "yes"
    assert response.headers["memento-datetime"].endswith("2022 00:00:00 GMT")


def test_other_times_redirect_to_the_nearest_capture(client: TestClient) -> None:
    for requested, nearest in (
        ("2020", TIMES[0]),
        ("1996", TIMES[0]),
        ("20200702", TIMES[0]),
        ("20200703", TIMES[1]),
        ("20210101000001", TIMES[1]),
        ("2099", TIMES[2]),
    ):
        for raw in ("", "id_"):
            response = client.get(f"/web/{requested}{raw}/{PAGE}")
            if requested == nearest[: len(requested)] and response.status_code == 200:
                continue
            assert response.status_code == 302
            assert response.headers["location"] == f"{ORIGIN}/web/{nearest}{raw}/{PAGE}"


def test_a_timegate_redirects_to_the_accepted_datetime(client: TestClient) -> None:
    newest = client.get(f"/web/{PAGE}")
    assert newest.status_code == 302
    assert newest.headers["location"] == f"{ORIGIN}/web/{TIMES[2]}/{PAGE}"
    assert newest.headers["vary"] == "accept-datetime"
    headers = {"accept-datetime": "Thu, 01 Jan 2015 00:00:00 GMT"}
    oldest = client.get(f"/web/{PAGE}", headers=headers)
    assert oldest.headers["location"] == f"{ORIGIN}/web/{TIMES[0]}/{PAGE}"
    relations = parse_links(oldest.headers["link"])
    assert relations["original"] == PAGE
    assert relations["timemap"] == f"{ORIGIN}/web/timemap/link/{PAGE}"
    assert relations["first"] == f"{ORIGIN}/web/{TIMES[0]}/{PAGE}"
    assert relations["last"] == f"{ORIGIN}/web/{TIMES[2]}/{PAGE}"
    invalid = client.get(f"/web/{PAGE}", headers={"accept-datetime": "yesterday"})
    assert (invalid.status_code, "not an HTTP date" in invalid.text) == (400, True)


def test_a_capture_links_to_the_previous_and_next(client: TestClient) -> None:
    relations = parse_links(client.get(f"/web/{TIMES[1]}/{PAGE}").headers["link"])
    assert relations["original"] == PAGE
    assert relations["timegate"] == f"{ORIGIN}/web/{PAGE}"
    assert relations["prev"] == relations["first"] == f"{ORIGIN}/web/{TIMES[0]}/{PAGE}"
    assert relations["next"] == relations["last"] == f"{ORIGIN}/web/{TIMES[2]}/{PAGE}"


def test_a_timemap_lists_every_capture(client: TestClient) -> None:
    response = client.get(f"/web/timemap/link/{PAGE}")
    assert response.headers["content-type"] == "application/link-format"
    first, *lines = response.text.strip().split(",\n")
    assert first == f'<{PAGE}>; rel="original"'
    assert [line for line in lines if "memento" in line] == [
        f'<{ORIGIN}/web/{at}/{PAGE}>; rel="{position}memento"; datetime="{day}, 01 Jan {at[:4]} 00:00:00 GMT"'
        for at, position, day in zip(
            TIMES, ("first ", "", "last "), ("Wed", "Fri", "Sat"), strict=True
        )
    ]
    json_timemap = client.get(f"/web/timemap/json/{PAGE}").json()
    assert [memento["uri"] for memento in json_timemap["mementos"]["list"]] == [
        f"{ORIGIN}/web/{at}/{PAGE}" for at in TIMES
    ]
    assert json_timemap["next"] is None


def test_the_pages_of_a_long_timemap_list_every_capture_once(
    client: TestClient, stores: Stores, monkeypatch: pytest.MonkeyPatch
) -> None:
    url = "http://often.example/"
    times = [f"2020{1 + number // 28:02d}{1 + number % 28:02d}120000" for number in range(100)]
    stores.records.put(
        [build_cdx_row(url, at, number, warc_path="/often.warc") for number, at in enumerate(times)]
    )
    stores.records.put(
        [build_cdx_row(url, times[6], 900 + number, warc_path="/o.warc") for number in range(9)]
    )
    monkeypatch.setattr(replay_app, "TIMEMAP_MAX", 7)
    timemap_url, uris = f"{ORIGIN}/web/timemap/json/{url}", list[str]()
    while timemap_url:
        timemap = client.get(timemap_url).json()
        assert len(timemap["mementos"]["list"]) <= 7
        assert timemap["mementos"]["last"]["uri"] == f"{ORIGIN}/web/{times[-1]}/{url}"
        uris += [memento["uri"] for memento in timemap["mementos"]["list"]]
        timemap_url = timemap["next"]
    assert uris == [f"{ORIGIN}/web/{at}/{url}" for at in times]
    first = client.get(f"/web/timemap/link/{url}").text
    assert f'<{ORIGIN}/web/timemap/link/{times[6]}/{url}>; rel="timemap"' in first
    assert client.get(f"/web/timemap/link/{times[-1]}/{url}").status_code == 404


def test_archived_headers_have_no_effect_in_the_browser(client: TestClient) -> None:
    response = client.get(f"/web/{TIMES[0]}/{HOSTILE}")
    assert response.headers["content-security-policy"] == REPLAY_POLICY
    assert response.headers["x-content-type-options"] == "nosniff"
    assert response.headers["referrer-policy"] == "no-referrer"
    assert response.headers["cross-origin-resource-policy"] == "same-origin"
    for name in ("set-cookie", "refresh", "access-control-allow-origin", "location", "x-split"):
        assert name not in response.headers
    assert "stolen-by-link" not in response.headers["link"]
    assert response.headers["x-archive-orig-set-cookie"] == "stolen=1; Path=/, second=2"
    assert "stolen-by-header" in response.headers["x-archive-orig-refresh"]
    assert response.headers["x-archive-orig-content-encoding"] == "gzip"
    assert response.headers["x-archive-orig-x-split"] == "a Set-Cookie: split=1"


def test_captures_that_are_not_pages_are_downloads(client: TestClient) -> None:
    pdf = client.get(f"/web/{TIMES[0]}/{PDF}")
    assert pdf.headers["content-type"] == "application/pdf"
    assert pdf.headers["content-disposition"].startswith('attachment; filename="')
    svg = client.get(f"/web/{TIMES[0]}/http://news.example/svg")
    assert svg.headers["content-disposition"].startswith("attachment")
    without_type = client.get(f"/web/{TIMES[0]}/http://news.example/none")
    assert without_type.headers["content-type"] == "text/html"
    assert "content-disposition" not in client.get(f"/web/{TIMES[0]}/{PAGE}").headers


def test_a_capture_keeps_its_original_charset(client: TestClient) -> None:
    response = client.get(f"/web/{TIMES[0]}/{LATIN1}", headers={"accept-encoding": "gzip"})
    assert response.headers["content-type"] == "text/html; charset=iso-8859-1"
    assert response.content == "<p>größer</p>".encode("latin-1")
    assert "content-encoding" not in response.headers


def test_replay_supports_ranges_head_and_etags(client: TestClient) -> None:
    path = f"/web/{TIMES[0]}/{PAGE}"
    full_response = client.get(path)
    part = client.get(path, headers={"range": "bytes=5-9"})
    assert (part.status_code, part.content) == (206, full_response.content[5:10])
    assert part.headers["content-range"] == f"bytes 5-9/{len(full_response.content)}"
    range_error = client.get(path, headers={"range": "bytes=9999999-"})
    assert range_error.status_code == 416
    head = client.head(path)
    assert (head.status_code, head.content) == (200, b"")
    assert head.headers["content-length"] == str(len(full_response.content))
    assert head.headers["memento-datetime"] == full_response.headers["memento-datetime"]
    cached_response = client.get(path, headers={"if-none-match": full_response.headers["etag"]})
    assert (cached_response.status_code, cached_response.content) == (304, b"")
    assert full_response.headers["etag"] == f'"{sha1(full_response.content).hexdigest()}"'
    assert client.post(path, headers={"sec-fetch-site": "same-origin"}).status_code == 405


def test_links_to_an_unusual_url_find_its_capture(client: TestClient) -> None:
    start = client.get(f"/web/{escape_link_url(ODD)}")
    assert start.status_code == 302
    response = client.get(start.headers["location"])
    assert (response.status_code, response.text) == (200, "<p>odd")
    relations = parse_links(response.headers["link"])
    assert client.get(relations["timegate"]).headers["location"] == start.headers["location"]
    assert client.get(relations["timemap"]).status_code == 200


@pytest.mark.parametrize(
    ("path", "status", "message"),
    [
        ("/", 404, "Open a capture at /web/TIME/URL"),
        ("/web/", 404, "Open a capture at /web/TIME/URL"),
        ("/favicon.ico", 404, "Open a capture at"),
        ("/web/20209999/http://news.example/page", 400, "“20209999”"),
        ("/web/202/http://news.example/page", 404, "There are no captures"),
        ("/web/2020/http://nowhere.example/", 404, "captures of http://nowhere.example/."),
        ("/web/timemap/link/http://nowhere.example/", 404, "There are no captures"),
        (f"/web/2020/http://long.example/{'a' * 9000}", 400, "8192 characters"),
        ("/web/2020/http://news.example/<script>alert(1)</script>", 404, "There are no captures"),
    ],
)
def test_errors_are_plain_text(client: TestClient, path: str, status: int, message: str) -> None:
    response = client.get(path)
    assert (response.status_code, message in response.text) == (status, True), response.text
    assert response.headers["content-type"] == "text/plain; charset=utf-8"
    assert response.headers["content-security-policy"] == REPLAY_POLICY


def test_an_unreadable_capture_returns_404_with_its_place(
    client: TestClient, stores: Stores
) -> None:
    stores.records.put([build_cdx_row("http://gone.example/", TIMES[0], 1, warc_path="/gone.warc")])
    response = client.get(f"/web/{TIMES[0]}/http://gone.example/")
    assert response.status_code == 404
    assert "cannot be read: /gone.warc:1" in response.text


def test_unknown_hosts_are_refused(client: TestClient) -> None:
    response = client.get(f"/web/{TIMES[0]}/{PAGE}", headers={"host": "evil.example"})
    assert response.status_code == 421


def test_the_pages_redirect_to_the_replay_origin(stores: Stores) -> None:
    """Archived content is never served on the origin of the pages."""
    pages = create_app(stores, replay=ReplayOrigin(port=8766))
    with TestClient(pages, base_url="http://localhost:8765", follow_redirects=False) as client:
        response = client.get(f"/web/{TIMES[0]}id_/http://a.example/b%20c//d?e=f%26g")
        assert response.status_code == 307
        assert (
            response.headers["location"]
            == f"{ORIGIN}/web/{TIMES[0]}id_/http://a.example/b%20c//d?e=f%26g"
        )
    proxied = create_app(stores, replay=ReplayOrigin("https://replay.example/", 8766))
    with TestClient(proxied, base_url="http://localhost:8765", follow_redirects=False) as client:
        assert (
            client.get("/web/x.example").headers["location"]
            == "https://replay.example/web/x.example"
        )
    with TestClient(create_app(stores), base_url="http://localhost:8765") as client:
        assert client.get("/web/x.example").status_code == 404


def test_links_use_the_configured_proxy_url(stores: Stores) -> None:
    replay = create_replay(stores, url="https://replay.example")
    with TestClient(replay, base_url=ORIGIN, follow_redirects=False) as client:
        response = client.get(f"/web/{PAGE}")
        assert response.headers["location"] == f"https://replay.example/web/{TIMES[2]}/{PAGE}"


URL_CHARS = st.text(st.characters(codec="utf-8", exclude_characters="\r\n\t"), max_size=40)


@given(URL_CHARS, st.sampled_from(["", "id_"]))
def test_the_url_of_a_memento_parses_to_its_key(url_path: str, raw: str) -> None:
    url = f"http://example.org/{url_path}"
    row = build_cdx_row(url, TIMES[0], 1)
    memento_url = MementoOrigin(ORIGIN).build_memento_url(row, is_raw=bool(raw))
    assert re.fullmatch(r"[!#-;=?-\[\]_a-z~]+", memento_url)
    path, _, query = memento_url.removeprefix(f"{ORIGIN}/web/").partition("?")
    replay_path = parse_replay_path(path, query)
    assert replay_path is not None
    assert (build_surt(replay_path.url), replay_path.timestamp, replay_path.is_raw) == (
        build_surt(url),
        TIMES[0],
        bool(raw),
    )


def test_a_member_of_a_zip_keeps_its_name(tmp_path: Path) -> None:
    url = f"file://{tmp_path}/a.zip#papers/x.pdf"
    path = (
        MementoOrigin("").build_memento_url(build_cdx_row(url, TIMES[0], 1)).removeprefix("/web/")
    )
    replay_path = parse_replay_path(path, "")
    assert replay_path is not None
    assert build_surt(replay_path.url) == build_surt(url)
