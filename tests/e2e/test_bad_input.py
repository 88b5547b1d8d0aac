"""Bad input gives a clear message without a traceback, and nothing is lost."""

from __future__ import annotations

import gzip
import os
import shutil
import sqlite3
import subprocess
import sys
from pathlib import Path

import pytest

from e2e.crawls import page
from e2e.running import CommandResult, adds_up, fonds
from fixtures.warcs import coded_response, gzip_records, http_response

# Root without the capabilities that override file permissions.
WITHOUT_POWERS = ("setpriv", "--bounding-set=-dac_override,-dac_read_search")


def has_no_traceback(result: CommandResult) -> bool:
    return "Traceback" not in result.err + result.out


def write_warc(path: Path, *bodies: bytes, coding: str | None = None) -> Path:
    records = [
        http_response(body, url=f"http://news.example/{number}")
        if coding is None
        else coded_response(body, coding)
        for number, body in enumerate(bodies)
    ]
    path.write_bytes(gzip_records(records))
    return path


def test_a_missing_path_is_a_usage_error(tmp_path: Path) -> None:
    result = fonds(tmp_path / "home", "ingest", tmp_path / "nowhere.warc")
    assert result.code == 2
    assert "nowhere.warc: no such file or folder" in result.err
    assert not (tmp_path / "home").exists()


def test_a_retry_reports_only_the_retried_messages(tmp_path: Path) -> None:
    """The index has a line with a missing WARC, a 404 and an invalid line."""
    home, index = tmp_path / "home", tmp_path / "a.cdx"
    digest = "A" * 32
    index.write_text(
        " CDX N b a m s k r M S V g\n"
        f"com,a)/x 20260101000000 http://a.com/x text/html 200 {digest} - - 9 0 gone.warc.gz\n"
        f"com,a)/y 20260101000000 http://a.com/y text/html 404 {digest} - - 9 9 gone.warc.gz\n"
        "no line\n"
    )
    summary = fonds(home, "ingest", index, "--json").last
    assert (summary["in"], sorted(summary["quarantined"])) == (
        3,
        ["bad-index-line", "missing-source"],
    )
    for _ in range(2):
        result = fonds(home, "failures", "retry", "--reason", "missing-source", "--json")
        assert (result.code, result.last["retried"], result.last["in"]) == (1, 1, 1)
        assert (result.last["dropped"], result.last["quarantined"]) == ({}, {"missing-source": 1})
    output = fonds(home, "failures", "retry", "--reason", "missing-source").out
    assert "1 message retried" in output
    assert "ingested" not in output
    assert "bad-index-line" not in output
    assert fonds(home, "status", "--json").last["in"] == 3
    assert fonds(home, "audit").code == 0


def test_a_closed_output_pipe_is_not_an_error(tmp_path: Path) -> None:
    read_end, write_end = os.pipe()
    os.close(read_end)
    command = [sys.executable, "-m", "fonds", "--home", str(tmp_path), "pipelines"]
    result = subprocess.run(command, stdout=write_end, stderr=subprocess.PIPE, check=False)
    os.close(write_end)
    assert (result.returncode, result.stderr) == (0, b"")


def test_an_unsupported_url_scheme_is_refused(tmp_path: Path) -> None:
    result = fonds(
        tmp_path / "home", "backfill", "extract", "--to", "stores", "ftp://example.org/a.warc"
    )
    assert result.code == 2
    assert "only http, https and s3 URLs are supported" in result.err
    result = fonds(tmp_path / "home", "ingest", "gopher://example.org/a.pdf")
    assert result.code == 2
    assert "http, https and s3 URLs" in result.err


def test_an_unknown_setting_suggests_the_nearest_name(tmp_path: Path) -> None:
    result = fonds(tmp_path / "home", "--set", "pdf_max_byte=3", "ingest", tmp_path)
    assert result.code == 2
    assert "'pdf_max_bytes'" in result.err
    result = fonds(tmp_path / "home", "ingest", tmp_path, FONDS_WORK_CHILDERN="2")
    assert result.code == 2
    assert "'work_children'" in result.err


def test_an_unreadable_file_is_quarantined_and_the_rest_ingested(tmp_path: Path) -> None:
    crawl = tmp_path / "crawl"
    crawl.mkdir()
    (crawl / "good.html").write_bytes(page(1))
    secret = crawl / "secret.html"
    secret.write_bytes(page(2))
    secret.chmod(0)
    result = fonds(tmp_path / "home", "ingest", "--json", crawl, prefix=WITHOUT_POWERS)
    assert result.code == 1, result.err
    assert result.last["done"] == 1
    assert result.last["quarantined"] == {"unreadable-source": 1}


def test_every_damaged_file_of_a_folder_has_an_outcome(tmp_path: Path) -> None:
    """The folder has an empty file, a pipe, a loop, a truncated WARC, a bomb and a sparse file of 2 GB."""
    crawl = tmp_path / "crawl"
    (crawl / "below").mkdir(parents=True)
    (crawl / "below" / "again").symlink_to(crawl)
    (crawl / "empty.pdf").touch()
    (crawl / "page.html").write_bytes(page(4))
    os.mkfifo(crawl / "pipe")
    with (crawl / "huge.pdf").open("wb") as stream:
        stream.write(b"%PDF-1.4\n")
        stream.truncate(2 * 1024**3)
    cut = write_warc(crawl / "cut.warc.gz", page(1), page(2), page(3))
    cut.write_bytes(cut.read_bytes()[:-200])
    bomb = gzip.compress(b"<html><body>" + b"\0" * 200_000_000, 1)
    write_warc(crawl / "bomb.warc.gz", bomb, gzip.compress(page(5)), coding="gzip")
    result = fonds(tmp_path / "home", "ingest", "--json", crawl)
    assert result.code == 1
    assert adds_up(result.last)
    assert result.last["in"] == 4 + 3 + 2
    assert result.last["done"] == 1 + 2 + 1
    assert result.last["dropped"] == {"empty-body": 1, "too-large": 1}
    assert result.last["quarantined"] == {"unreadable-source": 1, "truncated-record": 1, "bomb": 1}
    failures = fonds(tmp_path / "home", "failures", "--list").out
    assert "cut.warc.gz" in failures
    assert "pipe" in failures


def test_a_home_of_a_newer_fonds_or_a_damaged_database_is_refused(tmp_path: Path) -> None:
    home = tmp_path / "home"
    path = write_warc(tmp_path / "a.warc.gz", page(1))
    assert fonds(home, "ingest", path).code == 0
    with sqlite3.connect(home / "records.sqlite") as connection:
        connection.execute("UPDATE fonds_schema_revision SET version_num = '9999'")
    connection.close()
    result = fonds(home, "status")
    assert result.code == 2
    assert "newer version of Fonds" in result.err
    assert has_no_traceback(result)
    (home / "records.sqlite").write_bytes(b"not a database at all, whatever its name says" * 40)
    result = fonds(home, "status")
    assert result.code == 2
    assert "records.sqlite" in result.err
    assert has_no_traceback(result)


def test_a_full_disk_stops_the_ingest_which_resumes_with_more_space(tmp_path: Path) -> None:
    small = tmp_path / "small"
    small.mkdir()
    if os.getuid() != 0 or shutil.which("mount") is None:
        pytest.skip("only root can mount a small file system")
    options = ["mount", "-t", "tmpfs", "-o", "size=3m", "tmpfs", str(small)]
    mounted = subprocess.run(options, capture_output=True, check=False)
    if mounted.returncode:
        pytest.skip(f"no tmpfs here: {mounted.stderr.decode().strip()}")
    try:
        crawl = tmp_path / "crawl"
        crawl.mkdir()
        write_warc(crawl / "many.warc.gz", *(page(number) for number in range(400)))
        result = fonds(small / "home", "ingest", "--json", crawl)
        assert result.code == 1
        assert "full" in result.err, result.err
        assert has_no_traceback(result)
        subprocess.run(["mount", "-o", "remount,size=200m", str(small)], check=True)
        result = fonds(small / "home", "ingest", "--json", crawl)
        assert result.code == 0, result.err
        assert result.last["pending"] == 0
        audit = fonds(small / "home", "audit", "--json").last
        assert audit["balanced"], audit["missing"]
        assert audit["steps"]["library"]["identify"]["in"] == 400
    finally:
        subprocess.run(["umount", "--lazy", str(small)], check=True)


def test_a_home_in_use_by_another_process_is_refused(tmp_path: Path) -> None:
    from fonds.stores.home_lock import HomeLock

    home = tmp_path / "home"
    home.mkdir()
    with HomeLock(home):
        result = fonds(home, "ingest", write_warc(tmp_path / "a.warc.gz", page(1)))
    assert result.code == 2
    assert "is in use by process" in result.err


def test_commands_on_an_empty_home_suggest_an_ingest(tmp_path: Path) -> None:
    for words in (["search", "x"], ["show", "x"], ["status"], ["audit"], ["failures"], ["export"]):
        result = fonds(tmp_path / "none", *words)
        assert result.code == 2
        assert f"fonds --home {tmp_path / 'none'} ingest" in result.err
