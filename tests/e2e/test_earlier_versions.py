"""Words that only an earlier version of a story has: from captures to terminal, page, API and export."""

from __future__ import annotations

import json
import re
import shlex
import shutil
from hashlib import sha1
from pathlib import Path
from typing import Any

import pytest
from starlette.testclient import TestClient

from e2e.crawls import page
from e2e.running import call, fonds
from fixtures.warcs import gzipped, http_response
from fonds.config import Settings
from fonds.web.app import create_app
from fonds.wiring.stores import close_stores, open_stores

URL = "http://courier.example/harbour-wall"
COMMON = (
    "The town council met on Monday evening in the old hall to decide about the harbour wall, which the"
    " spring storms had damaged in many places along the quay.",
    "The engineers of the county presented three plans, each with another height of the wall, and answered"
    " questions until late at night.",
)
VERSIONS = {
    "2024-03-01T08:00:00Z": (
        "Harbour wall to cost 14 million euros",
        "The works cost 14 million euros, the mayor said, and the Brandt bakery will have to move.",
    ),
    "2024-03-01T12:00:00Z": (
        "Harbour wall to cost 17 million euros",
        "The works cost 17 million euros, the mayor said, after the sums were checked. No shop has to move.",
    ),
    "2024-03-02T09:00:00Z": (
        "Harbour wall decided",
        "The price of the works is not known yet, the mayor said, and denied earlier reports.",
    ),
}
OLDEST, OLD, NEWEST = VERSIONS


def body(date: str) -> bytes:
    title, last = VERSIONS[date]
    paragraphs = "".join(f"<p>{one}</p>" for one in (*COMMON, last))
    return (
        f"<html lang=en><head><title>{title}</title></head>"
        f"<body><article><h1>{title}</h1>{paragraphs}</article></body></html>"
    ).encode()


def key(date: str) -> str:
    return sha1(body(date)).hexdigest()


def ingest(home: Path, folder: Path, *dates: str) -> None:
    """A WARC for each version, in this order, and one of another page."""
    folder.mkdir(exist_ok=True)
    other = folder / "other.warc.gz"
    other.write_bytes(gzipped([http_response(page(6), url="http://courier.example/other")]))
    for date in dates:
        path = folder / f"{date[:13]}.warc.gz"
        path.write_bytes(gzipped([http_response(body(date), url=URL, date=date)]))
        beside = [other] if date == dates[0] else []
        assert fonds(home, "ingest", *beside, path).code == 0


def found(home: Path, query: str) -> list[tuple[str, str | None]]:
    """Each hit of a search: the file it shows, and the version that matches."""
    ran = call(home, "search", query, "--match", "exact", "--json")
    assert ran.code == 0, ran.err
    return [
        (hit["sha1hex"], (hit["version"] or {}).get("sha1hex")) for hit in ran.lines if "id" in hit
    ]


def check_found(home: Path) -> None:
    assert found(home, '"17 million euros"') == []
    assert found(home, 'version:all "17 million euros"') == [(key(NEWEST), key(OLD))]
    assert found(home, "version:all brandt bakeries") == [(key(NEWEST), key(OLDEST))]
    assert found(home, "version:all million") == [(key(NEWEST), key(OLD))]
    assert found(home, "version:all denied") == [(key(NEWEST), None)]
    assert found(home, "version:all million denied") == [(key(NEWEST), key(OLD))]
    assert found(home, '"denied earlier reports"') == [(key(NEWEST), None)]


@pytest.fixture(scope="module")
def home(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A home that the versions came to in order, their WARCs beside it; it is read only."""
    folder = tmp_path_factory.mktemp("versions")
    ingest(folder / "home", folder / "warcs", OLDEST, OLD, NEWEST)
    return folder / "home"


@pytest.fixture
def copy(home: Path, tmp_path: Path) -> Path:
    """A home like it that may be changed: its WARCs go by absolute paths."""
    return Path(shutil.copytree(home, tmp_path / "home"))


def test_they_are_found_when_they_came_in_order_and_after_a_reindex(home: Path, copy: Path) -> None:
    check_found_again(copy, home.parent / "warcs")


def test_they_are_found_when_they_came_late_and_after_a_reindex(tmp_path: Path) -> None:
    ingest(tmp_path / "home", tmp_path / "warcs", NEWEST, OLDEST, OLD)
    check_found_again(tmp_path / "home", tmp_path / "warcs")


def check_found_again(home: Path, warcs: Path) -> None:
    check_found(home)
    assert fonds(home, "ingest", warcs).code == 0
    check_found(home)
    assert fonds(home, "reindex").code == 0
    check_found(home)
    audited = fonds(home, "audit", "--deep")
    assert audited.code == 0, audited.out


def test_the_terminal_names_the_version_and_the_search_that_finds_it(home: Path) -> None:
    none = fonds(home, "search", '"17 million euros"')
    assert none.code == 0
    assert "No document contains" not in none.err
    (told,) = re.findall(r"1 story has these words in an earlier version; .*", none.err)
    assert "search -- 'version:all \"17 million euros\"'" in told
    as_json = fonds(home, "search", '"17 million euros"', "--json").lines
    assert as_json == [{"earlier": {"count": 1, "query": 'version:all "17 million euros"'}}]
    shown = fonds(home, "search", "--", as_json[0]["earlier"]["query"]).out
    assert f"only in the version captured 2024-03-01 12:00: fonds --home {home}" in re.sub(
        r"\S*fonds --home \S+", f"fonds --home {home}", shown
    )
    assert f"show {key(OLD)}" in shown
    assert "headline: Harbour wall to cost 17 million euros" in shown
    assert "The works cost 17 million euros, the mayor said" in shown
    some = fonds(home, "search", "harbour bakery")
    assert "Best match" in some.out
    assert "1 story has these words in an earlier version" in some.err


def test_the_export_holds_the_story_and_the_manifest_the_query(home: Path, tmp_path: Path) -> None:
    out = tmp_path / "found.jsonl"
    query = 'version:all "17 million euros"'
    assert fonds(home, "export", query, "--out", out).code == 0
    assert [json.loads(line)["sha1hex"] for line in out.read_text().splitlines()] == [key(NEWEST)]
    manifest = tmp_path / "found.jsonl.manifest.json"
    assert query in json.dumps(json.loads(manifest.read_text()), ensure_ascii=False).replace(
        '\\"', '"'
    )
    assert fonds(home, "verify", manifest).code == 0


def test_an_export_that_finds_nothing_names_the_one_that_finds_it(
    home: Path, tmp_path: Path
) -> None:
    out = tmp_path / "wall.bib"
    words = ("--format", "bibtex", "--out", out, '"17 million euros"')
    ran = fonds(home, "export", *words)
    told = "1 story has these words in an earlier version; to export them: "
    (line,) = [one for one in ran.err.splitlines() if one.startswith(told)]
    assert "0 documents: nothing found." in ran.err
    again = shlex.split(line.removeprefix(told))
    found = fonds(home, *again[again.index("export") :])
    assert f"1 document written to {out}" in found.err


def test_a_collection_takes_stories_in_by_their_earlier_versions(copy: Path) -> None:
    made = fonds(copy, "collection", "create", "press/wall", "--query", "version:all bakery")
    assert made.code == 0, made.err
    shown = fonds(copy, "collection", "show", "press/wall", "--json").last
    assert json.dumps(shown).count("version:all bakery") >= 1


def test_what_goes_by_the_current_version_refuses_it(home: Path) -> None:
    as_of = fonds(home, "search", "version:all bakery", "--as-of", "2024-05-01")
    assert (as_of.code, "version:all cannot be combined" in as_of.err) == (2, True)
    words = (
        "embargo",
        "--query",
        "version:all bakery",
        "--until",
        "2099-01-01",
        "--reason",
        "rights",
    )
    hidden = fonds(home, *words)
    assert (hidden.code, "Name the files by their SHA-1s" in hidden.err) == (2, True)


def pages(home: Path) -> tuple[Any, TestClient]:
    stores = open_stores(home, Settings())
    return stores, TestClient(create_app(stores), base_url="http://localhost:8765")


def test_page_and_api_name_the_version_and_lead_to_it(home: Path) -> None:
    stores, client = pages(home)
    try:
        none = client.get("/api/search", params={"q": '"17 million euros"'}).json()
        query = 'version:all "17 million euros"'
        assert (none["total"], none["earlier"]) == (0, {"count": 1, "query": query})
        assert none["notes"] == []
        page = client.get("/search", params={"q": '"17 million euros"'}).text
        (href,) = re.findall(r'1 story had these words.*<a href="([^"]+)">Show it</a>', page)
        shown = client.get(href.replace("&amp;", "&")).text
        assert "version captured" in shown
        links = [f"/file/{key(OLD)}?find=", f"/file/{key(NEWEST)}/changes?since={key(OLD)}"]
        for link in links:
            (there,) = re.findall(rf'href="({re.escape(link)}[^"]*)"', shown)
            assert client.get(there.replace("&amp;", "&")).status_code == 200
        (hit,) = client.get("/api/search", params={"q": query}).json()["results"]
        version = hit["version"]
        assert (version["sha1hex"], version["captured"]) == (key(OLD), "20240301120000")
        ((start, end),) = version["snippets"][0]["marks"]
        assert version["snippets"][0]["text"][start:end] == "17 million euros"
        both = client.get("/api/search", params={"q": "harbour bakery"}).json()
        assert (both["match"], both["earlier"]["count"]) == ("best", 1)
        (one,) = client.get("/api/search", params={"q": "denied version:all"}).json()["results"]
        assert one["version"] is None
        bad = client.get("/api/search", params={"q": "version:new denied"})
        assert (bad.status_code, "version is all or current" in bad.text) == (400, True)
        as_of = {"q": query, "day": "2024-05-01"}
        assert client.get("/api/search/as-of", params=as_of).status_code == 400
        feed = client.get("/search.atom", params={"q": query}).text
        assert "The works cost 17 million euros" in feed
    finally:
        client.close()
        close_stores(stores)


def test_hidden_and_taken_down_versions_are_found_no_more(copy: Path) -> None:
    home = copy
    embargo = ("--until", "2099-01-01", "--reason", "privacy")
    assert fonds(home, "embargo", key(OLDEST), *embargo).code == 0
    bakery, sum_17 = "version:all brandt bakery", 'version:all "17 million euros"'
    assert found(home, bakery) == []
    assert "earlier version" not in fonds(home, "search", "brandt bakery").err
    assert found(home, sum_17) == [(key(NEWEST), key(OLD))]
    assert fonds(home, "reindex").code == 0
    assert found(home, bakery) == []
    # The version shown is then the earlier one, with what is earlier still.
    assert fonds(home, "embargo", key(NEWEST), *embargo).code == 0
    assert found(home, sum_17) == [(key(OLD), None)]
    assert found(home, "version:all denied") == []
    assert fonds(home, "embargo", "--lift", key(NEWEST), key(OLDEST)).code == 0
    check_found(home)
    taken = fonds(home, "takedown", key(OLDEST), "--reason", "privacy", "--yes")
    assert taken.code == 0, taken.err
    assert found(home, bakery) == []
    assert found(home, "version:all harbour") == [(key(NEWEST), None)]
    assert found(home, sum_17) == [(key(NEWEST), key(OLD))]
    assert fonds(home, "reindex").code == 0
    assert found(home, bakery) == []
    assert found(home, sum_17) == [(key(NEWEST), key(OLD))]
    audited = fonds(home, "audit", "--deep")
    assert audited.code == 0, audited.out
