"""The pages of sources: their health, polls and links."""

from __future__ import annotations

from dataclasses import replace
from datetime import timedelta

from starlette.testclient import TestClient

from followed_home import (
    BLOCKED,
    GOOD,
    HOSTILE,
    KEPT,
    PAUSED,
    POLLS,
    REFUSED,
    SILENT,
    TODAY,
    WAITING,
)
from fonds.following.funnel import LinkEnding
from fonds.following.health import SourceHealth
from fonds.following.source_list import SourceDetails
from fonds.web.pages.source import build_passage
from home_rows import NOW
from unit.web.test_app import read


def test_failing_sources_are_listed_first_with_their_health(themed_client: TestClient) -> None:
    sources = themed_client.get("/api/sources").json()
    assert sources["answer"] == "3 sources followed, 1 paused: 2 need attention"
    assert sources["states"] == {"active": 3, "paused": 1}
    assert sources["rows"][0]["source_id"] == HOSTILE.source_id
    rows = {row["source_id"]: row for row in sources["rows"]}
    assert rows[HOSTILE.source_id]["health"] in ("failing", "dead")
    assert rows[PAUSED.source_id]["health"] == "paused"
    assert rows[PAUSED.source_id]["polled_next"] is None
    assert rows[PAUSED.source_id]["links_a_day"] is None
    page = read(themed_client, "/sources")
    assert "unknown" in page.words("//table")
    assert "never" in page.words("//table")


def test_sources_are_filtered_by_state(themed_client: TestClient) -> None:
    sources = themed_client.get("/api/sources", params={"state": "paused"}).json()
    assert [row["source_id"] for row in sources["rows"]] == [PAUSED.source_id]
    assert themed_client.get("/api/sources", params={"state": "gone"}).json()["rows"] == []
    assert "All sources" in read(themed_client, "/sources?state=gone").words("//main")


def test_sources_are_counted_and_filtered_by_health(
    themed_client: TestClient,
) -> None:
    sources = themed_client.get("/api/sources").json()
    assert sources["health_counts"] == {"failing": 1, "silent": 1, "quiet": 1, "paused": 1}
    links = read(themed_client, "/sources").links("//nav[@aria-label='Status']")
    for health, count in sources["health_counts"].items():
        assert links[f"/sources?health={health}"] == f"{health} ({count})"
        filtered_sources = themed_client.get("/api/sources", params={"health": health}).json()
        assert [row["health"] for row in filtered_sources["rows"]] == [health] * count
        assert (filtered_sources["total"], filtered_sources["answer"]) == (
            count,
            f"1 source of 4 {health}",
        )
    params = {"health": "failing", "since": NOW.date().isoformat()}
    assert themed_client.get("/api/sources", params=params).json()["total"] == 1
    assert "since" in read(themed_client, "/sources?health=failing").words("//table")
    later_params = {**params, "since": (NOW.date() + timedelta(days=1)).isoformat()}
    assert themed_client.get("/api/sources", params=later_params).json()["total"] == 0
    for invalid in ({"since": params["since"]}, {**params, "health": "quiet"}):
        assert themed_client.get("/api/sources", params=invalid).status_code == 400
    combined = {"health": "paused", "state": "active"}
    assert themed_client.get("/api/sources", params=combined).json()["rows"] == []


def test_the_funnel_of_a_source_adds_up_and_links_its_counts(
    themed_client: TestClient,
) -> None:
    source = themed_client.get(f"/api/sources/{GOOD.source_id}").json()
    assert source["source"]["funnel"]["entered"] == KEPT + BLOCKED + WAITING
    passage = source["passage"]
    assert passage["announced"] == source["source"]["funnel"]["entered"] + REFUSED
    assert [(stage["stage"], stage["ended"], stage["left"]) for stage in passage["stages"]] == [
        ("listed", REFUSED, source["source"]["funnel"]["entered"]),
        ("fetch", BLOCKED, KEPT + WAITING),
    ]
    assert (passage["kept"], passage["waiting"], passage["coverage"]) == (KEPT, WAITING, "63.8 %")
    (refused_ending,), (blocked_ending,) = (stage["endings"] for stage in passage["stages"])
    assert (refused_ending["reason"], refused_ending["href"]) == ("private-address", "")
    for count, href in (
        (blocked_ending["count"], blocked_ending["href"]),
        (KEPT, passage["kept_href"]),
        (WAITING, passage["waiting_href"]),
    ):
        assert themed_client.get(f"/api{href}").json()["total"] == count
    text = read(themed_client, f"/sources/{GOOD.source_id}").words(
        "//section[@aria-labelledby='ended']"
    )
    assert "63.8 % of new links were stored." in text
    assert "rejected in the listing" in text


def test_stages_are_in_the_order_of_the_pipeline() -> None:
    endings = [
        LinkEnding("dropped", "duplicate", "import_story", 9),
        LinkEnding("quarantined", "http-status", "an-older-step", 1),
        LinkEnding("dropped", "robots-denied", "fetch", 1),
        LinkEnding("done", None, None, 5),
    ]
    row = replace(GOOD, refused_tally={"non-news": 2})
    passage = build_passage(SourceDetails(row, SourceHealth.ACTIVE, [], endings))
    assert [(stage.stage, stage.left) for stage in passage.stages] == [
        ("listed", 16),
        ("fetch", 15),
        ("import_story", 6),
        ("an-older-step", 5),
    ]
    assert passage.announced == 18
    assert passage.kept == passage.stages[-1].left


def test_each_day_shows_its_new_links_and_links_to_them(themed_client: TestClient) -> None:
    details = themed_client.get(f"/api/sources/{GOOD.source_id}").json()
    assert len(details["days"]) == 90
    today = TODAY.date().isoformat()
    (of_today,) = [day for day in details["days"] if day["day"] == today]
    assert (of_today["new"], of_today["outside"]) == (KEPT + BLOCKED + WAITING, "above")
    path = f"/sources/{GOOD.source_id}/links"
    links = themed_client.get(f"/api{path}", params={"day": today}).json()
    assert links["total"] == of_today["new"]
    assert themed_client.get(f"/api{path}", params={"day": "2020-01-01"}).json()["total"] == 0
    poll_params = {"day": today, "poll": "000001"}
    assert themed_client.get(f"/api{path}", params=poll_params).json()["total"] == 0
    page = read(themed_client, f"/sources/{GOOD.source_id}")
    bars = "//section[@aria-labelledby='days']//*[local-name()='svg']//*[local-name()='a']"
    assert [bar.get("href") for bar in page.tree.xpath(bars)][-1] == f"{path}?day={today}"
    assert not page.tree.xpath("//section[@aria-labelledby='days']//table")
    assert "above the usual number" in page.words("//*[local-name()='svg']")
    (row,) = [
        source
        for source in themed_client.get("/api/sources").json()["rows"]
        if source["source_id"] == GOOD.source_id
    ]
    assert row["new_by_day"] == [
        None if day["brought"] == "not counted" else day["new"] for day in details["days"]
    ]


def test_paging_reaches_every_link_of_a_source(themed_client: TestClient) -> None:
    path, entry_ids, after = f"/api/sources/{GOOD.source_id}/links", [], ""
    while True:
        page = themed_client.get(path, params={"after": after} if after else {}).json()
        entry_ids += [row["entry_id"] for row in page["rows"]]
        if not (after := page["next"]):
            break
    assert len(entry_ids) == len(set(entry_ids)) == page["total"] == KEPT + BLOCKED + WAITING


def test_the_latest_polls_are_listed_with_their_total(themed_client: TestClient) -> None:
    source = themed_client.get(f"/api/sources/{GOOD.source_id}").json()
    assert source["last_polls"][0]["input_id"] == f"{GOOD.source_id}.{POLLS:06d}"
    assert source["last_polls"][0]["new"] == KEPT + BLOCKED + WAITING
    page = read(themed_client, f"/sources/{GOOD.source_id}")
    assert f"The latest 20 of {POLLS}" in page.words("//main")
    of_poll = themed_client.get(
        f"/api/sources/{GOOD.source_id}/links", params={"poll": "000001"}
    ).json()
    assert of_poll["total"] == 0


def test_a_silent_source_says_so(themed_client: TestClient) -> None:
    source = themed_client.get(f"/api/sources/{SILENT.source_id}").json()
    assert (source["source"]["health"], source["source"]["listed"]) == ("silent", 5)
    text = read(themed_client, f"/sources/{SILENT.source_id}").words("//main")
    assert "No links listed since" in text
    assert "The listing before had 5 links" in text
    assert (
        themed_client.get(f"/api/sources/{GOOD.source_id}").json()["source"]["silent_since"] is None
    )
    rows = [row["source_id"] for row in themed_client.get("/api/sources").json()["rows"]]
    assert rows.index(SILENT.source_id) < rows.index(GOOD.source_id)


def test_hostile_names_and_errors_are_escaped(themed_client: TestClient) -> None:
    for path in (
        "/sources",
        f"/sources/{HOSTILE.source_id}",
        f"/sources/{HOSTILE.source_id}/links",
    ):
        page = read(themed_client, path)
        assert not page.tree.xpath("//body//script | //main//img | //main//b"), path
    assert "<b>503</b>" in read_text(themed_client, "/sources")


def read_text(client: TestClient, path: str) -> str:
    return read(client, path).words("//main")


def test_unknown_sources_return_404_and_invalid_ids_400(themed_client: TestClient) -> None:
    assert themed_client.get("/sources/0123456789ab").status_code == 404
    assert themed_client.get("/api/sources/0123456789ab/links").status_code == 404
    assert themed_client.get("/sources/x").status_code == 400


def test_a_home_without_sources_shows_the_first_command(empty_client: TestClient) -> None:
    page = read(empty_client, "/sources")
    assert page.words("//h1") == "No sources yet"
    assert "fonds sources add" in page.words("//main")
