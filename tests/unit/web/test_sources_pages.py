"""Pages of sources: how each stands, what its polls saw, where its links got lost."""

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


def test_those_that_fail_stand_first_and_each_says_how_it_stands(themed: TestClient) -> None:
    found = themed.get("/api/sources").json()
    assert found["answer"] == "3 sources followed, 1 paused: 2 need attention"
    assert found["states"] == {"active": 3, "paused": 1}
    assert found["rows"][0]["source_id"] == HOSTILE.source_id
    rows = {one["source_id"]: one for one in found["rows"]}
    assert rows[HOSTILE.source_id]["standing"] in ("failing", "dead")
    assert rows[PAUSED.source_id]["standing"] == "paused"
    assert rows[PAUSED.source_id]["polled_next"] is None
    assert rows[PAUSED.source_id]["links_a_day"] is None
    page = read(themed, "/sources")
    assert "unknown" in page.words("//table")
    assert "never" in page.words("//table")


def test_only_those_of_a_state_are_asked_for(themed: TestClient) -> None:
    found = themed.get("/api/sources", params={"state": "paused"}).json()
    assert [one["source_id"] for one in found["rows"]] == [PAUSED.source_id]
    assert themed.get("/api/sources", params={"state": "gone"}).json()["rows"] == []
    assert "All sources" in read(themed, "/sources?state=gone").words("//main")


def test_those_that_stand_so_are_counted_and_each_count_opens_them(themed: TestClient) -> None:
    found = themed.get("/api/sources").json()
    assert found["standings"] == {"failing": 1, "silent": 1, "quiet": 1, "paused": 1}
    links = read(themed, "/sources").links("//nav[@aria-label='Status']")
    for stands, count in found["standings"].items():
        assert links[f"/sources?standing={stands}"] == f"{stands} ({count})"
        one = themed.get("/api/sources", params={"standing": stands}).json()
        assert [row["standing"] for row in one["rows"]] == [stands] * count
        assert (one["total"], one["answer"]) == (count, f"1 source of 4 {stands}")
    since = {"standing": "failing", "since": NOW.date().isoformat()}
    assert themed.get("/api/sources", params=since).json()["total"] == 1
    assert "since" in read(themed, "/sources?standing=failing").words("//table")
    later = {**since, "since": (NOW.date() + timedelta(days=1)).isoformat()}
    assert themed.get("/api/sources", params=later).json()["total"] == 0
    for wrong in ({"since": since["since"]}, {**since, "standing": "quiet"}):
        assert themed.get("/api/sources", params=wrong).status_code == 400
    both = {"standing": "paused", "state": "active"}
    assert themed.get("/api/sources", params=both).json()["rows"] == []


def test_what_became_of_links_adds_up_and_each_number_opens_its_links(themed: TestClient) -> None:
    found = themed.get(f"/api/sources/{GOOD.source_id}").json()
    assert found["source"]["funnel"]["entered"] == KEPT + BLOCKED + WAITING
    whole = found["passage"]
    assert whole["announced"] == found["source"]["funnel"]["entered"] + REFUSED
    assert [(one["stage"], one["ended"], one["left"]) for one in whole["stages"]] == [
        ("listed", REFUSED, found["source"]["funnel"]["entered"]),
        ("fetch", BLOCKED, KEPT + WAITING),
    ]
    assert (whole["kept"], whole["waiting"], whole["coverage"]) == (KEPT, WAITING, "63.8 %")
    (refused,), (blocked,) = (one["endings"] for one in whole["stages"])
    assert (refused["reason"], refused["href"]) == ("private-address", "")
    for count, href in (
        (blocked["count"], blocked["href"]),
        (KEPT, whole["kept_href"]),
        (WAITING, whole["waiting_href"]),
    ):
        assert themed.get(f"/api{href}").json()["total"] == count
    said = read(themed, f"/sources/{GOOD.source_id}").words("//section[@aria-labelledby='ended']")
    assert "63.8 % of new links were stored." in said
    assert "rejected in the listing" in said


def test_stages_stand_as_the_pipeline_has_them() -> None:
    ended = [
        LinkEnding("dropped", "duplicate", "import_story", 9),
        LinkEnding("quarantined", "http-status", "an-older-step", 1),
        LinkEnding("dropped", "robots-denied", "fetch", 1),
        LinkEnding("done", None, None, 5),
    ]
    row = replace(GOOD, refused_tally={"non-news": 2})
    passage = build_passage(SourceDetails(row, SourceHealth.ACTIVE, [], ended))
    assert [(stage.stage, stage.left) for stage in passage.stages] == [
        ("listed", 16),
        ("fetch", 15),
        ("import_story", 6),
        ("an-older-step", 5),
    ]
    assert passage.announced == 18
    assert passage.kept == passage.stages[-1].left


def test_each_day_says_what_it_brought_and_opens_its_links(themed: TestClient) -> None:
    found = themed.get(f"/api/sources/{GOOD.source_id}").json()
    assert len(found["days"]) == 90
    today = TODAY.date().isoformat()
    (of_today,) = [one for one in found["days"] if one["day"] == today]
    assert (of_today["new"], of_today["outside"]) == (KEPT + BLOCKED + WAITING, "above")
    path = f"/sources/{GOOD.source_id}/links"
    behind = themed.get(f"/api{path}", params={"day": today}).json()
    assert behind["total"] == of_today["new"]
    assert themed.get(f"/api{path}", params={"day": "2020-01-01"}).json()["total"] == 0
    of_poll = {"day": today, "poll": "000001"}
    assert themed.get(f"/api{path}", params=of_poll).json()["total"] == 0
    page = read(themed, f"/sources/{GOOD.source_id}")
    bars = "//section[@aria-labelledby='days']//*[local-name()='svg']//*[local-name()='a']"
    assert [one.get("href") for one in page.tree.xpath(bars)][-1] == f"{path}?day={today}"
    assert not page.tree.xpath("//section[@aria-labelledby='days']//table")
    assert "above the usual number" in page.words("//*[local-name()='svg']")
    (row,) = [
        one
        for one in themed.get("/api/sources").json()["rows"]
        if one["source_id"] == GOOD.source_id
    ]
    assert row["new_by_day"] == [
        None if one["brought"] == "not counted" else one["new"] for one in found["days"]
    ]


def test_a_long_list_of_links_is_walked_to_its_end(themed: TestClient) -> None:
    path, met, after = f"/api/sources/{GOOD.source_id}/links", [], ""
    while True:
        found = themed.get(path, params={"after": after} if after else {}).json()
        met += [row["entry_id"] for row in found["rows"]]
        if not (after := found["next"]):
            break
    assert len(met) == len(set(met)) == found["total"] == KEPT + BLOCKED + WAITING


def test_the_last_polls_are_told_and_that_there_were_more(themed: TestClient) -> None:
    found = themed.get(f"/api/sources/{GOOD.source_id}").json()
    assert found["last_polls"][0]["input_id"] == f"{GOOD.source_id}.{POLLS:06d}"
    assert found["last_polls"][0]["new"] == KEPT + BLOCKED + WAITING
    page = read(themed, f"/sources/{GOOD.source_id}")
    assert f"The latest 20 of {POLLS}" in page.words("//main")
    of_poll = themed.get(f"/api/sources/{GOOD.source_id}/links", params={"poll": "000001"}).json()
    assert of_poll["total"] == 0


def test_a_source_that_went_silent_says_so(themed: TestClient) -> None:
    found = themed.get(f"/api/sources/{SILENT.source_id}").json()
    assert (found["source"]["standing"], found["source"]["listed"]) == ("silent", 5)
    said = read(themed, f"/sources/{SILENT.source_id}").words("//main")
    assert "No links listed since" in said
    assert "The listing before had 5 links" in said
    assert themed.get(f"/api/sources/{GOOD.source_id}").json()["source"]["silent_since"] is None
    rows = [one["source_id"] for one in themed.get("/api/sources").json()["rows"]]
    assert rows.index(SILENT.source_id) < rows.index(GOOD.source_id)


def test_hostile_names_and_errors_are_text(themed: TestClient) -> None:
    for path in (
        "/sources",
        f"/sources/{HOSTILE.source_id}",
        f"/sources/{HOSTILE.source_id}/links",
    ):
        page = read(themed, path)
        assert not page.tree.xpath("//body//script | //main//img | //main//b"), path
    assert "<b>503</b>" in page_text(themed, "/sources")


def page_text(client: TestClient, path: str) -> str:
    return read(client, path).words("//main")


def test_a_source_there_is_not_is_nothing_and_no_id_is_refused(themed: TestClient) -> None:
    assert themed.get("/sources/0123456789ab").status_code == 404
    assert themed.get("/api/sources/0123456789ab/links").status_code == 404
    assert themed.get("/sources/x").status_code == 400


def test_where_nothing_is_followed_it_is_said_how_to_begin(empty: TestClient) -> None:
    page = read(empty, "/sources")
    assert page.words("//h1") == "No sources yet"
    assert "fonds sources add" in page.words("//main")
