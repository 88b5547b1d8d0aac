"""Rights that responses, pages, PDFs and articles state, from the WARC to pages, search and exports."""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
import pytest
from starlette.testclient import TestClient

from e2e.running import call, fonds
from filled_home import open_home
from fixtures.http_server import CannedResponse, serve_http
from fixtures.jats import jats
from fixtures.pdfs import xmp_pdf
from fixtures.warcs import gzip_records, http_response
from fonds.web.app import create_app
from story_pages import page_markup

ORIGIN = "http://localhost:8765"
FETCHING = ("--set", "elsewhere.private_addresses=true", "--set", "fetch.host_gap_s=0.05")
TDMREP = "/.well-known/tdmrep.json"
CC_BY = "https://creativecommons.org/licenses/by/4.0/"
PAGE_URL = "http://news.courier.example/2024/weir"
PDF_URL = "http://reports.basin.example/gauge.pdf"
ARTICLE_URL = "http://journal.example/12.xml"
SILENT_URL = "http://news.courier.example/2024/quay"
TEXT = "The weir above the mill gave way in the night.\nBy noon the miller had opened every sluice."
PAGE = page_markup("The weir gave way", TEXT, (), "2024-03-04", "en").replace(
    b"<title>",
    b'<meta name="robots" content="noimageai">'
    b'<meta name="copyright" content="&#169; 2024 Courier &lt;b&gt;Press">'
    + f'<link rel="license" href="{CC_BY}"><title>'.encode(),
)
SILENT = page_markup("The quay was closed", TEXT.replace("weir", "quay"), (), "2024-03-04", "en")
HTML, PDF, XML = (("Content-Type", mime) for mime in ("text/html", "application/pdf", "text/xml"))
PERMISSIONS = (
    "<permissions><copyright-holder>Society of Tides</copyright-holder>"
    "<license xmlns:xlink='http://www.w3.org/1999/xlink' xlink:href='https://creativecommons.org/licenses/by-nc/4.0/'/></permissions>"
)
XMP = (
    "<rdf:RDF xmlns:rdf='http://www.w3.org/1999/02/22-rdf-syntax-ns#'><rdf:Description xmlns:xmpRights='http://ns.adobe.com/xap/1.0/rights/'"
    " xmlns:cc='http://creativecommons.org/ns#'"
    " xmpRights:WebStatement='https://basin.example/terms'>"
    "<cc:license rdf:resource='https://creativecommons.org/licenses/by-sa/4.0/'/></rdf:Description></rdf:RDF>"
)
URLS_BY_QUERY = {
    "license:cc-by-4.0": {PAGE_URL},
    f'license:"{CC_BY}"': {PAGE_URL},
    "license:cc-by*": {PAGE_URL, PDF_URL, ARTICLE_URL},
    "license:cc-by-sa*": {PDF_URL},
    "license:none": {SILENT_URL},
    "prefers:noimageai": {PAGE_URL},
    "prefers:noai": {PAGE_URL, PDF_URL},
    "prefers:train-ai=n": {PDF_URL},
    "prefers:none -license:none": {ARTICLE_URL},
    "holder:courier": {PAGE_URL},
    'holder:"society of tides"': {ARTICLE_URL},
}


@pytest.fixture(scope="module")
def home(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Four documents, of which three state rights, ingested from a WARC and a later one."""
    folder = tmp_path_factory.mktemp("rights")
    first = [
        http_response(PAGE, url=PAGE_URL, headers=(HTML,)),
        http_response(
            xmp_pdf(XMP.encode()),
            url=PDF_URL,
            headers=(PDF, ("X-Robots-Tag", "noai"), ("Content-Usage", "train-ai=n")),
        ),
        http_response(jats(meta=PERMISSIONS), url=ARTICLE_URL, headers=(XML,)),
        http_response(SILENT, url=SILENT_URL, headers=(HTML,)),
    ]
    later = [
        http_response(PAGE, url=PAGE_URL, headers=(HTML, ("X-Robots-Tag", "noai, noarchive")),
                      date="2024-06-01T00:00:00Z"),
        http_response(SILENT, url=SILENT_URL, headers=(HTML,), date="2024-06-01T00:00:00Z"),
    ]  # fmt: skip
    for name, records in (("first", first), ("later", later)):
        (folder / f"{name}.warc.gz").write_bytes(gzip_records(records))
        result = fonds(folder / "home", "ingest", folder / f"{name}.warc.gz")
        assert result.code == 0, result.err
    return folder / "home"


@pytest.fixture(scope="module")
def client(home: Path) -> Iterator[TestClient]:
    with open_home(home) as stores, TestClient(create_app(stores), base_url=ORIGIN) as test_client:
        yield test_client


@pytest.fixture(scope="module")
def fetched_page(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[Path, str]]:
    """A home with a fetched page whose host has a robots.txt, and the URL of the page."""
    home = tmp_path_factory.mktemp("fetched")
    with serve_http() as host:
        rules = b"User-agent: *\nDisallow: /private\nAllow: /2024\nContent-Signal: ai-train=no\n"
        host.responses["/robots.txt"] = CannedResponse(200, rules, {"Content-Type": "text/plain"})
        reserves = b'[{"location": "/2024/*", "tdm-reservation": 1}]'
        host.responses[TDMREP] = CannedResponse(200, reserves, {"Content-Type": "application/json"})
        host.responses["/2024/weir"] = CannedResponse(200, PAGE, {"Content-Type": "text/html"})
        result = fonds(home, *FETCHING, "fetch", f"{host.url}/2024/weir")
        assert result.code == 0, result.err
        yield home, f"{host.url}/2024/weir"


def test_the_robots_txt_of_a_page_is_shown_exported_and_linked(
    fetched_page: tuple[Path, str], tmp_path: Path
) -> None:
    home, url = fetched_page
    robots = url.replace("/2024/weir", "/robots.txt")
    output = " ".join(call(home, "show", url).out.split())
    assert f"{robots} answered 200; matched by “Allow: /2024”" in output
    assert "ai-train=n (robots.txt Content-Signal" in output
    (file_data,) = call(home, "show", url, "--json").lines
    (group,) = file_data["rights"]["captures"]
    assert group["robots"]["rule"] == "Allow: /2024"
    with open_home(home) as stores, TestClient(create_app(stores), base_url=ORIGIN) as client:
        page = client.get(f"/file/{file_data['sha1hex']}").text
        section = page.partition('<section id="rights"')[2].partition("</section>")[0]
        assert f'href="/file/{group["robots_sha1hex"]}">{robots}</a>' in section
        assert "matched by “Allow: /2024”" in section
        body = client.get(f"/file/{group['robots_sha1hex']}/body").content
        assert b"Content-Signal: ai-train=no" in body
        response = client.get("/api/search", params={"q": "prefers:ai-train=n"}).json()
        assert [hit["url"] for hit in response["results"]] == [url]
    out = tmp_path / "all.jsonl"
    assert call(home, "export", "prefers:ai-train=*", "--format", "jsonl", "--out", out).code == 0
    (line,) = map(json.loads, out.read_bytes().splitlines())
    assert (line["robots_url"], line["robots_rule"]) == (robots, "Allow: /2024")


def test_the_tdmrep_json_of_a_host_is_shown_searched_and_exported(
    fetched_page: tuple[Path, str], tmp_path: Path
) -> None:
    home, url = fetched_page
    address = url.replace("/2024/weir", TDMREP)
    output = " ".join(call(home, "show", url).out.split())
    assert f"{address} answered 200" in output
    assert "none" not in output.partition(address)[2].partition("licence")[0]
    assert "tdm-reservation=1 (tdmrep.json tdm-reservation: 1)" in output
    (file_data,) = call(home, "show", url, "--json").lines
    (group,) = file_data["rights"]["captures"]
    tdmrep_sha1hex = group["tdmrep"]["sha1hex"]
    assert (group["tdmrep"]["url"], group["tdmrep"]["answer"]) == (address, "200")
    with open_home(home) as stores, TestClient(create_app(stores), base_url=ORIGIN) as client:
        page = client.get(f"/file/{file_data['sha1hex']}").text
        section = page.partition('<section id="rights"')[2].partition("</section>")[0]
        assert f'href="/file/{tdmrep_sha1hex}">{address}</a>' in section
        assert b'"/2024/*"' in client.get(f"/file/{tdmrep_sha1hex}/body").content
        api_file = client.get(f"/api/files/{file_data['sha1hex']}").json()
        assert api_file["rights"]["captures"][0]["tdmrep"]["sha1hex"] == tdmrep_sha1hex
        response = client.get("/api/search", params={"q": "prefers:tdm-reservation=1"}).json()
        assert [hit["url"] for hit in response["results"]] == [url]
    out = tmp_path / "all.csv"
    assert call(home, "export", "prefers:tdm-*", "--format", "csv", "--out", out).code == 0
    (row,) = csv.DictReader(io.StringIO(out.read_text("utf-8")))
    assert "tdm-reservation=1" in row["preferences"]
    assert call(home, "audit", "--deep").code == 0


def search_urls(home: Path, query: str) -> list[str]:
    return [hit["url"] for hit in call(home, "search", query, "--json").lines]


def test_a_takedown_of_tdmrep_json_removes_its_statements(
    tmp_path: Path,
) -> None:
    home = tmp_path / "home"
    with serve_http() as host:
        host.responses[TDMREP] = CannedResponse(
            200, b'[{"location": "/", "tdm-reservation": 1}]', {"Content-Type": "application/json"}
        )
        for path in ("/2024/weir", "/2024/quay"):
            text = PAGE if path == "/2024/weir" else SILENT
            host.responses[path] = CannedResponse(200, text, {"Content-Type": "text/html"})
        url, second_url = f"{host.url}/2024/weir", f"{host.url}/2024/quay"
        assert fonds(home, *FETCHING, "fetch", url).code == 0
        (file_data,) = call(home, "show", url, "--json").lines
        tdmrep_sha1hex = file_data["rights"]["captures"][0]["tdmrep"]["sha1hex"]
        assert tdmrep_sha1hex
        assert search_urls(home, "prefers:tdm-reservation=1") == [url]
        assert fonds(home, "takedown", tdmrep_sha1hex, "--reason", "privacy", "--yes").code == 0
        assert search_urls(home, "prefers:tdm-reservation=1") == []
        assert fonds(home, *FETCHING, "fetch", second_url).code == 0
        assert [path for path, _ in host.requests].count(TDMREP) == 1
    for address in (url, second_url):
        (file_data,) = call(home, "show", address, "--json").lines
        for capture_group in file_data["rights"]["captures"]:
            assert capture_group["tdmrep"]["sha1hex"] is None
            assert "tdmrep.json" not in {
                statement["stated_in"] for statement in capture_group["statements"]
            }
    assert call(home, "audit", "--deep").code == 0
    assert call(home, "audit").code == 0


def test_a_missing_tdmrep_json_is_shown_and_is_not_a_failure(
    tmp_path: Path,
) -> None:
    home = tmp_path / "home"
    with serve_http() as host:
        host.responses["/2024/weir"] = CannedResponse(200, PAGE, {"Content-Type": "text/html"})
        result = fonds(home, *FETCHING, "fetch", f"{host.url}/2024/weir")
        assert result.code == 0, result.err
        assert "tdmrep.json" not in result.out + result.err
        assert [path for path, _ in host.requests] == ["/robots.txt", "/2024/weir", TDMREP]
        output = " ".join(call(home, "show", f"{host.url}/2024/weir").out.split())
        assert f"{host.url}{TDMREP} answered 404; none" in output
        off = fonds(
            tmp_path / "off", *FETCHING, "--set", "fetch.tdmrep=false", "fetch",
            f"{host.url}/2024/weir",
        )  # fmt: skip
        assert off.code == 0
        assert [path for path, _ in host.requests].count(TDMREP) == 1
    assert "tdmrep" not in call(tmp_path / "off", "show", f"{host.url}/2024/weir").out
    assert "No failures" in call(home, "failures").out
    assert call(home, "audit", "--deep").code == 0


@pytest.fixture(scope="module")
def files(home: Path) -> dict[str, str]:
    """The SHA-1 of each document by URL."""
    return {hit["url"]: hit["sha1hex"] for hit in call(home, "search", "--json").lines}


@pytest.mark.parametrize("query", URLS_BY_QUERY)
def test_a_search_by_rights_includes_those_of_later_captures(
    client: TestClient, query: str
) -> None:
    response = client.get("/api/search", params={"q": query}).json()
    assert {hit["url"] for hit in response["results"]} == URLS_BY_QUERY[query]


def test_a_reindex_keeps_rights_and_the_audit_is_clean(home: Path) -> None:
    audit = call(home, "audit", "--deep")
    assert audit.code == 0, audit.out + audit.err
    assert fonds(home, "reindex", "--json").code == 0
    for query, urls in URLS_BY_QUERY.items():
        hits = call(home, "search", query, "--json").lines
        assert {hit["url"] for hit in hits} == urls, query


def test_a_search_completes_stated_licenses(client: TestClient) -> None:
    response = client.get("/api/complete", params={"q": "license:cc-by-"}).json()
    assert {item["value"]: item["count"] for item in response["completions"]} == {
        "cc-by-4.0": 1,
        "cc-by-nc-4.0": 1,
        "cc-by-sa-4.0": 1,
    }


def test_show_prints_statements_with_their_sources(home: Path, files: dict[str, str]) -> None:
    output = " ".join(call(home, "show", files[PDF_URL]).out.split())
    for part in (
        "cc-by-sa-4.0 (XMP of the PDF cc:license",
        "noai (HTTP header X-Robots-Tag)",
        "train-ai=n (HTTP header Content-Usage)",
        "Fonds records preferences and does not act on them.",
    ):
        assert part in output, part
    silent = call(home, "show", files[SILENT_URL]).out
    assert "No rights statements found." in silent


def test_captures_with_different_rights_are_separate_groups(
    home: Path, files: dict[str, str]
) -> None:
    (file_data,) = call(home, "show", files[PAGE_URL], "--json").lines
    rights = file_data["rights"]
    assert [statement["value"] for statement in rights["statements"]] == [
        "noimageai", "Courier <b>Press", "cc-by-4.0",
    ]  # fmt: skip
    (group,) = rights["captures"]
    assert [statement["value"] for statement in group["statements"]] == ["noai", "noarchive"]
    assert [capture["datetime"] for capture in group["captures"]] == ["20240601000000"]
    assert rights["is_complete"]


def test_the_file_page_and_its_json_show_equal_rights(
    client: TestClient, files: dict[str, str]
) -> None:
    page = client.get(f"/file/{files[PAGE_URL]}").text
    section = page.partition('<section id="rights"')[2].partition("</section>")[0]
    assert (
        f'<a href="{CC_BY}" rel="noreferrer noopener nofollow"><bdi>cc-by-4.0</bdi></a>' in section
    )
    assert "Courier &lt;b&gt;Press" in section
    assert "<b>Press" not in section
    for part in ("noimageai", "meta element robots", "noai", "HTTP header X-Robots-Tag"):
        assert part in section, part
    rights = client.get(f"/api/files/{files[PAGE_URL]}").json()["rights"]
    assert rights == client.get(f"/file/{files[PAGE_URL]}.json").json()["rights"]
    assert len(rights["statements"]) == 3
    silent = client.get(f"/file/{files[SILENT_URL]}").text
    assert "No rights statements found." in silent


def select_rights(values: dict[str, Any]) -> dict[str, Any]:
    names = ("license", "rights_holder", "preferences", "robots_rule", "robots_url")
    return {name: values[name] for name in names}


def test_exports_contain_stated_rights(home: Path, tmp_path: Path, client: TestClient) -> None:
    expected = {
        PAGE_URL: (["cc-by-4.0"], ["Courier <b>Press"], ["noimageai", "noai", "noarchive"]),
        PDF_URL: (["cc-by-sa-4.0", "https://basin.example/terms"], None, ["noai", "train-ai=n"]),
        ARTICLE_URL: (["cc-by-nc-4.0"], ["Society of Tides"], None),
        SILENT_URL: (None, None, None),
    }
    for name in ("jsonl", "csv", "parquet", "bibtex"):
        result = call(home, "export", "*", "--format", name, "--out", tmp_path / f"all.{name}")
        assert result.code == 0, result.err
    lines = [json.loads(line) for line in (tmp_path / "all.jsonl").read_bytes().splitlines()]
    cells = {
        line["url"]: select_rights(line)
        for line in csv.DictReader(io.StringIO((tmp_path / "all.csv").read_text()))
    }
    typed = {
        line["url"]: select_rights(line)
        for line in pq.read_table(tmp_path / "all.parquet").to_pylist()
    }
    assert {line["url"] for line in lines} == set(expected)
    for line in lines:
        stated = select_rights(line)
        licenses, holders, preferences = expected[line["url"]]
        assert stated == {
            "license": licenses, "rights_holder": holders, "preferences": preferences,
            "robots_rule": None, "robots_url": None,
        }  # fmt: skip
        assert typed[line["url"]] == stated
        assert cells[line["url"]] == {
            name: "; ".join(value) if value else "" for name, value in stated.items()
        }
    entries = (tmp_path / "all.bibtex").read_text()
    assert "copyright = {Society of Tides; cc-by-nc-4.0}" in entries
    assert "copyright = {Courier <b>Press; cc-by-4.0}" in entries
    feed = client.get("/search.atom", params={"q": "holder:tides"}).text
    assert "<rights>Society of Tides; cc-by-nc-4.0</rights>" in feed
    (hit,) = client.get("/api/search", params={"q": "holder:tides"}).json()["results"]
    assert (hit["license"], hit["rights_holder"]) == (["cc-by-nc-4.0"], ["Society of Tides"])
