"""Search for words that only an earlier version of a story has, on the terminal, pages, API and exports."""

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
from fixtures.warcs import gzip_records, http_response
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


def build_body(date: str) -> bytes:
    title, last = VERSIONS[date]
    paragraphs = "".join(f"<p>{text}</p>" for text in (*COMMON, last))
    return (
        f"<html lang=en><head><title>{title}</title></head>"
        f"<body><article><h1>{title}</h1>{paragraphs}</article></body></html>"
    ).encode()


def compute_key(date: str) -> str:
    return sha1(build_body(date)).hexdigest()


def ingest(home: Path, folder: Path, *dates: str) -> None:
    """Ingest a WARC for each version in this order, and one of another page."""
    folder.mkdir(exist_ok=True)
    other_warc = folder / "other.warc.gz"
    other_warc.write_bytes(
        gzip_records([http_response(page(6), url="http://courier.example/other")])
    )
    for date in dates:
        path = folder / f"{date[:13]}.warc.gz"
        path.write_bytes(gzip_records([http_response(build_body(date), url=URL, date=date)]))
        other_warcs = [other_warc] if date == dates[0] else []
        assert fonds(home, "ingest", *other_warcs, path).code == 0


def search_versions(home: Path, query: str) -> list[tuple[str, str | None]]:
    """Return the file and the matching version of each hit."""
    result = call(home, "search", query, "--match", "exact", "--json")
    assert result.code == 0, result.err
    return [
        (hit["sha1hex"], (hit["version"] or {}).get("sha1hex"))
        for hit in result.lines
        if "id" in hit
    ]


def check_found(home: Path) -> None:
    assert search_versions(home, '"17 million euros"') == []
    assert search_versions(home, 'version:all "17 million euros"') == [
        (compute_key(NEWEST), compute_key(OLD))
    ]
    assert search_versions(home, "version:all brandt bakeries") == [
        (compute_key(NEWEST), compute_key(OLDEST))
    ]
    assert search_versions(home, "version:all million") == [(compute_key(NEWEST), compute_key(OLD))]
    assert search_versions(home, "version:all denied") == [(compute_key(NEWEST), None)]
    assert search_versions(home, "version:all million denied") == [
        (compute_key(NEWEST), compute_key(OLD))
    ]
    assert search_versions(home, '"denied earlier reports"') == [(compute_key(NEWEST), None)]


@pytest.fixture(scope="module")
def home(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A home with the versions ingested in order; tests must not change it."""
    folder = tmp_path_factory.mktemp("versions")
    ingest(folder / "home", folder / "warcs", OLDEST, OLD, NEWEST)
    return folder / "home"


@pytest.fixture
def copy(home: Path, tmp_path: Path) -> Path:
    """A copy of the home for changes; its WARCs have absolute paths."""
    return Path(shutil.copytree(home, tmp_path / "home"))


def test_earlier_versions_are_found_after_ordered_ingests_and_a_reindex(
    home: Path, copy: Path
) -> None:
    check_found_again(copy, home.parent / "warcs")


def test_earlier_versions_are_found_after_late_ingests_and_a_reindex(tmp_path: Path) -> None:
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


def test_the_terminal_shows_the_version_and_the_query_for_it(home: Path) -> None:
    current_result = fonds(home, "search", '"17 million euros"')
    assert current_result.code == 0
    assert "No document contains" not in current_result.err
    (hint,) = re.findall(r"1 story has these words in an earlier version; .*", current_result.err)
    assert "search -- 'version:all \"17 million euros\"'" in hint
    as_json = fonds(home, "search", '"17 million euros"', "--json").lines
    assert as_json == [{"earlier": {"count": 1, "query": 'version:all "17 million euros"'}}]
    output = fonds(home, "search", "--", as_json[0]["earlier"]["query"]).out
    assert f"only in the version captured 2024-03-01 12:00: fonds --home {home}" in re.sub(
        r"\S*fonds --home \S+", f"fonds --home {home}", output
    )
    assert f"show {compute_key(OLD)}" in output
    assert "headline: Harbour wall to cost 17 million euros" in output
    assert "The works cost 17 million euros, the mayor said" in output
    best_match_result = fonds(home, "search", "harbour bakery")
    assert "Best match" in best_match_result.out
    assert "1 story has these words in an earlier version" in best_match_result.err


def test_the_export_has_the_story_and_its_manifest_the_query(home: Path, tmp_path: Path) -> None:
    out = tmp_path / "found.jsonl"
    query = 'version:all "17 million euros"'
    assert fonds(home, "export", query, "--out", out).code == 0
    assert [json.loads(line)["sha1hex"] for line in out.read_text().splitlines()] == [
        compute_key(NEWEST)
    ]
    manifest = tmp_path / "found.jsonl.manifest.json"
    assert query in json.dumps(json.loads(manifest.read_text()), ensure_ascii=False).replace(
        '\\"', '"'
    )
    assert fonds(home, "verify", manifest).code == 0


def test_an_empty_export_suggests_the_export_of_earlier_versions(
    home: Path, tmp_path: Path
) -> None:
    out = tmp_path / "wall.bib"
    words = ("--format", "bibtex", "--out", out, '"17 million euros"')
    result = fonds(home, "export", *words)
    hint = "1 story has these words in an earlier version; to export them: "
    (line,) = [text for text in result.err.splitlines() if text.startswith(hint)]
    assert "0 documents: nothing found." in result.err
    command = shlex.split(line.removeprefix(hint))
    second_result = fonds(home, *command[command.index("export") :])
    assert f"1 document written to {out}" in second_result.err


def test_a_collection_rule_can_search_all_versions(copy: Path) -> None:
    result = fonds(copy, "collection", "create", "press/wall", "--query", "version:all bakery")
    assert result.code == 0, result.err
    collection = fonds(copy, "collection", "show", "press/wall", "--json").last
    assert json.dumps(collection).count("version:all bakery") >= 1


def test_as_of_searches_and_embargoes_refuse_version_all(home: Path) -> None:
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


def open_client(home: Path) -> tuple[Any, TestClient]:
    stores = open_stores(home, Settings())
    return stores, TestClient(create_app(stores), base_url="http://localhost:8765")


def test_page_and_api_show_the_version_and_link_to_it(home: Path) -> None:
    stores, client = open_client(home)
    try:
        empty_response = client.get("/api/search", params={"q": '"17 million euros"'}).json()
        query = 'version:all "17 million euros"'
        assert (empty_response["total"], empty_response["earlier"]) == (
            0,
            {"count": 1, "query": query},
        )
        assert empty_response["notes"] == []
        page = client.get("/search", params={"q": '"17 million euros"'}).text
        (href,) = re.findall(r'1 story had these words.*<a href="([^"]+)">Show it</a>', page)
        results_page = client.get(href.replace("&amp;", "&")).text
        assert "version captured" in results_page
        links = [
            f"/file/{compute_key(OLD)}?find=",
            f"/file/{compute_key(NEWEST)}/changes?since={compute_key(OLD)}",
        ]
        for link in links:
            (link_href,) = re.findall(rf'href="({re.escape(link)}[^"]*)"', results_page)
            assert client.get(link_href.replace("&amp;", "&")).status_code == 200
        (hit,) = client.get("/api/search", params={"q": query}).json()["results"]
        version = hit["version"]
        assert (version["sha1hex"], version["captured"]) == (compute_key(OLD), "20240301120000")
        ((start, end),) = version["snippets"][0]["marks"]
        assert version["snippets"][0]["text"][start:end] == "17 million euros"
        best_match_response = client.get("/api/search", params={"q": "harbour bakery"}).json()
        assert (best_match_response["match"], best_match_response["earlier"]["count"]) == (
            "best",
            1,
        )
        (current_hit,) = client.get("/api/search", params={"q": "denied version:all"}).json()[
            "results"
        ]
        assert current_hit["version"] is None
        bad = client.get("/api/search", params={"q": "version:new denied"})
        assert (bad.status_code, "version is all or current" in bad.text) == (400, True)
        as_of = {"q": query, "day": "2024-05-01"}
        assert client.get("/api/search/as-of", params=as_of).status_code == 400
        feed = client.get("/search.atom", params={"q": query}).text
        assert "The works cost 17 million euros" in feed
    finally:
        client.close()
        close_stores(stores)


def test_hidden_and_taken_down_versions_are_not_found(copy: Path) -> None:
    home = copy
    embargo = ("--until", "2099-01-01", "--reason", "privacy")
    assert fonds(home, "embargo", compute_key(OLDEST), *embargo).code == 0
    bakery, euros = "version:all brandt bakery", 'version:all "17 million euros"'
    assert search_versions(home, bakery) == []
    assert "earlier version" not in fonds(home, "search", "brandt bakery").err
    assert search_versions(home, euros) == [(compute_key(NEWEST), compute_key(OLD))]
    assert fonds(home, "reindex").code == 0
    assert search_versions(home, bakery) == []
    # The hit is then the earlier version, with its own earlier versions.
    assert fonds(home, "embargo", compute_key(NEWEST), *embargo).code == 0
    assert search_versions(home, euros) == [(compute_key(OLD), None)]
    assert search_versions(home, "version:all denied") == []
    assert fonds(home, "embargo", "--lift", compute_key(NEWEST), compute_key(OLDEST)).code == 0
    check_found(home)
    takedown = fonds(home, "takedown", compute_key(OLDEST), "--reason", "privacy", "--yes")
    assert takedown.code == 0, takedown.err
    assert search_versions(home, bakery) == []
    assert search_versions(home, "version:all harbour") == [(compute_key(NEWEST), None)]
    assert search_versions(home, euros) == [(compute_key(NEWEST), compute_key(OLD))]
    assert fonds(home, "reindex").code == 0
    assert search_versions(home, bakery) == []
    assert search_versions(home, euros) == [(compute_key(NEWEST), compute_key(OLD))]
    audited = fonds(home, "audit", "--deep")
    assert audited.code == 0, audited.out
