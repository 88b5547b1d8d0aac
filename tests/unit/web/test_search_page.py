"""Search: results, facets, dates and filters, each a link that keeps its word."""

from __future__ import annotations

from urllib.parse import parse_qs, urlsplit

import pytest
from starlette.testclient import TestClient

from filled_crawl import HOSTILE_TITLE
from filled_home import FilledHome
from page_reading import PageRead, read


def total(client: TestClient, href: str) -> int:
    found: int = client.get(href.replace("/search", "/search.json", 1)).json()["total"]
    return found


def test_the_heading_counts_and_the_twin_counts_the_same(client: TestClient) -> None:
    told = client.get("/search.json?q=flood").json()
    page = read(client, "/search?q=flood")
    assert page.heading == f"{told['total']} documents found for “flood”"
    assert len(page.tree.xpath("//li[starts-with(@class, 'hit')]")) == len(told["results"]) == 10
    assert told["pages"] == -(-told["total"] // 10)
    titles = [one.text_content() for one in page.tree.xpath("//li[starts-with(@class, 'hit')]//h3")]
    assert titles == [one["title"] or one["url"] for one in told["results"]]


def test_every_facet_finds_as_many_as_it_says(client: TestClient) -> None:
    links = read(client, "/search?q=flood").links("//aside//a[contains(@class, 'facet')]/..")
    links = {href: words for href, words in links.items() if words != "−"}
    assert len(links) > 6
    for href, words in links.items():
        assert total(client, href) == int(words.rsplit(" ", 1)[1].replace(",", "")), href


def test_files_without_a_domain_can_be_found_by_that(client: TestClient) -> None:
    links = read(client, "/search?q=flood").links("//aside")
    assert links["/search?q=flood&domain="] == "none 1"
    found = read(client, "/search?q=flood&domain=")
    assert found.heading == "1 document found for “flood” with these filters"
    assert found.words("//ul[@class='chips']").startswith("domain none")
    assert " 0.pdf · " in found.words("//li[starts-with(@class, 'hit')]")


def test_a_result_without_a_picture_leaves_no_room_for_one(client: TestClient) -> None:
    page = read(client, "/search?q=flood")
    pictured = page.tree.xpath("//li[@class='hit']")
    plain = page.tree.xpath("//li[@class='hit unpictured']")
    assert len(pictured) == len(page.tree.xpath("//li[@class='hit']//img")) > 0
    assert plain
    assert not page.tree.xpath("//li[@class='hit unpictured']//*[@class='thumb']")


@pytest.mark.parametrize("query", ["", "?q=flood", "?q=flood&language=en"])
def test_an_empty_library_says_that_nothing_is_here_yet(empty: TestClient, query: str) -> None:
    page = read(empty, f"/search{query}")
    assert page.heading == "No searchable documents yet"
    assert "Add files" in page.words()
    assert "fewer words" not in page.words()


def test_every_bar_finds_as_many_as_it_says(client: TestClient) -> None:
    page = read(client, "/search?q=flood&from=2018-03-05")
    assert not page.tree.xpath("//section[@class='when']//table")
    bars = page.links("//*[local-name()='svg'][@class='histogram']")
    assert len(bars) > 4
    for href, words in bars.items():
        assert total(client, href) == int(words.rpartition(": ")[2]), href


def test_the_undated_are_counted_and_can_be_opened(client: TestClient) -> None:
    page = read(client, "/search?q=flood")
    (href, words), *_ = [
        (href, words)
        for href, words in page.links("//form").items()
        if words.startswith("No date (")
    ]
    assert total(client, href) == int(words.removeprefix("No date (").rstrip(")")) > 0
    undated = read(client, href)
    assert undated.words("//ul[@class='chips']").startswith("undated undated")
    assert "No dates" in undated.words()


def test_found_words_are_marked_and_hostile_text_stays_text(
    client: TestClient, filled: FilledHome
) -> None:
    page = read(client, "/search?q==waters")
    hit = page.tree.xpath("//li[starts-with(@class, 'hit')]")[0]
    assert hit.xpath(".//h3/a")[0].text == HOSTILE_TITLE
    assert hit.xpath(".//h3/a")[0].get("href") == f"/file/{filled.hostile}?find=%3Dwaters"
    assert "waters" in {one.text for one in hit.xpath(".//mark")}
    assert not hit.xpath(".//script | .//b")
    assert "<script>alert('text')</script>" in hit.xpath(".//p[@class='snippet']")[0].text_content()


@pytest.mark.parametrize("parameter", ["q", "language", "domain", "collection"])
def test_what_is_asked_is_repeated_as_text_only(client: TestClient, parameter: str) -> None:
    hostile = '"><img src=x onerror=alert(1)>'
    page = PageRead(client.get("/search", params={parameter: hostile}).text)
    assert not page.tree.xpath("//img | //*[@onerror]")


def test_filters_are_chips_and_each_can_be_removed(client: TestClient) -> None:
    chips = read(client, "/search?q=flood&kind=pdf&kind=story&from=2019-01-01&sort=newest").links(
        "//ul[@class='chips']"
    )
    asked = {href: parse_qs(urlsplit(href).query) for href in chips}
    without_pdf = next(query for query in asked.values() if query.get("kind") == ["story"])
    assert without_pdf == {
        "q": ["flood"],
        "kind": ["story"],
        "from": ["2019-01-01"],
        "sort": ["newest"],
    }
    assert {"q": ["flood"]} in asked.values()


def test_a_new_search_keeps_the_filters(client: TestClient) -> None:
    form = read(client, "/search?q=flood&kind=pdf&undated=1").tree.xpath("//form[@role='search']")[
        0
    ]
    assert dict(form.form_values()) == {"q": "flood", "kind": "pdf", "undated": "1"}


def test_finding_nothing_says_what_each_filter_costs(client: TestClient) -> None:
    page = read(client, "/search?q=flood&kind=pdf&language=de")
    assert page.heading == "Nothing found for “flood” with these filters"
    ways = page.tree.xpath("//section[@class='empty']//li")
    assert len(ways) == 2
    for way in ways:
        count = int(way.xpath("./span")[0].text)
        assert total(client, way.xpath(".//a")[0].get("href")) == count


def test_finding_nothing_without_filters_says_what_may_help(client: TestClient) -> None:
    page = read(client, "/search?q=xyzzyplugh")
    assert page.heading == "Nothing found for “xyzzyplugh”"
    assert "fewer words" in page.words("//section[@class='empty']")


def test_an_empty_index_says_that_nothing_can_be_searched_yet(empty: TestClient) -> None:
    assert "No searchable documents yet" in read(empty, "/search").words()


def test_a_query_that_cannot_be_understood_is_told_and_kept_in_the_box(client: TestClient) -> None:
    page = read(client, "/search?q=kind:sculpture", 400)
    assert page.words("//*[@role='alert']")
    assert page.tree.xpath("//input[@id='q']")[0].get("value") == "kind:sculpture"
    told = client.get("/search.json?q=kind:sculpture")
    assert told.status_code == 400
    assert told.json()["error"] == page.words("//*[@role='alert']")
    assert (told.json()["start"], told.json()["end"]) == (0, len("kind:sculpture"))


@pytest.mark.parametrize(
    ("query", "name"),
    [
        ("from=2020-13-01", "from"), ("to=yesterday", "to"), ("kind=sculpture", "kind"),
        ("sort=random", "sort"),
        ("page=0", "page"), ("page=1001", "page"), ("q=" + "x" * 4001, "q"), ("undated=perhaps", "undated"),
        ("&".join(f"domain=d{n}" for n in range(21)), "domain"), ("language=" + "x" * 256, "language"),
    ],
)  # fmt: skip
def test_limits_are_told_by_name(client: TestClient, query: str, name: str) -> None:
    assert f"The parameter “{name}”" in read(client, f"/search?{query}", 400).words()


def test_empty_fields_of_the_form_do_not_narrow(client: TestClient) -> None:
    assert total(client, "/search?q=flood&from=&to=") == total(client, "/search?q=flood")


def test_pages_follow_each_other_without_repeating(client: TestClient) -> None:
    first = client.get("/search.json?q=flood&sort=newest").json()["results"]
    second = client.get("/search.json?q=flood&sort=newest&page=2").json()["results"]
    assert not {one["sha1hex"] for one in first} & {one["sha1hex"] for one in second}
    assert (
        "/search?q=flood&sort=newest&page=3"
        in read(client, "/search?q=flood&sort=newest&page=2").links()
    )


def test_only_what_has_a_thumbnail_asks_for_one(client: TestClient, filled: FilledHome) -> None:
    images = read(client, "/search?q=flood").tree.xpath("//li[starts-with(@class, 'hit')]//img")
    assert {image.get("src") for image in images} == {
        f"/file/{sha1hex}/thumbnail" for sha1hex in filled.pdfs
    }
    assert {(image.get("alt"), image.get("loading"), image.get("width")) for image in images} == {
        ("", "lazy", "90")
    }


def test_the_bad_token_of_a_query_is_marked(client: TestClient) -> None:
    page = read(client, "/search?q=river+autor:%3Cb%3E+sea", 400)
    assert page.words("//p[@class='bad-query']") == "river autor:<b> sea"
    assert page.words("//p[@class='bad-query']//mark") == "autor:<b>"
    told = client.get("/api/search?q=river+autor:%3Cb%3E+sea").json()
    assert (told["parameter"], told["start"], told["end"]) == ("q", 6, 15)


def test_what_the_words_name_is_shown_first(client: TestClient, filled: FilledHome) -> None:
    page = read(client, f"/search?q={filled.pdfs[0][:8]}")
    assert list(page.links("//section[@class='direct']")) == [f"/file/{filled.pdfs[0]}"]
    assert page.words("//h1") == "1 file matches this name; no other results"
    assert not page.tree.xpath("//section[@class='empty']"), "nothing is amiss"
    told = client.get(f"/api/search?q={filled.pdfs[0][:8]}").json()
    assert [one["sha1hex"] for one in told["direct"]] == [filled.pdfs[0]]
    assert client.get("/api/search?q=flood").json()["direct"] == []


def test_the_query_that_was_meant_is_a_link(client: TestClient) -> None:
    page = read(client, "/search?q=floood&sort=newest")
    (href,) = page.links("//p[@class='lead']")
    assert href == "/search?q=flood&sort=newest"
    assert total(client, href) > 0


def facet(client: TestClient, query: str, field: str) -> dict[str, int]:
    return dict(client.get(f"/api/search?{query}").json()["facets"][field])


def test_a_value_that_is_chosen_leaves_its_siblings_to_be_chosen_as_well(
    client: TestClient,
) -> None:
    every = facet(client, "q=*", "language")
    assert len(every) > 2
    one, other = [code for code in every if code][:2]
    assert facet(client, f"q=*&language={one}", "language") == every
    page = read(client, f"/search?q=*&language={one}")
    choices = page.links("//section[@aria-labelledby='facet-language']")
    assert f"/search?q=%2A&language={one}&language={other}" in choices
    assert "/search?q=%2A" in choices
    both = client.get(f"/api/search?q=*&language={one}&language={other}").json()["total"]
    assert both == every[one] + every[other]


def test_what_others_are_chosen_narrows_a_facet(client: TestClient) -> None:
    kinds = facet(client, "q=*&language=de", "kind")
    assert sum(kinds.values()) == client.get("/api/search?q=*&language=de").json()["total"]
    assert kinds != facet(client, "q=*", "kind")


def test_a_value_can_be_left_out(client: TestClient) -> None:
    page = read(client, "/search?q=flood+OR+harvest")
    every = facet(client, "q=flood+OR+harvest", "language")
    left = [
        href
        for href in page.links("//section[@aria-labelledby='facet-language']")
        if "-language" in href
    ]
    assert len(left) == len(every)
    whole = client.get("/api/search?q=flood+OR+harvest").json()["total"]
    assert sorted(whole - total(client, href) for href in left) == sorted(every.values())


def test_values_have_names_for_people_and_can_be_found_by_them(client: TestClient) -> None:
    assert "German" in read(client, "/search?q=*").words("//aside")
    assert "News page" in read(client, "/search?q=*&kind=story").words("//ul[@class='chips']")
    found = facet(client, "q=*&find=germ", "language")
    assert list(found) == ["de"]
    page = read(client, "/search?q=*&find=germ")
    assert "No values contain “germ”." in page.words("//aside")


def test_a_match_in_the_title_is_marked_and_passages_are_told(client: TestClient) -> None:
    page = read(client, "/search?q=title:floods")
    assert page.tree.xpath("//h3//mark")
    told = client.get("/api/search?q=title:floods").json()["results"][0]
    (start, end), *_ = told["title_marks"]
    assert told["title"][start:end].lower().startswith("flood")
    assert told["snippets"][0]["text"] == told["snippet"]


def test_a_bad_date_keeps_words_filters_and_what_was_written(client: TestClient) -> None:
    page = read(client, "/search?q=flood&kind=pdf&from=2024-13-45&to=2024-02-01", 400)
    assert page.heading == "Invalid search"
    assert "“2024-13-45”" in page.words("//p[@role='alert']")
    assert page.tree.xpath("//input[@id='q']/@value") == ["flood"]
    dates = "//form[@class='dates']//input[@name='{}']/@value"
    assert page.tree.xpath(dates.format("from")) == ["2024-13-45"]
    assert page.tree.xpath(dates.format("to")) == ["2024-02-01"]
    assert page.tree.xpath("//form[@class='dates']//input[@name='q']/@value") == ["flood"]


def test_one_bad_filter_leaves_the_others(client: TestClient) -> None:
    page = read(client, "/search?q=flood&kind=pdf&sort=newst", 400)
    assert page.tree.xpath("//form[@role='search']//input[@name='kind']/@value") == ["pdf"]
    assert page.tree.xpath("//form[@role='search']//input[@name='sort']") == []


def test_without_words_the_newest_stand_first_and_none_is_best(client: TestClient) -> None:
    page = read(client, "/search")
    (now,) = page.tree.xpath("//div[@class='results-head']//a[@aria-current='true']")
    assert now.text == "Newest"
    assert "best first" not in page.words("//div[@class='results-head']")
    first, newest = (
        client.get(f"/api/search{rest}").json()["results"] for rest in ("", "?sort=newest")
    )
    assert [one["id"] for one in first] == [one["id"] for one in newest]
    assert "Relevance" in read(client, "/search?q=flood").words("//div[@class='results-head']")
