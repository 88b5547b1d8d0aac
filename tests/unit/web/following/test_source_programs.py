"""Actions on a source by the API, and refused requests."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any

import pytest
from starlette.testclient import TestClient

from followed_home import GOOD, ORIGIN, PAUSED, row
from fonds.model.rows import ActRow, SourceRow
from fonds.ports import Stores
from fonds.web.app import create_app

API_PATH = f"/api/sources/{GOOD.source_id}"


def test_actions_return_the_changed_source(client: TestClient, stores: Stores) -> None:
    response = client.post(f"{API_PATH}/poll")
    assert (response.status_code, response.json()["source"]["health"]) == (200, "quiet")
    assert row(stores).next_poll <= datetime.now(UTC)
    for _ in range(2):
        paused_source = client.post(f"{API_PATH}/pause").json()
        assert paused_source["source"]["health"] == "paused"
    assert paused_source == client.get(API_PATH).json()
    assert client.post(f"{API_PATH}/resume", json={}).json()["source"]["polled_next"] is not None
    assert row(stores).state == "active"
    log_lines = [log_row.what for log_row in stores.records.find(ActRow)]
    assert sum(f"POST {API_PATH}/" in line for line in log_lines) == 4


def test_a_patch_keeps_the_omitted_fields(client: TestClient, stores: Stores) -> None:
    before = row(stores)
    edited = client.patch(API_PATH, json={"title": " A  <b>new</b> one ", "folder": "news"}).json()
    assert (edited["source"]["title"], edited["source"]["folder"]) == ("A <b>new</b> one", "news")
    assert edited["source"]["collection"] == before.collection == row(stores).collection


@pytest.mark.parametrize(
    ("fields", "message"),
    [
        ({}, "Give at least one field to change: title, folder, collection."),
        ({"titel": "x"}, "Did you mean “title”?"),
        ({"title": "x" * 301}, "300"),
        ({"title": None}, "Expected `str`"),
        ({"collection": " "}, "matching"),
        ([], "Expected `object`"),
    ],
)
def test_invalid_edits_are_refused(
    client: TestClient, stores: Stores, fields: Any, message: str
) -> None:
    before = row(stores)
    response = client.patch(API_PATH, json=fields)
    assert (response.status_code, message in response.json()["error"]) == (400, True), response.text
    assert row(stores) == before


def test_polling_a_paused_or_leased_source_is_a_conflict(
    client: TestClient, stores: Stores
) -> None:
    paused_response = client.post(f"/api/sources/{PAUSED.source_id}/poll")
    assert (paused_response.status_code, "Resume it" in paused_response.json()["error"]) == (
        409,
        True,
    )
    stores.records.change(SourceRow, [GOOD.source_id], {"polling": True, "lease_holder": "another"})
    leased_response = client.post(f"{API_PATH}/poll")
    assert (leased_response.status_code, "is being polled" in leased_response.json()["error"]) == (
        409,
        True,
    )


def test_a_source_is_muted_until_a_day_and_unmuted(client: TestClient, stores: Stores) -> None:
    request = {"until": "2999-01-31", "note": "they move"}
    source = client.post(f"{API_PATH}/mute", json=request).json()["source"]
    assert (source["muted"]["until"], source["muted"]["note"]) == (
        "2999-01-31T00:00:00Z",
        "they move",
    )
    assert client.post(f"{API_PATH}/unmute").json()["source"]["muted"] is None
    before = row(stores)
    for fields, status in (
        ({}, 400),
        ({"until": "2020-01-01"}, 400),
        ({"until": "soon"}, 400),
        ({"untill": "2999-01-31"}, 400),
        ({"until": "2999-01-31", "note": "x" * 301}, 400),
    ):
        assert client.post(f"{API_PATH}/mute", json=fields).status_code == status, fields
    assert client.post(f"/api/sources/{PAUSED.source_id}/mute", json=request).status_code == 409
    assert client.post(f"{API_PATH}/mute", data={"a": "b"}).status_code == 415
    assert row(stores) == before


def test_unknown_sources_actions_and_content_types_are_refused(
    client: TestClient, stores: Stores
) -> None:
    before = row(stores)
    unknown_path = f"/api/sources/{'0' * 12}"
    assert client.post(f"{unknown_path}/poll").status_code == 404
    assert client.patch(unknown_path, json={"title": "x"}).status_code == 404
    response = client.post(f"{API_PATH}/paus")
    assert (response.status_code, response.json()["nearest"]) == (400, "pause")
    assert client.post(f"{API_PATH}/pause", json={"for": "1 day"}).status_code == 400
    assert client.post(f"{API_PATH}/pause", data={"a": "b"}).status_code == 415
    assert client.patch(API_PATH, content=b"{}").status_code == 415
    assert client.patch(API_PATH, json={"title": "x" * 40_000}).status_code == 413
    assert client.delete(API_PATH).status_code == 405
    assert row(stores) == before


@pytest.mark.parametrize(
    "headers", [{"origin": "https://evil.example"}, {"sec-fetch-site": "cross-site"}]
)
def test_requests_from_other_sites_are_refused(
    client: TestClient, stores: Stores, headers: dict[str, str]
) -> None:
    assert client.post(f"{API_PATH}/pause", headers=headers).status_code == 403
    assert row(stores).state == "active"


def test_a_server_on_all_addresses_refuses_changes(stores: Stores) -> None:
    with TestClient(create_app(stores, host="0.0.0.0"), base_url=ORIGIN) as exposed_client:
        assert exposed_client.post(f"{API_PATH}/pause").status_code == 403
        assert exposed_client.patch(API_PATH, json={"title": "x"}).status_code == 403
    assert row(stores).state == "active"
