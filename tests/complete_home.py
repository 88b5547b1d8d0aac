"""A home with rows in nearly every table of every store, filled by real commands."""

from __future__ import annotations

import signal
from hashlib import sha1
from pathlib import Path

from starlette.testclient import TestClient

from e2e.running import CommandResult, call, fonds, start_fonds
from e2e.test_followed_sources import REFUSED, SETTINGS, wait_for
from e2e.test_grobid_metadata import TEI
from e2e.test_rights import NEWS, PDF, TIDE_PAGE, open_host
from filled_home import open_home
from fixtures.feeds import rss_with_links
from fixtures.grobid_server import GrobidResponse, serve_grobid
from fixtures.http_server import CannedResponse
from fixtures.jats import jats
from fixtures.pdfs import text_pdf
from fixtures.warcs import gzip_records, http_response, warcinfo
from fonds.config import load_settings
from fonds.web.access.gate import create_gate
from fonds.web.app import create_app
from fonds.wiring.collections import create_service
from guarded_home import ORIGIN, OWN
from journeys.material import PAPER, write_catalogue
from story_pages import page_markup

HOST = "http://daily.example"
BROKEN_PDF, UNREADABLE_PDF = b"%PDF-1.7\n% broken", b"%PDF-1.4\n% unreadable"
REMOVED_PDF = text_pdf(["A report that is taken down"])
THEMES = (
    "The river rose over the old wall and the flood reached the market by night. ",
    "The orchestra played the new symphony, and the hall applauded its choir. ",
)
PAGES = tuple(
    page_markup(
        f"Page {number}", f"Page {number}. " + THEMES[number % 2] * 8, ("Ada",), "2025-03-04", "en"
    )
    for number in range(6)
)
EDITED_PAGE = PAGES[0].replace(b"by night", b"at noon")
DATES = "2025-03-{:02}T06:00:00Z"


def fill_complete_home(folder: Path) -> Path:
    """Build the home and its input in a folder. Return the folder of the home."""
    home, crawl = folder / "home", folder / "crawl"
    crawl.mkdir()
    _write_crawl(crawl)
    write_catalogue(folder / "catalogue")
    _run(home, "catalog", "load", folder / "catalogue")
    with serve_grobid(GrobidResponse(body=TEI)) as grobid:
        settings = {"FONDS_GROBID_URL": grobid.url, "FONDS_MATCH": "true"}
        _run(home, "ingest", crawl, codes=(0, 1), **settings)
    _follow(home)
    _group(home)
    _restrict(home)
    _decide(home)
    _sign_in(home)
    _run(home, "audit", "--deep")
    return home


def _run(
    home: Path, *arguments: str | Path, codes: tuple[int, ...] = (0,), **environment: str
) -> CommandResult:
    result = fonds(home, *arguments, **environment)
    assert result.code in codes, result.out + result.err
    return result


def _write_crawl(folder: Path) -> None:
    robots = b"User-agent: *\nAllow: /\nContent-Usage: train-ai=n\n"
    responses = [
        http_response(
            robots,
            url=f"{HOST}/robots.txt",
            date=DATES.format(1),
            headers=(("Content-Type", "text/plain"),),
        ),
        http_response(
            b'[{"location": "/", "tdm-reservation": 1}]',
            url=f"{HOST}/.well-known/tdmrep.json",
            date=DATES.format(1),
            headers=(("Content-Type", "application/json"),),
        ),
        *(
            http_response(page, url=f"{HOST}/{number}", date=DATES.format(2 + number))
            for number, page in enumerate(PAGES)
        ),
        http_response(EDITED_PAGE, url=f"{HOST}/0", date=DATES.format(12)),
        http_response(PAGES[0], url=f"{HOST}/mirror", date=DATES.format(20)),
        http_response(b"gone", url=f"{HOST}/gone", status_line="HTTP/1.1 404 Not Found"),
    ]
    (folder / "pages.warc.gz").write_bytes(gzip_records([warcinfo(), *responses]))
    (folder / "paper.pdf").write_bytes(PAPER)
    (folder / "removed.pdf").write_bytes(REMOVED_PDF)
    (folder / "broken.pdf").write_bytes(BROKEN_PDF)
    (folder / "unreadable.pdf").write_bytes(UNREADABLE_PDF)
    (folder / "article.xml").write_bytes(jats())


def _follow(home: Path) -> None:
    """Fetch pages of a local server by their links, and follow a feed of it."""
    with open_host() as host:
        _run(home, "fetch", f"{host.url}{TIDE_PAGE}", f"{host.url}{PDF}", **SETTINGS)
        links = [f"{host.url}{NEWS}", REFUSED]
        host.responses["/feed"] = CannedResponse(200, rss_with_links(links, "<ttl>1</ttl>"))
        _run(home, "sources", "add", f"{host.url}/feed", **SETTINGS)
        service = start_fonds(home, "run", "queue-fetcher", **SETTINGS)
        try:
            wait_for(lambda: _is_settled(home))
        finally:
            service.send_signal(signal.SIGTERM)
            service.wait(60)


def _is_settled(home: Path) -> bool:
    funnel = call(home, "sources", "list", "--json").last["funnel"]
    return funnel["fetched"] >= 1 and call(home, "status", "--json").last["pending"] == 0


def _group(home: Path) -> None:
    """Create two collections, group one, and curate its themes."""
    for kind in ("story", "pdf"):
        _run(home, "collection", "create", f"test/{kind}", "--query", f"kind:{kind}")
    _run(home, "configuration", "set", "test/DEFAULT", "half_life_s=86400")
    _run(home, "group", "test/story")
    theme = _run(home, "clusters", "test/story", "--json").last["clusters"][-1]
    document = theme["top"][0]["id"]
    _run(home, "clusters", "exclude", "test/story", theme["label"], document)
    _run(home, "clusters", "rename", "test/story", theme["label"], "Concerts")
    _run(home, "clusters", "pin", "test/story", "Concerts")


def _restrict(home: Path) -> None:
    """Create a key, an embargo and a takedown."""
    _run(home, "keys", "create", "anne", "--role", "curator", "--until", "2099-01-01")
    pages = [sha1(page).hexdigest() for page in PAGES[4:]]
    options = ("--until", "2099-01-01", "--reason", "review", "--note", "asked by letter")
    _run(home, "embargo", *pages, *options)
    removed = sha1(REMOVED_PDF).hexdigest()
    _run(home, "takedown", removed, "--reason", "privacy", "--note", "asked by letter", "--yes")


def _decide(home: Path) -> None:
    """Accept one failure, and note who looks after another."""
    sha1hex = sha1(UNREADABLE_PDF).hexdigest()
    _run(home, "failures", "accept", "--key", sha1hex, "--note", "nothing to read", "--yes")
    group = _run(home, "failures", "--json").lines[0]["group"]
    _run(home, "failures", "note", "--group", group, "--note", "asked", "--owner", "Ann")


def _sign_in(home: Path) -> None:
    secret = _run(home, "keys", "create", "ben", "--role", "reader", "--json").last["secret"]
    with open_home(home) as stores:
        gate = create_gate(stores.records, "127.0.0.1", load_settings(home, {}))
        service = create_service(stores)
        service.runs.close()
        app = create_app(stores, gate=gate, service=service)
        client = TestClient(app, base_url=ORIGIN, follow_redirects=False)
        answer = client.post("/sign-in", data={"key": secret}, headers=OWN)
        assert answer.status_code == 303, answer.text
