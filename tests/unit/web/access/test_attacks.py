"""Attacks without a key, with a revoked or weaker key, or from the browser of a victim."""

from __future__ import annotations

import logging
from collections.abc import Iterator
from datetime import timedelta
from pathlib import Path

import pytest
from starlette.testclient import TestClient

from day_clock import DayClock
from failed_home import fail
from fonds.access.action_log import ActionLog
from fonds.access.keys import create_token
from fonds.access.sign_in_throttle import PER_ADDRESS_MAX
from fonds.model.access import Role
from fonds.model.errors import TransientError
from fonds.model.rows import AccessKeyRow, ActRow, SessionRow
from fonds.web.access.gate import COOKIE
from fonds.web.pages.sign_in import restrict_to_local
from guarded_home import OWN, GuardedHome, bearer, open_guarded_home
from page_reading import PageRead

DOCUMENT = "/documents/news/one"
BODY = {"text": "flood"}


@pytest.fixture
def home(tmp_path: Path) -> Iterator[GuardedHome]:
    with open_guarded_home(tmp_path) as home:
        yield home


def put_document(client: TestClient, headers: dict[str, str] | None = None) -> int:
    return client.put(DOCUMENT, json=BODY, headers=headers).status_code


def test_a_key_allows_only_the_actions_of_its_role(home: GuardedHome) -> None:
    client = home.client()
    assert put_document(client) == 401
    assert put_document(client, bearer(home.secrets[Role.READER])) == 403
    assert list(home.stores.records.find(ActRow)) == []
    assert put_document(client, bearer(home.secrets[Role.CURATOR])) == 201
    assert client.put(DOCUMENT, json=1, headers=bearer(home.secrets[Role.ADMIN])).status_code == 400
    (refused_row, accepted_row) = home.gate.action_log.list_newest(9)
    assert (accepted_row.who, accepted_row.what, accepted_row.outcome) == (
        "curator",
        f"PUT {DOCUMENT}",
        201,
    )
    assert (refused_row.who, refused_row.outcome) == ("admin", 400)


@pytest.mark.parametrize(
    "credential", ["", "x", "fonds_", "Basic", "fonds_abcdefgh_" + "a" * 43, "ä"]
)
def test_invalid_credentials_are_refused_for_reading(home: GuardedHome, credential: str) -> None:
    response = home.client().get(
        "/api/overview", headers={"Authorization": f"Bearer {credential}".encode()}
    )
    assert response.status_code == 401
    assert 'error="invalid_token"' in response.headers["www-authenticate"]
    assert home.client().get("/", headers={"Authorization": "Basic YTpi"}).status_code == 200


def test_revoked_and_expired_keys_are_refused_at_once(home: GuardedHome) -> None:
    clock = DayClock(home.gate.keys.clock())
    expiring_key = home.gate.keys.create(
        "soon", Role.ADMIN, "local:me", clock.at + timedelta(days=1)
    )
    assert put_document(home.client(), bearer(expiring_key.secret)) == 201
    home.stores.records.change(AccessKeyRow, ["soon"], {"until": clock.at - timedelta(seconds=1)})
    assert put_document(home.client(), bearer(expiring_key.secret)) == 401
    browser = home.sign_in(Role.CURATOR)
    assert put_document(browser, OWN) == 201
    home.gate.keys.revoke("curator", "local:me", "lost")
    assert put_document(browser, OWN) == 401
    assert put_document(home.client(), bearer(home.secrets[Role.CURATOR])) == 401


def test_revoking_the_last_key_keeps_the_home_protected(home: GuardedHome) -> None:
    for role in Role:
        home.gate.keys.revoke(str(role), "local:me", "lost")
    assert put_document(home.client()) == 401


def test_the_session_cookie_is_http_only_and_same_site(
    home: GuardedHome,
) -> None:
    client = home.client()
    response = client.post(
        "/sign-in", data={"key": home.secrets[Role.CURATOR], "next": "/failures"}, headers=OWN
    )
    assert (response.status_code, response.headers["location"]) == (303, "/failures")
    cookie = response.headers["set-cookie"]
    assert cookie.startswith(f"{COOKIE}=session_")
    for attribute in ("HttpOnly", "SameSite=strict", "Path=/", "Max-Age=43200"):
        assert attribute in cookie
    assert "Secure" not in cookie
    assert home.secrets[Role.CURATOR] not in cookie
    page = PageRead(client.get("/").text)
    assert "curator, curator Embargoes Takedowns Sign out" in " ".join(
        page.words("//header").split()
    )
    (row,) = home.stores.records.find(SessionRow)
    assert client.cookies[COOKIE][-43:] not in repr(row)


def test_the_cookie_of_an_exposed_server_is_secure_and_host_only(tmp_path: Path) -> None:
    with open_guarded_home(tmp_path, host="0.0.0.0") as home:
        response = home.client().post(
            "/sign-in", data={"key": home.secrets[Role.READER]}, headers=OWN
        )
        assert response.headers["set-cookie"].startswith(f"__Host-{COOKIE}=")
        assert "Secure" in response.headers["set-cookie"]
        assert "requires HTTPS" in home.client().get("/sign-in").text
        assert "requires HTTPS" not in home.client(origin="https://localhost").get("/sign-in").text
        planted_cookie = {
            "Cookie": f"{COOKIE}={response.headers['set-cookie'].split('=')[1].split(';')[0]}"
        }
        assert put_document(home.client(), OWN | planted_cookie) == 401


def test_signing_out_ends_the_session_of_copied_cookies(home: GuardedHome) -> None:
    browser = home.sign_in(Role.CURATOR)
    copied_cookie = {"Cookie": f"{COOKIE}={browser.cookies[COOKIE]}"}
    assert put_document(home.client(), OWN | copied_cookie) == 201
    response = browser.post("/sign-out", headers=OWN)
    assert (response.status_code, response.headers["location"]) == (303, "/")
    assert "Max-Age=0" in response.headers["set-cookie"]
    assert put_document(home.client(), OWN | copied_cookie) == 401


def test_a_planted_session_cookie_is_not_adopted(home: GuardedHome) -> None:
    planted_token = create_token("session", 16).text
    client = home.client()
    client.cookies.set(COOKIE, planted_token)
    assert put_document(client, OWN) == 401
    client.post("/sign-in", data={"key": home.secrets[Role.CURATOR]}, headers=OWN)
    victim = home.client()
    victim.cookies.set(COOKIE, planted_token)
    assert put_document(victim, OWN) == 401


def test_signing_in_again_ends_the_previous_session(home: GuardedHome) -> None:
    browser = home.sign_in(Role.ADMIN)
    first = browser.cookies[COOKIE]
    browser.post("/sign-in", data={"key": home.secrets[Role.READER]}, headers=OWN)
    assert home.gate.sessions.authenticate(first) is None
    assert home.stores.records.count(SessionRow) == {(): 1}


@pytest.mark.parametrize(
    "headers",
    [{}, {"sec-fetch-site": "cross-site"}, {"sec-fetch-site": "same-site"}, {"origin": "http://e"}],
)
def test_requests_from_other_sites_cannot_use_a_session(
    home: GuardedHome, headers: dict[str, str]
) -> None:
    browser = home.sign_in(Role.ADMIN)
    assert put_document(browser, headers) == 403
    assert browser.post("/sign-out", headers=headers).status_code == 403
    assert browser.post("/failures/retry", data={}, headers=headers).status_code == 403
    response = home.client().post(
        "/sign-in", data={"key": home.secrets[Role.ADMIN]}, headers=headers
    )
    assert (response.status_code, "set-cookie" in response.headers) == (403, False)


def test_repeated_wrong_keys_are_throttled(home: GuardedHome) -> None:
    client = home.client()
    for number in range(PER_ADDRESS_MAX):
        wrong_key = create_token("fonds").text
        if number % 2:
            assert client.get("/", headers=bearer(wrong_key)).status_code == 401
        else:
            response = client.post("/sign-in", data={"key": wrong_key}, headers=OWN)
            assert (response.status_code, "This key is wrong" in response.text) == (401, True)
            assert wrong_key not in response.text
    right_key = home.secrets[Role.ADMIN]
    for throttled in (
        client.post("/sign-in", data={"key": right_key}, headers=OWN),
        client.get("/", headers=bearer(right_key)),
        client.put(DOCUMENT, json=BODY, headers=bearer(right_key)),
    ):
        assert throttled.status_code == 429
        assert 0 < int(throttled.headers["retry-after"]) <= 300
    assert client.get("/").status_code == 200


def test_large_bodies_without_a_key_return_401(home: GuardedHome) -> None:
    read = 0

    def body() -> Iterator[bytes]:
        nonlocal read
        for _ in range(100):
            read += 1
            yield b" " * 65_536

    headers = {"Content-Type": "application/json"}
    response = home.client().put(DOCUMENT, content=body(), headers=headers)
    assert response.status_code == 401
    large = home.client().put(DOCUMENT, content=b" " * 40_000_000, headers=headers)
    assert large.status_code == 401


def test_without_keys_only_this_computer_can_change_things(tmp_path: Path) -> None:
    with open_guarded_home(tmp_path, are_made=False) as home:
        assert put_document(home.client()) == 201
        assert put_document(home.client(), {"X-Forwarded-For": "192.0.2.1"}) == 403
        assert "Sign in" not in home.client().get("/").text
    with open_guarded_home(tmp_path, host="0.0.0.0", are_made=False) as home:
        response = home.client().put(DOCUMENT, json=BODY)
        assert response.status_code == 403
        assert "fonds keys create NAME --role curator" in response.json()["detail"]
        assert home.client().get("/").status_code == 200
    with open_guarded_home(tmp_path, host="0.0.0.0", are_made=False, reading=True) as home:
        assert home.client().get("/").status_code == 403
        assert home.client().get("/healthz").status_code == 200


def test_responses_are_private_where_reading_needs_a_key(tmp_path: Path) -> None:
    with open_guarded_home(tmp_path, reading=True) as home:
        client = home.client()
        page = client.get("/failures")
        assert (page.status_code, "/sign-in" in page.text) == (401, True)
        browser = home.sign_in(Role.READER)
        response = browser.get("/failures")
        assert (response.status_code, response.headers["cache-control"]) == (
            200,
            "private, no-cache",
        )
        assert home.client(home.replay).get("/web/http://a.example/").status_code == 401
        cookie = {"Cookie": f"{COOKIE}={browser.cookies[COOKIE]}"}
        assert (
            home.client(home.replay).get("/web/http://a.example/", headers=cookie).status_code
            == 404
        )


@pytest.mark.parametrize(
    ("path", "expected"),
    [
        ("/failures?step=x", "/failures?step=x"), ("//evil.example", "/"), ("https://evil.example", "/"),
        ("/\\evil.example", "/"), ("", "/"), ("/a\r\nSet-Cookie: x", "/"), ("javascript:x", "/"),
    ],
)  # fmt: skip
def test_signing_in_redirects_only_to_local_paths(path: str, expected: str) -> None:
    assert restrict_to_local(path) == expected


@pytest.mark.parametrize(
    "body", [b"key=a&key=b", b"key=a&more=1", b"\xff", b"key=" + b"a" * 9_000, b"a=1&b=2&c=3&d=4"]
)
def test_invalid_sign_in_forms_are_refused(home: GuardedHome, body: bytes) -> None:
    content_type = {"Content-Type": "application/x-www-form-urlencoded"}
    response = home.client().post("/sign-in", content=body, headers=OWN | content_type)
    assert response.status_code in (400, 413)


def test_keys_are_refused_while_the_store_is_unavailable(
    home: GuardedHome, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail_request(*_: object, **__: object) -> None:
        raise TransientError("the records do not answer")

    monkeypatch.setattr(home.stores.records, "find", fail_request)
    client = home.client()
    assert put_document(client, bearer(home.secrets[Role.ADMIN])) == 503
    assert client.get("/failures", headers=bearer(home.secrets[Role.ADMIN])).status_code == 503


def test_changes_that_cannot_be_logged_are_refused(
    home: GuardedHome, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail_request(*_: object) -> None:
        raise TransientError("the records do not answer")

    key, client = bearer(home.secrets[Role.CURATOR]), home.client()
    with monkeypatch.context() as patch:
        patch.setattr(ActionLog, "begin", fail_request)
        assert put_document(client, key) == 503
    assert client.get(DOCUMENT).status_code == 404
    monkeypatch.setattr(ActionLog, "end", fail_request)
    assert put_document(client, key) == 201
    assert home.gate.action_log.list_newest(1)[0].outcome is None


def test_logs_contain_no_secrets(
    home: GuardedHome, caplog: pytest.LogCaptureFixture, capfd: pytest.CaptureFixture[str]
) -> None:
    caplog.set_level(logging.DEBUG)
    secret = home.secrets[Role.CURATOR]
    browser = home.sign_in(Role.CURATOR)
    cookie = browser.cookies[COOKIE]
    put_document(browser, OWN)
    home.client().get("/", headers=bearer(secret[:-1] + "!"))
    output = caplog.text + "".join(capfd.readouterr())
    assert secret[-40:-1] not in output
    assert cookie[-43:] not in output
    assert secret[-43:] not in repr(list(home.stores.records.find(ActRow)))


def test_pages_offer_only_permitted_actions(home: GuardedHome) -> None:
    fail(home.stores, *range(6))
    path = "/failures/retry?pipeline=library&group=x"
    reader, curator = home.sign_in(Role.READER), home.sign_in(Role.CURATOR)
    for client, status in ((home.client(), 401), (reader, 403), (curator, 400)):
        assert client.get(path).status_code == status
        for page_path in ("/failures", "/records?outcome=quarantined"):
            links = PageRead(client.get(page_path).text).tree.xpath(
                "//a[contains(@href, '/accept')]"
            )
            assert bool(links) == (status == 400)
    assert "reader, reader" in " ".join(PageRead(reader.get("/").text).words("//header").split())
    assert "Sign in with a key" in home.client().get(path).text
    assert "Sign in with a key" not in reader.get(path).text
