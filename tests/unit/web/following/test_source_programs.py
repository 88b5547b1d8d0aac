"""What programs do with a source over the API, and what is refused."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any

import pytest
from starlette.testclient import TestClient

from followed_home import GOOD, ORIGIN, PAUSED, row
from fonds.model.rows import ActRow, SourceRow
from fonds.ports import Stores
from fonds.web.app import create_app

HERE = f"/api/sources/{GOOD.source_id}"


def test_a_source_is_polled_next_paused_and_resumed_and_is_told_as_it_is_then(
    client: TestClient, stores: Stores
) -> None:
    polled = client.post(f"{HERE}/poll")
    assert (polled.status_code, polled.json()["source"]["standing"]) == (200, "quiet")
    assert row(stores).next_poll <= datetime.now(UTC)
    for _ in range(2):
        told = client.post(f"{HERE}/pause").json()
        assert told["source"]["standing"] == "paused"
    assert told == client.get(HERE).json()
    assert client.post(f"{HERE}/resume", json={}).json()["source"]["polled_next"] is not None
    assert row(stores).state == "active"
    acts = [one.what for one in stores.records.find(ActRow)]
    assert sum(f"POST {HERE}/" in act for act in acts) == 4


def test_it_is_given_other_words_and_keeps_those_left_out(
    client: TestClient, stores: Stores
) -> None:
    before = row(stores)
    told = client.patch(HERE, json={"title": " A  <b>new</b> one ", "folder": "news"}).json()
    assert (told["source"]["title"], told["folder"]) == ("A <b>new</b> one", "news")
    assert told["collection"] == before.collection == row(stores).collection


@pytest.mark.parametrize(
    ("sent", "said"),
    [
        ({}, "Give at least one field to change: title, folder, collection."),
        ({"titel": "x"}, "Did you mean “title”?"),
        ({"title": "x" * 301}, "300"),
        ({"title": None}, "Expected `str`"),
        ({"collection": " "}, "matching"),
        ([], "Expected `object`"),
    ],
)
def test_words_that_cannot_be_are_refused(
    client: TestClient, stores: Stores, sent: Any, said: str
) -> None:
    before = row(stores)
    answer = client.patch(HERE, json=sent)
    assert (answer.status_code, said in answer.json()["error"]) == (400, True), answer.text
    assert row(stores) == before


def test_a_state_in_which_it_cannot_be_done_is_a_conflict(
    client: TestClient, stores: Stores
) -> None:
    paused = client.post(f"/api/sources/{PAUSED.source_id}/poll")
    assert (paused.status_code, "Resume it" in paused.json()["error"]) == (409, True)
    stores.records.change(SourceRow, [GOOD.source_id], {"polling": True, "lease_holder": "another"})
    polled = client.post(f"{HERE}/poll")
    assert (polled.status_code, "is being polled" in polled.json()["error"]) == (409, True)


def test_what_ails_it_is_muted_until_a_day_and_unmuted(client: TestClient, stores: Stores) -> None:
    said = {"until": "2999-01-31", "note": "they move"}
    told = client.post(f"{HERE}/mute", json=said).json()["source"]
    assert (told["muted_until"], told["mute_note"]) == ("2999-01-31T00:00:00Z", "they move")
    assert client.post(f"{HERE}/unmute").json()["source"]["muted_since"] is None
    before = row(stores)
    for sent, status in (
        ({}, 400),
        ({"until": "2020-01-01"}, 400),
        ({"until": "soon"}, 400),
        ({"untill": "2999-01-31"}, 400),
        ({"until": "2999-01-31", "note": "x" * 301}, 400),
    ):
        assert client.post(f"{HERE}/mute", json=sent).status_code == status, sent
    assert client.post(f"/api/sources/{PAUSED.source_id}/mute", json=said).status_code == 409
    assert client.post(f"{HERE}/mute", data={"a": "b"}).status_code == 415
    assert row(stores) == before


def test_no_source_no_act_and_no_body_of_such_a_kind(client: TestClient, stores: Stores) -> None:
    before = row(stores)
    nowhere = f"/api/sources/{'0' * 12}"
    assert client.post(f"{nowhere}/poll").status_code == 404
    assert client.patch(nowhere, json={"title": "x"}).status_code == 404
    unknown = client.post(f"{HERE}/paus")
    assert (unknown.status_code, unknown.json()["nearest"]) == (400, "pause")
    assert client.post(f"{HERE}/pause", json={"for": "1 day"}).status_code == 400
    assert client.post(f"{HERE}/pause", data={"a": "b"}).status_code == 415
    assert client.patch(HERE, content=b"{}").status_code == 415
    assert client.patch(HERE, json={"title": "x" * 40_000}).status_code == 413
    assert client.delete(HERE).status_code == 405
    assert row(stores) == before


@pytest.mark.parametrize(
    "headers", [{"origin": "https://evil.example"}, {"sec-fetch-site": "cross-site"}]
)
def test_a_page_from_elsewhere_changes_nothing(
    client: TestClient, stores: Stores, headers: dict[str, str]
) -> None:
    assert client.post(f"{HERE}/pause", headers=headers).status_code == 403
    assert row(stores).state == "active"


def test_who_only_reads_changes_nothing(stores: Stores) -> None:
    with TestClient(create_app(stores, host="0.0.0.0"), base_url=ORIGIN) as reached:
        assert reached.post(f"{HERE}/pause").status_code == 403
        assert reached.patch(HERE, json={"title": "x"}).status_code == 403
    assert row(stores).state == "active"
