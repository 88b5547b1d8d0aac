"""Walking folders: every file once, in order, whatever links, pipes and permissions do."""

from __future__ import annotations

import os
import socket
from pathlib import Path

import pytest

from fonds.ingest.sources.walk import iter_files


def _names(root: Path, *paths: Path) -> list[str]:
    files = iter_files(paths or (root,), root / "home")
    return [one.path.relative_to(root).as_posix() for one in files]


def test_files_come_in_order_of_their_names(tmp_path: Path) -> None:
    for name in ("b/2", "b/1", "a", "c/d/e", "B"):
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text("x")
    assert _names(tmp_path) == ["B", "a", "b/1", "b/2", "c/d/e"]


def test_size_and_time_are_told(tmp_path: Path) -> None:
    (tmp_path / "a").write_bytes(b"12345")
    os.utime(tmp_path / "a", ns=(1, 1_700_000_000_123_456_789))
    (found,) = iter_files([tmp_path], tmp_path / "home")
    assert (found.size_bytes, found.modified_ns) == (5, 1_700_000_000_123_456_789)
    assert found.error is None


def test_links_to_folders_above_do_not_lead_round_for_ever(tmp_path: Path) -> None:
    (tmp_path / "a").mkdir()
    (tmp_path / "a" / "file").write_text("x")
    (tmp_path / "a" / "up").symlink_to(tmp_path)
    (tmp_path / "b").symlink_to(tmp_path / "a")
    assert _names(tmp_path) == ["a/file"]


def test_links_that_lead_to_each_other_are_told_as_errors(tmp_path: Path) -> None:
    (tmp_path / "one").symlink_to(tmp_path / "two")
    (tmp_path / "two").symlink_to(tmp_path / "one")
    files = list(iter_files([tmp_path], tmp_path / "home"))
    assert [one.path.name for one in files] == ["one", "two"]
    assert all(one.error is not None and not one.is_missing for one in files)


def test_a_link_to_nothing_is_a_missing_file(tmp_path: Path) -> None:
    (tmp_path / "gone").symlink_to(tmp_path / "nowhere")
    (found,) = iter_files([tmp_path], tmp_path / "home")
    assert found.is_missing
    assert found.error == "no such file"


def test_a_link_to_a_file_is_a_file(tmp_path: Path) -> None:
    (tmp_path / "real").write_text("x")
    (tmp_path / "link").symlink_to(tmp_path / "real")
    assert _names(tmp_path) == ["link", "real"]


def test_the_home_is_not_entered_by_any_way(tmp_path: Path) -> None:
    (tmp_path / "home" / "blobs").mkdir(parents=True)
    (tmp_path / "home" / "blobs" / "x").write_text("x")
    (tmp_path / "way").symlink_to(tmp_path / "home")
    (tmp_path / "file").write_text("x")
    assert _names(tmp_path) == ["file"]


def test_pipes_and_sockets_are_told_and_not_opened(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe")
    with socket.socket(socket.AF_UNIX) as listener:
        listener.bind(str(tmp_path / "socket"))
        files = list(iter_files([tmp_path], tmp_path / "home"))
    assert [one.error for one in files] == ["not a regular file (a pipe, socket or device)"] * 2


@pytest.mark.skipif(os.geteuid() == 0, reason="root may read everything")
def test_what_may_not_be_read_is_told(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("x")
    (tmp_path / "file").chmod(0)
    (tmp_path / "folder").mkdir(mode=0)
    files = list(iter_files([tmp_path], tmp_path / "home"))
    (tmp_path / "folder").chmod(0o700)
    assert [(one.path.name, one.error) for one in files] == [
        ("file", "permission denied"),
        ("folder", "Permission denied"),
    ]


def test_what_may_not_be_read_is_told_to_root_too(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "file").write_text("x")
    (tmp_path / "folder").mkdir()

    def refuse(path: object) -> None:
        raise PermissionError(13, "Permission denied", str(path))

    monkeypatch.setattr("fonds.ingest.sources.walk.os.access", lambda path, mode: False)
    real = os.scandir
    monkeypatch.setattr(
        "fonds.ingest.sources.walk.os.scandir",
        lambda path: refuse(path) if Path(path).name == "folder" else real(path),
    )
    files = list(iter_files([tmp_path], tmp_path / "home"))
    assert [(one.path.name, one.error) for one in files] == [
        ("file", "permission denied"),
        ("folder", "Permission denied"),
    ]


def test_a_path_that_is_not_there_is_found_missing(tmp_path: Path) -> None:
    (found,) = iter_files([tmp_path / "nothing"], tmp_path / "home")
    assert found.is_missing


def test_a_folder_named_twice_is_entered_once(tmp_path: Path) -> None:
    (tmp_path / "a").mkdir()
    (tmp_path / "a" / "file").write_text("x")
    assert _names(tmp_path, tmp_path, tmp_path / "a") == ["a/file"]


def test_relative_paths_become_absolute(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "file").write_text("x")
    monkeypatch.chdir(tmp_path)
    (found,) = iter_files([Path("file")], tmp_path / "home")
    assert found.path == tmp_path / "file"


def _outside(tmp_path: Path) -> Path:
    """A folder `named` with two links out of it, one to a folder and one to a file, and one within."""
    named, outside = tmp_path / "named", tmp_path / "outside"
    named.mkdir()
    (outside / "deep").mkdir(parents=True)
    (outside / "deep" / "secret").write_bytes(b"not named")
    (named / "a").write_bytes(b"named")
    (named / "etc").symlink_to(outside)
    (named / "one").symlink_to(outside / "deep" / "secret")
    (named / "same").symlink_to(named / "a")
    return named


def test_a_link_that_leads_out_of_what_was_named_is_found_and_not_followed(tmp_path: Path) -> None:
    named = _outside(tmp_path)
    found = {file.path.name: file.is_outside for file in iter_files([named], tmp_path / "home")}
    assert found == {"a": False, "etc": True, "one": True, "same": False}


def test_with_follow_it_is_found_and_so_is_what_is_behind_it(tmp_path: Path) -> None:
    named = _outside(tmp_path)
    found = [
        (str(file.path.relative_to(named)), file.is_outside)
        for file in iter_files([named], tmp_path / "home", follows_links=True)
    ]
    assert found == [
        ("a", False), ("etc", True), ("etc/deep/secret", False), ("one", True), ("one", False),
        ("same", False),
    ]  # fmt: skip


def test_what_is_named_may_be_a_link_itself(tmp_path: Path) -> None:
    _outside(tmp_path)
    way = tmp_path / "way"
    way.symlink_to(tmp_path / "outside")
    assert [file.is_outside for file in iter_files([way], tmp_path / "home")] == [False]


def test_a_way_out_over_several_links_is_one_too(tmp_path: Path) -> None:
    named = _outside(tmp_path)
    (named / "sub").mkdir()
    (named / "sub" / "again").symlink_to("../etc/deep")
    (named / "sub" / "up").symlink_to("../../outside")
    found = {
        file.path.name for file in iter_files([named / "sub"], tmp_path / "home") if file.is_outside
    }
    assert found == {"again", "up"}
