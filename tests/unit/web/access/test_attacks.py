"""What somebody may try who has no key, a lost one, a lower one, or another's browser."""

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
    with open_guarded_home(tmp_path) as found:
        yield found


def put(client: TestClient, headers: dict[str, str] | None = None) -> int:
    return client.put(DOCUMENT, json=BODY, headers=headers).status_code


def test_a_key_does_what_its_role_may_and_is_noted(home: GuardedHome) -> None:
    client = home.client()
    assert put(client) == 401
    assert put(client, bearer(home.secrets[Role.READER])) == 403
    assert list(home.stores.records.find(ActRow)) == []
    assert put(client, bearer(home.secrets[Role.CURATOR])) == 201
    assert client.put(DOCUMENT, json=1, headers=bearer(home.secrets[Role.ADMIN])).status_code == 400
    (bad, good) = home.gate.action_log.list_newest(9)
    assert (good.who, good.what, good.outcome) == ("curator", f"PUT {DOCUMENT}", 201)
    assert (bad.who, bad.outcome) == ("admin", 400)


@pytest.mark.parametrize("shown", ["", "x", "fonds_", "Basic", "fonds_abcdefgh_" + "a" * 43, "ä"])
def test_what_is_no_key_reads_nothing_either(home: GuardedHome, shown: str) -> None:
    answer = home.client().get(
        "/api/overview", headers={"Authorization": f"Bearer {shown}".encode()}
    )
    assert answer.status_code == 401
    assert 'error="invalid_token"' in answer.headers["www-authenticate"]
    assert home.client().get("/", headers={"Authorization": "Basic YTpi"}).status_code == 200


def test_a_revoked_and_an_ended_key_open_nothing_from_that_moment(home: GuardedHome) -> None:
    clock = DayClock(home.gate.keys.clock())
    ends = home.gate.keys.create("soon", Role.ADMIN, "local:me", clock.at + timedelta(days=1))
    assert put(home.client(), bearer(ends.secret)) == 201
    home.stores.records.change(AccessKeyRow, ["soon"], {"until": clock.at - timedelta(seconds=1)})
    assert put(home.client(), bearer(ends.secret)) == 401
    browser = home.sign_in(Role.CURATOR)
    assert put(browser, OWN) == 201
    home.gate.keys.revoke("curator", "local:me", "lost")
    assert put(browser, OWN) == 401
    assert put(home.client(), bearer(home.secrets[Role.CURATOR])) == 401


def test_revoking_the_last_key_opens_nothing(home: GuardedHome) -> None:
    for role in Role:
        home.gate.keys.revoke(str(role), "local:me", "lost")
    assert put(home.client()) == 401


def test_signing_in_gives_a_cookie_no_script_reads_and_no_other_site_sends(
    home: GuardedHome,
) -> None:
    client = home.client()
    answer = client.post(
        "/sign-in", data={"key": home.secrets[Role.CURATOR], "next": "/failures"}, headers=OWN
    )
    assert (answer.status_code, answer.headers["location"]) == (303, "/failures")
    cookie = answer.headers["set-cookie"]
    assert cookie.startswith(f"{COOKIE}=session_")
    for word in ("HttpOnly", "SameSite=strict", "Path=/", "Max-Age=43200"):
        assert word in cookie
    assert "Secure" not in cookie
    assert home.secrets[Role.CURATOR] not in cookie
    page = PageRead(client.get("/").text)
    assert "curator, curator Embargoes Takedowns Sign out" in " ".join(
        page.words("//header").split()
    )
    (row,) = home.stores.records.find(SessionRow)
    assert client.cookies[COOKIE][-43:] not in repr(row)


def test_beyond_this_machine_the_cookie_is_for_tls_and_this_host_alone(tmp_path: Path) -> None:
    with open_guarded_home(tmp_path, host="0.0.0.0") as home:
        answer = home.client().post(
            "/sign-in", data={"key": home.secrets[Role.READER]}, headers=OWN
        )
        assert answer.headers["set-cookie"].startswith(f"__Host-{COOKIE}=")
        assert "Secure" in answer.headers["set-cookie"]
        assert "requires HTTPS" in home.client().get("/sign-in").text
        assert "requires HTTPS" not in home.client(origin="https://localhost").get("/sign-in").text
        planted = {"Cookie": f"{COOKIE}={answer.headers['set-cookie'].split('=')[1].split(';')[0]}"}
        assert put(home.client(), OWN | planted) == 401


def test_signing_out_ends_the_session_also_for_who_kept_the_cookie(home: GuardedHome) -> None:
    browser = home.sign_in(Role.CURATOR)
    kept = {"Cookie": f"{COOKIE}={browser.cookies[COOKIE]}"}
    assert put(home.client(), OWN | kept) == 201
    answer = browser.post("/sign-out", headers=OWN)
    assert (answer.status_code, answer.headers["location"]) == (303, "/")
    assert "Max-Age=0" in answer.headers["set-cookie"]
    assert put(home.client(), OWN | kept) == 401


def test_a_session_from_outside_is_none_and_is_not_taken_over(home: GuardedHome) -> None:
    planted = create_token("session", 16).text
    client = home.client()
    client.cookies.set(COOKIE, planted)
    assert put(client, OWN) == 401
    client.post("/sign-in", data={"key": home.secrets[Role.CURATOR]}, headers=OWN)
    victims = home.client()
    victims.cookies.set(COOKIE, planted)
    assert put(victims, OWN) == 401


def test_signing_in_anew_ends_the_browsers_last_session(home: GuardedHome) -> None:
    browser = home.sign_in(Role.ADMIN)
    first = browser.cookies[COOKIE]
    browser.post("/sign-in", data={"key": home.secrets[Role.READER]}, headers=OWN)
    assert home.gate.sessions.authenticate(first) is None
    assert home.stores.records.count(SessionRow) == {(): 1}


@pytest.mark.parametrize(
    "headers",
    [{}, {"sec-fetch-site": "cross-site"}, {"sec-fetch-site": "same-site"}, {"origin": "http://e"}],
)
def test_another_site_does_nothing_with_a_browsers_session(
    home: GuardedHome, headers: dict[str, str]
) -> None:
    browser = home.sign_in(Role.ADMIN)
    assert put(browser, headers) == 403
    assert browser.post("/sign-out", headers=headers).status_code == 403
    assert browser.post("/failures/retry", data={}, headers=headers).status_code == 403
    answer = home.client().post("/sign-in", data={"key": home.secrets[Role.ADMIN]}, headers=headers)
    assert (answer.status_code, "set-cookie" in answer.headers) == (403, False)


def test_wrong_keys_are_counted_and_slowed_wherever_they_are_shown(home: GuardedHome) -> None:
    client = home.client()
    for at in range(PER_ADDRESS_MAX):
        wrong = create_token("fonds").text
        if at % 2:
            assert client.get("/", headers=bearer(wrong)).status_code == 401
        else:
            told = client.post("/sign-in", data={"key": wrong}, headers=OWN)
            assert (told.status_code, "This key is wrong" in told.text) == (401, True)
            assert wrong not in told.text
    right = home.secrets[Role.ADMIN]
    for answer in (
        client.post("/sign-in", data={"key": right}, headers=OWN),
        client.get("/", headers=bearer(right)),
        client.put(DOCUMENT, json=BODY, headers=bearer(right)),
    ):
        assert answer.status_code == 429
        assert 0 < int(answer.headers["retry-after"]) <= 300
    assert client.get("/").status_code == 200


def test_a_body_of_somebody_who_may_send_none_is_not_read(home: GuardedHome) -> None:
    read = 0

    def body() -> Iterator[bytes]:
        nonlocal read
        for _ in range(100):
            read += 1
            yield b" " * 65_536

    headers = {"Content-Type": "application/json"}
    answer = home.client().put(DOCUMENT, content=body(), headers=headers)
    assert answer.status_code == 401
    large = home.client().put(DOCUMENT, content=b" " * 40_000_000, headers=headers)
    assert large.status_code == 401


def test_without_a_key_this_machine_may_all_and_others_read(tmp_path: Path) -> None:
    with open_guarded_home(tmp_path, are_made=False) as home:
        assert put(home.client()) == 201
        assert put(home.client(), {"X-Forwarded-For": "192.0.2.1"}) == 403
        assert "Sign in" not in home.client().get("/").text
    with open_guarded_home(tmp_path, host="0.0.0.0", are_made=False) as home:
        answer = home.client().put(DOCUMENT, json=BODY)
        assert answer.status_code == 403
        assert "fonds keys create NAME --role curator" in answer.json()["detail"]
        assert home.client().get("/").status_code == 200
    with open_guarded_home(tmp_path, host="0.0.0.0", are_made=False, reading=True) as home:
        assert home.client().get("/").status_code == 403
        assert home.client().get("/healthz").status_code == 200


def test_where_reading_needs_a_key_nothing_is_told_and_no_cache_keeps_it(tmp_path: Path) -> None:
    with open_guarded_home(tmp_path, reading=True) as home:
        client = home.client()
        page = client.get("/failures")
        assert (page.status_code, "/sign-in" in page.text) == (401, True)
        browser = home.sign_in(Role.READER)
        answer = browser.get("/failures")
        assert (answer.status_code, answer.headers["cache-control"]) == (200, "private, no-cache")
        assert home.client(home.replay).get("/web/http://a.example/").status_code == 401
        shown = {"Cookie": f"{COOKIE}={browser.cookies[COOKIE]}"}
        assert (
            home.client(home.replay).get("/web/http://a.example/", headers=shown).status_code == 404
        )


@pytest.mark.parametrize(
    ("path", "led"),
    [
        ("/failures?step=x", "/failures?step=x"), ("//evil.example", "/"), ("https://evil.example", "/"),
        ("/\\evil.example", "/"), ("", "/"), ("/a\r\nSet-Cookie: x", "/"), ("javascript:x", "/"),
    ],
)  # fmt: skip
def test_signing_in_leads_nowhere_else(path: str, led: str) -> None:
    assert restrict_to_local(path) == led


@pytest.mark.parametrize(
    "body", [b"key=a&key=b", b"key=a&more=1", b"\xff", b"key=" + b"a" * 9_000, b"a=1&b=2&c=3&d=4"]
)
def test_what_no_form_of_ours_sends_is_refused(home: GuardedHome, body: bytes) -> None:
    kind = {"Content-Type": "application/x-www-form-urlencoded"}
    answer = home.client().post("/sign-in", content=body, headers=OWN | kind)
    assert answer.status_code in (400, 413)


def test_a_store_that_is_away_lets_nobody_in(
    home: GuardedHome, monkeypatch: pytest.MonkeyPatch
) -> None:
    def away(*_: object, **__: object) -> None:
        raise TransientError("the records do not answer")

    monkeypatch.setattr(home.stores.records, "find", away)
    client = home.client()
    assert put(client, bearer(home.secrets[Role.ADMIN])) == 503
    assert client.get("/failures", headers=bearer(home.secrets[Role.ADMIN])).status_code == 503


def test_nothing_is_changed_that_cannot_be_noted_and_what_was_is_told(
    home: GuardedHome, monkeypatch: pytest.MonkeyPatch
) -> None:
    def away(*_: object) -> None:
        raise TransientError("the records do not answer")

    key, client = bearer(home.secrets[Role.CURATOR]), home.client()
    with monkeypatch.context() as patch:
        patch.setattr(ActionLog, "begin", away)
        assert put(client, key) == 503
    assert client.get(DOCUMENT).status_code == 404
    monkeypatch.setattr(ActionLog, "end", away)
    assert put(client, key) == 201
    assert home.gate.action_log.list_newest(1)[0].outcome is None


def test_no_line_of_the_log_holds_a_secret(
    home: GuardedHome, caplog: pytest.LogCaptureFixture, capfd: pytest.CaptureFixture[str]
) -> None:
    caplog.set_level(logging.DEBUG)
    secret = home.secrets[Role.CURATOR]
    browser = home.sign_in(Role.CURATOR)
    cookie = browser.cookies[COOKIE]
    put(browser, OWN)
    home.client().get("/", headers=bearer(secret[:-1] + "!"))
    told = caplog.text + "".join(capfd.readouterr())
    assert secret[-40:-1] not in told
    assert cookie[-43:] not in told
    assert secret[-43:] not in repr(list(home.stores.records.find(ActRow)))


def test_what_a_viewer_may_not_do_is_not_offered(home: GuardedHome) -> None:
    fail(home.stores, *range(6))
    path = "/failures/retry?pipeline=library&group=x"
    reader, curator = home.sign_in(Role.READER), home.sign_in(Role.CURATOR)
    for client, status in ((home.client(), 401), (reader, 403), (curator, 400)):
        assert client.get(path).status_code == status
        for listed in ("/failures", "/records?outcome=quarantined"):
            acts = PageRead(client.get(listed).text).tree.xpath("//a[contains(@href, '/accept')]")
            assert bool(acts) == (status == 400)
    assert "reader, reader" in " ".join(PageRead(reader.get("/").text).words("//header").split())
    assert "Sign in with a key" in home.client().get(path).text
    assert "Sign in with a key" not in reader.get(path).text
