"""`fonds fetch` from a list, through a web of hosts of which many misbehave: everything is accounted for."""

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
    DEAD,
    HERE,
    PRIVATE,
    Asked,
    Pieces,
    Web,
    answer,
    is_allowed,
    packed,
    redirect,
    story,
    usual,
    web_of_hosts,
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
    with web_of_hosts() as ours:
        monkeypatch.setattr(addresses, "resolve", ours.resolve)
        monkeypatch.setattr(addresses, "is_public", is_allowed)
        yield ours


@pytest.fixture
def call(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> Any:
    def called(*words: str) -> tuple[int, dict[str, Any]]:
        sets = [f"--set={name}={value}" for name, value in SETTINGS.items()]
        line = ["--home", str(tmp_path / "home"), "--json", *sets, *words]
        code = run(lambda: cli.main(line, standalone_mode=False))
        told = capsys.readouterr()
        lines = told.out.splitlines()
        return code, json.loads(lines[-1]) if lines else {"error": told.err}

    return called


async def endless() -> Pieces:
    yield b"HTTP/1.1 200 OK\r\nContent-Type: text/html\r\n\r\n"
    while True:
        yield b"x" * 10_000
        await asyncio.sleep(0)


def corrupt() -> bytes:
    """A page whose compression is damaged in the middle."""
    words = " ".join(str(number * 7919) for number in range(20_000))
    sent = bytearray(packed(f"<p>{words}"))
    sent[len(sent) // 2 : len(sent) // 2 + 200] = b"\xff" * 200
    return bytes(sent)


def page_of(name: str, web: Web) -> Any:
    """What a host of this name answers for its pages."""
    return {
        "missing": lambda: answer("", "404 Not Found"),
        "throttling": lambda: answer("", "429 Slow down", {"Retry-After": "3600"}),
        "circle": lambda: redirect("/story"),
        "to-private": lambda: redirect("http://private.example/"),
        "to-good": lambda: redirect(web.url("good0.example", "/moved")),
        "short": lambda: b"HTTP/1.1 200 OK\r\nContent-Length: 99\r\nConnection: close\r\n\r\nabc",
        "endless": endless,
        "wrongly-packed": corrupt,
        "not-packed": lambda: answer(
            "<html><title>Plain</title><p>" + "The council met on Monday. " * 30,
            headers={"Content-Encoding": "gzip"},
        ),
        "empty": lambda: answer(""),
        "picture": lambda: answer(
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
KEPT = ("not-packed", "to-good")


def misbehave(web: Web) -> list[str]:
    """Hosts that misbehave, and an address of each."""
    web.addresses |= {"dead.example": [DEAD], "private.example": [PRIVATE]}
    web.hosts["denied.example"] = lambda asked, nth: answer("User-agent: *\nDisallow: /")
    for name in {*DROPPED, *QUARANTINED, *KEPT} - {"dead", "private", "denied", "nowhere"}:

        def behave(asked: Asked, nth: int, name: str = name) -> Any:
            return usual(asked, nth) if asked.target == "/robots.txt" else page_of(name, web)()

        web.hosts[f"{name}.example"] = behave
    urls = [web.url(f"{name}.example") for name in sorted({*DROPPED, *QUARANTINED, *KEPT})]
    return [url.replace("nowhere.example", "nowhere.invalid") for url in urls] + ["no address"]


def test_a_list_is_fetched_whole_politely_and_every_link_accounted_for(
    web: Web, call: Any, tmp_path: Path
) -> None:
    odd = misbehave(web)
    good = [
        web.url(f"good{host}.example", f"/{page}") for host in range(HOSTS) for page in range(PAGES)
    ]
    urls = tmp_path / "urls.txt"
    urls.write_text("\n".join(["# a list", *odd, "", *good, good[0]]))
    begun_s = time.monotonic()
    code, told = call("fetch", "--from", str(urls))
    assert code == 1, told
    assert adds_up(told)
    assert (told["in"], told["pending"]) == (len(odd) + len(good) + 1, 0)
    assert told["done"] == len(good) + len(KEPT)
    expected: dict[str, int] = {"no-host": 1, "repeated": 1}
    for reason in DROPPED.values():
        expected[reason] = expected.get(reason, 0) + 1
    assert told["dropped"] == expected
    assert told["quarantined"] == {"bad-encoding": 1}
    for host in range(HOSTS):
        asked = web.asked(f"good{host}.example")
        assert len(asked) == 1 + PAGES + (host == 0) + 1
        assert [one.target for one in asked].count(TDMREP_PATH) == 1
        # However late a request arrives, it did not leave before its time.
        for nth, one in enumerate(asked):
            assert one.at_s >= begun_s + nth * GAP_S
    assert web.asked("private.example") == []
    assert call("audit", "--deep")[0] == 0
    spool = tmp_path / "home" / "blobs" / "spool"
    # What could not be taken for a page is there still; what was archived is not.
    assert len([path for path in spool.rglob("*") if path.is_file()]) == 3

    before = len(web.log)
    code, told = call("fetch", "--from", str(urls))
    assert (code, told["in"]) == (0, 0)
    assert len(web.log) == before
    urls.write_text(good[1] + "\n")
    code, told = call("fetch", "--from", str(urls), "--again")
    assert (code, told["dropped"]) == (0, {"duplicate": 1})
    assert call("audit", "--deep")[0] == 0


def test_addresses_that_are_named_are_fetched_each_time(web: Web, call: Any) -> None:
    url = web.url("a.example")
    assert call("fetch", url)[1]["done"] == 1
    assert call("fetch", url)[1]["dropped"] == {"duplicate": 1}
    # Whether it reserves its rights is asked once a day, robots.txt by each process.
    targets = [one.target for one in web.asked("a.example")]
    assert targets == ["/robots.txt", "/story", TDMREP_PATH, "/robots.txt", "/story"]


def test_a_page_of_another_status_of_success_is_kept_and_imported_again(
    web: Web, call: Any, tmp_path: Path
) -> None:
    page = story("a.example", "/story").replace(b"200 OK", b"203 Non-Authoritative Information")
    web.hosts["a.example"] = lambda asked, nth: (
        usual(asked, nth) if asked.target == "/robots.txt" else page
    )
    assert call("--set=warc.form=mediacloud", "fetch", web.url("a.example"))[1]["done"] == 1
    (warc,) = (tmp_path / "home" / "archive").glob("*.warc.gz")
    other = ["--home", str(tmp_path / "other"), "--set=pipeline=archive"]
    code = run(lambda: cli.main([*other, "ingest", str(warc)], standalone_mode=False))
    assert code == 0
    assert run(lambda: cli.main([*other, "audit"], standalone_mode=False)) == 0
    found = run(lambda: cli.main([*other, "search", "council"], standalone_mode=False))
    assert found == 0


def test_a_page_that_did_not_change_is_a_revisit_of_what_is_known(
    web: Web, call: Any, tmp_path: Path
) -> None:
    def tagged(asked: Asked, nth: int) -> bytes:
        if asked.target == "/robots.txt":
            return usual(asked, nth)
        if asked.headers.get("if-none-match") == '"7"':
            return b'HTTP/1.1 304 Not Modified\r\nETag: "7"\r\nContent-Length: 0\r\n\r\n'
        return story(asked.host, asked.target, ETag='"7"')

    web.hosts["a.example"] = tagged
    url = web.url("a.example")
    assert call("fetch", url)[1]["done"] == 1
    for _ in range(2):
        assert call("fetch", url)[1]["dropped"] == {"duplicate": 1}
    records = []
    for path in sorted((tmp_path / "home" / "archive").glob("*.warc.gz")):
        with path.open("rb") as stream:
            records += [
                one
                for one in ArchiveIterator(stream, check_digests="raise")
                if one.rec_type in ("response", "revisit")
            ]
    assert [record.rec_type for record in records] == ["response", "revisit", "revisit"]
    first = records[0].rec_headers
    for one in records[1:]:
        told = one.rec_headers
        assert told.get_header("WARC-Profile").endswith("/revisit/server-not-modified")
        assert told.get_header("WARC-Refers-To-Target-URI") == url
        assert told.get_header("WARC-Refers-To-Date") == first.get_header("WARC-Date")
        assert told.get_header("WARC-Refers-To") == first.get_header("WARC-Record-ID")
        same = "WARC-Payload-Digest"
        assert told.get_header(same) == first.get_header(same)
        assert one.http_headers.get_statuscode() == "304"
    assert call("audit", "--deep")[0] == 0


@pytest.mark.parametrize("hops", [1, 2])
def test_a_redirect_to_a_site_that_is_no_news_is_not_fetched(
    web: Web, call: Any, tmp_path: Path, hops: int
) -> None:
    """The rules for links hold for each address a redirect leads to; a person may name any."""
    web.addresses["www.youtube.com"] = [HERE]
    over = [redirect(web.url("a.example", "/over"))] * (hops - 1)
    replies = [*over, redirect(web.url("www.youtube.com", "/watch?v=1"))]

    def behave(asked: Asked, nth: int) -> bytes:
        if asked.target == "/robots.txt":
            return usual(asked, nth)
        return replies[0 if asked.target == "/story" else -1]

    web.hosts["a.example"] = behave
    table = tmp_path / "links.csv"
    table.write_text(f"url\n{web.url('a.example')}\n")
    code, told = call("ingest", "--pipeline", "csv", str(table))
    assert (code, told["done"], told["dropped"]) == (0, 0, {"non-news": 1})
    assert web.asked("www.youtube.com") == []
    assert call("audit", "--deep")[0] == 0
    assert call("fetch", web.url("a.example"))[1]["done"] == 1
    assert call("audit", "--deep")[0] == 0


def test_a_link_that_waits_is_one_entry_and_says_why_and_until_when(
    web: Web, call: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(fetch, "WAIT_S", 0.5)
    patient = "--set=work.retries_max=10"
    url = "http://nowhere.invalid/story"
    for _ in range(3):
        code, told = call(patient, "fetch", url)
        assert (code, told["in"], told["pending"]) == (1, 1, 1)
        (retry,) = told["retries"]
        assert (retry["url"], retry["reason"], retry["step"]) == (url, "no-such-host", "fetch")
        assert datetime.fromisoformat(retry["next_attempt_at"]) > datetime.now(UTC)
    urls = tmp_path / "urls.txt"
    urls.write_text(f"{url}\n")
    for _ in range(2):
        code, told = call(patient, "fetch", "--from", str(urls), "--again")
        assert (code, told["pending"]) == (1, 1)
    told = call(patient, "failures")[1]["retries"]
    assert (told["reason"], told["count"], told["first"]["url"]) == ("no-such-host", 1, url)
    assert call(patient, "show", url)[1]["branches"][0]["row"]["next_attempt_at"]
    # What is there by now is still fetched beside it.
    code, told = call(patient, "fetch", url, web.url("a.example"))
    assert (told["done"], told["pending"]) == (1, 1)
    assert call("audit", "--deep")[0] == 0


def test_people_are_shown_why_a_link_waits(
    web: Web, tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(fetch, "WAIT_S", 0.5)
    home = ["--home", str(tmp_path / "home")]
    url = "http://nowhere.invalid/story"
    assert run(lambda: cli.main([*home, "fetch", url], standalone_mode=False)) == 1
    told = capsys.readouterr().out
    assert f"{url} waits: no-such-host:" in told
    assert "Next attempt at 2" in told
    assert run(lambda: cli.main([*home, "failures"], standalone_mode=False)) == 0
    told = capsys.readouterr().out
    assert "No failures" not in told
    assert "no-such-host at fetch, will be retried" in told
    assert "next attempt at 2" in told


def test_what_cannot_be_meant_is_told(call: Any, tmp_path: Path) -> None:
    for words, said in (
        ((), "Name a URL"),
        (("--from", str(tmp_path / "none")), "no such file or folder"),
        (("--pipeline", "library", "http://a.example/"), "no pipeline that starts with links"),
        (("--pipeline", "nws", "http://a.example/"), "Did you mean 'news'?"),
        (("--tls", "maybe", "http://a.example/"), "maybe"),
    ):
        code, told = call("fetch", *words)
        assert code == 2
        assert said in told["error"]
