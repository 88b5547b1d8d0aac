"""Access keys: shown once, stored as a hash, revoked for good."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

import pytest

from day_clock import DayClock
from fonds.access import keys as keys_module
from fonds.access.keys import AccessKeys, build_viewer, create_token, parse_token
from fonds.access.sessions import SESSIONS_PER_KEY_MAX, SessionStore
from fonds.model.access import Role, Viewer
from fonds.model.rows import AccessKeyRow, SessionRow
from fonds.ports import Records


@pytest.fixture
def keys(records: Records, clock: DayClock) -> AccessKeys:
    return AccessKeys(records, clock)


@pytest.fixture
def sessions(records: Records, keys: AccessKeys, clock: DayClock) -> SessionStore:
    return SessionStore(records, keys, clock, timedelta(hours=12))


def test_a_secret_authenticates_its_key_and_is_not_stored(
    keys: AccessKeys, records: Records
) -> None:
    assert not keys.has_any()
    created = keys.create("anne", Role.CURATOR, "local:me")
    key_row = keys.authenticate(created.secret)
    assert key_row is not None
    assert build_viewer(key_row) == Viewer("anne", Role.CURATOR)
    assert keys.has_any()
    (row,) = records.find(AccessKeyRow)
    assert created.secret.partition(row.prefix + "_")[2] not in repr(row)
    assert created.secret not in repr(created)
    assert created.secret.startswith(f"fonds_{row.prefix}_")


def test_a_secret_with_one_changed_character_is_rejected(keys: AccessKeys) -> None:
    text = keys.create("anne", Role.CURATOR, "local:me").secret
    for position in range(len(text)):
        replacement = "A" if text[position] != "A" else "B"
        assert keys.authenticate(text[:position] + replacement + text[position + 1 :]) is None
    for wrong in (
        "",
        text + "x",
        text + "\n",
        f" {text}",
        text[:-1],
        text.upper(),
        "fonds_" * 1000,
    ):
        assert keys.authenticate(wrong) is None


def test_secrets_are_compared_in_constant_time_by_hash(
    keys: AccessKeys, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Every sign-in uses `compare_digest`: if it returns False, the secret is rejected."""
    created = keys.create("anne", Role.CURATOR, "local:me")
    comparisons: list[tuple[str, str]] = []

    def reject(first: str, second: str) -> bool:
        comparisons.append((first, second))
        return False

    monkeypatch.setattr(keys_module, "compare_digest", reject)
    assert keys.authenticate(created.secret) is None
    assert comparisons == [(created.row.sha256hex, created.row.sha256hex)]


def test_two_keys_with_the_same_prefix_are_distinguished(
    keys: AccessKeys, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(keys_module, "choice", lambda _: "a")
    first, second = (keys.create(name, Role.READER, "local:me") for name in ("anne", "ben"))
    assert first.row.prefix == second.row.prefix
    for created in (first, second):
        key_row = keys.authenticate(created.secret)
        assert key_row is not None
        assert key_row.name == created.row.name


def test_a_name_cannot_be_reused_after_revocation(keys: AccessKeys) -> None:
    first = keys.create("anne", Role.READER, "local:me")
    keys.revoke("anne", "local:me", "lost")
    with pytest.raises(ValueError, match="was used before"):
        keys.create("anne", Role.ADMIN, "local:me")
    assert keys.authenticate(first.secret) is None
    assert keys.has_any()


@pytest.mark.parametrize("name", ["", "A", "a b", "-a", "a/b", "a" * 61, "a\n", "ä"])
def test_an_invalid_name_is_rejected(keys: AccessKeys, name: str) -> None:
    with pytest.raises(ValueError, match="invalid key name"):
        keys.create(name, Role.READER, "local:me")


def test_a_key_expires_and_cannot_be_created_expired(keys: AccessKeys, clock: DayClock) -> None:
    created = keys.create("anne", Role.READER, "local:me", clock.at + timedelta(days=1))
    clock.go(days=1, microseconds=-1)
    assert keys.authenticate(created.secret)
    clock.go(microseconds=1)
    assert keys.authenticate(created.secret) is None
    with pytest.raises(ValueError, match="is in the past"):
        keys.create("ben", Role.READER, "local:me", clock.at)


def test_a_revocation_records_person_and_reason_and_is_not_replaced(keys: AccessKeys) -> None:
    keys.create("anne", Role.READER, "local:me")
    keys.revoke("anne", "ben", "lost")
    row = keys.revoke("anne", "carl", "found")
    assert (row.revoked_by, row.revoked_reason) == ("ben", "lost")
    with pytest.raises(ValueError, match="Did you mean 'anne'"):
        keys.revoke("ane", "ben", "lost")


def test_the_last_use_is_written_every_ten_minutes(
    keys: AccessKeys, records: Records, clock: DayClock, monkeypatch: pytest.MonkeyPatch
) -> None:
    created, writes = keys.create("anne", Role.READER, "local:me"), 0
    change = records.change

    def count_writes(*arguments: Any, **options: Any) -> int:
        nonlocal writes
        writes += 1
        return change(*arguments, **options)

    monkeypatch.setattr(records, "change", count_writes)
    for _ in range(21):
        key_row = keys.authenticate(created.secret)
        assert key_row is not None
        keys.mark_used(key_row)
        clock.go(minutes=1)
    assert writes == 3


def test_a_session_lasts_until_it_expires_or_is_ended(
    keys: AccessKeys, sessions: SessionStore, clock: DayClock
) -> None:
    key = keys.create("anne", Role.READER, "local:me").row
    first, second = sessions.begin(key), sessions.begin(key)
    assert first != second
    sessions.end(first)
    assert (sessions.authenticate(first), sessions.authenticate(second)) == (None, key)
    clock.go(hours=12)
    assert sessions.authenticate(second) is None


def test_a_session_ends_when_its_key_is_revoked(
    keys: AccessKeys, sessions: SessionStore, records: Records
) -> None:
    key = keys.create("anne", Role.ADMIN, "local:me").row
    cookie = sessions.begin(key)
    keys.revoke("anne", "local:me", "lost")
    assert sessions.authenticate(cookie) is None
    assert list(records.find(SessionRow)) == []
    # A session of a key that was read just before the revocation is invalid.
    assert sessions.authenticate(sessions.begin(key)) is None


def test_a_session_ends_no_later_than_its_key(
    keys: AccessKeys, sessions: SessionStore, clock: DayClock
) -> None:
    key = keys.create("anne", Role.READER, "local:me", clock.at + timedelta(hours=1)).row
    cookie = sessions.begin(key)
    clock.go(hours=1)
    assert sessions.authenticate(cookie) is None


def test_session_cookies_and_keys_are_not_interchangeable(
    keys: AccessKeys, sessions: SessionStore
) -> None:
    created = keys.create("anne", Role.ADMIN, "local:me")
    cookie = sessions.begin(created.row)
    assert keys.authenticate(cookie) is None
    assert sessions.authenticate(created.secret) is None
    forged = create_token("session", 16)
    assert sessions.authenticate(forged.text) is None
    token = parse_token("session", cookie)
    assert token is not None
    assert sessions.authenticate(cookie[:-43] + forged.text[-43:]) is None


def test_the_sessions_of_a_key_are_limited(
    keys: AccessKeys, sessions: SessionStore, records: Records, clock: DayClock
) -> None:
    key, cookies = keys.create("anne", Role.READER, "local:me").row, []
    for _ in range(SESSIONS_PER_KEY_MAX + 3):
        cookies.append(sessions.begin(key))
        clock.go(seconds=1)
    assert records.count(SessionRow) == {(): SESSIONS_PER_KEY_MAX}
    assert [sessions.authenticate(cookie) is not None for cookie in cookies[:4]] == [False] * 3 + [
        True
    ]
