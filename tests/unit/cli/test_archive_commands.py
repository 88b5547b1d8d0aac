"""`fonds archive`: list, verify, extract, reindex and upload, and bad input."""

from __future__ import annotations

import gzip
import json
from pathlib import Path

import pytest

from answer_checks import check_answers
from calls import Call
from filled_home import FilledHome, open_home
from fixtures.archives import build_entry, read_index
from fixtures.buckets import FolderBucket
from fonds.archive.store.options import ArchiveOptions
from fonds.archive.store.s3 import S3Archive
from fonds.wiring import archive as archives

NEWS = "http://daily.example/front"


@pytest.fixture
def name(call: Call) -> str:
    """The first WARC of the home."""
    return str(_parse_lines(call("archive", "list", "--json").out)[0]["warc_path"])


def _parse_lines(text: str) -> list[dict[str, object]]:
    return [json.loads(line) for line in text.splitlines()]


def test_files_are_listed_with_their_captures(call: Call, name: str) -> None:
    result = call("archive", "list")
    rows = _parse_lines(call("archive", "list", "--json").out)
    assert (result.code, name in result.out) == (0, True)
    total = sum(row["captures"] for row in rows)  # type: ignore[misc]
    assert f"{len(rows)} WARC file" in result.out
    assert f"{total} captures." in result.out
    assert {row["state"] for row in rows} == {"finished"}
    assert _parse_lines(call("archive", "list", name, "--json").out) == rows[:1]


def test_all_files_of_a_home_are_valid(call: Call) -> None:
    result = call("archive", "verify")
    assert result.code == 0
    assert "No faults found." in result.out
    assert all(row["faults"] == [] for row in _parse_lines(call("archive", "verify", "--json").out))


def test_a_damaged_foreign_file_is_reported_without_a_library(call: Call, tmp_path: Path) -> None:
    record = b"WARC/1.0\r\nWARC-Type: resource\r\nContent-Length: 2\r\n\r\nhi\r\n\r\n"
    (tmp_path / "a.warc").write_bytes(record)
    (tmp_path / "b.warc.gz").write_bytes(gzip.compress(record * 3)[:-5])
    (tmp_path / "notes.txt").write_text("no WARC")
    home_option = ("--home", str(tmp_path / "none"))
    result = call("archive", "verify", str(tmp_path), *home_option)
    assert result.code == 1
    assert "2 WARC files" in result.out
    assert "1 fault." in result.out
    assert "b.warc.gz" in result.out
    assert not (tmp_path / "none").exists()
    assert call("archive", "verify", str(tmp_path / "a.warc"), *home_option).code == 0


def test_a_damaged_index_is_rebuilt(call: Call, name: str, home: Path) -> None:
    index = home / "archive" / name.replace(".warc.gz", ".cdxj")
    lines_before = read_index(index)
    index.write_bytes(index.read_bytes()[:2000])
    assert call("archive", "verify", name).code == 1
    result = call("archive", "reindex")
    assert (result.code, f"{name}: changed" in result.out) == (0, True)
    # Records escape the blanks of URLs.
    assert [line._replace(url="") for line in read_index(index)] == [
        line._replace(url="") for line in lines_before
    ]
    assert "Indexes: 0 changed" in call("archive", "reindex", name).out


def test_a_capture_is_extracted_by_url_id_or_place(call: Call, filled_home: FilledHome) -> None:
    by_url = call("archive", "extract", filled_home.twice_url)
    words = ("archive", "extract", filled_home.twice_url, "--json")
    (row,) = check_answers(words, call(*words).out)
    (head,) = check_answers(words, call(*words, "--record").out)
    assert row == {**head, "body_bytes": row["body_bytes"], "source": row["source"]}
    by_id = call("archive", "extract", str(row["capture_id"]))
    by_place = call("archive", "extract", f"{row['warc_path']}:{row['warc_offset']}")
    assert by_url.code == by_id.code == by_place.code == 0
    assert by_url.out == by_id.out == by_place.out
    assert len(by_url.out.encode()) == row["body_bytes"]


def test_the_capture_nearest_to_a_time_is_extracted_and_reported(
    call: Call, filled_home: FilledHome
) -> None:
    (newest,) = _parse_lines(call("archive", "extract", filled_home.twice_url, "--json").out)
    result = call("archive", "extract", filled_home.twice_url, "--json", "--at", "1999-01-01")
    (oldest,) = _parse_lines(result.out)
    assert str(oldest["datetime"]) < str(newest["datetime"])
    assert f"nearest to 1999-01-01 was made at {oldest['datetime']}" in result.err


def test_a_record_is_extracted_unchanged(
    call: Call, filled_home: FilledHome, tmp_path: Path
) -> None:
    out = tmp_path / "record"
    result = call("archive", "extract", filled_home.twice_url, "--record", "-o", str(out))
    assert (result.code, result.out) == (0, "")
    assert out.read_bytes().startswith(b"WARC/1.1\r\n")
    second = call("archive", "extract", filled_home.twice_url, "-o", str(out))
    assert (second.code, "already exists" in second.err) == (2, True)


def test_a_record_of_any_file_is_extracted_without_a_library(call: Call, tmp_path: Path) -> None:
    path = tmp_path / "a.warc"
    path.write_bytes(b"WARC/1.0\r\nWARC-Type: resource\r\nContent-Length: 2\r\n\r\nhi\r\n\r\n")
    home_option = ("--home", str(tmp_path / "none"))
    assert call("archive", "extract", f"{path}:0", *home_option).out == "hi"
    assert call("archive", "extract", f"{path}:0", "--record", *home_option).out.endswith(
        "\r\n\r\nhi"
    )
    result = call("archive", "extract", f"{path}:999", "-o", str(tmp_path / "out"), *home_option)
    assert (result.code, "no record at this offset" in result.err) == (1, True)
    assert not (tmp_path / "out").exists()


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (("archive", "extract", NEWS, "--at", "yesterday"), "write a time as YYYY"),
        (("archive", "extract", NEWS, "--at", "20209999"), "--at '20209999'"),
        (("archive", "upload"), "a folder on this computer"),
    ],
)
def test_bad_input_is_refused(call: Call, words: tuple[str, ...], message: str) -> None:
    result = call(*words)
    assert (result.code, result.out) == (2, "")
    assert message in result.err


def test_finished_files_are_uploaded_and_others_stay(
    call: Call, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    bucket = FolderBucket(tmp_path / "bucket", is_unavailable=True)
    options = ArchiveOptions(waiting_folder=tmp_path / "home" / "archive")
    with open_home(tmp_path / "home"):
        pass
    monkeypatch.setattr(
        archives, "open_archive", lambda *_: S3Archive("s3://b", options, lambda _: bucket)
    )
    archive = archives.open_archive(tmp_path, None)  # type: ignore[arg-type]
    archive.write([build_entry(1)])
    archive.finish()
    words = ("--home", str(tmp_path / "home"), "--set", "archive=s3://b")
    result = call("archive", "upload", *words)
    assert (result.code, "0 WARC files uploaded" in result.out, "1 left" in result.out) == (
        1,
        True,
        True,
    )
    (row,) = _parse_lines(call("archive", "list", "--json", *words).out)
    assert row["state"] == "waiting"
    bucket.is_unavailable = False
    (uploaded,) = _parse_lines(call("archive", "upload", "--json", *words).out)
    assert list(uploaded["sent"]) == [row["warc_path"]]  # type: ignore[call-overload]
    assert uploaded["not_uploaded"] == {}
    (row,) = _parse_lines(call("archive", "list", "--json", *words).out)
    assert row["state"] == "finished"
    assert not list((tmp_path / "home" / "archive").glob("*.warc.gz"))
    archive.close()
