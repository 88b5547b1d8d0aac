"""`fonds fetch` from a list of URLs on well-behaved and misbehaving hosts; every link has an outcome."""

from __future__ import annotations

import asyncio
import importlib
import json
import time
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest
from warcio.archiveiterator import ArchiveIterator

from e2e.running import adds_up
from fixtures.web_of_hosts import (
    DEAD_ADDRESS,
    LOCALHOST,
    PRIVATE_ADDRESS,
    HostRequest,
    Pieces,
    Web,
    build_gzip_response,
    build_redirect,
    build_response,
    build_story_page,
    is_allowed,
    respond_by_default,
    serve_hosts,
)
from fonds.cli.main import cli, run
from fonds.fetching import addresses
from fonds.rights.host_files import TDMREP_PATH

fetch = importlib.import_module("fonds.cli.fetch")

HOSTS, PAGES, GAP_S = 30, 4, 0.2
SETTINGS = {
    "fetch.host_gap_s": GAP_S,
    "fetch.total_s": 3,
    "fetch.connect_s": 1,
    "work.retries_max": 0,
    "fetch.max_bytes": 200_000,
}


@pytest.fixture
def web(monkeypatch: pytest.MonkeyPatch) -> Iterator[Web]:
    with serve_hosts() as hosts:
        monkeypatch.setattr(addresses, "resolve", hosts.resolve)
        monkeypatch.setattr(addresses, "is_public", is_allowed)
        yield hosts


@pytest.fixture
def call_fonds(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> Any:
    def call_command(*words: str) -> tuple[int, dict[str, Any]]:
        sets = [f"--set={name}={value}" for name, value in SETTINGS.items()]
        line = ["--home", str(tmp_path / "home"), "--json", *sets, *words]
        code = run(lambda: cli.main(line, standalone_mode=False))
        captured = capsys.readouterr()
        lines = captured.out.splitlines()
        return code, json.loads(lines[-1]) if lines else {"error": captured.err}

    return call_command


async def endless() -> Pieces:
    yield b"HTTP/1.1 200 OK\r\nContent-Type: text/html\r\n\r\n"
    while True:
        yield b"x" * 10_000
        await asyncio.sleep(0)


def corrupt() -> bytes:
    """Return a page whose compressed data is damaged in the middle."""
    words = " ".join(str(number * 7919) for number in range(20_000))
    sent = bytearray(build_gzip_response(f"<p>{words}"))
    sent[len(sent) // 2 : len(sent) // 2 + 200] = b"\xff" * 200
    return bytes(sent)


def page_of(name: str, web: Web) -> Any:
    """Return the handler for pages of the host with this name."""
    return {
        "missing": lambda: build_response("", "404 Not Found"),
        "throttling": lambda: build_response("", "429 Slow down", {"Retry-After": "3600"}),
        "circle": lambda: build_redirect("/story"),
        "to-private": lambda: build_redirect("http://private.example/"),
        "to-good": lambda: build_redirect(web.build_url("good0.example", "/moved")),
        "short": lambda: b"HTTP/1.1 200 OK\r\nContent-Length: 99\r\nConnection: close\r\n\r\nabc",
        "endless": endless,
        "wrongly-packed": corrupt,
        "not-packed": lambda: build_response(
            "<html><title>Plain</title><p>" + "The council met on Monday. " * 30,
            headers={"Content-Encoding": "gzip"},
        ),
        "empty": lambda: build_response(""),
        "picture": lambda: build_response(
            b"\x89PNG\r\n\x1a\n" + bytes(40), headers={"Content-Type": "text/html"}
        ),
    }[name]


DROPPED = {
    "missing": "http-status",
    "throttling": "throttled",
    "circle": "bad-redirect",
    "to-private": "private-address",
    "short": "unreachable",
    "endless": "too-large",
    "empty": "empty-body",
    "picture": "unsupported-type",
    "dead": "robots-unreachable",
    "private": "private-address",
    "denied": "robots-denied",
    "nowhere": "no-such-host",
}
QUARANTINED = {"wrongly-packed": "bad-encoding"}
STORED = ("not-packed", "to-good")


def misbehave(web: Web) -> list[str]:
    """Add misbehaving hosts to the web; return a URL of each."""
    web.addresses |= {"dead.example": [DEAD_ADDRESS], "private.example": [PRIVATE_ADDRESS]}
    web.hosts["denied.example"] = lambda request, nth: build_response("User-agent: *\nDisallow: /")
    for name in {*DROPPED, *QUARANTINED, *STORED} - {"dead", "private", "denied", "nowhere"}:

        def behave(request: HostRequest, nth: int, name: str = name) -> Any:
            return (
                respond_by_default(request, nth)
                if request.target == "/robots.txt"
                else page_of(name, web)()
            )

        web.hosts[f"{name}.example"] = behave
    urls = [web.build_url(f"{name}.example") for name in sorted({*DROPPED, *QUARANTINED, *STORED})]
    return [url.replace("nowhere.example", "nowhere.invalid") for url in urls] + ["no address"]


def test_a_list_is_fetched_with_gaps_and_every_link_has_an_outcome(
    web: Web, call_fonds: Any, tmp_path: Path
) -> None:
    misbehaving_urls = misbehave(web)
    good_urls = [
        web.build_url(f"good{host}.example", f"/{page}")
        for host in range(HOSTS)
        for page in range(PAGES)
    ]
    urls = tmp_path / "urls.txt"
    urls.write_text("\n".join(["# a list", *misbehaving_urls, "", *good_urls, good_urls[0]]))
    begun_s = time.monotonic()
    code, summary = call_fonds("fetch", "--from", str(urls))
    assert code == 1, summary
    assert adds_up(summary)
    assert (summary["in"], summary["pending"]) == (len(misbehaving_urls) + len(good_urls) + 1, 0)
    assert summary["done"] == len(good_urls) + len(STORED)
    expected: dict[str, int] = {"no-host": 1, "repeated": 1}
    for reason in DROPPED.values():
        expected[reason] = expected.get(reason, 0) + 1
    assert summary["dropped"] == expected
    assert summary["quarantined"] == {"bad-encoding": 1}
    for host in range(HOSTS):
        requests = web.list_requests(f"good{host}.example")
        assert len(requests) == 1 + PAGES + (host == 0) + 1
        assert [request.target for request in requests].count(TDMREP_PATH) == 1
        # A request may arrive late, but it must not be sent early.
        for nth, request in enumerate(requests):
            assert request.at_s >= begun_s + nth * GAP_S
    assert web.list_requests("private.example") == []
    assert call_fonds("audit", "--deep")[0] == 0
    spool = tmp_path / "home" / "blobs" / "spool"
    # The spool keeps only responses that are not pages.
    assert len([path for path in spool.rglob("*") if path.is_file()]) == 3

    before = len(web.log)
    code, summary = call_fonds("fetch", "--from", str(urls))
    assert (code, summary["in"]) == (0, 0)
    assert len(web.log) == before
    urls.write_text(good_urls[1] + "\n")
    code, summary = call_fonds("fetch", "--from", str(urls), "--again")
    assert (code, summary["dropped"]) == (0, {"duplicate": 1})
    assert call_fonds("audit", "--deep")[0] == 0


def test_urls_in_arguments_are_fetched_each_time(web: Web, call_fonds: Any) -> None:
    url = web.build_url("a.example")
    assert call_fonds("fetch", url)[1]["done"] == 1
    assert call_fonds("fetch", url)[1]["dropped"] == {"duplicate": 1}
    # The rights reservation is requested once a day, robots.txt by each process.
    targets = [request.target for request in web.list_requests("a.example")]
    assert targets == ["/robots.txt", "/story", TDMREP_PATH, "/robots.txt", "/story"]


def test_a_page_with_another_success_status_is_stored_and_ingested(
    web: Web, call_fonds: Any, tmp_path: Path
) -> None:
    page = build_story_page("a.example", "/story").replace(
        b"200 OK", b"203 Non-Authoritative Information"
    )
    web.hosts["a.example"] = lambda request, nth: (
        respond_by_default(request, nth) if request.target == "/robots.txt" else page
    )
    assert (
        call_fonds("--set=warc.form=mediacloud", "fetch", web.build_url("a.example"))[1]["done"]
        == 1
    )
    (warc,) = (tmp_path / "home" / "archive").glob("*.warc.gz")
    other_home = ["--home", str(tmp_path / "other"), "--set=pipeline=archive"]
    code = run(lambda: cli.main([*other_home, "ingest", str(warc)], standalone_mode=False))
    assert code == 0
    assert run(lambda: cli.main([*other_home, "audit"], standalone_mode=False)) == 0
    search_code = run(lambda: cli.main([*other_home, "search", "council"], standalone_mode=False))
    assert search_code == 0


def test_an_unchanged_page_is_stored_as_a_revisit(
    web: Web, call_fonds: Any, tmp_path: Path
) -> None:
    def respond_with_etag(request: HostRequest, nth: int) -> bytes:
        if request.target == "/robots.txt":
            return respond_by_default(request, nth)
        if request.headers.get("if-none-match") == '"7"':
            return b'HTTP/1.1 304 Not Modified\r\nETag: "7"\r\nContent-Length: 0\r\n\r\n'
        return build_story_page(request.host, request.target, ETag='"7"')

    web.hosts["a.example"] = respond_with_etag
    url = web.build_url("a.example")
    assert call_fonds("fetch", url)[1]["done"] == 1
    for _ in range(2):
        assert call_fonds("fetch", url)[1]["dropped"] == {"duplicate": 1}
    records = []
    for path in sorted((tmp_path / "home" / "archive").glob("*.warc.gz")):
        with path.open("rb") as stream:
            records += [
                record
                for record in ArchiveIterator(stream, check_digests="raise")
                if record.rec_type in ("response", "revisit")
            ]
    assert [record.rec_type for record in records] == ["response", "revisit", "revisit"]
    first = records[0].rec_headers
    for revisit in records[1:]:
        headers = revisit.rec_headers
        assert headers.get_header("WARC-Profile").endswith("/revisit/server-not-modified")
        assert headers.get_header("WARC-Refers-To-Target-URI") == url
        assert headers.get_header("WARC-Refers-To-Date") == first.get_header("WARC-Date")
        assert headers.get_header("WARC-Refers-To") == first.get_header("WARC-Record-ID")
        digest_name = "WARC-Payload-Digest"
        assert headers.get_header(digest_name) == first.get_header(digest_name)
        assert revisit.http_headers.get_statuscode() == "304"
    assert call_fonds("audit", "--deep")[0] == 0


@pytest.mark.parametrize("hops", [1, 2])
def test_a_redirect_to_a_non_news_site_is_not_followed(
    web: Web, call_fonds: Any, tmp_path: Path, hops: int
) -> None:
    """Link rules apply to the target of each redirect. `fonds fetch URL` may fetch any URL."""
    web.addresses["www.youtube.com"] = [LOCALHOST]
    over = [build_redirect(web.build_url("a.example", "/over"))] * (hops - 1)
    replies = [*over, build_redirect(web.build_url("www.youtube.com", "/watch?v=1"))]

    def behave(request: HostRequest, nth: int) -> bytes:
        if request.target == "/robots.txt":
            return respond_by_default(request, nth)
        return replies[0 if request.target == "/story" else -1]

    web.hosts["a.example"] = behave
    table = tmp_path / "links.csv"
    table.write_text(f"url\n{web.build_url('a.example')}\n")
    code, summary = call_fonds("ingest", "--pipeline", "csv", str(table))
    assert (code, summary["done"], summary["dropped"]) == (0, 0, {"non-news": 1})
    assert web.list_requests("www.youtube.com") == []
    assert call_fonds("audit", "--deep")[0] == 0
    assert call_fonds("fetch", web.build_url("a.example"))[1]["done"] == 1
    assert call_fonds("audit", "--deep")[0] == 0


def test_a_waiting_link_is_one_entry_with_reason_and_next_attempt(
    web: Web, call_fonds: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(fetch, "WAIT_S", 0.5)
    retries = "--set=work.retries_max=10"
    url = "http://nowhere.invalid/story"
    for _ in range(3):
        code, summary = call_fonds(retries, "fetch", url)
        assert (code, summary["in"], summary["pending"]) == (1, 1, 1)
        (retry,) = summary["retries"]
        assert (retry["url"], retry["reason"], retry["step"]) == (url, "no-such-host", "fetch")
        assert datetime.fromisoformat(retry["next_attempt_at"]) > datetime.now(UTC)
    urls = tmp_path / "urls.txt"
    urls.write_text(f"{url}\n")
    for _ in range(2):
        code, summary = call_fonds(retries, "fetch", "--from", str(urls), "--again")
        assert (code, summary["pending"]) == (1, 1)
    summary = call_fonds(retries, "failures")[1]["retries"]
    assert (summary["reason"], summary["count"], summary["first"]["url"]) == (
        "no-such-host",
        1,
        url,
    )
    assert call_fonds(retries, "show", url)[1]["branches"][0]["row"]["next_attempt_at"]
    # Other URLs are still fetched.
    code, summary = call_fonds(retries, "fetch", url, web.build_url("a.example"))
    assert (summary["done"], summary["pending"]) == (1, 1)
    assert call_fonds("audit", "--deep")[0] == 0


def test_the_terminal_shows_why_a_link_waits(
    web: Web, tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(fetch, "WAIT_S", 0.5)
    home = ["--home", str(tmp_path / "home")]
    url = "http://nowhere.invalid/story"
    assert run(lambda: cli.main([*home, "fetch", url], standalone_mode=False)) == 1
    output = capsys.readouterr().out
    assert f"{url} waits: no-such-host:" in output
    assert "Next attempt at 2" in output
    assert run(lambda: cli.main([*home, "failures"], standalone_mode=False)) == 0
    output = capsys.readouterr().out
    assert "No failures" not in output
    assert "no-such-host at fetch, will be retried" in output
    assert "next attempt at 2" in output


def test_invalid_arguments_are_refused(call_fonds: Any, tmp_path: Path) -> None:
    for words, message in (
        ((), "Name a URL"),
        (("--from", str(tmp_path / "none")), "no such file or folder"),
        (("--pipeline", "library", "http://a.example/"), "no pipeline that starts with links"),
        (("--pipeline", "nws", "http://a.example/"), "Did you mean 'news'?"),
        (("--tls", "maybe", "http://a.example/"), "maybe"),
    ):
        code, response = call_fonds("fetch", *words)
        assert code == 2
        assert message in response["error"]
