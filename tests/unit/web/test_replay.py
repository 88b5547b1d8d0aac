"""Captures replayed: found in time, linked as Memento has it, and handed out without any rights."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import replace
from hashlib import sha1
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from starlette.testclient import TestClient

from cdx_rows import build_cdx_row
from filled_home import open_home
from fonds.archive.replay.memento import MementoOrigin, escape_link_url, parse_replay_path
from fonds.model.archive import ArchiveEntry
from fonds.model.capture import parse_datetime14
from fonds.ports import Stores
from fonds.urls.surt import build_surt
from fonds.web import replay as replay_app
from fonds.web.access.security import REPLAY_POLICY
from fonds.web.app import create_app
from fonds.web.html.rendering import ReplayOrigin
from fonds.web.replay import create_replay
from replayed_home import BODY, HOSTILE, LATIN1, ODD, PAGE, PDF, TIMES, fill, html

ORIGIN = "http://localhost:8766"


@pytest.fixture(scope="module")
def stores(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Stores]:
    with open_home(tmp_path_factory.mktemp("replayed")) as found:
        fill(found, "http://localhost:8765")
        yield found


@pytest.fixture(scope="module")
def client(stores: Stores) -> Iterator[TestClient]:
    with TestClient(create_replay(stores), base_url=ORIGIN, follow_redirects=False) as found:
        yield found


def links(header: str) -> dict[str, str]:
    """The target of each relation; of several the last."""
    return {
        word: target
        for target, words in re.findall(r'<([^>]*)>; rel="([^"]*)"', header)
        for word in (
            [words] if words in ("original", "timegate", "timemap", "self") else words.split()
        )
    }


def test_a_capture_is_given_as_it_was(client: TestClient) -> None:
    for number, at in enumerate(TIMES[:2]):
        told = client.get(f"/web/{at}/{PAGE}")
        assert told.status_code == 200
        assert told.text == BODY(at[:4])
        assert (
            told.headers["memento-datetime"]
            == f"{('Wed', 'Fri')[number]}, 01 Jan {at[:4]} 00:00:00 GMT"
        )
        assert told.headers["content-type"] == "text/html; charset=utf-8"
        raw = client.get(f"/web/{at}id_/{PAGE}")
        assert (raw.content, raw.status_code) == (told.content, 200)


def test_a_revisit_gives_the_body_it_speaks_of_with_its_own_headers(client: TestClient) -> None:
    told = client.get(f"/web/{TIMES[2]}/{PAGE}")
    assert told.text == BODY(TIMES[1][:4])
    assert told.headers["x-archive-orig-x-second"] == "yes"
    assert told.headers["memento-datetime"].endswith("2022 00:00:00 GMT")


def test_any_other_time_leads_to_the_nearest_capture(client: TestClient) -> None:
    for asked, found in (
        ("2020", TIMES[0]),
        ("1996", TIMES[0]),
        ("20200702", TIMES[0]),
        ("20200703", TIMES[1]),
        ("20210101000001", TIMES[1]),
        ("2099", TIMES[2]),
    ):
        for raw in ("", "id_"):
            told = client.get(f"/web/{asked}{raw}/{PAGE}")
            if asked == found[: len(asked)] and told.status_code == 200:
                continue
            assert told.status_code == 302
            assert told.headers["location"] == f"{ORIGIN}/web/{found}{raw}/{PAGE}"


def test_a_timegate_leads_to_the_time_that_is_asked_for(client: TestClient) -> None:
    newest = client.get(f"/web/{PAGE}")
    assert newest.status_code == 302
    assert newest.headers["location"] == f"{ORIGIN}/web/{TIMES[2]}/{PAGE}"
    assert newest.headers["vary"] == "accept-datetime"
    wanted = {"accept-datetime": "Thu, 01 Jan 2015 00:00:00 GMT"}
    oldest = client.get(f"/web/{PAGE}", headers=wanted)
    assert oldest.headers["location"] == f"{ORIGIN}/web/{TIMES[0]}/{PAGE}"
    found = links(oldest.headers["link"])
    assert found["original"] == PAGE
    assert found["timemap"] == f"{ORIGIN}/web/timemap/link/{PAGE}"
    assert found["first"] == f"{ORIGIN}/web/{TIMES[0]}/{PAGE}"
    assert found["last"] == f"{ORIGIN}/web/{TIMES[2]}/{PAGE}"
    wrong = client.get(f"/web/{PAGE}", headers={"accept-datetime": "yesterday"})
    assert (wrong.status_code, "not an HTTP date" in wrong.text) == (400, True)


def test_a_capture_links_to_those_beside_it(client: TestClient) -> None:
    found = links(client.get(f"/web/{TIMES[1]}/{PAGE}").headers["link"])
    assert found["original"] == PAGE
    assert found["timegate"] == f"{ORIGIN}/web/{PAGE}"
    assert found["prev"] == found["first"] == f"{ORIGIN}/web/{TIMES[0]}/{PAGE}"
    assert found["next"] == found["last"] == f"{ORIGIN}/web/{TIMES[2]}/{PAGE}"


def test_a_timemap_lists_every_capture(client: TestClient) -> None:
    told = client.get(f"/web/timemap/link/{PAGE}")
    assert told.headers["content-type"] == "application/link-format"
    first, *rest = told.text.strip().split(",\n")
    assert first == f'<{PAGE}>; rel="original"'
    assert [line for line in rest if "memento" in line] == [
        f'<{ORIGIN}/web/{at}/{PAGE}>; rel="{word}memento"; datetime="{day}, 01 Jan {at[:4]} 00:00:00 GMT"'
        for at, word, day in zip(TIMES, ("first ", "", "last "), ("Wed", "Fri", "Sat"), strict=True)
    ]
    listed = client.get(f"/web/timemap/json/{PAGE}").json()
    assert [one["uri"] for one in listed["mementos"]["list"]] == [
        f"{ORIGIN}/web/{at}/{PAGE}" for at in TIMES
    ]
    assert listed["next"] is None


def test_a_long_timemap_comes_in_pieces_that_add_up(
    client: TestClient, stores: Stores, monkeypatch: pytest.MonkeyPatch
) -> None:
    url = "http://often.example/"
    times = [f"2020{1 + n // 28:02d}{1 + n % 28:02d}120000" for n in range(100)]
    stores.records.put(
        [build_cdx_row(url, at, n, warc_path="/often.warc") for n, at in enumerate(times)]
    )
    stores.records.put(
        [build_cdx_row(url, times[6], 900 + n, warc_path="/o.warc") for n in range(9)]
    )
    monkeypatch.setattr(replay_app, "TIMEMAP_MAX", 7)
    address, seen = f"{ORIGIN}/web/timemap/json/{url}", list[str]()
    while address:
        told = client.get(address).json()
        assert len(told["mementos"]["list"]) <= 7
        assert told["mementos"]["last"]["uri"] == f"{ORIGIN}/web/{times[-1]}/{url}"
        seen += [one["uri"] for one in told["mementos"]["list"]]
        address = told["next"]
    assert seen == [f"{ORIGIN}/web/{at}/{url}" for at in times]
    first = client.get(f"/web/timemap/link/{url}").text
    assert f'<{ORIGIN}/web/timemap/link/{times[6]}/{url}>; rel="timemap"' in first
    assert client.get(f"/web/timemap/link/{times[-1]}/{url}").status_code == 404


def test_nothing_a_server_once_said_means_anything_to_a_browser(client: TestClient) -> None:
    told = client.get(f"/web/{TIMES[0]}/{HOSTILE}")
    assert told.headers["content-security-policy"] == REPLAY_POLICY
    assert told.headers["x-content-type-options"] == "nosniff"
    assert told.headers["referrer-policy"] == "no-referrer"
    assert told.headers["cross-origin-resource-policy"] == "same-origin"
    for name in ("set-cookie", "refresh", "access-control-allow-origin", "location", "x-split"):
        assert name not in told.headers
    assert "stolen-by-link" not in told.headers["link"]
    assert told.headers["x-archive-orig-set-cookie"] == "stolen=1; Path=/, second=2"
    assert "stolen-by-header" in told.headers["x-archive-orig-refresh"]
    assert told.headers["x-archive-orig-content-encoding"] == "gzip"
    assert told.headers["x-archive-orig-x-split"] == "a Set-Cookie: split=1"


def test_what_is_no_page_is_a_download(client: TestClient) -> None:
    pdf = client.get(f"/web/{TIMES[0]}/{PDF}")
    assert pdf.headers["content-type"] == "application/pdf"
    assert pdf.headers["content-disposition"].startswith('attachment; filename="')
    svg = client.get(f"/web/{TIMES[0]}/http://news.example/svg")
    assert svg.headers["content-disposition"].startswith("attachment")
    none = client.get(f"/web/{TIMES[0]}/http://news.example/none")
    assert none.headers["content-type"] == "text/html"
    assert "content-disposition" not in client.get(f"/web/{TIMES[0]}/{PAGE}").headers


def test_the_charset_is_the_servers_own(client: TestClient) -> None:
    told = client.get(f"/web/{TIMES[0]}/{LATIN1}", headers={"accept-encoding": "gzip"})
    assert told.headers["content-type"] == "text/html; charset=iso-8859-1"
    assert told.content == "<p>größer</p>".encode("latin-1")
    assert "content-encoding" not in told.headers


def test_parts_heads_and_what_the_browser_has_already(client: TestClient) -> None:
    path = f"/web/{TIMES[0]}/{PAGE}"
    whole = client.get(path)
    part = client.get(path, headers={"range": "bytes=5-9"})
    assert (part.status_code, part.content) == (206, whole.content[5:10])
    assert part.headers["content-range"] == f"bytes 5-9/{len(whole.content)}"
    beyond = client.get(path, headers={"range": "bytes=9999999-"})
    assert beyond.status_code == 416
    head = client.head(path)
    assert (head.status_code, head.content) == (200, b"")
    assert head.headers["content-length"] == str(len(whole.content))
    assert head.headers["memento-datetime"] == whole.headers["memento-datetime"]
    again = client.get(path, headers={"if-none-match": whole.headers["etag"]})
    assert (again.status_code, again.content) == (304, b"")
    assert whole.headers["etag"] == f'"{sha1(whole.content).hexdigest()}"'
    assert client.post(path, headers={"sec-fetch-site": "same-origin"}).status_code == 405


def test_an_odd_address_is_found_by_the_links_that_are_given(client: TestClient) -> None:
    start = client.get(f"/web/{escape_link_url(ODD)}")
    assert start.status_code == 302
    told = client.get(start.headers["location"])
    assert (told.status_code, told.text) == (200, "<p>odd")
    found = links(told.headers["link"])
    assert client.get(found["timegate"]).headers["location"] == start.headers["location"]
    assert client.get(found["timemap"]).status_code == 200


@pytest.mark.parametrize(
    ("path", "status", "told"),
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
def test_what_is_not_there_is_told_as_plain_text(
    client: TestClient, path: str, status: int, told: str
) -> None:
    answer = client.get(path)
    assert (answer.status_code, told in answer.text) == (status, True), answer.text
    assert answer.headers["content-type"] == "text/plain; charset=utf-8"
    assert answer.headers["content-security-policy"] == REPLAY_POLICY


def test_a_capture_that_cannot_be_read_says_so(client: TestClient, stores: Stores) -> None:
    stores.records.put([build_cdx_row("http://gone.example/", TIMES[0], 1, warc_path="/gone.warc")])
    told = client.get(f"/web/{TIMES[0]}/http://gone.example/")
    assert told.status_code == 404
    assert "cannot be read: /gone.warc:1" in told.text


def test_only_its_own_names_are_answered_to(client: TestClient) -> None:
    told = client.get(f"/web/{TIMES[0]}/{PAGE}", headers={"host": "evil.example"})
    assert told.status_code == 421


def test_the_pages_send_on_to_the_origin_that_replays(stores: Stores) -> None:
    """Nothing archived is shown on the pages' own origin."""
    pages = create_app(stores, replay=ReplayOrigin(port=8766))
    with TestClient(pages, base_url="http://localhost:8765", follow_redirects=False) as asked:
        told = asked.get(f"/web/{TIMES[0]}id_/http://a.example/b%20c//d?e=f%26g")
        assert told.status_code == 307
        assert (
            told.headers["location"]
            == f"{ORIGIN}/web/{TIMES[0]}id_/http://a.example/b%20c//d?e=f%26g"
        )
    proxied = create_app(stores, replay=ReplayOrigin("https://replay.example/", 8766))
    with TestClient(proxied, base_url="http://localhost:8765", follow_redirects=False) as asked:
        assert (
            asked.get("/web/x.example").headers["location"]
            == "https://replay.example/web/x.example"
        )
    with TestClient(create_app(stores), base_url="http://localhost:8765") as asked:
        assert asked.get("/web/x.example").status_code == 404


def test_behind_a_proxy_links_lead_there(stores: Stores) -> None:
    replay = create_replay(stores, url="https://replay.example")
    with TestClient(replay, base_url=ORIGIN, follow_redirects=False) as asked:
        told = asked.get(f"/web/{PAGE}")
        assert told.headers["location"] == f"https://replay.example/web/{TIMES[2]}/{PAGE}"


URL_CHARS = st.text(st.characters(codec="utf-8", exclude_characters="\r\n\t"), max_size=40)


@given(URL_CHARS, st.sampled_from(["", "id_"]))
def test_the_address_of_a_capture_leads_back_to_its_key(rest: str, raw: str) -> None:
    url = f"http://example.org/{rest}"
    row = build_cdx_row(url, TIMES[0], 1)
    address = MementoOrigin(ORIGIN).build_memento_url(row, is_raw=bool(raw))
    assert re.fullmatch(r"[!#-;=?-\[\]_a-z~]+", address)
    path, _, query = address.removeprefix(f"{ORIGIN}/web/").partition("?")
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


def test_the_original_headers_are_limited_in_total(tmp_path: Path) -> None:
    """The limit counts names and values of all headers together."""
    url = "http://wordy.example/"
    headers = tuple((f"X-{number:02d}", "w" * 1_000) for number in range(20))
    capture = ArchiveEntry(
        url, url, parse_datetime14(TIMES[0]), "text/html", b"<p>Wordy", html(*headers)
    )
    with open_home(tmp_path) as stores:
        (archived,) = stores.archive.write([capture])
        place, sha1hex = archived.place, sha1(capture.body).hexdigest()
        row = build_cdx_row(url, TIMES[0], place.offset, sha1hex=sha1hex, warc_path=place.path)
        stores.records.put([replace(row, warc_csize=place.size_bytes)])
        with TestClient(create_replay(stores), base_url=ORIGIN) as client:
            told = client.get(f"/web/{TIMES[0]}/{url}")
    assert told.status_code == 200
    sent = {name: value for name, value in told.headers.items() if name.startswith("x-archive-o")}
    total_bytes = sum(len(name) + len(value) for name, value in sent.items())
    assert replay_app.ORIGINAL_MAX_BYTES - 1_100 < total_bytes <= replay_app.ORIGINAL_MAX_BYTES
    wordy_count = sum(value == "w" * 1_000 for value in sent.values())
    assert wordy_count == replay_app.ORIGINAL_MAX_BYTES // 1_020
    assert int(told.headers["x-archive-headers-left-out"]) >= 20 - wordy_count


def test_the_original_headers_are_limited_in_number(tmp_path: Path) -> None:
    url = "http://many.example/"
    headers = tuple((f"X-{number:03d}", "w") for number in range(150))
    capture = ArchiveEntry(
        url, url, parse_datetime14(TIMES[0]), "text/html", b"<p>Many", html(*headers, *headers[:5])
    )
    with open_home(tmp_path) as stores:
        (archived,) = stores.archive.write([capture])
        place, sha1hex = archived.place, sha1(capture.body).hexdigest()
        row = build_cdx_row(url, TIMES[0], place.offset, sha1hex=sha1hex, warc_path=place.path)
        stores.records.put([replace(row, warc_csize=place.size_bytes)])
        with TestClient(create_replay(stores), base_url=ORIGIN) as client:
            told = client.get(f"/web/{TIMES[0]}/{url}")
    assert sum(name.startswith("x-archive-orig-") for name in told.headers) == 100
    assert int(told.headers["x-archive-headers-left-out"]) >= 50
    # A header that is present already is joined, even if no other header fits.
    assert told.headers["x-archive-orig-x-000"] == "w, w"
