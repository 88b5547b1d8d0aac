"""Machines that are short of something, and homes that are none: a sentence, and nothing lost."""

from __future__ import annotations

import os
import resource
import shutil
import signal
import subprocess
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from threading import Thread
from typing import TextIO

import pytest

from e2e.running import ForkedProcess, fonds, start
from fixtures.pdfs import text_pdf

LIMITED = ("sh", "-c", 'ulimit "$1" "$2"; shift 2; exec "$@"', "sh")


def papers(folder: Path, count: int) -> Path:
    folder.mkdir()
    for number in range(count):
        (folder / f"{number}.pdf").write_bytes(text_pdf((f"paper number {number}",)))
    return folder


@pytest.mark.parametrize(("flag", "value"), [("-n", "24"), ("-v", "400000")])
@pytest.mark.parametrize("words", [["ingest", __file__], ["run"]], ids=lambda words: str(words[0]))
def test_limits_too_narrow_to_work_in_are_said_before_anything_is_done(
    tmp_path: Path, flag: str, value: str, words: list[str]
) -> None:
    ran = fonds(tmp_path / "home", *words, prefix=(*LIMITED, flag, value))
    assert ran.code == 2
    assert ran.err.startswith("fonds: The limit is ")
    assert f"`ulimit {flag}" in ran.err
    assert "Traceback" not in ran.err


def _name_that_is_no_text(folder: Path) -> Path:
    return Path(os.fsdecode(os.fsencode(folder) + b"/h\xff"))


@pytest.mark.parametrize(
    ("home", "told"),
    [
        (lambda folder: Path("~nosuchuser/x"), "is not usable"),
        (_name_that_is_no_text, "not UTF-8"),
        (lambda folder: folder / "file", "is not a folder"),
        (lambda folder: folder / "file" / "below", "is not a folder"),
        (lambda folder: folder / ("x" * 300), "too long"),
        (lambda folder: Path("/proc/fonds"), "Cannot create the home"),
    ],
    ids=["nobody", "no text", "file", "below a file", "long", "nowhere"],
)
def test_a_home_that_is_none_is_a_sentence(tmp_path: Path, home: object, told: str) -> None:
    (tmp_path / "file").touch()
    ran = fonds(home(tmp_path), "ingest", __file__)  # type: ignore[operator]
    assert ran.code == 2
    assert ran.err.startswith("fonds: ")
    assert told in ran.err
    assert len(ran.err.splitlines()) == 1


@contextmanager
def service(home: Path) -> Iterator[tuple[ForkedProcess, TextIO]]:
    """A process that works all steps of the home until it is told to stop, and what it prints."""
    reading, writing = os.pipe()
    with os.fdopen(reading, encoding="utf-8") as printed:
        words = ["--home", str(home), "run"]
        try:
            with Path(os.devnull).open("r+b") as nothing:
                files = (nothing.fileno(), nothing.fileno(), writing)
                process = start(words, files, os.environ, folder=home.parent)
        finally:
            os.close(writing)
        rest = Thread(target=printed.read)
        try:
            yield process, printed
        finally:
            process.send_signal(signal.SIGTERM)
            # What it still prints is read: a full pipe would hold it up.
            rest.start()
            process.wait(60)
            rest.join()


def wait_for_line(printed: TextIO, word: str) -> None:
    if not any(word in line for line in printed):
        raise AssertionError(f"it ended without saying {word!r}")


def test_work_goes_on_when_files_can_be_opened_again(tmp_path: Path) -> None:
    home, count = tmp_path / "home", 40
    folder = papers(tmp_path / "in", count)
    assert fonds(home, "ingest", "--enter-only", folder).code == 0
    with service(home) as (running, printed):
        wait_for_line(printed, "at work")
        hard = resource.prlimit(running.pid, resource.RLIMIT_NOFILE)[1]
        resource.prlimit(running.pid, resource.RLIMIT_NOFILE, (3, hard))
        wait_for_line(printed, "retrying in")
        resource.prlimit(running.pid, resource.RLIMIT_NOFILE, (hard, hard))
        settled(home, count)
    told = fonds(home, "status", "--json").last
    assert told["quarantined"] == {}
    assert fonds(home, "audit").code == 0


def settled(home: Path, count: int) -> None:
    """Wait until so many entries are kept."""
    for _ in range(600):
        told = fonds(home, "status", "--json").last
        if told["done"] >= count:
            return
        time.sleep(0.2)
    raise AssertionError(told)


@pytest.fixture
def small_disk(tmp_path: Path) -> Iterator[Path]:
    """A file system of 24 MiB."""
    folder = tmp_path / "disk"
    folder.mkdir()
    mount = shutil.which("mount")
    if os.geteuid() != 0 or mount is None:
        pytest.skip("only an administrator can make a small disk")
    made = subprocess.run([mount, "-t", "tmpfs", "-o", "size=24m", "small", folder], check=False)
    if made.returncode != 0:
        pytest.skip("this administrator may not mount")
    yield folder
    subprocess.run(["umount", "--lazy", folder], check=True)


def test_a_service_goes_on_when_there_is_room_again(small_disk: Path, tmp_path: Path) -> None:
    home, count = small_disk / "home", 40
    folder = papers(tmp_path / "in", count)
    assert fonds(home, "ingest", "--enter-only", folder).code == 0
    fill(small_disk / "ballast")
    with service(home) as (_, printed):
        wait_for_line(printed, "retrying in")
        (small_disk / "ballast").unlink()
        settled(home, count)
    assert fonds(home, "status", "--json").last["quarantined"] == {}
    assert fonds(home, "audit").code == 0


def fill(path: Path) -> None:
    """Take all the room there is but a little, so that opening still works."""
    free = os.statvfs(path.parent).f_bavail * os.statvfs(path.parent).f_frsize
    path.write_bytes(bytes(free - 300 * 1024))
