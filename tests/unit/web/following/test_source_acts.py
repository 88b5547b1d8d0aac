"""What curators do with a source from its page, and that nobody else does."""

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


def buttons(client: TestClient, source: SourceRow) -> list[str]:
    page = read(client, f"/sources/{source.source_id}")
    return [
        one.get("action").rpartition("/")[2]
        for one in page.tree.xpath("//main//form[@method='post']")
    ]


def press(client: TestClient, source: SourceRow, act: str, **said: str) -> int:
    path = f"/sources/{source.source_id}/{act}"
    answer = client.post(path, data=said, headers=OWN, follow_redirects=False)
    if answer.status_code == 303:
        assert answer.headers["location"] == f"/sources/{source.source_id}"
    return answer.status_code


def test_a_source_is_polled_next_paused_and_followed_again(
    client: TestClient, stores: Stores
) -> None:
    assert buttons(client, GOOD) == ["poll", "pause", "mute", "backfill", "edit"]
    assert press(client, GOOD, "poll") == 303
    assert row(stores, GOOD).next_poll <= datetime.now(UTC)
    assert [press(client, GOOD, "pause") for _ in range(2)] == [303, 303]
    assert row(stores, GOOD).state == "paused"
    assert buttons(client, GOOD) == ["resume", "edit"]
    assert press(client, GOOD, "resume") == 303
    assert (row(stores, GOOD).state, row(stores, GOOD).failures) == ("active", 0)
    acts = [one.what for one in stores.records.find(ActRow)]
    assert sum(GOOD.source_id in act for act in acts) == 4


def test_what_is_paused_is_not_polled_and_stays_so(client: TestClient, stores: Stores) -> None:
    before = row(stores, PAUSED)
    answer = client.post(f"/sources/{PAUSED.source_id}/poll", headers=OWN)
    assert answer.status_code == 409
    assert "Resume it" in answer.text
    assert row(stores, PAUSED) == before


def test_a_poll_under_way_keeps_the_source_to_itself(client: TestClient, stores: Stores) -> None:
    taken = {"polling": True, "lease_holder": "another", "lease_version": 3}
    stores.records.change(SourceRow, [GOOD.source_id], taken)
    before = row(stores, GOOD)
    assert press(client, GOOD, "poll") == 409
    assert row(stores, GOOD) == before
    assert [press(client, GOOD, act) for act in ("pause", "resume")] == [303, 303]
    found = row(stores, GOOD)
    assert (found.state, found.next_poll, found.lease_version) == ("active", before.next_poll, 3)
    stores.records.change(SourceRow, [GOOD.source_id], {"lease_holder": None})
    assert press(client, GOOD, "poll") == 303


def test_of_two_who_take_it_at_once_the_one_who_polls_wins(stores: Stores) -> None:
    seen = row(stores, GOOD)
    taken = {"polling": True, "lease_version": seen.lease_version + 1}
    stores.records.change(SourceRow, [GOOD.source_id], taken)
    with pytest.raises(ConfigurationError, match="is being polled"):
        poll_soon(stores.records, seen, datetime.now(UTC))
    assert row(stores, GOOD).next_poll == seen.next_poll


def test_it_is_named_anew_and_its_polls_stay(client: TestClient, stores: Stores) -> None:
    polls = client.get(f"/api/sources/{GOOD.source_id}").json()["last_polls"]
    said = {"title": " <b>New</b>  name ", "folder": "news/europe", "collection": "later"}
    assert press(client, GOOD, "edit", **said) == 303
    found = row(stores, GOOD)
    assert (found.title, found.folder, found.collection) == (
        "<b>New</b> name",
        "news/europe",
        "later",
    )
    assert client.get(f"/api/sources/{GOOD.source_id}").json()["last_polls"] == polls
    page = client.get(f"/sources/{GOOD.source_id}").text
    assert "<b>New" not in page


def test_what_an_edit_leaves_out_stays(client: TestClient, stores: Stores) -> None:
    before = row(stores, GOOD)
    assert press(client, GOOD, "edit", folder="elsewhere") == 303
    found = row(stores, GOOD)
    assert (found.title, found.folder, found.collection) == (
        before.title,
        "elsewhere",
        before.collection,
    )
    assert press(client, GOOD, "edit") == 400
    assert row(stores, GOOD) == found


def test_what_ails_it_is_muted_and_unmuted(client: TestClient, stores: Stores) -> None:
    path = f"/api/sources/{HOSTILE.source_id}"
    before = client.get("/api/sources").json()
    assert press(client, HOSTILE, "mute", until="", note=" <b>they</b>  move ") == 303
    found = client.get(path).json()["source"]
    assert (found["standing"], found["muted"]["until"]) == ("muted", None)
    assert (found["muted"]["note"], found["failures"]) == ("<b>they</b> move", 7)
    listed = client.get("/api/sources").json()
    assert listed["rows"][-1]["source_id"] == HOSTILE.source_id
    assert listed["standings"]["muted"] == 1
    assert listed["answer"] == "3 sources followed, 1 paused: 1 needs attention, 1 muted"
    assert before["answer"] == "3 sources followed, 1 paused: 2 need attention"
    for page in ("/sources", f"/sources/{HOSTILE.source_id}"):
        assert "until it recovers" in read(client, page).words("//main")
        assert "<b>they" not in client.get(page).text
    assert buttons(client, HOSTILE) == ["poll", "pause", "unmute", "mute", "edit", "stop-backfill"]
    assert [press(client, HOSTILE, "unmute") for _ in range(2)] == [303, 303]
    assert client.get(path).json()["source"]["standing"] == "failing"
    assert press(client, GOOD, "mute", until="2999-01-31") == 303
    assert row(stores, GOOD).muted_until is not None
    acts = [one.what for one in stores.records.find(ActRow)]
    assert sum("mute" in act for act in acts) == 4


@pytest.mark.parametrize(
    ("source", "said", "status"),
    [
        (GOOD, {}, 400),
        (GOOD, {"until": "2020-01-01"}, 400),
        (GOOD, {"until": "soon"}, 400),
        (HOSTILE, {"note": "x" * 301}, 400),
        (HOSTILE, {"title": "x"}, 400),
        (PAUSED, {"until": "2999-01-31"}, 409),
    ],
)
def test_what_cannot_be_muted_stays_as_it_is(
    client: TestClient, stores: Stores, source: SourceRow, said: dict[str, str], status: int
) -> None:
    before = row(stores, source)
    assert press(client, source, "mute", **said) == status
    assert row(stores, source) == before


@pytest.mark.parametrize(
    "said",
    [{"title": "x" * 301, "collection": "c"}, {"title": "x", "collection": " "}, {"state": "gone"}],
)
def test_words_that_cannot_be_are_refused(
    client: TestClient, stores: Stores, said: dict[str, str]
) -> None:
    before = row(stores, GOOD)
    assert press(client, GOOD, "edit", **said) == 400
    assert row(stores, GOOD) == before


def test_there_is_no_such_source_and_no_such_act(client: TestClient) -> None:
    assert client.post(f"/sources/{'0' * 12}/poll", headers=OWN).status_code == 404
    assert client.post(f"/sources/{GOOD.source_id}/delete", headers=OWN).status_code == 400


@pytest.mark.parametrize(
    "headers", [{}, {"origin": "https://evil.example"}, {"sec-fetch-site": "cross-site"}]
)
def test_nobody_elses_form_acts(
    client: TestClient, stores: Stores, headers: dict[str, str]
) -> None:
    path = f"/sources/{GOOD.source_id}/pause"
    assert client.post(path, headers=headers).status_code == 403
    assert row(stores, GOOD).state == "active"


def test_a_server_others_reach_shows_no_buttons_and_does_nothing(stores: Stores) -> None:
    with TestClient(create_app(stores, host="0.0.0.0"), base_url=ORIGIN) as reached:
        assert buttons(reached, GOOD) == []
        assert press(reached, GOOD, "pause") == 403
    assert row(stores, GOOD).state == "active"
