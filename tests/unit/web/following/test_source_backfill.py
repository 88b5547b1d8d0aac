"""How a backfill is asked for, stopped and shown: on the page of the source, and over the API."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, date, datetime
from typing import Any

import pytest
from starlette.testclient import TestClient

from followed_home import GOOD, LATER, ORIGIN, PAUSED, row
from fonds.model.rows import ActRow, SourceRow
from fonds.model.source import Backfill, BackfillState
from fonds.ports import Stores
from fonds.web.app import create_app
from page_reading import read

OWN = {"sec-fetch-site": "same-origin"}
PAGE, HERE = f"/sources/{GOOD.source_id}", f"/api/sources/{GOOD.source_id}"
SAID = {"from": "2025-01-01", "to": "2025-06-30"}
READ = {"pages": 12, "entered": 40, "known": 2, "refused": 1, "outside": 17, "undated": 3}


def kept_so(stores: Stores, **values: Any) -> None:
    """The source has a backfill that stands so."""
    days = date(2025, 1, 1), date(2025, 6, 30)
    found = replace(Backfill(*days, False, LATER, "ada", LATER, LATER, **READ), **values)
    stores.records.change(SourceRow, [GOOD.source_id], {"backfill": found})


def press(client: TestClient, act: str, **said: str) -> int:
    answer = client.post(f"{PAGE}/{act}", data=said, headers=OWN, follow_redirects=False)
    return answer.status_code


def forms(client: TestClient) -> list[str]:
    tree = read(client, PAGE).tree
    return [
        one.get("action").rpartition("/")[2] for one in tree.xpath("//main//form[@method='post']")
    ]


def test_it_is_asked_for_and_stopped_on_the_page(client: TestClient, stores: Stores) -> None:
    assert press(client, "backfill", **SAID, undated="yes") == 303
    found = row(stores).backfill
    assert found is not None
    assert (found.first, found.last) == (date(2025, 1, 1), date(2025, 6, 30))
    assert (found.takes_undated, found.requested_by) == (True, "this machine")
    assert row(stores).next_poll <= datetime.now(UTC)
    assert "backfill" not in forms(client)
    assert "stop-backfill" in forms(client)
    words = read(client, PAGE).words("//main")
    assert "1 Jan 2025 to 30 Jun 2025 and entries without a date, requested" in words
    assert client.get(HERE).json()["source"]["polled_next"] == f"{LATER:%Y-%m-%dT%H:%M:%S.%fZ}"
    assert press(client, "backfill", **SAID) == 409
    assert [press(client, "stop-backfill") for _ in range(2)] == [303, 303]
    assert "a person stopped it" in read(client, PAGE).words("//main")
    assert (row(stores).next_poll, "backfill" in forms(client)) == (LATER, True)
    acts = [one.what for one in stores.records.find(ActRow)]
    assert sum("backfill" in act for act in acts) == 4


def test_how_far_it_is_is_told_in_counts_that_add_up(client: TestClient, stores: Stores) -> None:
    kept_so(stores, at="https://daily.example/<b>4", attempts=2, trouble="it answers 503")
    words = read(client, PAGE).words("//main")
    assert "63: 40 new, 2 known, 1 rejected, 17 of other days, 3 skipped without a date" in words
    assert "2 attempts failed in a row; the backfill stops after five: it answers 503." in words
    assert ": https://daily.example/<b>4" in words
    assert "<b>4" not in client.get(PAGE).text
    told = client.get(HERE).json()["source"]["backfill"]
    names = ("entered", "known", "refused", "outside", "undated")
    assert told["listed"] == sum(told[name] for name in names) == 63
    assert "requested_by" not in told
    kept_so(stores, state=BackfillState.FAILED, why="/4: it answers 404", ended_at=LATER)
    assert "failed since" in read(client, PAGE).words("//main")
    assert client.get(HERE).json()["source"]["backfill"]["next_page"] is None


def test_the_list_of_sources_tells_of_one_that_goes_on_or_failed(
    client: TestClient, stores: Stores
) -> None:
    def told() -> dict[str, str]:
        links = read(client, "/sources").tree.xpath("//td/a[contains(@href, '#backfill')]")
        return {link.get("href"): link.text_content() for link in links}

    others = told()
    assert f"{PAGE}#backfill" not in others
    kept_so(stores)
    assert told() == {**others, f"{PAGE}#backfill": "backfill going on"}
    kept_so(stores, state=BackfillState.FAILED, why="/4: it answers 404", ended_at=LATER)
    assert told() == {**others, f"{PAGE}#backfill": "backfill failed"}
    kept_so(stores, state=BackfillState.ENDED, why="no older page", ended_at=LATER)
    assert told() == others
    rows = {one["source_id"]: one for one in client.get("/api/sources").json()["rows"]}
    assert rows[GOOD.source_id]["backfill"]["state"] == "ended"
    assert rows[PAUSED.source_id]["backfill"] is None


def test_programs_ask_for_it_and_stop_it(client: TestClient, stores: Stores) -> None:
    told = client.post(f"{HERE}/backfill", json={"from": "2025-01-01", "undated": True}).json()
    assert told["source"]["backfill"]["state"] == "going on"
    assert told["source"]["backfill"]["last"] == f"{datetime.now(UTC):%Y-%m-%d}"
    assert client.post(f"{HERE}/backfill", json=SAID).status_code == 409
    for _ in range(2):
        told = client.post(f"{HERE}/stop-backfill").json()
        assert told["source"]["backfill"]["state"] == "stopped"
    assert told == client.get(HERE).json()


@pytest.mark.parametrize(
    ("sent", "said"),
    [
        ({}, "from"),
        ({"from": "soon"}, "date"),
        ({"from": "2999-01-01"}, "is in the future"),
        ({"from": "2025-02-01", "to": "2025-01-31"}, "is after the last day"),
        ({"from": "2025-01-01", "until": "2025-01-31"}, "until"),
    ],
)
def test_days_that_cannot_be_are_refused(
    client: TestClient, stores: Stores, sent: dict[str, str], said: str
) -> None:
    before = row(stores)
    answer = client.post(f"{HERE}/backfill", json=sent)
    assert (answer.status_code, said in answer.json()["error"]) == (400, True), answer.text
    assert press(client, "backfill", **sent) == 400
    assert row(stores) == before


def test_what_cannot_be_backfilled_is_a_conflict_and_says_why(
    client: TestClient, stores: Stores
) -> None:
    assert client.post(f"/api/sources/{PAUSED.source_id}/backfill", json=SAID).status_code == 409
    assert client.post(f"/api/sources/{'0' * 12}/backfill", json=SAID).status_code == 404
    assert client.post(f"{HERE}/backfill", data=SAID).status_code == 415
    stores.records.change(SourceRow, [GOOD.source_id], {"hints": {"older": ""}})
    answer = client.post(f"{HERE}/backfill", json=SAID)
    assert (answer.status_code, "no link to an older page" in answer.json()["error"]) == (409, True)
    assert press(client, "backfill", **SAID) == 409
    assert "Older pages cannot be fetched: its last listing has no link to an older page." in read(
        client, PAGE
    ).words("//main")
    assert row(stores).backfill is None


def test_who_only_reads_sees_how_it_stands_and_changes_nothing(stores: Stores) -> None:
    kept_so(stores)
    with TestClient(create_app(stores, host="0.0.0.0"), base_url=ORIGIN) as reached:
        assert "63: 40 new" in read(reached, PAGE).words("//main")
        assert forms(reached) == []
        assert press(reached, "stop-backfill") == 403
        assert reached.post(f"{HERE}/backfill", json=SAID).status_code == 403
    found = row(stores).backfill
    assert found is not None
    assert found.is_active
