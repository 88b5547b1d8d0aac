"""`fonds keys`: create, list and revoke keys, and list actions."""

from __future__ import annotations

import json
from pathlib import Path

from click.testing import CliRunner, Result

from answer_checks import check_answers
from fonds.cli.main import cli, run
from fonds.model.secrets import redact_secrets


def run_fonds(home: Path, *words: str) -> Result:
    return CliRunner().invoke(cli, ["--home", str(home), *words])


def run_json(home: Path, *words: str) -> list[dict[str, object]]:
    result = run_fonds(home, *words, "--json")
    assert result.exit_code == 0, result.output
    check_answers(words, result.stdout)
    return [json.loads(line) for line in result.stdout.splitlines()]


def test_a_key_is_created_in_a_new_home_and_its_secret_printed_once(tmp_path: Path) -> None:
    home = tmp_path / "new"
    (created,) = run_json(
        home, "keys", "create", "anne", "--role", "curator", "--until", "2999-01-01"
    )
    secret = str(created.pop("secret"))
    assert run_json(home, "keys", "list") == [created]
    assert (created["role"], created["until"]) == ("curator", "2999-01-01T00:00:00Z")
    plain = run_fonds(home, "keys", "create", "ben", "--role", "reader").stdout
    assert plain.splitlines()[-1].startswith("fonds_")
    listed = run_fonds(home, "keys", "list").stdout
    assert (secret in listed, plain.splitlines()[-1] in listed) == (False, False)
    assert f"fonds_{created['prefix']}_…" in listed
    home_bytes = b"".join(path.read_bytes() for path in home.rglob("*") if path.is_file())
    assert secret[-43:].encode() not in home_bytes


def test_actions_with_keys_are_listed_with_person_and_outcome(tmp_path: Path) -> None:
    run_json(tmp_path, "keys", "create", "anne", "--role", "admin")
    (row,) = run_json(tmp_path, "keys", "revoke", "anne", "--reason", "left")
    assert (row["revoked_reason"], row["revoked"] is None) == ("left", False)
    words = ["--home", str(tmp_path), "keys", "create", "anne", "--role", "admin"]
    assert run(lambda: cli.main(words, standalone_mode=False)) == 2
    acts = run_json(tmp_path, "keys", "acts")
    assert [(act["what"], act["outcome"]) for act in acts] == [
        ("fonds keys create anne --role admin", 400),
        ("fonds keys revoke anne", 200),
        ("fonds keys create anne --role admin", 200),
    ]
    assert all(str(act["who"]).startswith("local:") for act in acts)
    assert "REVOKED" in run_fonds(tmp_path, "keys", "list").stdout


def test_secrets_are_redacted_from_texts() -> None:
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
