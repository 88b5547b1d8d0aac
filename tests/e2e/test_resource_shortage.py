"""Low limits, full disks and invalid homes give a clear message, and nothing is lost."""

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


def write_papers(folder: Path, count: int) -> Path:
    folder.mkdir()
    for number in range(count):
        (folder / f"{number}.pdf").write_bytes(text_pdf((f"paper number {number}",)))
    return folder


@pytest.mark.parametrize(("flag", "value"), [("-n", "24"), ("-v", "400000")])
@pytest.mark.parametrize("words", [["ingest", __file__], ["run"]], ids=lambda words: str(words[0]))
def test_too_low_limits_are_reported_before_any_work(
    tmp_path: Path, flag: str, value: str, words: list[str]
) -> None:
    result = fonds(tmp_path / "home", *words, prefix=(*LIMITED, flag, value))
    assert result.code == 2
    assert result.err.startswith("fonds: The limit is ")
    assert f"`ulimit {flag}" in result.err
    assert "Traceback" not in result.err


def _build_undecodable_path(folder: Path) -> Path:
    return Path(os.fsdecode(os.fsencode(folder) + b"/h\xff"))


@pytest.mark.parametrize(
    ("home", "message"),
    [
        (lambda folder: Path("~nosuchuser/x"), "is not usable"),
        (_build_undecodable_path, "not UTF-8"),
        (lambda folder: folder / "file", "is not a folder"),
        (lambda folder: folder / "file" / "below", "is not a folder"),
        (lambda folder: folder / ("x" * 300), "too long"),
        (lambda folder: Path("/proc/fonds"), "Cannot create the home"),
    ],
    ids=["nobody", "no text", "file", "below a file", "long", "nowhere"],
)
def test_an_invalid_home_is_refused_in_one_line(tmp_path: Path, home: object, message: str) -> None:
    (tmp_path / "file").touch()
    result = fonds(home(tmp_path), "ingest", __file__)  # type: ignore[operator]
    assert result.code == 2
    assert result.err.startswith("fonds: ")
    assert message in result.err
    assert len(result.err.splitlines()) == 1


@contextmanager
def run_service(home: Path) -> Iterator[tuple[ForkedProcess, TextIO]]:
    """Run all steps of the home in a process; yield the process and its output."""
    read_end, write_end = os.pipe()
    with os.fdopen(read_end, encoding="utf-8") as printed:
        words = ["--home", str(home), "run"]
        try:
            with Path(os.devnull).open("r+b") as null_file:
                files = (null_file.fileno(), null_file.fileno(), write_end)
                process = start(words, files, os.environ, folder=home.parent)
        finally:
            os.close(write_end)
        rest = Thread(target=printed.read)
        try:
            yield process, printed
        finally:
            process.send_signal(signal.SIGTERM)
            # Read the remaining output, because a full pipe would block the process.
            rest.start()
            process.wait(60)
            rest.join()


def wait_for_line(printed: TextIO, word: str) -> None:
    if not any(word in line for line in printed):
        raise AssertionError(f"it ended without printing {word!r}")


def test_a_service_resumes_when_files_can_be_opened_again(tmp_path: Path) -> None:
    home, count = tmp_path / "home", 40
    folder = write_papers(tmp_path / "in", count)
    assert fonds(home, "ingest", "--enter-only", folder).code == 0
    with run_service(home) as (process, printed):
        wait_for_line(printed, "at work")
        hard = resource.prlimit(process.pid, resource.RLIMIT_NOFILE)[1]
        resource.prlimit(process.pid, resource.RLIMIT_NOFILE, (3, hard))
        wait_for_line(printed, "retrying in")
        resource.prlimit(process.pid, resource.RLIMIT_NOFILE, (hard, hard))
        wait_until_done(home, count)
    status = fonds(home, "status", "--json").last
    assert status["quarantined"] == {}
    assert fonds(home, "audit").code == 0


def wait_until_done(home: Path, count: int) -> None:
    """Wait until `count` entries are done."""
    for _ in range(600):
        status = fonds(home, "status", "--json").last
        if status["done"] >= count:
            return
        time.sleep(0.2)
    raise AssertionError(status)


@pytest.fixture
def small_disk(tmp_path: Path) -> Iterator[Path]:
    """A file system of 24 MiB."""
    folder = tmp_path / "disk"
    folder.mkdir()
    mount = shutil.which("mount")
    if os.geteuid() != 0 or mount is None:
        pytest.skip("only an administrator can make a small disk")
    result = subprocess.run([mount, "-t", "tmpfs", "-o", "size=24m", "small", folder], check=False)
    if result.returncode != 0:
        pytest.skip("this administrator may not mount")
    yield folder
    subprocess.run(["umount", "--lazy", folder], check=True)


def test_a_service_resumes_when_disk_space_is_available(small_disk: Path, tmp_path: Path) -> None:
    home, count = small_disk / "home", 40
    folder = write_papers(tmp_path / "in", count)
    assert fonds(home, "ingest", "--enter-only", folder).code == 0
    fill_disk(small_disk / "ballast")
    with run_service(home) as (_, printed):
        wait_for_line(printed, "retrying in")
        (small_disk / "ballast").unlink()
        wait_until_done(home, count)
    assert fonds(home, "status", "--json").last["quarantined"] == {}
    assert fonds(home, "audit").code == 0


def fill_disk(path: Path) -> None:
    """Fill the disk except for a little space, so that the home can still be opened."""
    free = os.statvfs(path.parent).f_bavail * os.statvfs(path.parent).f_frsize
    path.write_bytes(bytes(free - 300 * 1024))
