"""Decisions about failures: confirmed on a page, done once, refused from other sites."""

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
    with open_home(tmp_path) as stores:
        yield stores


@pytest.fixture
def client(stores: Stores) -> Iterator[TestClient]:
    fail(stores, *range(6))
    with TestClient(create_app(stores), base_url=ORIGIN) as client:
        yield client


def get_group(client: TestClient, reason: str) -> dict[str, str]:
    (group,) = client.get(f"/failures.json?reason={reason}").json()["groups"]
    return {"pipeline": group["pipeline"], "group": group["group"]}


def read_form(client: TestClient, action: str, reason: str) -> dict[str, str]:
    """Return the fields that the confirmation form sends."""
    page = read(
        client,
        f"/failures/{action}?{'&'.join('='.join(pair) for pair in get_group(client, reason).items())}",
    )
    fields = page.tree.xpath("//form[@class='decision']//input")
    return {field.get("name"): field.get("value") or "" for field in fields}


def test_the_confirmation_page_shows_count_and_steps_and_changes_nothing(
    client: TestClient, stores: Stores
) -> None:
    chosen_group = get_group(client, "timeout")
    page = read(client, f"/failures/retry?pipeline=library&group={chosen_group['group']}")
    assert page.heading == "Retry 2 failures?"
    words = page.words()
    assert "extract_pdf, persist_pdf_text" in words
    assert "with a longer time limit" in words
    assert stores.queue.get_depth(reader()).quarantined == 6


def test_a_form_sent_twice_acts_once(client: TestClient, stores: Stores) -> None:
    form_fields = read_form(client, "retry", "timeout")
    first = client.post("/failures/retry", data=form_fields, headers=OWN)
    assert "2 failures were sent back to their step" in first.text
    depth = stores.queue.get_depth(reader())
    assert (depth.ready, depth.quarantined) == (2, 4)
    fail(stores, 0, 3)
    second = client.post("/failures/retry", data=form_fields, headers=OWN)
    assert "2 failures were sent back to their step" in second.text
    assert stores.queue.get_depth(reader()).quarantined == 6


def test_accepted_failures_no_longer_need_attention(client: TestClient, stores: Stores) -> None:
    form_fields = read_form(client, "accept", "broken-pdf") | {"note": "no <b>copy</b> is left"}
    response = client.post("/failures/accept", data=form_fields, headers=OWN)
    assert "2 failures were accepted as final" in response.text
    assert "no &lt;b&gt;copy&lt;/b&gt; is left" in response.text
    failures = client.get("/failures.json").json()
    assert (failures["total"], failures["accepted"]) == (4, 2)
    assert client.get(failures["accepted_href"].replace("?", ".json?")).json()["total"] == 2
    assert client.get("/api/overview").json()["unaccounted"] == 0
    assert "4 records need attention" in read(client, "/").words()
    assert stores.ledger.recount() == []


def test_the_page_says_that_nothing_needs_attention_once_all_is_accepted(
    client: TestClient,
) -> None:
    for reason in ("timeout", "broken-pdf", "missing-source"):
        client.post("/failures/accept", data=read_form(client, "accept", reason), headers=OWN)
    page = read(client, "/failures")
    assert page.heading == "Nothing needs attention"
    assert "6 failures accepted as final" in page.words()
    last = client.get("/failures.json").json()["recent"]["last_accepted"]
    assert "Last accepted," in page.words()
    assert last["url"] in page.words()


def test_a_single_entry_can_be_accepted(client: TestClient, stores: Stores) -> None:
    entry = body(3).capture_id
    page = read(client, f"/failures/accept?pipeline=library&entry={entry}")
    assert page.heading == "Accept 1 failure as final?"
    href = f"/failures/accept?pipeline=library&entry={entry}"
    assert href in read(client, "/records?outcome=quarantined").links()


def test_retrying_permanent_failures_is_refused(client: TestClient, stores: Stores) -> None:
    chosen_group = get_group(client, "broken-pdf")
    page = read(client, f"/failures/retry?pipeline=library&group={chosen_group['group']}")
    assert page.heading == "A retry fails in the same way"
    assert page.tree.xpath("//form[@class='decision']") == []
    form_fields = {**chosen_group, "entry": "", "key": "a" * 32}
    assert client.post("/failures/retry", data=form_fields, headers=OWN).status_code == 409
    assert stores.queue.get_depth(reader()).quarantined == 6


def test_an_empty_group_says_that_nothing_is_in_quarantine(client: TestClient) -> None:
    page = read(client, f"/failures/retry?pipeline=library&group={'0' * 16}")
    assert page.heading == "No such failures"


@pytest.mark.parametrize(
    "headers", [{}, {"origin": "https://evil.example"}, {"sec-fetch-site": "cross-site"}]
)
def test_forms_from_other_sites_are_refused(
    client: TestClient, stores: Stores, headers: dict[str, str]
) -> None:
    form_fields = read_form(client, "retry", "timeout")
    assert client.post("/failures/retry", data=form_fields, headers=headers).status_code == 403
    assert stores.queue.get_depth(reader()).quarantined == 6


def test_a_server_on_all_addresses_refuses_decisions(client: TestClient, stores: Stores) -> None:
    form_fields = read_form(client, "retry", "timeout")
    with TestClient(create_app(stores, host="0.0.0.0"), base_url=ORIGIN) as exposed_client:
        response = exposed_client.post("/failures/retry", data=form_fields, headers=OWN)
    assert response.status_code == 403
    assert "can only read" in response.text


@pytest.mark.parametrize(
    "changed_fields",
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
def test_invalid_form_fields_are_refused(
    client: TestClient, stores: Stores, changed_fields: dict[str, str]
) -> None:
    form_fields = read_form(client, "accept", "timeout") | changed_fields
    assert client.post("/failures/accept", data=form_fields, headers=OWN).status_code == 400
    assert stores.queue.get_depth(reader()).quarantined == 6


def test_a_form_that_is_too_large_is_refused(client: TestClient, stores: Stores) -> None:
    form_fields = read_form(client, "accept", "timeout") | {"note": "x" * 40_000}
    assert client.post("/failures/accept", data=form_fields, headers=OWN).status_code == 413
    assert stores.queue.get_depth(reader()).quarantined == 6


def test_unknown_decisions_and_actions_are_refused(client: TestClient) -> None:
    assert client.get(f"/failures/decisions/{'0' * 32}").status_code == 404
    assert client.get("/failures/decisions/x").status_code == 404
    assert client.get("/failures/forget?pipeline=library").status_code == 400


def test_groups_are_paged_by_25_in_order_of_size(stores: Stores) -> None:
    from dataclasses import replace

    from fonds.model.disposition import Reason, Verdict
    from home_rows import build_disposition, enter

    bodies = [
        replace(body(number), url=f"http://host-{number % 60}.example/{number}")
        for number in range(90)
    ]
    enter(stores, bodies)
    failure = (Verdict.QUARANTINED, Reason.TIMEOUT, "slow")
    stores.ledger.write([build_disposition(body, "identify", 0) for body in bodies])
    stores.ledger.write(
        [build_disposition(body, "parse_story", 1, "identify", *failure) for body in bodies]
    )
    with TestClient(create_app(stores), base_url=ORIGIN) as client:
        first = client.get("/failures.json").json()
        assert (first["total"], first["groups_total"], len(first["groups"])) == (90, 60, 25)
        second = client.get(f"/failures.json?after={first['next']}").json()
        third = client.get(f"/failures.json?after={second['next']}").json()
        assert (third["first"], len(third["groups"]), third["next"]) == (51, 10, None)
        groups = [*first["groups"], *second["groups"], *third["groups"]]
        assert [group["count"] for group in groups] == [2] * 30 + [1] * 30
        assert len({group["host"] for group in groups}) == 60
        for group in groups[::20]:
            href = urlsplit(group["href"])
            assert parse_qs(href.query)["group"] == [group["group"]]
            assert client.get(f"/records.json?{href.query}").json()["total"] == group["count"]
        assert "51–60 of 60" in read(client, f"/failures?after={second['next']}").words()
