"""Actions of curators on the page of a source, which are refused to others."""

from __future__ import annotations

from datetime import UTC, datetime

import pytest
from starlette.testclient import TestClient

from followed_home import GOOD, HOSTILE, ORIGIN, PAUSED, row
from fonds.following.source_edits import poll_soon
from fonds.model.errors import ConfigurationError
from fonds.model.rows import ActRow, SourceRow
from fonds.ports import Stores
from fonds.web.app import create_app
from page_reading import read

OWN = {"sec-fetch-site": "same-origin"}


def list_buttons(client: TestClient, source: SourceRow) -> list[str]:
    page = read(client, f"/sources/{source.source_id}")
    return [
        form.get("action").rpartition("/")[2]
        for form in page.tree.xpath("//main//form[@method='post']")
    ]


def press(client: TestClient, source: SourceRow, action: str, **fields: str) -> int:
    path = f"/sources/{source.source_id}/{action}"
    response = client.post(path, data=fields, headers=OWN, follow_redirects=False)
    if response.status_code == 303:
        assert response.headers["location"] == f"/sources/{source.source_id}"
    return response.status_code


def test_a_source_is_polled_paused_and_resumed(client: TestClient, stores: Stores) -> None:
    assert list_buttons(client, GOOD) == ["poll", "pause", "mute", "backfill", "edit"]
    assert press(client, GOOD, "poll") == 303
    assert row(stores, GOOD).next_poll <= datetime.now(UTC)
    assert [press(client, GOOD, "pause") for _ in range(2)] == [303, 303]
    assert row(stores, GOOD).state == "paused"
    assert list_buttons(client, GOOD) == ["resume", "edit"]
    assert press(client, GOOD, "resume") == 303
    assert (row(stores, GOOD).state, row(stores, GOOD).failures) == ("active", 0)
    log_lines = [log_row.what for log_row in stores.records.find(ActRow)]
    assert sum(GOOD.source_id in line for line in log_lines) == 4


def test_polling_a_paused_source_is_refused(client: TestClient, stores: Stores) -> None:
    before = row(stores, PAUSED)
    response = client.post(f"/sources/{PAUSED.source_id}/poll", headers=OWN)
    assert response.status_code == 409
    assert "Resume it" in response.text
    assert row(stores, PAUSED) == before


def test_a_source_cannot_be_polled_during_a_poll(client: TestClient, stores: Stores) -> None:
    lease = {"polling": True, "lease_holder": "another", "lease_version": 3}
    stores.records.change(SourceRow, [GOOD.source_id], lease)
    before = row(stores, GOOD)
    assert press(client, GOOD, "poll") == 409
    assert row(stores, GOOD) == before
    assert [press(client, GOOD, action) for action in ("pause", "resume")] == [303, 303]
    source = row(stores, GOOD)
    assert (source.state, source.next_poll, source.lease_version) == ("active", before.next_poll, 3)
    stores.records.change(SourceRow, [GOOD.source_id], {"lease_holder": None})
    assert press(client, GOOD, "poll") == 303


def test_a_concurrent_poll_makes_the_request_fail(stores: Stores) -> None:
    source = row(stores, GOOD)
    lease = {"polling": True, "lease_version": source.lease_version + 1}
    stores.records.change(SourceRow, [GOOD.source_id], lease)
    with pytest.raises(ConfigurationError, match="is being polled"):
        poll_soon(stores.records, source, datetime.now(UTC))
    assert row(stores, GOOD).next_poll == source.next_poll


def test_renaming_a_source_keeps_its_polls(client: TestClient, stores: Stores) -> None:
    polls = client.get(f"/api/sources/{GOOD.source_id}").json()["last_polls"]
    fields = {"title": " <b>New</b>  name ", "folder": "news/europe", "collection": "later"}
    assert press(client, GOOD, "edit", **fields) == 303
    source = row(stores, GOOD)
    assert (source.title, source.folder, source.collection) == (
        "<b>New</b> name",
        "news/europe",
        "later",
    )
    assert client.get(f"/api/sources/{GOOD.source_id}").json()["last_polls"] == polls
    page = client.get(f"/sources/{GOOD.source_id}").text
    assert "<b>New" not in page


def test_an_edit_keeps_the_omitted_fields(client: TestClient, stores: Stores) -> None:
    before = row(stores, GOOD)
    assert press(client, GOOD, "edit", folder="elsewhere") == 303
    source = row(stores, GOOD)
    assert (source.title, source.folder, source.collection) == (
        before.title,
        "elsewhere",
        before.collection,
    )
    assert press(client, GOOD, "edit") == 400
    assert row(stores, GOOD) == source


def test_a_failing_source_is_muted_and_unmuted(client: TestClient, stores: Stores) -> None:
    path = f"/api/sources/{HOSTILE.source_id}"
    before = client.get("/api/sources").json()
    assert press(client, HOSTILE, "mute", until="", note=" <b>they</b>  move ") == 303
    source = client.get(path).json()["source"]
    assert (source["health"], source["muted"]["until"]) == ("muted", None)
    assert (source["muted"]["note"], source["failures"]) == ("<b>they</b> move", 7)
    sources = client.get("/api/sources").json()
    assert sources["rows"][-1]["source_id"] == HOSTILE.source_id
    assert sources["health_counts"]["muted"] == 1
    assert sources["answer"] == "3 sources followed, 1 paused: 1 needs attention, 1 muted"
    assert before["answer"] == "3 sources followed, 1 paused: 2 need attention"
    for page in ("/sources", f"/sources/{HOSTILE.source_id}"):
        assert "until it recovers" in read(client, page).words("//main")
        assert "<b>they" not in client.get(page).text
    assert list_buttons(client, HOSTILE) == [
        "poll",
        "pause",
        "unmute",
        "mute",
        "edit",
        "stop-backfill",
    ]
    assert [press(client, HOSTILE, "unmute") for _ in range(2)] == [303, 303]
    assert client.get(path).json()["source"]["health"] == "failing"
    assert press(client, GOOD, "mute", until="2999-01-31") == 303
    assert row(stores, GOOD).muted_until is not None
    log_lines = [log_row.what for log_row in stores.records.find(ActRow)]
    assert sum("mute" in line for line in log_lines) == 4


@pytest.mark.parametrize(
    ("source", "fields", "status"),
    [
        (GOOD, {}, 400),
        (GOOD, {"until": "2020-01-01"}, 400),
        (GOOD, {"until": "soon"}, 400),
        (HOSTILE, {"note": "x" * 301}, 400),
        (HOSTILE, {"title": "x"}, 400),
        (PAUSED, {"until": "2999-01-31"}, 409),
    ],
)
def test_invalid_mutes_are_refused(
    client: TestClient, stores: Stores, source: SourceRow, fields: dict[str, str], status: int
) -> None:
    before = row(stores, source)
    assert press(client, source, "mute", **fields) == status
    assert row(stores, source) == before


@pytest.mark.parametrize(
    "fields",
    [{"title": "x" * 301, "collection": "c"}, {"title": "x", "collection": " "}, {"state": "gone"}],
)
def test_invalid_edits_are_refused(
    client: TestClient, stores: Stores, fields: dict[str, str]
) -> None:
    before = row(stores, GOOD)
    assert press(client, GOOD, "edit", **fields) == 400
    assert row(stores, GOOD) == before


def test_unknown_sources_and_actions_are_refused(client: TestClient) -> None:
    assert client.post(f"/sources/{'0' * 12}/poll", headers=OWN).status_code == 404
    assert client.post(f"/sources/{GOOD.source_id}/delete", headers=OWN).status_code == 400


@pytest.mark.parametrize(
    "headers", [{}, {"origin": "https://evil.example"}, {"sec-fetch-site": "cross-site"}]
)
def test_forms_from_other_sites_are_refused(
    client: TestClient, stores: Stores, headers: dict[str, str]
) -> None:
    path = f"/sources/{GOOD.source_id}/pause"
    assert client.post(path, headers=headers).status_code == 403
    assert row(stores, GOOD).state == "active"


def test_a_server_on_all_addresses_shows_no_buttons_and_refuses_actions(stores: Stores) -> None:
    with TestClient(create_app(stores, host="0.0.0.0"), base_url=ORIGIN) as exposed_client:
        assert list_buttons(exposed_client, GOOD) == []
        assert press(exposed_client, GOOD, "pause") == 403
    assert row(stores, GOOD).state == "active"
