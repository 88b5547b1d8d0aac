"""Theme pages in every state: their texts and links, and that names are escaped."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from starlette.testclient import TestClient

from filled_home import open_home
from fonds.web.app import create_app
from page_reading import PageRead, read
from themed_home import EMPTY, FIVE, HOSTILE, HOSTILE_ID, LIBRARY, STRAY, WAITING, fill_changed

COLLECTION = "/themes/made/five"


@pytest.fixture(scope="module")
def changed_client(tmp_path_factory: pytest.TempPathFactory) -> Iterator[TestClient]:
    """Client of a home with one collection whose theme was split, and one with many unclustered documents."""
    with (
        open_home(tmp_path_factory.mktemp("changed")) as stores,
        TestClient(create_app(stores), base_url="http://localhost:8765") as client,
    ):
        fill_changed(stores)
        yield client


def _get_themes(client: TestClient, path: str = COLLECTION) -> list[dict[str, object]]:
    themes: list[dict[str, object]] = client.get(f"/api{path}").json()["themes"]
    return themes


def _get_new_theme(client: TestClient) -> dict[str, object]:
    (theme,) = [theme for theme in _get_themes(client) if theme["mark"] == "new"]
    return theme


def test_without_collections_the_page_says_how_to_begin(empty_client: TestClient) -> None:
    page = read(empty_client, "/themes")
    assert page.heading == "No collections yet"
    assert "fonds collection create" in page.words()
    assert "fonds group" in page.words()
    assert read(empty_client, "/themes/made/five", 404)
    assert read(empty_client, "/search").heading == "No searchable documents yet"


def test_the_page_lists_every_collection_with_its_state_and_rule(themed_client: TestClient) -> None:
    page = read(themed_client, "/themes")
    assert page.heading == "5 collections"
    links = page.links("//ol[@class='collections']//h2")
    assert set(links.values()) == {
        str(collection) for collection in (FIVE, WAITING, EMPTY, LIBRARY, HOSTILE)
    }
    assert "Not grouped yet: fonds group made/waiting" in page.words()
    assert "rule kind:story" in page.words()
    for href, name in links.items():
        assert name in read(themed_client, href).words()
    assert "There is no page 9" in read(themed_client, "/themes?page=9").words()


def test_the_page_shows_the_same_themes_as_a_list_and_a_map(themed_client: TestClient) -> None:
    page = read(themed_client, COLLECTION)
    assert page.heading.startswith("made/five: 5 themes, 99.")
    assert " documents, 0." in page.heading
    listed_links = page.links("//ol[@class='themes']//h3")
    sizes = [theme["size"] for theme in _get_themes(themed_client)]
    assert sizes == sorted(sizes, reverse=True)  # type: ignore[type-var]
    assert set(page.links("//*[local-name()='svg'][@class='map']")) == set(listed_links)
    positions = page.text.index('class="themes"'), page.text.index('id="map"')
    assert positions[0] < positions[1]
    assert "parliament" not in page.heading
    assert len(page.links("//ul[@class='titles']")) > 5


def test_the_listed_trend_of_a_theme_matches_its_page_over_time(themed_client: TestClient) -> None:
    collection, page = (
        themed_client.get(f"/api{COLLECTION}").json(),
        read(themed_client, COLLECTION),
    )
    assert len(page.tree.xpath("//svg[contains(@class, 'sparks')]")) == len(collection["themes"])
    assert collection["complete"]
    for theme in collection["themes"]:
        assert len(theme["trend"]) == len(collection["periods"])
        assert sum(theme["trend"]) + theme["undated"] == theme["size"]
        assert 0.1 < theme["cohesion"] < 1
    over_time = themed_client.get(f"/api{COLLECTION}/over-time").json()["themes"]
    assert {
        theme["id"]: [point["documents"] for point in theme["points"]] for theme in over_time
    } == {theme["id"]: theme["trend"] for theme in collection["themes"]}
    undated_counts = {
        theme["undated_href"]: theme["undated"]
        for theme in collection["themes"]
        if theme["undated"]
    }
    links = page.links("//div[@class='theme-trend']")
    assert links == {href: f"No date ({count})" for href, count in undated_counts.items()}
    for href, count in undated_counts.items():
        assert themed_client.get(f"/api{href}").json()["total"] == count
    assert "No dates" in read(themed_client, "/themes/library/all").words()


def test_cohesion_is_the_mean_score_of_the_documents(themed_client: TestClient) -> None:
    theme, scores, after = _get_themes(themed_client)[0], [], ""
    while after is not None:
        page = themed_client.get(f"/api{theme['href']}", params={"after": after}).json()
        scores += [document["score"] for document in page["documents"]]
        after = page["next"]
    assert len(scores) == theme["size"]
    assert theme["cohesion"] == pytest.approx(sum(scores) / len(scores), abs=0.001)


def test_new_themes_are_marked_and_listed_as_changes(themed_client: TestClient) -> None:
    new = _get_new_theme(themed_client)
    page = read(themed_client, COLLECTION)
    assert [
        badge.text_content() for badge in page.tree.xpath("//h3/span[@class='badge kept']")
    ] == ["new"]
    assert str(new["label"]) in page.words("//div[@class='changes']")
    (kind,) = [
        c for c in themed_client.get(f"/api{COLLECTION}").json()["changes"] if c["change"] == "new"
    ]
    assert [side["label"] for side in kind["listed"][0]["after"]] == [new["label"]]


def test_the_page_of_an_older_clustering_says_so(themed_client: TestClient) -> None:
    (older_href,) = [
        clustering["href"]
        for clustering in themed_client.get(f"/api{COLLECTION}").json()["clusterings"]
        if not clustering["is_served"]
    ]
    page = read(themed_client, older_href)
    assert "4 themes" in page.heading
    assert "This is an older clustering" in page.words()
    assert "No earlier clustering is stored." in page.words()
    theme_href = next(iter(page.links("//ol[@class='themes']//h3")))
    assert "at=" in theme_href
    assert "This is an older clustering" in read(themed_client, theme_href).words()


def test_a_theme_page_shows_terms_months_lineage_and_similar_themes(
    themed_client: TestClient,
) -> None:
    listed_theme = next(theme for theme in _get_themes(themed_client) if theme["size_before"])
    page = read(themed_client, str(listed_theme["href"]))
    assert page.heading == listed_theme["label"]
    theme = themed_client.get(f"/api{listed_theme['href']}").json()
    assert [size["size"] for size in theme["stages"]] == [
        listed_theme["size_before"],
        listed_theme["size"],
    ]
    month_count = sum(count for _, count in theme["months"]["months"]) + theme["months"]["undated"]
    assert month_count == theme["months"]["looked_at"] == theme["size"] == listed_theme["size"]
    assert theme["months"]["undated"] > 0
    assert len(theme["nearest"]) == 4
    assert all(-1.001 <= similar["cosine"] <= 1.001 for similar in theme["nearest"])
    weights = [weight for _, weight in theme["terms"]]
    assert weights == sorted(weights, reverse=True)
    assert "Similar themes" in page.words()
    assert "without a date" in page.words()
    (form,) = page.tree.xpath("//section[@class='when']//form")
    response = themed_client.get(str(form.get("action")), params={"from": "1990-01-01", "to": ""})
    dated_count = theme["size"] - theme["months"]["undated"]
    assert f"{dated_count} documents in “{listed_theme['label']}” since 1990-01-01" in response.text


def test_paging_reaches_all_documents_of_a_theme(themed_client: TestClient) -> None:
    largest = _get_themes(themed_client)[0]
    href, links = str(largest["href"]), []
    for _ in range(50):
        page = read(themed_client, href)
        links += [*page.links("//ol[contains(@class, 'hits')]//h3")]
        next_hrefs = page.tree.xpath("//a[@rel='next']/@href")
        if not next_hrefs:
            break
        href = next_hrefs[0]
    assert len(links) == len(set(links)) == largest["size"]


def test_theme_pages_and_file_pages_link_to_each_other(
    themed_client: TestClient,
) -> None:
    files: dict[str, str] = {}
    for listed_theme in _get_themes(themed_client, "/themes/library/all"):
        page = read(themed_client, str(listed_theme["href"]))
        files |= {
            href: str(listed_theme["label"])
            for href in page.links("//ol[contains(@class, 'hits')]//h3")
            if href.startswith("/file/")
        }
        for picture in page.tree.xpath("//ol//img/@src"):
            assert themed_client.get(picture).headers["content-type"] == "image/jpeg"
    assert len(files) > 5
    for href, label in files.items():
        theme_links = read(themed_client, href).links("//ol[@class='provenance']")
        (theme,) = [link for link, link_label in theme_links.items() if link_label == label]
        assert read(themed_client, theme).heading == label
    assert set(
        read(themed_client, "/search?q=flood").links("//p[@class='themes-of']").values()
    ) <= set(files.values())
    assert read(themed_client, "/search?q=flood").links("//p[@class='themes-of']")


def test_a_document_page_shows_the_terms_that_explain_its_theme(themed_client: TestClient) -> None:
    theme = _get_themes(themed_client)[0]
    titles = theme["titles"]
    page = read(themed_client, titles[0]["href"])  # type: ignore[index]
    assert page.heading == f"Why this document is in “{theme['label']}”"
    document = themed_client.get(f"/api{titles[0]['href']}").json()  # type: ignore[index]
    assert document["terms"][0]["term"] in document["beginning"].lower()
    assert sum(term["share"] for term in document["terms"] if term["share"] > 0) == pytest.approx(
        100, 1
    )
    assert document["next_label"] not in (None, theme["label"])
    response = themed_client.get(f"{COLLECTION}/document", params={"id": "nobody"})
    assert response.status_code == 404
    assert "no document with the id “nobody”" in response.text


def test_unclustered_documents_are_counted_with_the_reason(themed_client: TestClient) -> None:
    page = read(themed_client, COLLECTION)
    assert "1 document not similar enough to any theme" in page.words()
    outliers = read(themed_client, f"{COLLECTION}/unclustered/outlier")
    assert outliers.heading == "1 document not similar enough to any theme"
    assert "The next rebuild compares these documents again" in outliers.words()
    (reason_href,) = [href for href in outliers.links("//ol") if f"id={STRAY}" in href]
    reason_page = read(themed_client, reason_href)
    assert reason_page.heading == "Why this document has no theme"
    assert "No theme: not similar enough to any theme." in reason_page.words()


def test_the_share_without_a_theme_links_to_exactly_those_documents(
    themed_client: TestClient,
) -> None:
    page = read(themed_client, COLLECTION)
    ((href, words),) = page.links("//h1").items()
    assert words.endswith("without a theme")
    assert read(themed_client, href).heading == "1 document without a theme"
    unclustered = themed_client.get(f"/api{href}").json()
    assert [document["id"] for document in unclustered["documents"]] == [STRAY]
    assert [(reason["reason"], reason["count"]) for reason in unclustered["reasons"]] == [
        ("outlier", 1)
    ]
    assert (
        "not similar enough to any theme"
        in read(themed_client, unclustered["reasons"][0]["href"]).heading
    )
    assert read(themed_client, "/themes/library/all").links("//h1") == {}
    assert read(themed_client, f"{COLLECTION}/unclustered?after=x", 400)


def test_unclustered_documents_of_several_reasons_are_paged_together(
    changed_client: TestClient,
) -> None:
    first = changed_client.get("/api/themes/made/short/unclustered").json()
    assert first["size"] == 32
    assert {reason["reason"]: reason["count"] for reason in first["reasons"]} == {
        "short": 25,
        "empty": 7,
    }
    ids = [document["id"] for document in first["documents"]]
    assert len(ids) == 20
    second = changed_client.get(
        "/api/themes/made/short/unclustered", params={"after": first["next"]}
    ).json()
    assert second["next"] is None
    ids += [document["id"] for document in second["documents"]]
    assert set(ids) == {f"s{at}" for at in range(25)} | {f"e{at}" for at in range(7)}
    assert (
        "32 documents without a theme"
        in read(changed_client, "/themes/made/short/unclustered").heading
    )


def test_a_theme_from_a_split_links_to_its_origin(
    changed_client: TestClient,
) -> None:
    theme = next(
        theme for theme in _get_themes(changed_client, "/themes/made/split") if theme["turn"]
    )
    assert theme["turn"] == "split"
    ((origin,),) = [theme["came_of"]]  # type: ignore[misc]
    assert origin["size"] == 60
    page = read(changed_client, "/themes/made/split")
    assert f"Split from {origin['label']}" in page.words("//p[contains(@class, 'came-of')]")
    assert "This is an older clustering" in read(changed_client, origin["href"]).words()


def test_unknown_names_are_refused_with_the_nearest_name(themed_client: TestClient) -> None:
    response = themed_client.get("/themes/made/fife")
    assert response.status_code == 404
    assert "Did you mean &#39;made/five&#39;" in response.text
    label = str(_get_themes(themed_client)[0]["label"])
    response = themed_client.get(f"/api{COLLECTION}/{label[:-1]}")
    assert response.status_code == 404
    assert f"Did you mean {label!r}" in response.json()["error"]
    assert (
        "not been grouped by tight yet"
        in read(themed_client, f"{COLLECTION}/x?conf=tight", 404).words()
    )
    assert "--conf tight" in read(themed_client, f"{COLLECTION}?conf=tight").words()
    assert read(themed_client, f"{COLLECTION}?level=1", 400)


def test_empty_and_ungrouped_collections_show_the_command(themed_client: TestClient) -> None:
    assert "fonds group made/waiting" in read(themed_client, "/themes/made/waiting").words()
    assert read(themed_client, "/themes/made/empty").heading == "made/empty: empty"
    assert read(themed_client, "/themes/made/empty/unclustered/outlier", 404)


def test_hostile_names_ids_and_words_are_escaped(themed_client: TestClient) -> None:
    links = read(themed_client, "/themes").links("//ol[@class='collections']//h2")
    (href,) = [link for link, name in links.items() if name == str(HOSTILE)]
    pages = [read(themed_client, href)]
    for theme in _get_themes(themed_client, href):
        pages.append(read(themed_client, str(theme["href"])))
    assert sum(len(page.tree.xpath("//ol//h3")) for page in pages) > 20
    pages.append(_read_document(themed_client, href))
    for page in pages:
        assert page.tree.xpath("//body//script") == []
        assert [link for link in page.links("//*") if link.startswith("javascript")] == []
    assert HOSTILE_ID[:20] in pages[-1].words()


def _read_document(client: TestClient, href: str) -> PageRead:
    response = client.get(f"{href}/document", params={"id": HOSTILE_ID})
    assert response.status_code == 200
    return PageRead(response.text)
