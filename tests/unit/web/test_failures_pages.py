"""What people decide about failures on the pages: asked first, done once, and by nobody else."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from urllib.parse import parse_qs, urlsplit

import pytest
from starlette.testclient import TestClient

from failed_home import body, fail, reader
from filled_home import open_home
from fonds.ports import Stores
from fonds.web.app import create_app
from page_reading import read

ORIGIN = "http://localhost:8765"
OWN = {"sec-fetch-site": "same-origin"}


@pytest.fixture
def stores(tmp_path: Path) -> Iterator[Stores]:
    with open_home(tmp_path) as found:
        yield found


@pytest.fixture
def client(stores: Stores) -> Iterator[TestClient]:
    fail(stores, *range(6))
    with TestClient(create_app(stores), base_url=ORIGIN) as found:
        yield found


def group(client: TestClient, reason: str) -> dict[str, str]:
    (one,) = client.get(f"/failures.json?reason={reason}").json()["groups"]
    return {"pipeline": one["pipeline"], "group": one["group"]}


def form(client: TestClient, act: str, reason: str) -> dict[str, str]:
    """What the page before sends when its button is pressed."""
    page = read(
        client, f"/failures/{act}?{'&'.join('='.join(p) for p in group(client, reason).items())}"
    )
    fields = page.tree.xpath("//form[@class='decision']//input")
    return {field.get("name"): field.get("value") or "" for field in fields}


def test_the_page_before_says_how_many_and_what_runs_and_does_nothing(
    client: TestClient, stores: Stores
) -> None:
    chosen = group(client, "timeout")
    page = read(client, f"/failures/retry?pipeline=library&group={chosen['group']}")
    assert page.heading == "Retry 2 failures?"
    words = page.words()
    assert "extract_pdf, persist_pdf_text" in words
    assert "with a longer time limit" in words
    assert stores.queue.get_depth(reader()).quarantined == 6


def test_a_form_sent_twice_acts_once(client: TestClient, stores: Stores) -> None:
    sent = form(client, "retry", "timeout")
    first = client.post("/failures/retry", data=sent, headers=OWN)
    assert "2 failures were sent back to their step" in first.text
    depth = stores.queue.get_depth(reader())
    assert (depth.ready, depth.quarantined) == (2, 4)
    fail(stores, 0, 3)
    again = client.post("/failures/retry", data=sent, headers=OWN)
    assert "2 failures were sent back to their step" in again.text
    assert stores.queue.get_depth(reader()).quarantined == 6


def test_accepted_failures_leave_the_page_and_the_need_for_someone(
    client: TestClient, stores: Stores
) -> None:
    sent = form(client, "accept", "broken-pdf") | {"note": "no <b>copy</b> is left"}
    done = client.post("/failures/accept", data=sent, headers=OWN)
    assert "2 failures were accepted as final" in done.text
    assert "no &lt;b&gt;copy&lt;/b&gt; is left" in done.text
    told = client.get("/failures.json").json()
    assert (told["total"], told["accepted"]) == (4, 2)
    assert client.get(told["accepted_href"].replace("?", ".json?")).json()["total"] == 2
    assert client.get("/api/overview").json()["unaccounted"] == 0
    assert "4 records need attention" in read(client, "/").words()
    assert stores.ledger.recount() == []


def test_when_all_is_accepted_nothing_needs_someone(client: TestClient) -> None:
    for reason in ("timeout", "broken-pdf", "missing-source"):
        client.post("/failures/accept", data=form(client, "accept", reason), headers=OWN)
    page = read(client, "/failures")
    assert page.heading == "Nothing needs attention"
    assert "6 failures accepted as final" in page.words()
    last = client.get("/failures.json").json()["recent"]["last_accepted"]
    assert "Last accepted," in page.words()
    assert last["url"] in page.words()


def test_one_entry_can_be_decided_about(client: TestClient, stores: Stores) -> None:
    entry = body(3).capture_id
    page = read(client, f"/failures/accept?pipeline=library&entry={entry}")
    assert page.heading == "Accept 1 failure as final?"
    href = f"/failures/accept?pipeline=library&entry={entry}"
    assert href in read(client, "/records?outcome=quarantined").links()


def test_trying_again_what_ends_the_same_way_is_neither_offered_nor_done(
    client: TestClient, stores: Stores
) -> None:
    chosen = group(client, "broken-pdf")
    page = read(client, f"/failures/retry?pipeline=library&group={chosen['group']}")
    assert page.heading == "A retry fails in the same way"
    assert page.tree.xpath("//form[@class='decision']") == []
    sent = {**chosen, "entry": "", "key": "a" * 32}
    assert client.post("/failures/retry", data=sent, headers=OWN).status_code == 409
    assert stores.queue.get_depth(reader()).quarantined == 6


def test_a_group_of_which_nothing_is_left_says_so(client: TestClient) -> None:
    page = read(client, f"/failures/retry?pipeline=library&group={'0' * 16}")
    assert page.heading == "No such failures"


@pytest.mark.parametrize(
    "headers", [{}, {"origin": "https://evil.example"}, {"sec-fetch-site": "cross-site"}]
)
def test_nobody_elses_form_decides(
    client: TestClient, stores: Stores, headers: dict[str, str]
) -> None:
    sent = form(client, "retry", "timeout")
    assert client.post("/failures/retry", data=sent, headers=headers).status_code == 403
    assert stores.queue.get_depth(reader()).quarantined == 6


def test_a_server_others_reach_decides_nothing(client: TestClient, stores: Stores) -> None:
    sent = form(client, "retry", "timeout")
    with TestClient(create_app(stores, host="0.0.0.0"), base_url=ORIGIN) as reached:
        told = reached.post("/failures/retry", data=sent, headers=OWN)
    assert told.status_code == 403
    assert "can only read" in told.text


@pytest.mark.parametrize(
    "changed",
    [
        {"key": "short"},
        {"group": "x"},
        {"pipeline": "libary"},
        {"group": "", "entry": ""},
        {"more": "1"},
        {"note": "x" * 501},
        {"entry": "x" * 1_001},
    ],
)
def test_what_no_page_of_ours_sends_is_refused(
    client: TestClient, stores: Stores, changed: dict[str, str]
) -> None:
    sent = form(client, "accept", "timeout") | changed
    assert client.post("/failures/accept", data=sent, headers=OWN).status_code == 400
    assert stores.queue.get_depth(reader()).quarantined == 6


def test_a_form_larger_than_any_of_ours_is_not_read_whole(
    client: TestClient, stores: Stores
) -> None:
    sent = form(client, "accept", "timeout") | {"note": "x" * 40_000}
    assert client.post("/failures/accept", data=sent, headers=OWN).status_code == 413
    assert stores.queue.get_depth(reader()).quarantined == 6


def test_decisions_there_are_not_and_acts_there_are_not_are_told(client: TestClient) -> None:
    assert client.get(f"/failures/decisions/{'0' * 32}").status_code == 404
    assert client.get("/failures/decisions/x").status_code == 404
    assert client.get("/failures/forget?pipeline=library").status_code == 400


def test_groups_are_paged_twenty_five_at_a_time_the_largest_first(stores: Stores) -> None:
    from dataclasses import replace

    from fonds.model.disposition import Reason, Verdict
    from home_rows import build_disposition, enter

    bodies = [replace(body(n), url=f"http://host-{n % 60}.example/{n}") for n in range(90)]
    enter(stores, bodies)
    apart = (Verdict.QUARANTINED, Reason.TIMEOUT, "slow")
    stores.ledger.write([build_disposition(one, "identify", 0) for one in bodies])
    stores.ledger.write(
        [build_disposition(one, "parse_story", 1, "identify", *apart) for one in bodies]
    )
    with TestClient(create_app(stores), base_url=ORIGIN) as client:
        first = client.get("/failures.json").json()
        assert (first["total"], first["groups_total"], len(first["groups"])) == (90, 60, 25)
        second = client.get(f"/failures.json?after={first['next']}").json()
        third = client.get(f"/failures.json?after={second['next']}").json()
        assert (third["first"], len(third["groups"]), third["next"]) == (51, 10, None)
        groups = [*first["groups"], *second["groups"], *third["groups"]]
        assert [one["count"] for one in groups] == [2] * 30 + [1] * 30
        assert len({one["host"] for one in groups}) == 60
        for one in groups[::20]:
            href = urlsplit(one["href"])
            assert parse_qs(href.query)["group"] == [one["group"]]
            assert client.get(f"/records.json?{href.query}").json()["total"] == one["count"]
        assert "51–60 of 60" in read(client, f"/failures?after={second['next']}").words()
