"""Completions of the search box: fields and values in the library, in the API and on the page."""

from __future__ import annotations

from typing import Any
from urllib.parse import parse_qs, urlsplit

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from starlette.testclient import TestClient

from depth import examples
from fonds.model.file import SEARCHED_KINDS
from fonds.model.pdf import PdfStatus
from fonds.search.fields import LISTED_FIELDS
from page_reading import read
from themed_home import HOSTILE

COUNTED_FIELDS = ("site:", "domain:", "language:", "kind:", "collection:", "year:", "status:")
FREE_FIELDS = ("title:", "text:", "url:", "doi:", "words:", "pages:", "date:")


def complete(client: TestClient, q: str, at: int | None = None) -> dict[str, Any]:
    response = client.get("/api/complete", params={"q": q, **({} if at is None else {"at": at})})
    assert response.status_code == 200, response.text
    completion: dict[str, Any] = response.json()
    assert len(completion["completions"]) <= 10
    return completion


def list_values(completion: dict[str, Any]) -> list[str]:
    return [row["value"] for row in completion["completions"]]


def count_results(client: TestClient, q: str) -> int:
    total: int = client.get("/api/search", params={"q": q}).json()["total"]
    return total


@pytest.mark.parametrize("q", COUNTED_FIELDS)
def test_each_value_finds_its_count_and_the_largest_is_first(client: TestClient, q: str) -> None:
    completion = complete(client, q)
    assert (completion["kind"], completion["field"], completion["said"]) == ("value", q[:-1], "")
    counts = [row["count"] for row in completion["completions"]]
    assert counts
    assert counts == sorted(counts, reverse=True)
    assert counts[0] > 0 or q == "status:"
    for row in completion["completions"]:
        assert row["text"] == f"{q}{row['value']}"
        assert row["at"] == len(row["text"])
        assert count_results(client, row["text"]) == row["count"], row


@pytest.mark.parametrize("q", FREE_FIELDS)
def test_a_free_field_shows_its_form_and_a_valid_example(client: TestClient, q: str) -> None:
    completion = complete(client, q)
    assert (completion["completions"], completion["more"]) == ([], False)
    assert completion["form"]
    assert completion["example"].startswith(q)
    assert client.get("/api/search", params={"q": completion["example"]}).status_code == 200


def test_values_are_completed_by_code_and_by_name(client: TestClient) -> None:
    assert list_values(complete(client, "site:dai")) == ["daily.example"]
    assert list_values(complete(client, "site:DAI")) == ["daily.example"]
    assert list_values(complete(client, "site:exa"))
    assert list_values(complete(client, "language:germ")) == ["de"]
    (english, *_) = complete(client, "language:en")["completions"]
    assert (english["value"], english["name"]) == ("en", "English")
    assert list_values(complete(client, "kind:new")) == ["story"]
    assert complete(client, "site:zzz")["completions"] == []
    assert {*list_values(complete(client, "kind:"))} == set(SEARCHED_KINDS)
    assert list_values(complete(client, "kind:unr")) == []
    statuses = complete(client, "status:text")["completions"]
    assert [row["name"] for row in statuses] == [PdfStatus.TEXT_TRUNCATED.explanation]


def test_a_parent_host_is_completed_with_its_count(client: TestClient) -> None:
    (host, *_) = [
        row for row in complete(client, "site:example")["completions"] if row["value"] == "example"
    ]
    assert host["count"] == count_results(client, "site:example") > 0


def test_the_word_at_the_cursor_is_completed(client: TestClient) -> None:
    q = "flood site:dai -kind:pdf"
    completion = complete(client, q, q.index(" -kind"))
    (row,) = completion["completions"]
    assert (completion["start"], completion["end"]) == (11, 14)
    assert row["text"] == "flood site:daily.example -kind:pdf"
    assert row["text"][: row["at"]] == "flood site:daily.example"
    assert complete(client, q, 5)["kind"] == "nothing"
    query_with_emoji = "\U0001f600 site:dai"
    assert (
        complete(client, query_with_emoji, 10)["completions"][0]["text"]
        == "\U0001f600 site:daily.example"
    )


def test_field_names_are_completed_with_their_form(client: TestClient) -> None:
    completion = complete(client, "flood la")
    (row,) = completion["completions"]
    assert (completion["kind"], completion["field"], row["value"], row["text"]) == (
        "field", None, "language", "flood language:",
    )  # fmt: skip
    assert row["name"].startswith("a two-letter code")
    for name in LISTED_FIELDS:
        assert name in list_values(complete(client, name[:2]))


def test_a_short_author_shows_the_form(client: TestClient) -> None:
    completion = complete(client, "author:A")
    assert (completion["completions"], completion["form"]) == (
        [],
        "an author's name, or part of it",
    )


def test_every_completed_theme_can_be_searched(themed_client: TestClient) -> None:
    completion = complete(themed_client, "theme:")
    assert len(completion["completions"]) > 5
    for row in completion["completions"]:
        assert themed_client.get("/api/search", params={"q": row["text"]}).status_code == 200, row
        quoted = complete(themed_client, f'theme:"{row["value"]}')
        assert row["value"] in list_values(quoted)


def test_a_hostile_theme_name_is_escaped(themed_client: TestClient) -> None:
    completion = complete(themed_client, 'theme:"od')
    assert [str(HOSTILE) in row["name"] for row in completion["completions"]].count(True) > 0
    page = read(themed_client, "/search?q=theme:od", 400)
    assert str(HOSTILE) in page.words("//section[@aria-labelledby='offered-values']")
    assert not page.tree.xpath("//main//script")


@pytest.mark.parametrize(
    ("at", "message"), [("99", "99 is beyond the end of the search"), ("-1", "0"), ("x", "int")]
)
def test_an_invalid_cursor_position_is_refused(client: TestClient, at: str, message: str) -> None:
    response = client.get("/api/complete", params={"q": "site:", "at": at})
    assert response.status_code == 400
    assert response.json()["parameter"] == "at"
    assert message in response.json()["error"]
    assert client.get("/api/complete", params={"q": "a" * 4_001}).status_code == 400


def test_a_completion_over_the_query_limit_is_omitted(client: TestClient) -> None:
    q = "x" * 3_990 + " site:d"
    assert complete(client, q)["completions"] == []


def test_an_empty_library_completes_no_values(empty_client: TestClient) -> None:
    for q in (*COUNTED_FIELDS, "theme:", "author:abc"):
        assert {row["count"] for row in complete(empty_client, q)["completions"]} <= {0}
    page = read(empty_client, "/search?q=site:", 400)
    assert not page.tree.xpath("//section[@aria-labelledby='offered-values']")


@settings(
    suppress_health_check=[HealthCheck.function_scoped_fixture],
    max_examples=examples(20),
    deadline=None,
)
@given(st.text(max_size=40), st.integers(0, 40))
def test_any_text_can_be_completed(client: TestClient, text: str, at: int) -> None:
    q = text.encode("utf-8", "ignore").decode()
    completion = complete(client, q, min(at, len(q)))
    for row in completion["completions"]:
        assert row["text"].startswith(q[: completion["start"]])
        assert row["text"].endswith(q[completion["end"] :])


@pytest.mark.parametrize(
    "q", ["flood site:", "site:nowhere.example", "kind:sculpture flood", 'site:"dai']
)
def test_a_field_without_results_offers_values(client: TestClient, q: str) -> None:
    response = client.get("/search", params={"q": q})
    assert response.status_code in (200, 400)
    page = read(client, f"/search?{response.request.url.query.decode()}", response.status_code)
    path = "//section[@aria-labelledby='offered-values']"
    links = page.links(path)
    assert links
    counts = [
        int(element.text_content())
        for element in page.tree.xpath(f"{path}//span[@class='row-number']")
    ]
    field = q.split(":")[0].split()[-1]
    for (href, value), count in zip(links.items(), counts, strict=True):
        (query,) = parse_qs(urlsplit(href).query)["q"]
        assert f"{field}:{value}" in query
        assert count_results(client, f"{field}:{value}") == count > 0


@pytest.mark.parametrize(
    "q", ["flood", "kind:pdf bibliothèque", "words:>900000", "flood (", "autor:x"]
)
def test_other_searches_offer_no_values(client: TestClient, q: str) -> None:
    response = client.get("/search", params={"q": q})
    assert "offered-values" not in response.text


def test_offered_values_keep_the_filters(client: TestClient) -> None:
    links = read(client, "/search?q=site:&kind=pdf&sort=newest", 400).links(
        "//section[@aria-labelledby='offered-values']"
    )
    assert links
    assert all("kind=pdf&sort=newest" in href for href in links)


def test_pages_load_only_the_two_script_files(client: TestClient) -> None:
    scripts = ["/static/keys.js", "/static/complete.js"]
    for path in ("/", "/search", "/search?q=flood"):
        assert read(client, path).tree.xpath("//script/@src") == scripts
    for path in scripts:
        response = client.get(path)
        assert response.headers["content-type"].startswith("text/javascript")
        assert "innerHTML" not in response.text
