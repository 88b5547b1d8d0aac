"""`fonds archive`: listed, read through, taken out of, indexed again, sent off; and bad input."""

from __future__ import annotations

import gzip
import json
from pathlib import Path

import pytest

from answer_checks import check_answers
from calls import Call
from filled_home import FilledHome, open_home
from fixtures.archives import entry, index_of
from fixtures.buckets import FolderBucket
from fonds.archive.store.options import ArchiveOptions
from fonds.archive.store.s3 import S3Archive
from fonds.wiring import stores

NEWS = "http://daily.example/front"


@pytest.fixture
def name(call: Call) -> str:
    """A WARC of the home, the first."""
    return str(_lines(call("archive", "list", "--json").out)[0]["warc_path"])


def _lines(text: str) -> list[dict[str, object]]:
    return [json.loads(line) for line in text.splitlines()]


def test_the_files_are_listed_with_what_they_hold(call: Call, name: str) -> None:
    told = call("archive", "list")
    rows = _lines(call("archive", "list", "--json").out)
    assert (told.code, name in told.out) == (0, True)
    total = sum(row["captures"] for row in rows)  # type: ignore[misc]
    assert f"{len(rows)} WARC file" in told.out
    assert f"{total} captures." in told.out
    assert {row["state"] for row in rows} == {"finished"}
    assert _lines(call("archive", "list", name, "--json").out) == rows[:1]


def test_all_files_of_a_home_are_right(call: Call) -> None:
    told = call("archive", "verify")
    assert told.code == 0
    assert "No faults found." in told.out
    assert all(row["faults"] == [] for row in _lines(call("archive", "verify", "--json").out))


def test_a_damaged_file_of_others_is_told_without_a_library(call: Call, tmp_path: Path) -> None:
    good = b"WARC/1.0\r\nWARC-Type: resource\r\nContent-Length: 2\r\n\r\nhi\r\n\r\n"
    (tmp_path / "a.warc").write_bytes(good)
    (tmp_path / "b.warc.gz").write_bytes(gzip.compress(good * 3)[:-5])
    (tmp_path / "notes.txt").write_text("no WARC")
    none = ("--home", str(tmp_path / "none"))
    told = call("archive", "verify", str(tmp_path), *none)
    assert told.code == 1
    assert "2 WARC files" in told.out
    assert "1 fault." in told.out
    assert "b.warc.gz" in told.out
    assert not (tmp_path / "none").exists()
    assert call("archive", "verify", str(tmp_path / "a.warc"), *none).code == 0


def test_an_index_is_made_again(call: Call, name: str, home: Path) -> None:
    index = home / "archive" / name.replace(".warc.gz", ".cdxj")
    before = index_of(index)
    index.write_bytes(index.read_bytes()[:2000])
    assert call("archive", "verify", name).code == 1
    told = call("archive", "reindex")
    assert (told.code, f"{name}: changed" in told.out) == (0, True)
    # A record has the blanks of an address escaped.
    assert [one._replace(url="") for one in index_of(index)] == [
        one._replace(url="") for one in before
    ]
    assert "Indexes: 0 changed" in call("archive", "reindex", name).out


def test_a_capture_is_taken_out_by_url_id_and_place(call: Call, filled: FilledHome) -> None:
    by_url = call("archive", "extract", filled.twice_url)
    words = ("archive", "extract", filled.twice_url, "--json")
    (row,) = check_answers(words, call(*words).out)
    (head,) = check_answers(words, call(*words, "--record").out)
    assert row == {**head, "body_bytes": row["body_bytes"], "source": row["source"]}
    by_id = call("archive", "extract", str(row["capture_id"]))
    by_place = call("archive", "extract", f"{row['warc_path']}:{row['warc_offset']}")
    assert by_url.code == by_id.code == by_place.code == 0
    assert by_url.out == by_id.out == by_place.out
    assert len(by_url.out.encode()) == row["body_bytes"]


def test_the_capture_nearest_to_a_time_is_taken_and_said(call: Call, filled: FilledHome) -> None:
    (newest,) = _lines(call("archive", "extract", filled.twice_url, "--json").out)
    told = call("archive", "extract", filled.twice_url, "--json", "--at", "1999-01-01")
    (oldest,) = _lines(told.out)
    assert str(oldest["datetime"]) < str(newest["datetime"])
    assert f"nearest to 1999-01-01 was made at {oldest['datetime']}" in told.err


def test_a_whole_record_is_taken_out_as_it_lies(
    call: Call, filled: FilledHome, tmp_path: Path
) -> None:
    out = tmp_path / "record"
    told = call("archive", "extract", filled.twice_url, "--record", "-o", str(out))
    assert (told.code, told.out) == (0, "")
    assert out.read_bytes().startswith(b"WARC/1.1\r\n")
    again = call("archive", "extract", filled.twice_url, "-o", str(out))
    assert (again.code, "already exists" in again.err) == (2, True)


def test_a_record_of_any_file_is_taken_out_without_a_library(call: Call, tmp_path: Path) -> None:
    path = tmp_path / "a.warc"
    path.write_bytes(b"WARC/1.0\r\nWARC-Type: resource\r\nContent-Length: 2\r\n\r\nhi\r\n\r\n")
    none = ("--home", str(tmp_path / "none"))
    assert call("archive", "extract", f"{path}:0", *none).out == "hi"
    assert call("archive", "extract", f"{path}:0", "--record", *none).out.endswith("\r\n\r\nhi")
    beyond = call("archive", "extract", f"{path}:999", "-o", str(tmp_path / "out"), *none)
    assert (beyond.code, "no record at this offset" in beyond.err) == (1, True)
    assert not (tmp_path / "out").exists()


@pytest.mark.parametrize(
    ("words", "wrong"),
    [
        (("archive", "extract", NEWS, "--at", "yesterday"), "write a time as YYYY"),
        (("archive", "extract", NEWS, "--at", "20209999"), "--at '20209999'"),
        (("archive", "upload"), "a folder on this computer"),
    ],
)
def test_what_cannot_be_is_refused(call: Call, words: tuple[str, ...], wrong: str) -> None:
    told = call(*words)
    assert (told.code, told.out) == (2, "")
    assert wrong in told.err


def test_what_is_finished_is_sent_and_what_cannot_be_sent_stays(
    call: Call, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    bucket = FolderBucket(tmp_path / "bucket", away=True)
    options = ArchiveOptions(waiting_folder=tmp_path / "home" / "archive")
    with open_home(tmp_path / "home"):
        pass
    monkeypatch.setattr(
        stores, "open_archive", lambda *_: S3Archive("s3://b", options, lambda _: bucket)
    )
    archive = stores.open_archive(tmp_path, None)  # type: ignore[arg-type]
    archive.write([entry(1)])
    archive.finish()
    words = ("--home", str(tmp_path / "home"), "--set", "archive=s3://b")
    told = call("archive", "upload", *words)
    assert (told.code, "0 WARC files uploaded" in told.out, "1 left" in told.out) == (1, True, True)
    (row,) = _lines(call("archive", "list", "--json", *words).out)
    assert row["state"] == "waiting"
    bucket.away = False
    (sent,) = _lines(call("archive", "upload", "--json", *words).out)
    assert list(sent["sent"]) == [row["warc_path"]]  # type: ignore[call-overload]
    assert sent["not_uploaded"] == {}
    (row,) = _lines(call("archive", "list", "--json", *words).out)
    assert row["state"] == "finished"
    assert not list((tmp_path / "home" / "archive").glob("*.warc.gz"))
    archive.close()
