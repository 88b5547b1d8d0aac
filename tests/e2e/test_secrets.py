"""A password of the settings is nowhere but in the settings: not in the home, not in what is printed."""

from __future__ import annotations

import json
from pathlib import Path

from e2e.crawls import page
from e2e.running import fonds
from fixtures.answering import Given, answering
from fixtures.warcs import gzipped, http_response

PASSWORD = "hunter%2FTWO"
TRACES = (b"hunter", b"aHVudGVy", b"ZmluZGVyOmh1bnRlci9UV08")
URL = "http://news.example/1"


def test_a_password_of_a_base_is_used_and_never_kept(tmp_path: Path) -> None:
    home, index = tmp_path / "home", tmp_path / "index.cdxj"
    record = gzipped([http_response(page(1), url=URL)])
    index.write_text(_line(len(record), "here.warc.gz") + _line(10, "gone.warc.gz"))
    home.mkdir()
    with answering() as server:
        ranged = {"Content-Range": f"bytes 0-{len(record) - 1}/{len(record)}"}
        server.answers["/warcs/here.warc.gz"] = Given(206, record, ranged)
        base = server.url.replace("://", f"://finder:{PASSWORD}@")
        (home / "fonds.toml").write_text(
            f'warc.base = "{base}/warcs"\nelsewhere.private_addresses = true\n'
        )
        ran = fonds(home, "ingest", "--json", index)
    assert (ran.code, ran.last["done"], ran.last["quarantined"]) == (1, 1, {"missing-source": 1})
    assert {dict(headers).get("Authorization") for _, headers in server.asked} == {
        "Basic ZmluZGVyOmh1bnRlci9UV08="
    }
    said = [ran.out + ran.err]
    for words in (
        ("failures", "--list"), ("failures", "--json", "--list"), ("show", URL), ("show", URL, "--json"),
        ("doctor",), ("doctor", "--json"), ("status", "--json"), ("export",), ("search", "--json"),
        ("queue", "peek", "identify-quar", "--json"), ("audit", "--json"),
    ):  # fmt: skip
        told = fonds(home, *words)
        said.append(told.out + told.err)
        assert "Traceback" not in said[-1]
    for trace in TRACES:
        assert not [text for text in said if trace.decode() in text]
        kept = [path for path in home.rglob("*") if path.is_file() and trace in path.read_bytes()]
        assert kept in ([], [home / "fonds.toml"])


def test_a_password_on_the_command_line_is_refused_and_not_repeated(tmp_path: Path) -> None:
    for words in (
        ("ingest", "--warc-base", "http://u:hunterTWO@h/", str(tmp_path)),
        ("--set", "records=postgresql://u:hunterTWO@h/db", "status"),
        ("--set", "records:postgresql://u:hunterTWO@h/db", "status"),
        ("--set", "queue=kafka://h?sasl.password=hunterTWO", "status"),
        ("ingest", "http://u:hunterTWO@h/a.pdf"),
    ):
        ran = fonds(tmp_path / "home", *words)
        assert ran.code == 2
        assert "hunter" not in ran.out + ran.err
        assert "Traceback" not in ran.err
    assert not (tmp_path / "home").exists()


def test_doctor_tells_when_others_may_read_a_password(tmp_path: Path) -> None:
    settings = tmp_path / "home" / "fonds.toml"
    settings.parent.mkdir()
    settings.write_text(f'warc_base = "http://u:{PASSWORD}@h.example/"\n')
    settings.chmod(0o644)
    ran = fonds(tmp_path / "home", "doctor")
    assert ran.code == 1
    assert "others can read it; run chmod 600" in ran.out
    settings.chmod(0o600)
    assert "only its owner can read it" in fonds(tmp_path / "home", "doctor").out


def test_a_password_without_a_clear_end_is_refused_and_not_repeated(tmp_path: Path) -> None:
    for url in ("postgresql://user:hunter/TWO@h/db", "postgresql://user:hunter@TWO@h/db"):
        ran = fonds(tmp_path / "home", "doctor", FONDS_RECORDS=url)
        assert ran.code == 2
        assert "%2F" in ran.err
        assert "hunter" not in ran.out + ran.err
        assert "TWO" not in ran.out + ran.err


def _line(length: int, name: str) -> str:
    fields = {"url": URL, "mime": "text/html", "status": "200", "filename": name}
    fields |= {"offset": "0", "length": str(length)}
    return f"example,news)/1 20260101000000 {json.dumps(fields)}\n"
