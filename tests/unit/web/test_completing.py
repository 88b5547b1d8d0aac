"""Completions of the search box: fields and values out of what can be found, by the API and on the page."""

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

COUNTED = ("site:", "domain:", "language:", "kind:", "collection:", "year:", "status:")
FREE = ("title:", "text:", "url:", "doi:", "words:", "pages:", "date:")


def asked(client: TestClient, q: str, at: int | None = None) -> dict[str, Any]:
    answer = client.get("/api/complete", params={"q": q, **({} if at is None else {"at": at})})
    assert answer.status_code == 200, answer.text
    told: dict[str, Any] = answer.json()
    assert len(told["completions"]) <= 10
    return told


def offered(told: dict[str, Any]) -> list[str]:
    return [one["value"] for one in told["completions"]]


def total(client: TestClient, q: str) -> int:
    found: int = client.get("/api/search", params={"q": q}).json()["total"]
    return found


@pytest.mark.parametrize("q", COUNTED)
def test_each_value_finds_as_many_as_it_says_the_best_first(client: TestClient, q: str) -> None:
    told = asked(client, q)
    assert (told["kind"], told["field"], told["said"]) == ("value", q[:-1], "")
    counts = [one["count"] for one in told["completions"]]
    assert counts
    assert counts == sorted(counts, reverse=True)
    assert counts[0] > 0 or q == "status:"
    for one in told["completions"]:
        assert one["text"] == f"{q}{one['value']}"
        assert one["at"] == len(one["text"])
        assert total(client, one["text"]) == one["count"], one


@pytest.mark.parametrize("q", FREE)
def test_a_free_field_tells_its_form_and_an_example(client: TestClient, q: str) -> None:
    told = asked(client, q)
    assert (told["completions"], told["more"]) == ([], False)
    assert told["form"]
    assert told["example"].startswith(q)
    assert client.get("/api/search", params={"q": told["example"]}).status_code == 200


def test_values_begin_with_what_was_typed_or_their_names_do(client: TestClient) -> None:
    assert offered(asked(client, "site:dai")) == ["daily.example"]
    assert offered(asked(client, "site:DAI")) == ["daily.example"]
    assert offered(asked(client, "site:exa"))
    assert offered(asked(client, "language:germ")) == ["de"]
    (english, *_) = asked(client, "language:en")["completions"]
    assert (english["value"], english["name"]) == ("en", "English")
    assert offered(asked(client, "kind:new")) == ["story"]
    assert asked(client, "site:zzz")["completions"] == []
    assert {*offered(asked(client, "kind:"))} == set(SEARCHED_KINDS)
    assert offered(asked(client, "kind:unr")) == []
    status = asked(client, "status:text")["completions"]
    assert [one["name"] for one in status] == [PdfStatus.TEXT_TRUNCATED.explanation]


def test_a_host_documents_lie_under_is_known_though_it_is_no_domain(client: TestClient) -> None:
    (under, *_) = [
        one for one in asked(client, "site:example")["completions"] if one["value"] == "example"
    ]
    assert under["count"] == total(client, "site:example") > 0


def test_the_cursor_says_what_is_completed(client: TestClient) -> None:
    q = "flood site:dai -kind:pdf"
    told = asked(client, q, q.index(" -kind"))
    (one,) = told["completions"]
    assert (told["start"], told["end"]) == (11, 14)
    assert one["text"] == "flood site:daily.example -kind:pdf"
    assert one["text"][: one["at"]] == "flood site:daily.example"
    assert asked(client, q, 5)["kind"] == "nothing"
    smiling = "\U0001f600 site:dai"
    assert asked(client, smiling, 10)["completions"][0]["text"] == "\U0001f600 site:daily.example"


def test_names_of_fields_are_completed_with_their_form(client: TestClient) -> None:
    told = asked(client, "flood la")
    (one,) = told["completions"]
    assert (told["kind"], told["field"], one["value"], one["text"]) == (
        "field", None, "language", "flood language:",
    )  # fmt: skip
    assert one["name"].startswith("a two-letter code")
    for name in LISTED_FIELDS:
        assert name in offered(asked(client, name[:2]))


def test_the_form_of_a_name_is_told_until_three_letters_of_it_are_typed(client: TestClient) -> None:
    told = asked(client, "author:A")
    assert (told["completions"], told["form"]) == ([], "an author's name, or part of it")


def test_every_theme_that_is_offered_can_be_searched(themed: TestClient) -> None:
    told = asked(themed, "theme:")
    assert len(told["completions"]) > 5
    for one in told["completions"]:
        assert themed.get("/api/search", params={"q": one["text"]}).status_code == 200, one
        begun = asked(themed, f'theme:"{one["value"]}')
        assert one["value"] in offered(begun)


def test_a_hostile_name_stays_text(themed: TestClient) -> None:
    told = asked(themed, 'theme:"od')
    assert [str(HOSTILE) in one["name"] for one in told["completions"]].count(True) > 0
    page = read(themed, "/search?q=theme:od", 400)
    assert str(HOSTILE) in page.words("//section[@aria-labelledby='offered-values']")
    assert not page.tree.xpath("//main//script")


@pytest.mark.parametrize(
    ("at", "meant"), [("99", "99 is beyond the end of the search"), ("-1", "0"), ("x", "int")]
)
def test_a_place_that_cannot_be_is_refused(client: TestClient, at: str, meant: str) -> None:
    answer = client.get("/api/complete", params={"q": "site:", "at": at})
    assert answer.status_code == 400
    assert answer.json()["parameter"] == "at"
    assert meant in answer.json()["error"]
    assert client.get("/api/complete", params={"q": "a" * 4_001}).status_code == 400


def test_a_completion_is_never_longer_than_a_search_may_be(client: TestClient) -> None:
    q = "x" * 3_990 + " site:d"
    assert asked(client, q)["completions"] == []


def test_an_empty_library_has_no_values_to_tell(empty: TestClient) -> None:
    for q in (*COUNTED, "theme:", "author:abc"):
        assert {one["count"] for one in asked(empty, q)["completions"]} <= {0}
    page = read(empty, "/search?q=site:", 400)
    assert not page.tree.xpath("//section[@aria-labelledby='offered-values']")


@settings(
    suppress_health_check=[HealthCheck.function_scoped_fixture],
    max_examples=examples(20),
    deadline=None,
)
@given(st.text(max_size=40), st.integers(0, 40))
def test_anything_can_be_typed(client: TestClient, text: str, at: int) -> None:
    q = text.encode("utf-8", "ignore").decode()
    told = asked(client, q, min(at, len(q)))
    for one in told["completions"]:
        assert one["text"].startswith(q[: told["start"]])
        assert one["text"].endswith(q[told["end"] :])


@pytest.mark.parametrize(
    "q", ["flood site:", "site:nowhere.example", "kind:sculpture flood", 'site:"dai']
)
def test_a_field_without_a_value_or_with_one_there_is_not_has_links(
    client: TestClient, q: str
) -> None:
    answer = client.get("/search", params={"q": q})
    assert answer.status_code in (200, 400)
    page = read(client, f"/search?{answer.request.url.query.decode()}", answer.status_code)
    path = "//section[@aria-labelledby='offered-values']"
    links = page.links(path)
    assert links
    counts = [
        int(one.text_content()) for one in page.tree.xpath(f"{path}//span[@class='row-number']")
    ]
    fields = q.split(":")[0].split()[-1]
    for (href, value), count in zip(links.items(), counts, strict=True):
        (said,) = parse_qs(urlsplit(href).query)["q"]
        assert f"{fields}:{value}" in said
        assert total(client, f"{fields}:{value}") == count > 0


@pytest.mark.parametrize(
    "q", ["flood", "kind:pdf bibliothèque", "words:>900000", "flood (", "autor:x"]
)
def test_any_other_search_has_none(client: TestClient, q: str) -> None:
    answer = client.get("/search", params={"q": q})
    assert "offered-values" not in answer.text


def test_filters_stay_with_the_links(client: TestClient) -> None:
    links = read(client, "/search?q=site:&kind=pdf&sort=newest", 400).links(
        "//section[@aria-labelledby='offered-values']"
    )
    assert links
    assert all("kind=pdf&sort=newest" in href for href in links)


def test_scripts_are_ours_and_stand_in_files_of_their_own(client: TestClient) -> None:
    ours = ["/static/keys.js", "/static/complete.js"]
    for path in ("/", "/search", "/search?q=flood"):
        assert read(client, path).tree.xpath("//script/@src") == ours
    for path in ours:
        answer = client.get(path)
        assert answer.headers["content-type"].startswith("text/javascript")
        assert "innerHTML" not in answer.text
