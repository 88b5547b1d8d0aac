"""`fonds keys`: made, listed, revoked; what was done is listed too."""

from __future__ import annotations

import json
from pathlib import Path

from click.testing import CliRunner, Result

from answer_checks import check_answers
from fonds.cli.main import cli, run
from fonds.model.secrets import redact_secrets


def fonds(home: Path, *words: str) -> Result:
    return CliRunner().invoke(cli, ["--home", str(home), *words])


def told(home: Path, *words: str) -> list[dict[str, object]]:
    found = fonds(home, *words, "--json")
    assert found.exit_code == 0, found.output
    check_answers(words, found.stdout)
    return [json.loads(line) for line in found.stdout.splitlines()]


def test_a_key_is_made_in_a_new_home_and_its_secret_told_once(tmp_path: Path) -> None:
    home = tmp_path / "new"
    (made,) = told(home, "keys", "create", "anne", "--role", "curator", "--until", "2999-01-01")
    secret = str(made.pop("secret"))
    assert told(home, "keys", "list") == [made]
    assert (made["role"], made["until"]) == ("curator", "2999-01-01T00:00:00Z")
    plain = fonds(home, "keys", "create", "ben", "--role", "reader").stdout
    assert plain.splitlines()[-1].startswith("fonds_")
    listed = fonds(home, "keys", "list").stdout
    assert (secret in listed, plain.splitlines()[-1] in listed) == (False, False)
    assert f"fonds_{made['prefix']}_…" in listed
    kept = b"".join(path.read_bytes() for path in home.rglob("*") if path.is_file())
    assert secret[-43:].encode() not in kept


def test_what_was_done_with_keys_is_told_with_who_and_how_it_ended(tmp_path: Path) -> None:
    told(tmp_path, "keys", "create", "anne", "--role", "admin")
    (row,) = told(tmp_path, "keys", "revoke", "anne", "--reason", "left")
    assert (row["revoked_reason"], row["revoked"] is None) == ("left", False)
    again = ["--home", str(tmp_path), "keys", "create", "anne", "--role", "admin"]
    assert run(lambda: cli.main(again, standalone_mode=False)) == 2
    acts = told(tmp_path, "keys", "acts")
    assert [(act["what"], act["outcome"]) for act in acts] == [
        ("fonds keys create anne --role admin", 400),
        ("fonds keys revoke anne", 200),
        ("fonds keys create anne --role admin", 200),
    ]
    assert all(str(act["who"]).startswith("local:") for act in acts)
    assert "REVOKED" in fonds(tmp_path, "keys", "list").stdout


def test_no_log_shows_a_secret_of_ours() -> None:
    secret = "fonds_abcdefgh_" + "Zx-_" * 10 + "abc"
    session = "session_abcdefghijklmnop_" + "Zx-_" * 10 + "abc"
    for text in (
        secret,
        f"a {session}; b",
        f"https://x.example/?a={secret}",
        f"Cookie: s={session}",
    ):
        assert "Zx-_" not in redact_secrets(text)
    assert "abcdefgh" in redact_secrets(secret)
