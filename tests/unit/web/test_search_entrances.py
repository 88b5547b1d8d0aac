"""Page, API, command line, exports, feed and as-of search find the same documents."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from urllib.parse import urlencode
from xml.etree import ElementTree as Xml

import pytest
from click.testing import CliRunner
from lxml import html
from starlette.testclient import TestClient

from filled_home import open_home
from fonds.cli.main import cli
from fonds.search.request import FILTERS, PARAMETERS, parse_request, render_filters
from fonds.web.app import create_app
from ingesting import ingest
from story_pages import page_markup

ATOM = "{http://www.w3.org/2005/Atom}"
DAY = "2026-03-14"
"""The day when everything in the home was received."""
Parameters = Mapping[str, str | Sequence[str]]
SEARCHES: Sequence[Parameters] = (
    {"q": "flood"},
    {"q": "flood OR river"},
    {"kind": ["pdf"]},
    {"kind": ["pdf", "story"], "q": "flood"},
    {"language": ["EN"]},
    {"language": ["none"]},
    {"language": ["en", "de"]},
    {"domain": ["daily.example"]},
    {"domain": ["none"]},
    {"collection": ["reports"]},
    {"collection": ["default", "reports"], "kind": ["story"]},
    {"from": "2020-01-01"},
    {"to": "2020-12-31", "q": "flood"},
    {"from": "2018-01-01", "to": "2022-12-31", "language": ["en"]},
    {"undated": "1"},
    {"dates": "captured", "from": "2024-01-01", "to": "2024-12-31"},
    {"dates": "added", "from": DAY},
    {"match": "best", "q": "flood drought harvest"},
    {"match": "exact", "q": "flood drought harvest"},
)


@pytest.fixture(params=SEARCHES, ids=lambda search: urlencode(search, doseq=True))
def search(request: pytest.FixtureRequest) -> Parameters:
    search: Parameters = request.param
    return search


def run(home: Path, *words: str) -> str:
    result = CliRunner().invoke(cli, ["--home", str(home), "--quiet", *words])
    assert result.exception is None or isinstance(result.exception, SystemExit), result.output
    return result.stdout


def build_words(search: Parameters) -> list[str]:
    """Return the search as words of a command line."""
    words = []
    for name, value in search.items():
        if name == "undated":
            words.append("--undated")
        elif name != "q":
            values = [value] if isinstance(value, str) else value
            words += [word for item in values for word in (f"--{name}", item)]
    return [*words, *([str(search["q"])] if "q" in search else [])]


def iter_files(text: str) -> Iterator[str]:
    """Yield the SHA-1s in JSON lines."""
    return (row["sha1hex"] for row in map(json.loads, text.splitlines()) if "sha1hex" in row)


def find_in_api(client: TestClient, search: Parameters) -> list[str]:
    response = client.get("/api/search", params={**search, "size": "1000"}).json()
    return sorted(hit["sha1hex"] for hit in response["results"])


def find_everywhere(client: TestClient, home: Path, search: Parameters) -> dict[str, list[str]]:
    """Return the files that each interface finds, by its name."""
    url = urlencode(search, doseq=True)
    page = html.fromstring(client.get(f"/search?{url}&size=1000&collapse=no").text)
    links = [link.get("href") for link in page.xpath("//li[starts-with(@class, 'hit')]//h3/a")]
    feed = Xml.fromstring(client.get(f"/search.atom?{url}").content)
    entries = [entry.find(f"{ATOM}link") for entry in feed.findall(f"{ATOM}entry")]
    as_of = client.get(f"/api/search/as-of?{url}&day={DAY}&change=unchanged").json()
    words = build_words(search)
    files_by_interface: dict[str, Iterator[str]] = {
        "page": (link.split("?")[0].rsplit("/", 1)[1] for link in links),
        "feed": (
            (entry.get("href") or "").rsplit("/", 1)[1] for entry in entries if entry is not None
        ),
        "export of the page": iter_files(client.get(f"/api/search/export/jsonl?{url}").text),
        "as of a day": (row["sha1hex"] for row in as_of["listed"]),
        "fonds search": iter_files(run(home, "search", *words, "--limit", "1000", "--json")),
        "fonds export": iter_files(run(home, "export", *words, "--no-text")),
        "fonds search --as-of": iter_files(
            run(home, "search", *words, "--limit", "1000", "--as-of", DAY, "--json")
        ),
    }
    return {name: sorted(files) for name, files in files_by_interface.items()}


def test_all_interfaces_find_the_same_files(
    client: TestClient, home: Path, search: Parameters
) -> None:
    expected = find_in_api(client, search)
    files_everywhere = find_everywhere(client, home, search)
    assert files_everywhere == dict.fromkeys(files_everywhere, expected)


def write_near_duplicates(folder: Path) -> Path:
    """Write three pages with nearly the same text and one with another text."""
    folder.mkdir()
    report = " ".join(
        f"The gauge at weir {n} read {n * 37} centimetres of flood." for n in range(60)
    )
    for n in range(3):
        page = page_markup(f"Gauges {n}", f"{report} End {n}.", (), "2024-05-01", "en")
        (folder / f"{n}.html").write_bytes(page)
    other_text = " ".join(
        f"After the flood field {n} lay under {n * 11} tons of sand." for n in range(60)
    )
    (folder / "other.html").write_bytes(page_markup("Fields", other_text, (), "2024-05-01", "en"))
    return folder


def test_near_duplicates_of_a_document_are_the_same_everywhere(tmp_path: Path) -> None:
    home = tmp_path / "home"
    with open_home(home) as stores:
        ingest(stores, home, [write_near_duplicates(tmp_path / "pages")])
        with TestClient(create_app(stores), base_url="http://localhost") as client:
            results = client.get("/api/search?q=flood&collapse=yes").json()["results"]
            (document,) = [hit for hit in results if hit["alike"]]
            search = {"q": "flood", "alike": document["id"]}
            expected = find_in_api(client, search)
            assert len(expected) == document["alike"] + 1 == 3
            files_everywhere = find_everywhere(client, home, search)
            assert files_everywhere == dict.fromkeys(files_everywhere, expected)


def test_a_manifest_requests_the_same_search_again(
    client: TestClient, home: Path, tmp_path: Path, search: Parameters
) -> None:
    expected = find_in_api(client, search)
    out = tmp_path / "found.jsonl"
    run(home, "export", *build_words(search), "--no-text", "--out", str(out))
    assert sorted(iter_files(out.read_text())) == expected
    stored_search = json.loads(Path(f"{out}.manifest.json").read_text())["search"]
    assert parse_request(stored_search["parameters"]) == parse_request(search)
    verification = json.loads(run(home, "verify", str(out), "--json"))
    assert (verification["result_is_same"], verification["now"]) == (True, len(expected))


def test_the_searches_use_every_filter_and_find_something(client: TestClient) -> None:
    assert {name for search in SEARCHES for name in search} | {"alike"} == set(FILTERS)
    total = len(find_in_api(client, {}))
    counts = [len(find_in_api(client, search)) for search in SEARCHES]
    assert sum(0 < count < total for count in counts) > len(SEARCHES) / 2
    assert total <= 50, "a feed has fifty entries"


@pytest.mark.parametrize(
    ("option", "query"),
    [
        ({"kind": ["pdf"]}, "kind:pdf"),
        ({"language": ["en"]}, "language:en"),
        ({"domain": ["daily.example"]}, "domain:daily.example"),
        ({"collection": ["reports"]}, "collection:reports"),
        ({"from": "2018-01-01", "to": "2022-12-31"}, "year:2018..2022"),
        ({"undated": "1"}, "date:none"),
    ],
)
def test_a_filter_and_the_query_field_find_the_same(
    client: TestClient, home: Path, option: Parameters, query: str
) -> None:
    expected = find_in_api(client, {"q": f"flood {query}"})
    assert find_in_api(client, {**option, "q": "flood"}) == expected
    files_everywhere = find_everywhere(client, home, {**option, "q": f"flood {query}"})
    assert files_everywhere == dict.fromkeys(files_everywhere, expected)


def test_rendered_filters_parse_to_the_same_search(search: Parameters) -> None:
    request = parse_request(search)
    assert parse_request(render_filters(request)) == request


@pytest.mark.parametrize(
    ("name", "value", "reason"),
    [
        ("kind", "stroy", "The parameter “kind” is “stroy”: "),
        ("from", "yesterday", "The parameter “from” is “yesterday”: this is not a date"),
        ("to", "2024-13-01", "The parameter “to” is “2024-13-01”: this is not a date"),
        ("dates", "capturd", "Did you mean “captured”?"),
        ("match", "bset", "Did you mean “best”?"),
        ("language", "english", "There is no language code 'english'"),
        ("q", "autor:x", "there is no field “autor”"),
        ("domain", "x" * 256, "The parameter “domain” is “xxx"),
    ],
)
def test_invalid_values_are_refused_everywhere_with_the_same_message(
    client: TestClient, home: Path, name: str, value: str, reason: str
) -> None:
    expected = client.get("/api/search", params={name: value}).json()["error"]
    assert reason in expected
    for path in ("/api/search/export/jsonl", "/api/search.atom", "/api/search/as-of"):
        response = client.get(
            path, params={name: value} | ({"day": DAY} if "as-of" in path else {})
        )
        assert (response.status_code, response.json()["error"].rstrip(".")) == (
            400, expected.rstrip("."),
        )  # fmt: skip
    page = client.get("/search", params={name: value})
    assert page.status_code == 400
    assert expected in html.fromstring(page.text).text_content()
    for command in ("search", "export"):
        words = build_words({name: value})
        result = CliRunner().invoke(cli, ["--home", str(home), command, *words])
        assert (result.exit_code, expected in result.output) == (2, True), result.output


def test_an_unknown_parameter_is_refused_everywhere(client: TestClient) -> None:
    for path in ("/api/search", "/api/search/export/csv", "/api/search.atom", "/api/search/as-of"):
        response = client.get(path, params={"langauge": "en"}).json()
        assert response["error"].startswith("There is no parameter “langauge”. Did you mean")
        assert (response["parameter"], response["nearest"]) == ("langauge", "language")
    with pytest.raises(ValueError, match=r"no parameter “langauge”. Did you mean “language”"):
        parse_request({"langauge": "en"})
    with pytest.raises(ValueError, match="more than once"):
        parse_request({"q": ["a", "b"]})
    assert PARAMETERS["kind"].is_list
    assert not PARAMETERS["from"].is_list
