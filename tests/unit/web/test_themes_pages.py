"""Pages of themes in every state: what they say, where they lead, and that no name breaks out of them."""

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
def changed(tmp_path_factory: pytest.TempPathFactory) -> Iterator[TestClient]:
    """Pages of a home with a collection whose one theme was split, and one with many documents apart."""
    with (
        open_home(tmp_path_factory.mktemp("changed")) as found,
        TestClient(create_app(found), base_url="http://localhost:8765") as asked,
    ):
        fill_changed(found)
        yield asked


def _themes(client: TestClient, path: str = COLLECTION) -> list[dict[str, object]]:
    found: list[dict[str, object]] = client.get(f"/api{path}").json()["themes"]
    return found


def _new(client: TestClient) -> dict[str, object]:
    (found,) = [one for one in _themes(client) if one["mark"] == "new"]
    return found


def test_where_nothing_was_grouped_the_page_says_how_to_begin(empty: TestClient) -> None:
    page = read(empty, "/themes")
    assert page.heading == "No collections yet"
    assert "fonds collection create" in page.words()
    assert "fonds group" in page.words()
    assert read(empty, "/themes/made/five", 404)
    assert read(empty, "/search").heading == "No searchable documents yet"


def test_every_collection_is_listed_with_what_is_known_of_it(themed: TestClient) -> None:
    page = read(themed, "/themes")
    assert page.heading == "5 collections"
    links = page.links("//ol[@class='collections']//h2")
    assert set(links.values()) == {str(one) for one in (FIVE, WAITING, EMPTY, LIBRARY, HOSTILE)}
    assert "Not grouped yet: fonds group made/waiting" in page.words()
    assert "rule kind:story" in page.words()
    for href, name in links.items():
        assert name in read(themed, href).words()
    assert "There is no page 9" in read(themed, "/themes?page=9").words()


def test_themes_are_a_list_first_and_a_map_of_the_same(themed: TestClient) -> None:
    page = read(themed, COLLECTION)
    assert page.heading.startswith("made/five: 5 themes, 99.")
    assert " documents, 0." in page.heading
    listed = page.links("//ol[@class='themes']//h3")
    sizes = [one["size"] for one in _themes(themed)]
    assert sizes == sorted(sizes, reverse=True)  # type: ignore[type-var]
    assert set(page.links("//*[local-name()='svg'][@class='map']")) == set(listed)
    before = page.text.index('class="themes"'), page.text.index('id="map"')
    assert before[0] < before[1]
    assert "parliament" not in page.heading
    assert len(page.links("//ul[@class='titles']")) > 5


def test_a_theme_of_the_list_has_the_trend_of_its_page_over_time(themed: TestClient) -> None:
    told, page = themed.get(f"/api{COLLECTION}").json(), read(themed, COLLECTION)
    assert len(page.tree.xpath("//svg[contains(@class, 'sparks')]")) == len(told["themes"])
    assert told["complete"]
    for theme in told["themes"]:
        assert len(theme["trend"]) == len(told["periods"])
        assert sum(theme["trend"]) + theme["undated"] == theme["size"]
        assert 0.1 < theme["cohesion"] < 1
    over_time = themed.get(f"/api{COLLECTION}/over-time").json()["themes"]
    assert {one["id"]: [n["documents"] for n in one["points"]] for one in over_time} == {
        one["id"]: one["trend"] for one in told["themes"]
    }
    undated = {one["undated_href"]: one["undated"] for one in told["themes"] if one["undated"]}
    links = page.links("//div[@class='theme-trend']")
    assert links == {href: f"No date ({count})" for href, count in undated.items()}
    for href, count in undated.items():
        assert themed.get(f"/api{href}").json()["total"] == count
    assert "No dates" in read(themed, "/themes/library/all").words()


def test_cohesion_is_the_mean_score_of_all_documents_of_a_theme(themed: TestClient) -> None:
    theme, scores, after = _themes(themed)[0], [], ""
    while after is not None:
        told = themed.get(f"/api{theme['href']}", params={"after": after}).json()
        scores += [one["score"] for one in told["documents"]]
        after = told["next"]
    assert len(scores) == theme["size"]
    assert theme["cohesion"] == pytest.approx(sum(scores) / len(scores), abs=0.001)


def test_new_themes_are_marked_and_changes_are_told(themed: TestClient) -> None:
    new = _new(themed)
    page = read(themed, COLLECTION)
    assert [one.text_content() for one in page.tree.xpath("//h3/span[@class='badge kept']")] == [
        "new"
    ]
    assert str(new["label"]) in page.words("//div[@class='changes']")
    (kind,) = [c for c in themed.get(f"/api{COLLECTION}").json()["changes"] if c["change"] == "new"]
    assert [side["label"] for side in kind["listed"][0]["after"]] == [new["label"]]


def test_an_older_clustering_can_be_chosen_and_says_that_it_is_older(themed: TestClient) -> None:
    (older,) = [
        one["href"]
        for one in themed.get(f"/api{COLLECTION}").json()["clusterings"]
        if not one["is_served"]
    ]
    page = read(themed, older)
    assert "4 themes" in page.heading
    assert "This is an older clustering" in page.words()
    assert "No earlier clustering is stored." in page.words()
    inner = next(iter(page.links("//ol[@class='themes']//h3")))
    assert "at=" in inner
    assert "This is an older clustering" in read(themed, inner).words()


def test_a_theme_tells_its_terms_course_lineage_and_nearest_themes(themed: TestClient) -> None:
    kept = next(one for one in _themes(themed) if one["size_before"])
    page = read(themed, str(kept["href"]))
    assert page.heading == kept["label"]
    told = themed.get(f"/api{kept['href']}").json()
    assert [size["size"] for size in told["stages"]] == [kept["size_before"], kept["size"]]
    counted = sum(count for _, count in told["months"]["months"]) + told["months"]["undated"]
    assert counted == told["months"]["looked_at"] == told["size"] == kept["size"]
    assert told["months"]["undated"] > 0
    assert len(told["nearest"]) == 4
    assert all(-1.001 <= one["cosine"] <= 1.001 for one in told["nearest"])
    weights = [weight for _, weight in told["terms"]]
    assert weights == sorted(weights, reverse=True)
    assert "Similar themes" in page.words()
    assert "without a date" in page.words()
    (form,) = page.tree.xpath("//section[@class='when']//form")
    asked = themed.get(str(form.get("action")), params={"from": "1990-01-01", "to": ""})
    dated = told["size"] - told["months"]["undated"]
    assert f"{dated} documents in “{kept['label']}” since 1990-01-01" in asked.text


def test_all_documents_of_a_theme_are_reached_page_by_page(themed: TestClient) -> None:
    largest = _themes(themed)[0]
    href, seen = str(largest["href"]), []
    for _ in range(50):
        page = read(themed, href)
        seen += [*page.links("//ol[contains(@class, 'hits')]//h3")]
        following = page.tree.xpath("//a[@rel='next']/@href")
        if not following:
            break
        href = following[0]
    assert len(seen) == len(set(seen)) == largest["size"]


def test_documents_of_the_library_lead_to_their_files_and_these_to_the_theme(
    themed: TestClient,
) -> None:
    files: dict[str, str] = {}
    for one in _themes(themed, "/themes/library/all"):
        page = read(themed, str(one["href"]))
        files |= {
            href: str(one["label"])
            for href in page.links("//ol[contains(@class, 'hits')]//h3")
            if href.startswith("/file/")
        }
        for picture in page.tree.xpath("//ol//img/@src"):
            assert themed.get(picture).headers["content-type"] == "image/jpeg"
    assert len(files) > 5
    for href, label in files.items():
        back = read(themed, href).links("//ol[@class='provenance']")
        (theme,) = [link for link, words in back.items() if words == label]
        assert read(themed, theme).heading == label
    assert set(read(themed, "/search?q=flood").links("//p[@class='themes-of']").values()) <= set(
        files.values()
    )
    assert read(themed, "/search?q=flood").links("//p[@class='themes-of']")


def test_a_document_says_which_of_its_terms_put_it_there(themed: TestClient) -> None:
    theme = _themes(themed)[0]
    titles = theme["titles"]
    page = read(themed, titles[0]["href"])  # type: ignore[index]
    assert page.heading == f"Why this document is in “{theme['label']}”"
    told = themed.get(f"/api{titles[0]['href']}").json()  # type: ignore[index]
    assert told["terms"][0]["term"] in told["beginning"].lower()
    assert sum(one["share"] for one in told["terms"] if one["share"] > 0) == pytest.approx(100, 1)
    assert told["next_label"] not in (None, theme["label"])
    unknown = themed.get(f"{COLLECTION}/document", params={"id": "nobody"})
    assert unknown.status_code == 404
    assert "no document with the id “nobody”" in unknown.text


def test_documents_in_no_theme_are_counted_and_the_page_says_why(themed: TestClient) -> None:
    page = read(themed, COLLECTION)
    assert "1 document not similar enough to any theme" in page.words()
    apart = read(themed, f"{COLLECTION}/unclustered/outlier")
    assert apart.heading == "1 document not similar enough to any theme"
    assert "The next rebuild compares these documents again" in apart.words()
    (why,) = [href for href in apart.links("//ol") if f"id={STRAY}" in href]
    told = read(themed, why)
    assert told.heading == "Why this document has no theme"
    assert "No theme: not similar enough to any theme." in told.words()


def test_the_share_in_no_theme_opens_exactly_those_documents(themed: TestClient) -> None:
    page = read(themed, COLLECTION)
    ((href, words),) = page.links("//h1").items()
    assert words.endswith("without a theme")
    assert read(themed, href).heading == "1 document without a theme"
    told = themed.get(f"/api{href}").json()
    assert [one["id"] for one in told["documents"]] == [STRAY]
    assert [(one["reason"], one["count"]) for one in told["reasons"]] == [("outlier", 1)]
    assert "not similar enough to any theme" in read(themed, told["reasons"][0]["href"]).heading
    assert read(themed, "/themes/library/all").links("//h1") == {}
    assert read(themed, f"{COLLECTION}/unclustered?after=x", 400)


def test_documents_in_no_theme_for_several_reasons_are_listed_page_by_page(
    changed: TestClient,
) -> None:
    told = changed.get("/api/themes/made/short/unclustered").json()
    assert told["size"] == 32
    assert {one["reason"]: one["count"] for one in told["reasons"]} == {"short": 25, "empty": 7}
    seen = [one["id"] for one in told["documents"]]
    assert len(seen) == 20
    rest = changed.get("/api/themes/made/short/unclustered", params={"after": told["next"]}).json()
    assert rest["next"] is None
    seen += [one["id"] for one in rest["documents"]]
    assert set(seen) == {f"s{at}" for at in range(25)} | {f"e{at}" for at in range(7)}
    assert "32 documents without a theme" in read(changed, "/themes/made/short/unclustered").heading


def test_a_theme_that_came_of_a_split_or_a_merger_leads_to_what_it_came_of(
    changed: TestClient,
) -> None:
    one = next(theme for theme in _themes(changed, "/themes/made/split") if theme["turn"])
    assert one["turn"] == "split"
    ((before,),) = [one["came_of"]]  # type: ignore[misc]
    assert before["size"] == 60
    page = read(changed, "/themes/made/split")
    assert f"Split from {before['label']}" in page.words("//p[contains(@class, 'came-of')]")
    assert "This is an older clustering" in read(changed, before["href"]).words()


def test_names_there_are_not_are_told_with_the_nearest(themed: TestClient) -> None:
    said = themed.get("/themes/made/fife")
    assert said.status_code == 404
    assert "Did you mean &#39;made/five&#39;" in said.text
    label = str(_themes(themed)[0]["label"])
    said = themed.get(f"/api{COLLECTION}/{label[:-1]}")
    assert said.status_code == 404
    assert f"Did you mean {label!r}" in said.json()["error"]
    assert (
        "not been grouped by tight yet" in read(themed, f"{COLLECTION}/x?conf=tight", 404).words()
    )
    assert "--conf tight" in read(themed, f"{COLLECTION}?conf=tight").words()
    assert read(themed, f"{COLLECTION}?level=1", 400)


def test_what_is_empty_or_not_grouped_says_what_to_type(themed: TestClient) -> None:
    assert "fonds group made/waiting" in read(themed, "/themes/made/waiting").words()
    assert read(themed, "/themes/made/empty").heading == "made/empty: empty"
    assert read(themed, "/themes/made/empty/unclustered/outlier", 404)


def test_hostile_names_ids_and_words_stay_words(themed: TestClient) -> None:
    links = read(themed, "/themes").links("//ol[@class='collections']//h2")
    (href,) = [one for one, name in links.items() if name == str(HOSTILE)]
    pages = [read(themed, href)]
    for one in _themes(themed, href):
        pages.append(read(themed, str(one["href"])))
    assert sum(len(page.tree.xpath("//ol//h3")) for page in pages) > 20
    pages.append(_document(themed, href))
    for page in pages:
        assert page.tree.xpath("//body//script") == []
        assert [link for link in page.links("//*") if link.startswith("javascript")] == []
    assert HOSTILE_ID[:20] in pages[-1].words()


def _document(client: TestClient, href: str) -> PageRead:
    answer = client.get(f"{href}/document", params={"id": HOSTILE_ID})
    assert answer.status_code == 200
    return PageRead(answer.text)
