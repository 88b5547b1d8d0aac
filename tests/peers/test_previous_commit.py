"""Workers of the previous commit and of this one share a home.

The previous commit is taken from the history of the repository. It is skipped if it cannot open the
same stores, or if its messages have another format.
"""

from __future__ import annotations

import io
import re
import shutil
import signal
import subprocess
import sys
import tarfile
from dataclasses import dataclass
from pathlib import Path

import pytest

from e2e.crawls import write_crawl
from e2e.running import ROOT, fonds
from e2e.workers import STEPS, Workers
from fonds.queues.messages.envelope import FORMAT_VERSION

MIGRATIONS = "src/fonds/stores/migrations"
ENVELOPE = "src/fonds/queues/messages/envelope.py"
GIT = shutil.which("git") or "git"


@dataclass(frozen=True)
class PreviousCommit:
    """The source of the previous commit."""

    source: Path

    @property
    def environment(self) -> dict[str, str]:
        return {"PYTHONPATH": str(self.source)}

    def run(self, home: Path, *arguments: str | Path) -> None:
        """Run `fonds` of the previous commit."""
        prefix = ("env", f"PYTHONPATH={self.source}")
        result = fonds(home, *arguments, prefix=prefix)
        assert result.code == 0, result.err


@pytest.fixture(scope="module")
def previous(tmp_path_factory: pytest.TempPathFactory) -> PreviousCommit:
    """Unpack the previous commit, or skip the tests."""
    archived = subprocess.run(
        [GIT, "archive", "HEAD~1", "src"], cwd=ROOT, capture_output=True, check=False
    )
    if archived.returncode:
        pytest.skip("the repository has no history")
    folder = tmp_path_factory.mktemp("previous")
    with tarfile.open(fileobj=io.BytesIO(archived.stdout)) as archive:
        archive.extractall(folder, filter="data")
    if _read_scripts(folder) != _read_scripts(ROOT):
        pytest.skip("the previous commit has another schema")
    stated = re.search(r"^FORMAT_VERSION = (\d+)$", (folder / ENVELOPE).read_text(), re.MULTILINE)
    if int(stated[1] if stated else 1) != FORMAT_VERSION:
        pytest.skip("the messages of the previous commit have another format")
    return PreviousCommit(folder / "src")


def _read_scripts(root: Path) -> dict[str, str]:
    return {path.name: path.read_text() for path in (root / MIGRATIONS).glob("*.py")}


@pytest.mark.parametrize("enters_first", [True, False], ids=["entered before", "entered now"])
def test_workers_of_both_commits_read_each_other(
    tmp_path: Path, previous: PreviousCommit, enters_first: bool
) -> None:
    """Each commit runs every other group of steps, so most messages go from one to the other."""
    crawl, home = tmp_path / "crawl", tmp_path / "home"
    write_crawl(crawl)
    if enters_first:
        previous.run(home, "ingest", "--enter-only", crawl)
    else:
        assert fonds(home, "ingest", "--enter-only", crawl).code == 0
    ours = Workers(home, steps=STEPS[enters_first::2])
    theirs = Workers(
        home,
        previous.environment,
        steps=STEPS[not enters_first :: 2],
        program=("-m", "fonds"),
    )
    theirs.start()
    ours.start()
    ours.drain()
    assert set(ours.stop() + theirs.stop()) <= {0, -signal.SIGTERM}
    audited = fonds(home, "audit")
    assert audited.code == 0, audited.out
    program = "import fonds; print(fonds.__file__)"
    loaded = subprocess.run(
        [sys.executable, "-c", program],
        env=previous.environment,
        capture_output=True,
        check=True,
        text=True,
    )
    assert loaded.stdout.startswith(str(previous.source))
