"""Requesting, stopping and showing a backfill, on the page of the source and in the API."""

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
PAGE, API_PATH = f"/sources/{GOOD.source_id}", f"/api/sources/{GOOD.source_id}"
REQUEST = {"from": "2025-01-01", "to": "2025-06-30"}
COUNTS = {"pages": 12, "entered": 40, "known": 2, "refused": 1, "outside": 17, "undated": 3}


def set_backfill(stores: Stores, **values: Any) -> None:
    """Give the source a backfill with these values."""
    days = date(2025, 1, 1), date(2025, 6, 30)
    backfill = replace(Backfill(*days, False, LATER, "ada", LATER, LATER, **COUNTS), **values)
    stores.records.change(SourceRow, [GOOD.source_id], {"backfill": backfill})


def press(client: TestClient, action: str, **fields: str) -> int:
    response = client.post(f"{PAGE}/{action}", data=fields, headers=OWN, follow_redirects=False)
    return response.status_code


def list_forms(client: TestClient) -> list[str]:
    tree = read(client, PAGE).tree
    return [
        form.get("action").rpartition("/")[2] for form in tree.xpath("//main//form[@method='post']")
    ]


def test_a_backfill_is_requested_and_stopped_on_the_page(
    client: TestClient, stores: Stores
) -> None:
    assert press(client, "backfill", **REQUEST, undated="yes") == 303
    backfill = row(stores).backfill
    assert backfill is not None
    assert (backfill.first, backfill.last) == (date(2025, 1, 1), date(2025, 6, 30))
    assert (backfill.takes_undated, backfill.requested_by) == (True, "this machine")
    assert row(stores).next_poll <= datetime.now(UTC)
    assert "backfill" not in list_forms(client)
    assert "stop-backfill" in list_forms(client)
    words = read(client, PAGE).words("//main")
    assert "1 Jan 2025 to 30 Jun 2025 and entries without a date, requested" in words
    assert client.get(API_PATH).json()["source"]["polled_next"] == f"{LATER:%Y-%m-%dT%H:%M:%S.%fZ}"
    assert press(client, "backfill", **REQUEST) == 409
    assert [press(client, "stop-backfill") for _ in range(2)] == [303, 303]
    assert "a person stopped it" in read(client, PAGE).words("//main")
    assert (row(stores).next_poll, "backfill" in list_forms(client)) == (LATER, True)
    log_lines = [log_row.what for log_row in stores.records.find(ActRow)]
    assert sum("backfill" in line for line in log_lines) == 4


def test_the_counts_of_a_backfill_add_up(client: TestClient, stores: Stores) -> None:
    set_backfill(stores, at="https://daily.example/<b>4", attempts=2, trouble="it answers 503")
    words = read(client, PAGE).words("//main")
    assert "63: 40 new, 2 known, 1 rejected, 17 of other days, 3 skipped without a date" in words
    assert "2 attempts failed in a row; the backfill stops after five: it answers 503." in words
    assert ": https://daily.example/<b>4" in words
    assert "<b>4" not in client.get(PAGE).text
    backfill = client.get(API_PATH).json()["source"]["backfill"]
    names = ("entered", "known", "refused", "outside", "undated")
    assert backfill["listed"] == sum(backfill[name] for name in names) == 63
    assert "requested_by" not in backfill
    set_backfill(stores, state=BackfillState.FAILED, why="/4: it answers 404", ended_at=LATER)
    assert "failed since" in read(client, PAGE).words("//main")
    assert client.get(API_PATH).json()["source"]["backfill"]["next_page"] is None


def test_the_list_of_sources_shows_running_and_failed_backfills(
    client: TestClient, stores: Stores
) -> None:
    def read_links() -> dict[str, str]:
        links = read(client, "/sources").tree.xpath("//td/a[contains(@href, '#backfill')]")
        return {link.get("href"): link.text_content() for link in links}

    other_links = read_links()
    assert f"{PAGE}#backfill" not in other_links
    set_backfill(stores)
    assert read_links() == {**other_links, f"{PAGE}#backfill": "backfill running"}
    set_backfill(stores, state=BackfillState.FAILED, why="/4: it answers 404", ended_at=LATER)
    assert read_links() == {**other_links, f"{PAGE}#backfill": "backfill failed"}
    set_backfill(stores, state=BackfillState.ENDED, why="no older page", ended_at=LATER)
    assert read_links() == other_links
    rows = {source["source_id"]: source for source in client.get("/api/sources").json()["rows"]}
    assert rows[GOOD.source_id]["backfill"]["state"] == "ended"
    assert rows[PAUSED.source_id]["backfill"] is None


def test_a_backfill_is_requested_and_stopped_by_the_api(client: TestClient, stores: Stores) -> None:
    first_day = datetime.now(UTC).date()
    response = client.post(
        f"{API_PATH}/backfill", json={"from": "2025-01-01", "undated": True}
    ).json()
    last = date.fromisoformat(response["source"]["backfill"]["last"])
    assert response["source"]["backfill"]["state"] == "running"
    # A day may begin during the request.
    assert first_day <= last <= datetime.now(UTC).date()
    assert client.post(f"{API_PATH}/backfill", json=REQUEST).status_code == 409
    for _ in range(2):
        response = client.post(f"{API_PATH}/stop-backfill").json()
        assert response["source"]["backfill"]["state"] == "stopped"
    assert response == client.get(API_PATH).json()


@pytest.mark.parametrize(
    ("request_fields", "message"),
    [
        ({}, "from"),
        ({"from": "soon"}, "date"),
        ({"from": "2999-01-01"}, "is in the future"),
        ({"from": "2025-02-01", "to": "2025-01-31"}, "is after the last day"),
        ({"from": "2025-01-01", "until": "2025-01-31"}, "until"),
    ],
)
def test_invalid_days_are_refused(
    client: TestClient, stores: Stores, request_fields: dict[str, str], message: str
) -> None:
    before = row(stores)
    response = client.post(f"{API_PATH}/backfill", json=request_fields)
    assert (response.status_code, message in response.json()["error"]) == (400, True), response.text
    assert press(client, "backfill", **request_fields) == 400
    assert row(stores) == before


def test_backfills_that_are_impossible_are_refused_with_the_reason(
    client: TestClient, stores: Stores
) -> None:
    assert client.post(f"/api/sources/{PAUSED.source_id}/backfill", json=REQUEST).status_code == 409
    assert client.post(f"/api/sources/{'0' * 12}/backfill", json=REQUEST).status_code == 404
    assert client.post(f"{API_PATH}/backfill", data=REQUEST).status_code == 415
    stores.records.change(SourceRow, [GOOD.source_id], {"hints": {"older": ""}})
    response = client.post(f"{API_PATH}/backfill", json=REQUEST)
    assert (response.status_code, "no link to an older page" in response.json()["error"]) == (
        409,
        True,
    )
    assert press(client, "backfill", **REQUEST) == 409
    assert "Older pages cannot be fetched: its last listing has no link to an older page." in read(
        client, PAGE
    ).words("//main")
    assert row(stores).backfill is None


def test_readers_see_a_backfill_and_cannot_change_it(stores: Stores) -> None:
    set_backfill(stores)
    with TestClient(create_app(stores, host="0.0.0.0"), base_url=ORIGIN) as exposed_client:
        assert "63: 40 new" in read(exposed_client, PAGE).words("//main")
        assert list_forms(exposed_client) == []
        assert press(exposed_client, "stop-backfill") == 403
        assert exposed_client.post(f"{API_PATH}/backfill", json=REQUEST).status_code == 403
    backfill = row(stores).backfill
    assert backfill is not None
    assert backfill.is_active
