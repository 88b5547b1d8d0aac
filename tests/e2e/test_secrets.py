"""A password in the settings never appears elsewhere in the home or in the output."""

from __future__ import annotations

import json
from pathlib import Path

from e2e.crawls import page
from e2e.running import fonds
from fixtures.http_server import CannedResponse, serve_http
from fixtures.warcs import gzip_records, http_response

PASSWORD = "hunter%2FTWO"
TRACES = (b"hunter", b"aHVudGVy", b"ZmluZGVyOmh1bnRlci9UV08")
URL = "http://news.example/1"


def test_the_password_of_a_warc_base_is_used_but_never_stored(tmp_path: Path) -> None:
    home, index = tmp_path / "home", tmp_path / "index.cdxj"
    record = gzip_records([http_response(page(1), url=URL)])
    index.write_text(_build_line(len(record), "here.warc.gz") + _build_line(10, "gone.warc.gz"))
    home.mkdir()
    with serve_http() as server:
        ranged = {"Content-Range": f"bytes 0-{len(record) - 1}/{len(record)}"}
        server.responses["/warcs/here.warc.gz"] = CannedResponse(206, record, ranged)
        base = server.url.replace("://", f"://finder:{PASSWORD}@")
        (home / "fonds.toml").write_text(
            f'warc.base = "{base}/warcs"\nelsewhere.private_addresses = true\n'
        )
        result = fonds(home, "ingest", "--json", index)
    assert (result.code, result.last["done"], result.last["quarantined"]) == (
        1,
        1,
        {"missing-source": 1},
    )
    assert {dict(headers).get("Authorization") for _, headers in server.requests} == {
        "Basic ZmluZGVyOmh1bnRlci9UV08="
    }
    outputs = [result.out + result.err]
    for words in (
        ("failures", "--list"), ("failures", "--json", "--list"), ("show", URL), ("show", URL, "--json"),
        ("doctor",), ("doctor", "--json"), ("status", "--json"), ("export",), ("search", "--json"),
        ("queue", "peek", "identify-quar", "--json"), ("audit", "--json"),
    ):  # fmt: skip
        command_result = fonds(home, *words)
        outputs.append(command_result.out + command_result.err)
        assert "Traceback" not in outputs[-1]
    for trace in TRACES:
        assert not [text for text in outputs if trace.decode() in text]
        paths = [path for path in home.rglob("*") if path.is_file() and trace in path.read_bytes()]
        assert paths in ([], [home / "fonds.toml"])


def test_a_password_on_the_command_line_is_refused_and_not_printed(tmp_path: Path) -> None:
    for words in (
        ("ingest", "--warc-base", "http://u:hunterTWO@h/", str(tmp_path)),
        ("--set", "records=postgresql://u:hunterTWO@h/db", "status"),
        ("--set", "records:postgresql://u:hunterTWO@h/db", "status"),
        ("--set", "queue=kafka://h?sasl.password=hunterTWO", "status"),
        ("ingest", "http://u:hunterTWO@h/a.pdf"),
    ):
        result = fonds(tmp_path / "home", *words)
        assert result.code == 2
        assert "hunter" not in result.out + result.err
        assert "Traceback" not in result.err
    assert not (tmp_path / "home").exists()


def test_doctor_reports_a_password_that_others_can_read(tmp_path: Path) -> None:
    settings = tmp_path / "home" / "fonds.toml"
    settings.parent.mkdir()
    settings.write_text(f'warc_base = "http://u:{PASSWORD}@h.example/"\n')
    settings.chmod(0o644)
    result = fonds(tmp_path / "home", "doctor")
    assert result.code == 1
    assert "others can read it; run chmod 600" in result.out
    settings.chmod(0o600)
    assert "only its owner can read it" in fonds(tmp_path / "home", "doctor").out


def test_an_ambiguous_password_is_refused_and_not_printed(tmp_path: Path) -> None:
    for url in ("postgresql://user:hunter/TWO@h/db", "postgresql://user:hunter@TWO@h/db"):
        result = fonds(tmp_path / "home", "doctor", FONDS_RECORDS=url)
        assert result.code == 2
        assert "%2F" in result.err
        assert "hunter" not in result.out + result.err
        assert "TWO" not in result.out + result.err


def _build_line(length: int, name: str) -> str:
    fields = {"url": URL, "mime": "text/html", "status": "200", "filename": name}
    fields |= {"offset": "0", "length": str(length)}
    return f"example,news)/1 20260101000000 {json.dumps(fields)}\n"
