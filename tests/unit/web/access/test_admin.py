"""The admin's page: keys, revoked there, and what was changed by whom."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from fonds.model.access import Role
from guarded_home import OWN, GuardedHome, bearer, open_guarded_home
from page_reading import PageRead


@pytest.fixture
def home(tmp_path: Path) -> Iterator[GuardedHome]:
    with open_guarded_home(tmp_path) as found:
        yield found


def test_keys_and_acts_are_shown_to_admins_and_no_secret_with_them(home: GuardedHome) -> None:
    body = {"text": "flood"}
    for name in ("<b>", "two"):
        client, key = home.client(), bearer(home.secrets[Role.CURATOR])
        assert client.put(f"/documents/news/{name}", json=body, headers=key).status_code == 201
    browser = home.sign_in(Role.ADMIN)
    page = PageRead(browser.get("/admin").text)
    assert page.heading == "3 active keys"
    words = page.words()
    assert "PUT /documents/news/%3Cb%3E" in words
    assert words.count("done") == 2
    assert len(page.tree.xpath("//form[@action='/admin/revoke']")) == 3
    text = browser.get("/admin").text + browser.get("/api/admin").text
    for row in home.gate.keys.list_all():
        assert row.prefix in text
        assert row.sha256hex not in text
        assert home.secrets[Role(row.role)][-43:] not in text
    assert "/admin" not in home.sign_in(Role.CURATOR).get("/").text


def test_a_key_is_revoked_on_the_page_with_a_reason_by_an_admin_alone(home: GuardedHome) -> None:
    sent = {"name": "reader", "reason": " left  the project "}
    for client in (home.sign_in(Role.CURATOR), home.client()):
        assert client.post("/admin/revoke", data=sent, headers=OWN).status_code in (401, 403)
    browser = home.sign_in(Role.ADMIN)
    for headers in ({}, {"sec-fetch-site": "cross-site"}):
        assert browser.post("/admin/revoke", data=sent, headers=headers).status_code == 403
    for wrong in ({**sent, "reason": " "}, {**sent, "name": "nobody"}, {**sent, "more": "1"}):
        assert browser.post("/admin/revoke", data=wrong, headers=OWN).status_code == 400
    reader = home.sign_in(Role.READER)
    assert browser.post("/admin/revoke", data=sent, headers=OWN).headers["location"] == "/admin"
    assert home.gate.keys.authenticate(home.secrets[Role.READER]) is None
    assert "Sign out" not in reader.get("/").text
    told = {one["name"]: one for one in browser.get("/admin.json").json()["keys"]}["reader"]
    assert (told["state"], told["revoked_by"], told["revoked_reason"]) == (
        "revoked", "admin", "left the project",
    )  # fmt: skip
    act = browser.get("/admin.json").json()["acts"][0]
    assert (act["who"], act["what"], act["outcome"]) == ("admin", "POST /admin/revoke", 303)


def test_where_nobody_made_a_key_this_machine_sees_what_it_changed(tmp_path: Path) -> None:
    with open_guarded_home(tmp_path, are_made=False) as home:
        assert PageRead(home.client().get("/admin").text).heading == "No access keys"
        assert home.client().get("/admin", headers={"Via": "1.1 proxy"}).status_code == 403


def test_a_key_is_made_on_the_page_and_its_secret_shown_once(home: GuardedHome) -> None:
    sent = {"name": "anne", "role": "curator", "until": "2999-12-31"}
    for client in (home.sign_in(Role.CURATOR), home.client()):
        assert client.post("/admin/keys", data=sent, headers=OWN).status_code in (401, 403)
    browser = home.sign_in(Role.ADMIN)
    for headers in ({}, {"sec-fetch-site": "cross-site"}):
        assert browser.post("/admin/keys", data=sent, headers=headers).status_code == 403
    answer = browser.post("/admin/keys", data=sent, headers=OWN)
    assert answer.status_code == 200
    assert answer.headers["Cache-Control"] == "no-store"
    page = PageRead(answer.text)
    assert page.heading == "Key of anne (curator)"
    (secret,) = [one.text_content() for one in page.tree.xpath("//code[@class='secret']")]
    row = home.gate.keys.authenticate(secret)
    assert row is not None
    assert (row.name, row.role, row.made_by) == ("anne", "curator", "admin")
    assert secret not in browser.get("/admin").text + browser.get("/admin.json").text
    told = browser.get("/admin.json").json()
    assert secret[-20:] not in str(told)
    assert told["acts"][0]["what"] == "POST /admin/keys"


@pytest.mark.parametrize(
    "wrong",
    [
        {"name": "Anne <b>"},
        {"name": "reader"},
        {"name": "x" * 61},
        {"role": "owner"},
        {"role": ""},
        {"until": "2001-01-01"},
        {"until": "tomorrow <b>"},
        {"more": "1"},
    ],
)
def test_what_makes_no_key_says_why_and_makes_none(
    home: GuardedHome, wrong: dict[str, str]
) -> None:
    sent = {"name": "anne", "role": "curator", "until": ""} | wrong
    before = [one.name for one in home.gate.keys.list_all()]
    answer = home.sign_in(Role.ADMIN).post("/admin/keys", data=sent, headers=OWN)
    assert answer.status_code == 400
    assert "<b>" not in answer.text
    assert [one.name for one in home.gate.keys.list_all()] == before


def test_the_first_key_is_made_at_this_machine_and_not_from_elsewhere(tmp_path: Path) -> None:
    with open_guarded_home(tmp_path, are_made=False) as home:
        sent = {"name": "anne", "role": "admin", "until": ""}
        far = {**OWN, "Via": "1.1 proxy"}
        assert home.client().post("/admin/keys", data=sent, headers=far).status_code == 403
        assert home.client().post("/admin/keys", data=sent, headers=OWN).status_code == 200
        assert home.client().post("/admin/keys", data=sent, headers=OWN).status_code in (401, 403)
