"""The search page: results, facets, dates and filters, whose counts match their links."""

from __future__ import annotations

from urllib.parse import parse_qs, urlsplit

import pytest
from starlette.testclient import TestClient

from filled_crawl import HOSTILE_TITLE
from filled_home import FilledHome
from page_reading import PageRead, read


def count_results(client: TestClient, href: str) -> int:
    total: int = client.get(href.replace("/search", "/search.json", 1)).json()["total"]
    return total


def test_the_heading_and_the_json_have_the_same_count(client: TestClient) -> None:
    data = client.get("/search.json?q=flood").json()
    page = read(client, "/search?q=flood")
    assert page.heading == f"{data['total']} documents found for “flood”"
    assert len(page.tree.xpath("//li[starts-with(@class, 'hit')]")) == len(data["results"]) == 10
    assert data["pages"] == -(-data["total"] // 10)
    headings = page.tree.xpath("//li[starts-with(@class, 'hit')]//h3")
    titles = [heading.text_content() for heading in headings]
    assert titles == [hit["title"] or hit["url"] for hit in data["results"]]


def test_every_facet_finds_its_count(client: TestClient) -> None:
    links = read(client, "/search?q=flood").links("//aside//a[contains(@class, 'facet')]/..")
    links = {href: label for href, label in links.items() if label != "−"}
    assert len(links) > 6
    for href, label in links.items():
        assert count_results(client, href) == int(label.rsplit(" ", 1)[1].replace(",", "")), href


def test_files_without_a_domain_can_be_filtered(client: TestClient) -> None:
    links = read(client, "/search?q=flood").links("//aside")
    assert links["/search?q=flood&domain="] == "none 1"
    page = read(client, "/search?q=flood&domain=")
    assert page.heading == "1 document found for “flood” with these filters"
    assert page.words("//ul[@class='chips']").startswith("domain none")
    assert " 0.pdf · " in page.words("//li[starts-with(@class, 'hit')]")


def test_a_result_without_a_thumbnail_has_no_placeholder(client: TestClient) -> None:
    page = read(client, "/search?q=flood")
    with_thumbnail = page.tree.xpath("//li[@class='hit']")
    without_thumbnail = page.tree.xpath("//li[@class='hit unpictured']")
    assert len(with_thumbnail) == len(page.tree.xpath("//li[@class='hit']//img")) > 0
    assert without_thumbnail
    assert not page.tree.xpath("//li[@class='hit unpictured']//*[@class='thumb']")


@pytest.mark.parametrize("query", ["", "?q=flood", "?q=flood&language=en"])
def test_an_empty_library_offers_to_add_files(empty_client: TestClient, query: str) -> None:
    page = read(empty_client, f"/search{query}")
    assert page.heading == "No searchable documents yet"
    assert "Add files" in page.words()
    assert "fewer words" not in page.words()


def test_every_bar_finds_its_count(client: TestClient) -> None:
    page = read(client, "/search?q=flood&from=2018-03-05")
    assert not page.tree.xpath("//section[@class='when']//table")
    bars = page.links("//*[local-name()='svg'][@class='histogram']")
    assert len(bars) > 4
    for href, label in bars.items():
        assert count_results(client, href) == int(label.rpartition(": ")[2]), href


def test_undated_documents_are_counted_and_linked(client: TestClient) -> None:
    page = read(client, "/search?q=flood")
    (href, label), *_ = [
        (href, label)
        for href, label in page.links("//form").items()
        if label.startswith("No date (")
    ]
    assert count_results(client, href) == int(label.removeprefix("No date (").rstrip(")")) > 0
    undated_page = read(client, href)
    assert undated_page.words("//ul[@class='chips']").startswith("undated undated")
    assert "No dates" in undated_page.words()


def test_matches_are_marked_and_hostile_text_is_escaped(
    client: TestClient, filled_home: FilledHome
) -> None:
    page = read(client, "/search?q==waters")
    hit = page.tree.xpath("//li[starts-with(@class, 'hit')]")[0]
    assert hit.xpath(".//h3/a")[0].text == HOSTILE_TITLE
    assert hit.xpath(".//h3/a")[0].get("href") == f"/file/{filled_home.hostile}?find=%3Dwaters"
    assert "waters" in {mark.text for mark in hit.xpath(".//mark")}
    assert not hit.xpath(".//script | .//b")
    assert "<script>alert('text')</script>" in hit.xpath(".//p[@class='snippet']")[0].text_content()


@pytest.mark.parametrize("parameter", ["q", "language", "domain", "collection"])
def test_request_parameters_are_escaped(client: TestClient, parameter: str) -> None:
    hostile = '"><img src=x onerror=alert(1)>'
    page = PageRead(client.get("/search", params={parameter: hostile}).text)
    assert not page.tree.xpath("//img | //*[@onerror]")


def test_each_filter_is_a_chip_that_removes_it(client: TestClient) -> None:
    chips = read(client, "/search?q=flood&kind=pdf&kind=story&from=2019-01-01&sort=newest").links(
        "//ul[@class='chips']"
    )
    queries = {href: parse_qs(urlsplit(href).query) for href in chips}
    without_pdf = next(query for query in queries.values() if query.get("kind") == ["story"])
    assert without_pdf == {
        "q": ["flood"],
        "kind": ["story"],
        "from": ["2019-01-01"],
        "sort": ["newest"],
    }
    assert {"q": ["flood"]} in queries.values()


def test_a_new_search_keeps_the_filters(client: TestClient) -> None:
    form = read(client, "/search?q=flood&kind=pdf&undated=1").tree.xpath("//form[@role='search']")[
        0
    ]
    assert dict(form.form_values()) == {"q": "flood", "kind": "pdf", "undated": "1"}


def test_an_empty_result_counts_the_results_without_each_filter(client: TestClient) -> None:
    page = read(client, "/search?q=flood&kind=pdf&language=de")
    assert page.heading == "Nothing found for “flood” with these filters"
    suggestions = page.tree.xpath("//section[@class='empty']//li")
    assert len(suggestions) == 2
    for suggestion in suggestions:
        count = int(suggestion.xpath("./span")[0].text)
        assert count_results(client, suggestion.xpath(".//a")[0].get("href")) == count


def test_an_empty_result_without_filters_gives_advice(client: TestClient) -> None:
    page = read(client, "/search?q=xyzzyplugh")
    assert page.heading == "Nothing found for “xyzzyplugh”"
    assert "fewer words" in page.words("//section[@class='empty']")


def test_an_empty_index_says_so(empty_client: TestClient) -> None:
    assert "No searchable documents yet" in read(empty_client, "/search").words()


def test_an_invalid_query_is_refused_and_kept_in_the_box(client: TestClient) -> None:
    page = read(client, "/search?q=kind:sculpture", 400)
    assert page.words("//*[@role='alert']")
    assert page.tree.xpath("//input[@id='q']")[0].get("value") == "kind:sculpture"
    response = client.get("/search.json?q=kind:sculpture")
    assert response.status_code == 400
    assert response.json()["error"] == page.words("//*[@role='alert']")
    assert (response.json()["start"], response.json()["end"]) == (0, len("kind:sculpture"))


@pytest.mark.parametrize(
    ("query", "name"),
    [
        ("from=2020-13-01", "from"), ("to=yesterday", "to"), ("kind=sculpture", "kind"),
        ("sort=random", "sort"),
        ("page=0", "page"), ("page=1001", "page"), ("q=" + "x" * 4001, "q"), ("undated=perhaps", "undated"),
        ("&".join(f"domain=d{n}" for n in range(21)), "domain"), ("language=" + "x" * 256, "language"),
    ],
)  # fmt: skip
def test_invalid_parameters_are_refused_by_name(client: TestClient, query: str, name: str) -> None:
    assert f"The parameter “{name}”" in read(client, f"/search?{query}", 400).words()


def test_empty_form_fields_are_ignored(client: TestClient) -> None:
    assert count_results(client, "/search?q=flood&from=&to=") == count_results(
        client, "/search?q=flood"
    )


def test_pages_do_not_repeat_results(client: TestClient) -> None:
    first = client.get("/search.json?q=flood&sort=newest").json()["results"]
    second = client.get("/search.json?q=flood&sort=newest&page=2").json()["results"]
    assert not {hit["sha1hex"] for hit in first} & {hit["sha1hex"] for hit in second}
    assert (
        "/search?q=flood&sort=newest&page=3"
        in read(client, "/search?q=flood&sort=newest&page=2").links()
    )


def test_only_pdfs_have_thumbnails(client: TestClient, filled_home: FilledHome) -> None:
    images = read(client, "/search?q=flood").tree.xpath("//li[starts-with(@class, 'hit')]//img")
    assert {image.get("src") for image in images} == {
        f"/file/{sha1hex}/thumbnail" for sha1hex in filled_home.pdfs
    }
    assert {(image.get("alt"), image.get("loading"), image.get("width")) for image in images} == {
        ("", "lazy", "90")
    }


def test_the_invalid_token_of_a_query_is_marked(client: TestClient) -> None:
    page = read(client, "/search?q=river+autor:%3Cb%3E+sea", 400)
    assert page.words("//p[@class='bad-query']") == "river autor:<b> sea"
    assert page.words("//p[@class='bad-query']//mark") == "autor:<b>"
    error = client.get("/api/search?q=river+autor:%3Cb%3E+sea").json()
    assert (error["parameter"], error["start"], error["end"]) == ("q", 6, 15)


def test_a_file_named_by_the_query_is_shown_first(
    client: TestClient, filled_home: FilledHome
) -> None:
    page = read(client, f"/search?q={filled_home.pdfs[0][:8]}")
    assert list(page.links("//section[@class='direct']")) == [f"/file/{filled_home.pdfs[0]}"]
    assert page.words("//h1") == "1 file matches this name; no other results"
    assert not page.tree.xpath("//section[@class='empty']"), (
        "the page shows advice although it found a file"
    )
    data = client.get(f"/api/search?q={filled_home.pdfs[0][:8]}").json()
    assert [file["sha1hex"] for file in data["direct"]] == [filled_home.pdfs[0]]
    assert client.get("/api/search?q=flood").json()["direct"] == []


def test_a_corrected_query_is_a_link(client: TestClient) -> None:
    page = read(client, "/search?q=floood&sort=newest")
    (href,) = page.links("//p[@class='lead']")
    assert href == "/search?q=flood&sort=newest"
    assert count_results(client, href) > 0


def count_facet(client: TestClient, query: str, field: str) -> dict[str, int]:
    return dict(client.get(f"/api/search?{query}").json()["facets"][field])


def test_a_chosen_value_keeps_the_counts_of_its_facet(
    client: TestClient,
) -> None:
    counts = count_facet(client, "q=*", "language")
    assert len(counts) > 2
    first, second = [code for code in counts if code][:2]
    assert count_facet(client, f"q=*&language={first}", "language") == counts
    page = read(client, f"/search?q=*&language={first}")
    choices = page.links("//section[@aria-labelledby='facet-language']")
    assert f"/search?q=%2A&language={first}&language={second}" in choices
    assert "/search?q=%2A" in choices
    total = client.get(f"/api/search?q=*&language={first}&language={second}").json()["total"]
    assert total == counts[first] + counts[second]


def test_filters_of_other_facets_narrow_a_facet(client: TestClient) -> None:
    kinds = count_facet(client, "q=*&language=de", "kind")
    assert sum(kinds.values()) == client.get("/api/search?q=*&language=de").json()["total"]
    assert kinds != count_facet(client, "q=*", "kind")


def test_a_value_can_be_excluded(client: TestClient) -> None:
    page = read(client, "/search?q=flood+OR+harvest")
    counts = count_facet(client, "q=flood+OR+harvest", "language")
    links = [
        href
        for href in page.links("//section[@aria-labelledby='facet-language']")
        if "-language" in href
    ]
    assert len(links) == len(counts)
    total = client.get("/api/search?q=flood+OR+harvest").json()["total"]
    assert sorted(total - count_results(client, href) for href in links) == sorted(counts.values())


def test_facet_values_have_names_and_can_be_found_by_them(client: TestClient) -> None:
    assert "German" in read(client, "/search?q=*").words("//aside")
    assert "News page" in read(client, "/search?q=*&kind=story").words("//ul[@class='chips']")
    counts = count_facet(client, "q=*&find=germ", "language")
    assert list(counts) == ["de"]
    page = read(client, "/search?q=*&find=germ")
    assert "No values contain “germ”." in page.words("//aside")


def test_matches_in_titles_and_passages_are_marked(client: TestClient) -> None:
    page = read(client, "/search?q=title:floods")
    assert page.tree.xpath("//h3//mark")
    hit = client.get("/api/search?q=title:floods").json()["results"][0]
    (start, end), *_ = hit["title_marks"]
    assert hit["title"][start:end].lower().startswith("flood")
    assert hit["snippets"][0]["text"] == hit["snippet"]


def test_an_invalid_date_keeps_query_filters_and_dates(client: TestClient) -> None:
    page = read(client, "/search?q=flood&kind=pdf&from=2024-13-45&to=2024-02-01", 400)
    assert page.heading == "Invalid search"
    assert "“2024-13-45”" in page.words("//p[@role='alert']")
    assert page.tree.xpath("//input[@id='q']/@value") == ["flood"]
    dates = "//form[@class='dates']//input[@name='{}']/@value"
    assert page.tree.xpath(dates.format("from")) == ["2024-13-45"]
    assert page.tree.xpath(dates.format("to")) == ["2024-02-01"]
    assert page.tree.xpath("//form[@class='dates']//input[@name='q']/@value") == ["flood"]


def test_an_invalid_filter_keeps_the_others(client: TestClient) -> None:
    page = read(client, "/search?q=flood&kind=pdf&sort=newst", 400)
    assert page.tree.xpath("//form[@role='search']//input[@name='kind']/@value") == ["pdf"]
    assert page.tree.xpath("//form[@role='search']//input[@name='sort']") == []


def test_without_a_query_results_are_sorted_by_newest(client: TestClient) -> None:
    page = read(client, "/search")
    (current,) = page.tree.xpath("//div[@class='results-head']//a[@aria-current='true']")
    assert current.text == "Newest"
    assert "best first" not in page.words("//div[@class='results-head']")
    first, newest = (
        client.get(f"/api/search{query}").json()["results"] for query in ("", "?sort=newest")
    )
    assert [hit["id"] for hit in first] == [hit["id"] for hit in newest]
    assert "Relevance" in read(client, "/search?q=flood").words("//div[@class='results-head']")
