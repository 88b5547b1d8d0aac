"""The admin page: creating and revoking keys, and the action log."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from fonds.model.access import Role
from guarded_home import OWN, GuardedHome, bearer, open_guarded_home
from page_reading import PageRead

SECRET_CHARS = 43
"""Length of the secret part of a key, after its prefix."""


@pytest.fixture
def home(tmp_path: Path) -> Iterator[GuardedHome]:
    with open_guarded_home(tmp_path) as home:
        yield home


def test_the_page_shows_keys_and_actions_without_secrets(home: GuardedHome) -> None:
    body = {"text": "flood"}
    for name in ("<b>", "two"):
        client, headers = home.client(), bearer(home.secrets[Role.CURATOR])
        response = client.put(f"/documents/news/{name}", json=body, headers=headers)
        assert response.status_code == 201
    admin_client = home.sign_in(Role.ADMIN)
    page = PageRead(admin_client.get("/admin").text)
    assert page.heading == "3 active keys"
    page_text = page.words()
    assert "PUT /documents/news/%3Cb%3E" in page_text
    assert page_text.count("done") == 2
    assert len(page.tree.xpath("//form[@action='/admin/revoke']")) == 3
    responses_text = admin_client.get("/admin").text + admin_client.get("/api/admin").text
    for row in home.gate.keys.list_all():
        assert row.prefix in responses_text
        assert row.sha256hex not in responses_text
        assert home.secrets[Role(row.role)][-SECRET_CHARS:] not in responses_text
    assert "/admin" not in home.sign_in(Role.CURATOR).get("/").text


def test_only_admins_can_revoke_a_key_and_must_give_a_reason(home: GuardedHome) -> None:
    fields = {"name": "reader", "reason": " left  the project "}
    for client in (home.sign_in(Role.CURATOR), home.client()):
        assert client.post("/admin/revoke", data=fields, headers=OWN).status_code in (401, 403)
    admin_client = home.sign_in(Role.ADMIN)
    for headers in ({}, {"sec-fetch-site": "cross-site"}):
        assert admin_client.post("/admin/revoke", data=fields, headers=headers).status_code == 403
    for wrong_fields in (
        {**fields, "reason": " "},
        {**fields, "name": "nobody"},
        {**fields, "more": "1"},
    ):
        assert admin_client.post("/admin/revoke", data=wrong_fields, headers=OWN).status_code == 400
    reader_client = home.sign_in(Role.READER)
    assert (
        admin_client.post("/admin/revoke", data=fields, headers=OWN).headers["location"] == "/admin"
    )
    assert home.gate.keys.authenticate(home.secrets[Role.READER]) is None
    assert "Sign out" not in reader_client.get("/").text
    data = admin_client.get("/admin.json").json()
    (revoked_key,) = [key for key in data["keys"] if key["name"] == "reader"]
    assert revoked_key["state"] == "revoked"
    assert revoked_key["revoked_by"] == "admin"
    assert revoked_key["revoked_reason"] == "left the project"
    action = data["acts"][0]
    assert (action["who"], action["what"], action["outcome"]) == (
        "admin",
        "POST /admin/revoke",
        303,
    )


def test_without_keys_only_this_computer_can_open_the_page(tmp_path: Path) -> None:
    with open_guarded_home(tmp_path, are_made=False) as home:
        assert PageRead(home.client().get("/admin").text).heading == "No access keys"
        assert home.client().get("/admin", headers={"Via": "1.1 proxy"}).status_code == 403


def test_a_created_key_shows_its_secret_once(home: GuardedHome) -> None:
    fields = {"name": "anne", "role": "curator", "until": "2999-12-31"}
    for client in (home.sign_in(Role.CURATOR), home.client()):
        assert client.post("/admin/keys", data=fields, headers=OWN).status_code in (401, 403)
    admin_client = home.sign_in(Role.ADMIN)
    for headers in ({}, {"sec-fetch-site": "cross-site"}):
        assert admin_client.post("/admin/keys", data=fields, headers=headers).status_code == 403
    response = admin_client.post("/admin/keys", data=fields, headers=OWN)
    assert response.status_code == 200
    assert response.headers["Cache-Control"] == "no-store"
    page = PageRead(response.text)
    assert page.heading == "Key of anne (curator)"
    (secret,) = [element.text_content() for element in page.tree.xpath("//code[@class='secret']")]
    row = home.gate.keys.authenticate(secret)
    assert row is not None
    assert (row.name, row.role, row.made_by) == ("anne", "curator", "admin")
    assert secret not in admin_client.get("/admin").text + admin_client.get("/admin.json").text
    data = admin_client.get("/admin.json").json()
    assert secret[-20:] not in str(data)
    assert data["acts"][0]["what"] == "POST /admin/keys"


@pytest.mark.parametrize(
    "wrong_fields",
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
def test_invalid_keys_are_not_created(home: GuardedHome, wrong_fields: dict[str, str]) -> None:
    fields = {"name": "anne", "role": "curator", "until": ""} | wrong_fields
    names_before = [key.name for key in home.gate.keys.list_all()]
    response = home.sign_in(Role.ADMIN).post("/admin/keys", data=fields, headers=OWN)
    assert response.status_code == 400
    assert "<b>" not in response.text
    assert [key.name for key in home.gate.keys.list_all()] == names_before


def test_only_this_computer_can_create_the_first_key(tmp_path: Path) -> None:
    with open_guarded_home(tmp_path, are_made=False) as home:
        fields = {"name": "anne", "role": "admin", "until": ""}
        proxy_headers = {**OWN, "Via": "1.1 proxy"}
        assert (
            home.client().post("/admin/keys", data=fields, headers=proxy_headers).status_code == 403
        )
        assert home.client().post("/admin/keys", data=fields, headers=OWN).status_code == 200
        assert home.client().post("/admin/keys", data=fields, headers=OWN).status_code in (401, 403)
