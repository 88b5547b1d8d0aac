"""Keys: shown once, known by a hash, revoked for good."""

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


def test_a_secret_opens_what_its_key_may_and_is_kept_nowhere(
    keys: AccessKeys, records: Records
) -> None:
    assert not keys.has_any()
    made = keys.create("anne", Role.CURATOR, "local:me")
    found = keys.authenticate(made.secret)
    assert found is not None
    assert build_viewer(found) == Viewer("anne", Role.CURATOR)
    assert keys.has_any()
    (row,) = records.find(AccessKeyRow)
    assert made.secret.partition(row.prefix + "_")[2] not in repr(row)
    assert made.secret not in repr(made)
    assert made.secret.startswith(f"fonds_{row.prefix}_")


def test_what_differs_in_one_character_opens_nothing(keys: AccessKeys) -> None:
    text = keys.create("anne", Role.CURATOR, "local:me").secret
    for at in range(len(text)):
        other = "A" if text[at] != "A" else "B"
        assert keys.authenticate(text[:at] + other + text[at + 1 :]) is None
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


def test_secrets_are_compared_in_constant_time_by_their_hashes(
    keys: AccessKeys, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Whatever lets somebody in goes through `compare_digest`: when that says no, nobody gets in."""
    made = keys.create("anne", Role.CURATOR, "local:me")
    compared: list[tuple[str, str]] = []

    def never(one: str, other: str) -> bool:
        compared.append((one, other))
        return False

    monkeypatch.setattr(keys_module, "compare_digest", never)
    assert keys.authenticate(made.secret) is None
    assert compared == [(made.row.sha256hex, made.row.sha256hex)]


def test_two_keys_of_one_prefix_are_told_apart(
    keys: AccessKeys, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(keys_module, "choice", lambda _: "a")
    first, second = (keys.create(name, Role.READER, "local:me") for name in ("anne", "ben"))
    assert first.row.prefix == second.row.prefix
    for made in (first, second):
        found = keys.authenticate(made.secret)
        assert found is not None
        assert found.name == made.row.name


def test_a_name_is_given_out_once_also_after_it_was_revoked(keys: AccessKeys) -> None:
    first = keys.create("anne", Role.READER, "local:me")
    keys.revoke("anne", "local:me", "lost")
    with pytest.raises(ValueError, match="was used before"):
        keys.create("anne", Role.ADMIN, "local:me")
    assert keys.authenticate(first.secret) is None
    assert keys.has_any()


@pytest.mark.parametrize("name", ["", "A", "a b", "-a", "a/b", "a" * 61, "a\n", "ä"])
def test_a_name_is_plain(keys: AccessKeys, name: str) -> None:
    with pytest.raises(ValueError, match="invalid key name"):
        keys.create(name, Role.READER, "local:me")


def test_a_key_ends_at_its_moment_and_none_is_made_that_ended(
    keys: AccessKeys, clock: DayClock
) -> None:
    made = keys.create("anne", Role.READER, "local:me", clock.at + timedelta(days=1))
    clock.go(days=1, microseconds=-1)
    assert keys.authenticate(made.secret)
    clock.go(microseconds=1)
    assert keys.authenticate(made.secret) is None
    with pytest.raises(ValueError, match="is in the past"):
        keys.create("ben", Role.READER, "local:me", clock.at)


def test_revoking_says_who_and_why_and_the_first_word_stands(keys: AccessKeys) -> None:
    keys.create("anne", Role.READER, "local:me")
    keys.revoke("anne", "ben", "lost")
    row = keys.revoke("anne", "carl", "found")
    assert (row.revoked_by, row.revoked_reason) == ("ben", "lost")
    with pytest.raises(ValueError, match="Did you mean 'anne'"):
        keys.revoke("ane", "ben", "lost")


def test_the_last_use_is_written_ten_minutes_apart(
    keys: AccessKeys, records: Records, clock: DayClock, monkeypatch: pytest.MonkeyPatch
) -> None:
    made, writes = keys.create("anne", Role.READER, "local:me"), 0
    change = records.change

    def counted(*given: Any, **named: Any) -> int:
        nonlocal writes
        writes += 1
        return change(*given, **named)

    monkeypatch.setattr(records, "change", counted)
    for _ in range(21):
        found = keys.authenticate(made.secret)
        assert found is not None
        keys.mark_used(found)
        clock.go(minutes=1)
    assert writes == 3


def test_a_session_lasts_as_long_as_it_may_and_is_ended_by_hand(
    keys: AccessKeys, sessions: SessionStore, clock: DayClock
) -> None:
    key = keys.create("anne", Role.READER, "local:me").row
    first, second = sessions.begin(key), sessions.begin(key)
    assert first != second
    sessions.end(first)
    assert (sessions.authenticate(first), sessions.authenticate(second)) == (None, key)
    clock.go(hours=12)
    assert sessions.authenticate(second) is None


def test_a_session_goes_with_its_key(
    keys: AccessKeys, sessions: SessionStore, records: Records
) -> None:
    key = keys.create("anne", Role.ADMIN, "local:me").row
    cookie = sessions.begin(key)
    keys.revoke("anne", "local:me", "lost")
    assert sessions.authenticate(cookie) is None
    assert list(records.find(SessionRow)) == []
    # Begun by somebody who had looked the key up just before it was revoked: good for nothing.
    assert sessions.authenticate(sessions.begin(key)) is None


def test_a_session_ends_no_later_than_its_key(
    keys: AccessKeys, sessions: SessionStore, clock: DayClock
) -> None:
    key = keys.create("anne", Role.READER, "local:me", clock.at + timedelta(hours=1)).row
    cookie = sessions.begin(key)
    clock.go(hours=1)
    assert sessions.authenticate(cookie) is None


def test_cookies_and_keys_do_not_stand_for_each_other(
    keys: AccessKeys, sessions: SessionStore
) -> None:
    made = keys.create("anne", Role.ADMIN, "local:me")
    cookie = sessions.begin(made.row)
    assert keys.authenticate(cookie) is None
    assert sessions.authenticate(made.secret) is None
    forged = create_token("session", 16)
    assert sessions.authenticate(forged.text) is None
    token = parse_token("session", cookie)
    assert token is not None
    assert sessions.authenticate(cookie[:-43] + forged.text[-43:]) is None


def test_of_one_key_only_so_many_sessions_last(
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


def test_revoked_keys_count_toward_the_maximum_of_keys(
    keys: AccessKeys, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(keys_module, "KEYS_MAX", 2)
    for name in ("anne", "berta"):
        keys.create(name, Role.READER, "local:me")
    keys.revoke("anne", "local:me", "lost")
    with pytest.raises(ValueError, match="limit of 2 keys is reached"):
        keys.create("clara", Role.READER, "local:me")
    assert [key.name for key in keys.list_all()] == ["anne", "berta"]
