"""What a person gets who hands in something bad: a clear answer, nothing lost, and no traceback."""

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
from fixtures.warcs import coded_response, gzipped, http_response

# Root, but bound by the permissions of files as everybody is.
WITHOUT_POWERS = ("setpriv", "--bounding-set=-dac_override,-dac_read_search")


def calm(ran: CommandResult) -> bool:
    return "Traceback" not in ran.err + ran.out


def warc(path: Path, *bodies: bytes, coding: str | None = None) -> Path:
    records = [
        http_response(body, url=f"http://news.example/{number}")
        if coding is None
        else coded_response(body, coding)
        for number, body in enumerate(bodies)
    ]
    path.write_bytes(gzipped(records))
    return path


def test_a_path_that_is_not_there_is_a_usage_error(tmp_path: Path) -> None:
    ran = fonds(tmp_path / "home", "ingest", tmp_path / "nowhere.warc")
    assert ran.code == 2
    assert "nowhere.warc: no such file or folder" in ran.err
    assert not (tmp_path / "home").exists()


def test_a_retry_reports_what_was_asked_for_and_nothing_else(tmp_path: Path) -> None:
    """An index of which one line leads nowhere, one is a refusal, and one is no line."""
    home, index = tmp_path / "home", tmp_path / "a.cdx"
    digest = "A" * 32
    index.write_text(
        " CDX N b a m s k r M S V g\n"
        f"com,a)/x 20260101000000 http://a.com/x text/html 200 {digest} - - 9 0 gone.warc.gz\n"
        f"com,a)/y 20260101000000 http://a.com/y text/html 404 {digest} - - 9 9 gone.warc.gz\n"
        "no line\n"
    )
    came = fonds(home, "ingest", index, "--json").last
    assert (came["in"], sorted(came["quarantined"])) == (3, ["bad-index-line", "missing-source"])
    for _ in range(2):
        ran = fonds(home, "failures", "retry", "--reason", "missing-source", "--json")
        assert (ran.code, ran.last["retried"], ran.last["in"]) == (1, 1, 1)
        assert (ran.last["dropped"], ran.last["quarantined"]) == ({}, {"missing-source": 1})
    told = fonds(home, "failures", "retry", "--reason", "missing-source").out
    assert "1 message retried" in told
    assert "ingested" not in told
    assert "bad-index-line" not in told
    assert fonds(home, "status", "--json").last["in"] == 3
    assert fonds(home, "audit").code == 0


def test_a_reader_who_leaves_is_no_fault(tmp_path: Path) -> None:
    left, writing = os.pipe()
    os.close(left)
    command = [sys.executable, "-m", "fonds", "--home", str(tmp_path), "pipelines"]
    ran = subprocess.run(command, stdout=writing, stderr=subprocess.PIPE, check=False)
    os.close(writing)
    assert (ran.returncode, ran.stderr) == (0, b"")


def test_a_url_of_another_scheme_is_refused(tmp_path: Path) -> None:
    ran = fonds(
        tmp_path / "home", "backfill", "extract", "--to", "stores", "ftp://example.org/a.warc"
    )
    assert ran.code == 2
    assert "only http, https and s3 URLs are supported" in ran.err
    ran = fonds(tmp_path / "home", "ingest", "gopher://example.org/a.pdf")
    assert ran.code == 2
    assert "http, https and s3 URLs" in ran.err


def test_an_unknown_setting_names_the_nearest(tmp_path: Path) -> None:
    ran = fonds(tmp_path / "home", "--set", "pdf_max_byte=3", "ingest", tmp_path)
    assert ran.code == 2
    assert "'pdf_max_bytes'" in ran.err
    ran = fonds(tmp_path / "home", "ingest", tmp_path, FONDS_WORK_CHILDERN="2")
    assert ran.code == 2
    assert "'work_children'" in ran.err


def test_an_unreadable_file_is_one_failure_and_the_rest_goes_on(tmp_path: Path) -> None:
    crawl = tmp_path / "crawl"
    crawl.mkdir()
    (crawl / "good.html").write_bytes(page(1))
    secret = crawl / "secret.html"
    secret.write_bytes(page(2))
    secret.chmod(0)
    ran = fonds(tmp_path / "home", "ingest", "--json", crawl, prefix=WITHOUT_POWERS)
    assert ran.code == 1, ran.err
    assert ran.last["done"] == 1
    assert ran.last["quarantined"] == {"unreadable-source": 1}


def test_damaged_files_of_all_sorts_in_one_folder_are_all_accounted_for(tmp_path: Path) -> None:
    """An empty file, a pipe, a loop of folders, a WARC cut in two, a bomb, and two sparse gigabytes."""
    crawl = tmp_path / "crawl"
    (crawl / "below").mkdir(parents=True)
    (crawl / "below" / "again").symlink_to(crawl)
    (crawl / "empty.pdf").touch()
    (crawl / "page.html").write_bytes(page(4))
    os.mkfifo(crawl / "pipe")
    with (crawl / "huge.pdf").open("wb") as stream:
        stream.write(b"%PDF-1.4\n")
        stream.truncate(2 * 1024**3)
    cut = warc(crawl / "cut.warc.gz", page(1), page(2), page(3))
    cut.write_bytes(cut.read_bytes()[:-200])
    bomb = gzip.compress(b"<html><body>" + b"\0" * 200_000_000, 1)
    warc(crawl / "bomb.warc.gz", bomb, gzip.compress(page(5)), coding="gzip")
    ran = fonds(tmp_path / "home", "ingest", "--json", crawl)
    assert ran.code == 1
    assert adds_up(ran.last)
    assert ran.last["in"] == 4 + 3 + 2
    assert ran.last["done"] == 1 + 2 + 1
    assert ran.last["dropped"] == {"empty-body": 1, "too-large": 1}
    assert ran.last["quarantined"] == {"unreadable-source": 1, "truncated-record": 1, "bomb": 1}
    failures = fonds(tmp_path / "home", "failures", "--list").out
    assert "cut.warc.gz" in failures
    assert "pipe" in failures


def test_a_home_made_by_a_newer_fonds_or_of_something_else_is_refused(tmp_path: Path) -> None:
    home = tmp_path / "home"
    path = warc(tmp_path / "a.warc.gz", page(1))
    assert fonds(home, "ingest", path).code == 0
    with sqlite3.connect(home / "records.sqlite") as connection:
        connection.execute("UPDATE fonds_schema_revision SET version_num = '9999'")
    connection.close()
    ran = fonds(home, "status")
    assert ran.code == 2
    assert "newer version of Fonds" in ran.err
    assert calm(ran)
    (home / "records.sqlite").write_bytes(b"not a database at all, whatever its name says" * 40)
    ran = fonds(home, "status")
    assert ran.code == 2
    assert "records.sqlite" in ran.err
    assert calm(ran)


def test_a_full_disk_stops_the_work_and_more_room_lets_it_go_on(tmp_path: Path) -> None:
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
        warc(crawl / "many.warc.gz", *(page(number) for number in range(400)))
        ran = fonds(small / "home", "ingest", "--json", crawl)
        assert ran.code == 1
        assert "full" in ran.err, ran.err
        assert calm(ran)
        subprocess.run(["mount", "-o", "remount,size=200m", str(small)], check=True)
        ran = fonds(small / "home", "ingest", "--json", crawl)
        assert ran.code == 0, ran.err
        assert ran.last["pending"] == 0
        found = fonds(small / "home", "audit", "--json").last
        assert found["balanced"], found["missing"]
        assert found["steps"]["library"]["identify"]["in"] == 400
    finally:
        subprocess.run(["umount", "--lazy", str(small)], check=True)


def test_two_at_work_on_one_home_are_one_too_many(tmp_path: Path) -> None:
    from fonds.stores.home_lock import HomeLock

    home = tmp_path / "home"
    home.mkdir()
    with HomeLock(home):
        ran = fonds(home, "ingest", warc(tmp_path / "a.warc.gz", page(1)))
    assert ran.code == 2
    assert "is in use by process" in ran.err


def test_before_anything_came_in_every_command_says_what_to_do(tmp_path: Path) -> None:
    for words in (["search", "x"], ["show", "x"], ["status"], ["audit"], ["failures"], ["export"]):
        ran = fonds(tmp_path / "none", *words)
        assert ran.code == 2
        assert f"fonds --home {tmp_path / 'none'} ingest" in ran.err
