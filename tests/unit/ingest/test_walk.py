"""Walking folders returns every file once and in order, despite links, pipes and permissions."""

from __future__ import annotations

import os
import socket
from pathlib import Path

import pytest

from fonds.ingest.sources.walk import iter_files
from read_only import obey_file_modes


def list_names(root: Path, *paths: Path) -> list[str]:
    files = iter_files(paths or (root,), root / "home")
    return [file.path.relative_to(root).as_posix() for file in files]


def test_files_are_returned_in_order_of_their_names(tmp_path: Path) -> None:
    for name in ("b/2", "b/1", "a", "c/d/e", "B"):
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text("x")
    assert list_names(tmp_path) == ["B", "a", "b/1", "b/2", "c/d/e"]


def test_size_and_modification_time_are_returned(tmp_path: Path) -> None:
    (tmp_path / "a").write_bytes(b"12345")
    os.utime(tmp_path / "a", ns=(1, 1_700_000_000_123_456_789))
    (file,) = iter_files([tmp_path], tmp_path / "home")
    assert (file.size_bytes, file.modified_ns) == (5, 1_700_000_000_123_456_789)
    assert file.error is None


def test_links_to_parent_folders_do_not_loop(tmp_path: Path) -> None:
    (tmp_path / "a").mkdir()
    (tmp_path / "a" / "file").write_text("x")
    (tmp_path / "a" / "up").symlink_to(tmp_path)
    (tmp_path / "b").symlink_to(tmp_path / "a")
    assert list_names(tmp_path) == ["a/file"]


def test_circular_links_are_returned_as_errors(tmp_path: Path) -> None:
    (tmp_path / "one").symlink_to(tmp_path / "two")
    (tmp_path / "two").symlink_to(tmp_path / "one")
    files = list(iter_files([tmp_path], tmp_path / "home"))
    assert [file.path.name for file in files] == ["one", "two"]
    assert all(file.error is not None and not file.is_missing for file in files)


def test_a_broken_link_is_a_missing_file(tmp_path: Path) -> None:
    (tmp_path / "gone").symlink_to(tmp_path / "nowhere")
    (file,) = iter_files([tmp_path], tmp_path / "home")
    assert file.is_missing
    assert file.error == "no such file"


def test_a_link_to_a_file_is_a_file(tmp_path: Path) -> None:
    (tmp_path / "real").write_text("x")
    (tmp_path / "link").symlink_to(tmp_path / "real")
    assert list_names(tmp_path) == ["link", "real"]


def test_the_home_is_never_entered(tmp_path: Path) -> None:
    (tmp_path / "home" / "blobs").mkdir(parents=True)
    (tmp_path / "home" / "blobs" / "x").write_text("x")
    (tmp_path / "way").symlink_to(tmp_path / "home")
    (tmp_path / "file").write_text("x")
    assert list_names(tmp_path) == ["file"]


def test_pipes_and_sockets_are_reported_and_not_opened(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe")
    with socket.socket(socket.AF_UNIX) as listener:
        listener.bind(str(tmp_path / "socket"))
        files = list(iter_files([tmp_path], tmp_path / "home"))
    assert [file.error for file in files] == ["not a regular file (a pipe, socket or device)"] * 2


def test_unreadable_files_and_folders_are_reported(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("x")
    (tmp_path / "file").chmod(0)
    (tmp_path / "folder").mkdir(mode=0)
    files = obey_file_modes(lambda: list(iter_files([tmp_path], tmp_path / "home")))
    (tmp_path / "folder").chmod(0o700)
    assert [(file.path.name, file.error) for file in files] == [
        ("file", "permission denied"),
        ("folder", "Permission denied"),
    ]


def test_a_missing_path_is_reported(tmp_path: Path) -> None:
    (file,) = iter_files([tmp_path / "nothing"], tmp_path / "home")
    assert file.is_missing


def test_a_folder_named_twice_is_entered_once(tmp_path: Path) -> None:
    (tmp_path / "a").mkdir()
    (tmp_path / "a" / "file").write_text("x")
    assert list_names(tmp_path, tmp_path, tmp_path / "a") == ["a/file"]


def test_relative_paths_become_absolute(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "file").write_text("x")
    monkeypatch.chdir(tmp_path)
    (file,) = iter_files([Path("file")], tmp_path / "home")
    assert file.path == tmp_path / "file"


def create_linked_folder(tmp_path: Path) -> Path:
    """Create a folder with two links out of it, to a folder and to a file, and one inside it."""
    folder, outside = tmp_path / "named", tmp_path / "outside"
    folder.mkdir()
    (outside / "deep").mkdir(parents=True)
    (outside / "deep" / "secret").write_bytes(b"not named")
    (folder / "a").write_bytes(b"named")
    (folder / "etc").symlink_to(outside)
    (folder / "one").symlink_to(outside / "deep" / "secret")
    (folder / "same").symlink_to(folder / "a")
    return folder


def test_a_link_out_of_the_named_folder_is_reported_and_not_followed(tmp_path: Path) -> None:
    folder = create_linked_folder(tmp_path)
    outside_by_name = {
        file.path.name: file.is_outside for file in iter_files([folder], tmp_path / "home")
    }
    assert outside_by_name == {"a": False, "etc": True, "one": True, "same": False}


def test_with_follow_links_are_reported_and_followed(tmp_path: Path) -> None:
    folder = create_linked_folder(tmp_path)
    visited = [
        (str(file.path.relative_to(folder)), file.is_outside)
        for file in iter_files([folder], tmp_path / "home", follows_links=True)
    ]
    assert visited == [
        ("a", False), ("etc", True), ("etc/deep/secret", False), ("one", True), ("one", False),
        ("same", False),
    ]  # fmt: skip


def test_a_named_path_can_be_a_link(tmp_path: Path) -> None:
    create_linked_folder(tmp_path)
    link = tmp_path / "way"
    link.symlink_to(tmp_path / "outside")
    assert [file.is_outside for file in iter_files([link], tmp_path / "home")] == [False]


def test_a_link_out_of_the_folder_through_other_links_is_reported(tmp_path: Path) -> None:
    folder = create_linked_folder(tmp_path)
    (folder / "sub").mkdir()
    (folder / "sub" / "again").symlink_to("../etc/deep")
    (folder / "sub" / "up").symlink_to("../../outside")
    outside_names = {
        file.path.name
        for file in iter_files([folder / "sub"], tmp_path / "home")
        if file.is_outside
    }
    assert outside_names == {"again", "up"}
