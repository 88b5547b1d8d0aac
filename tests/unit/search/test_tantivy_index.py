"""The index in a folder beyond its port: locks, damage, full disks and killed processes."""

import signal
import subprocess
import sys
from collections.abc import Callable, Iterator
from dataclasses import replace
from datetime import UTC, date, datetime
from pathlib import Path

import pytest
import tantivy

from fonds.model.document import IndexDocument
from fonds.model.errors import (
    ConfigurationError,
    StorageFullError,
    StoreUnavailableError,
)
from fonds.model.file import Kind
from fonds.model.search import SearchQuery
from fonds.search.index.tantivy_index import TantivyIndex, build_error

TEMPLATE = IndexDocument(
    id="",
    sha1hex="",
    kind=Kind.STORY,
    url="https://news.example/a",
    canonical_domain="news.example",
    publication_date=date(2024, 5, 17),
    language="en",
    article_title="River news",
    text_content="The river rose.",
    indexed_date=datetime(2024, 5, 18, tzinfo=UTC),
)


def document(number: int, text: str = "The river rose.") -> IndexDocument:
    return replace(TEMPLATE, id=f"{number:040x}", sha1hex=f"{number:040x}", text_content=text)


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    return tmp_path / "index"


@pytest.fixture
def index(folder: Path) -> Iterator[TantivyIndex]:
    index = TantivyIndex(folder)
    yield index
    index.close()


def test_reading_creates_no_folder_and_no_lock(folder: Path):
    index = TantivyIndex(folder)
    assert (index.count(), index.search(SearchQuery()).total) == (0, 0)
    index.delete(["0" * 40])
    assert not folder.exists()


def test_a_second_writer_is_refused_while_readers_work(folder: Path, index: TantivyIndex):
    index.put([document(1)])
    second = TantivyIndex(folder)
    with pytest.raises(StoreUnavailableError, match=str(folder)):
        second.put([document(2)])
    assert second.count() == 1
    index.close()
    second.put([document(2)])
    assert index.count() == 2
    second.close()


def start_process(program: str, folder: Path) -> subprocess.Popen[str]:
    """Start a process with the names of this module, `folder`, and one document in the index."""
    beginning = f"""
import os, resource, signal, sys
sys.path.insert(0, {str(Path(__file__).parent)!r})
from test_tantivy_index import *
folder = Path({str(folder)!r})
index = TantivyIndex(folder)
index.put([document(1)])
"""
    return subprocess.Popen(
        [sys.executable, "-c", beginning + program],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    )


def test_a_killed_writer_leaves_its_commits_and_no_lock(folder: Path):
    program = "print('ready', flush=True)\nsys.stdin.read()"
    with start_process(program, folder) as writer:
        assert writer.stdout is not None
        assert writer.stdout.readline() == "ready\n"
        index = TantivyIndex(folder)
        with pytest.raises(StoreUnavailableError):
            index.put([document(2)])
        writer.send_signal(signal.SIGKILL)
    index.put([document(2)])
    assert index.count() == 2
    index.close()


def test_deletions_of_an_interrupted_commit_do_not_block_the_next(folder: Path):
    """The deletions are on disk without the commit that names them. The next writer uses the same numbers."""
    first = TantivyIndex(folder)
    first.put([document(number) for number in range(4)])
    first.close()
    before = (folder / "meta.json").read_bytes()
    first.delete([document(0).id])
    first.close()
    (deletions,) = folder.glob("*.del")
    (folder / "meta.json").write_bytes(before)
    after = TantivyIndex(folder)
    assert after.count() == 4
    after.delete([document(1).id])
    assert deletions.exists()
    assert set(after.get([document(number).id for number in range(4)])) == {
        document(number).id for number in (0, 2, 3)
    }
    after.close()


@pytest.mark.parametrize(("count", "text_bytes"), [(100, 5_000), (60, 1_000_000)])
def test_a_full_disk_is_reported_and_loses_no_commits(folder: Path, count: int, text_bytes: int):
    """A file size limit simulates the full disk. It applies to a whole process, so the writer has its own."""
    program = f"""
signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
resource.setrlimit(resource.RLIMIT_FSIZE, (100_000, 100_000))
try:
    index.put([document(n, os.urandom({text_bytes // 2}).hex(" ", 8)) for n in range(2, {count})])
except StorageFullError as error:
    print(error)
"""
    with start_process(program, folder) as writer:
        message, _ = writer.communicate(timeout=60)
    assert str(folder) in message
    assert "No space left" in message
    index = TantivyIndex(folder)
    assert index.count() == 1
    index.put([document(2)])
    assert index.count() == 2
    index.close()


def _empty(path: Path) -> None:
    path.write_bytes(b"")


def _halve(path: Path) -> None:
    path.write_bytes(path.read_bytes()[: path.stat().st_size // 2])


def _overwrite(path: Path) -> None:
    path.write_bytes(b"\xa5" * path.stat().st_size)


@pytest.mark.parametrize("damage", [Path.unlink, _empty, _halve, _overwrite])
@pytest.mark.parametrize("part", ["meta.json", "*.store", "*.term", "*.idx", "*.pos", "*.fast"])
def test_a_damaged_folder_is_refused_with_advice(
    folder: Path, part: str, damage: Callable[[Path], None]
):
    index = TantivyIndex(folder)
    index.put([document(number) for number in range(20)])
    index.close()
    damage(next(folder.glob(part)))
    with pytest.raises(ConfigurationError, match="to rebuild it") as error:
        TantivyIndex(folder).search(SearchQuery("river"))
    with pytest.raises(ConfigurationError, match="to rebuild it"):
        TantivyIndex(folder).put([document(1)])
    assert str(folder) in str(error.value)
    assert len(str(error.value)) < 700


def test_an_index_with_another_schema_is_refused(folder: Path):
    folder.mkdir()
    schema = tantivy.SchemaBuilder()
    schema.add_text_field("body")
    tantivy.Index(schema.build(), path=str(folder))
    with pytest.raises(ConfigurationError, match="another version of Fonds"):
        TantivyIndex(folder).count()


def test_a_file_in_place_of_the_folder_is_reported(tmp_path: Path):
    (tmp_path / "file").write_text("")
    for folder in (tmp_path / "file", tmp_path / "file" / "index"):
        with pytest.raises(ConfigurationError, match="file is in the way"):
            TantivyIndex(folder).put([document(1)])


def test_readers_notice_a_rebuilt_folder(folder: Path, tmp_path: Path):
    reader = TantivyIndex(folder)
    first = TantivyIndex(folder)
    first.put([document(1), document(2)])
    first.close()
    assert reader.count() == 2
    folder.rename(tmp_path / "old")
    assert reader.count() == 0
    second = TantivyIndex(folder)
    second.put([document(3)])
    second.close()
    assert set(reader.get([f"{number:040x}" for number in range(4)])) == {f"{3:040x}"}


def test_a_failed_batch_is_not_committed_with_the_next(index: TantivyIndex):
    index.put([document(1)])
    with pytest.raises(AttributeError):
        index.put([document(2), None])  # type: ignore[list-item]
    index.put([document(3)])
    assert index.count() == 2


def test_many_small_batches_leave_few_files(folder: Path, index: TantivyIndex):
    for number in range(60):
        index.put([document(number)])
    index.close()
    assert index.count() == 60
    assert len(list(folder.glob("*.store"))) < 20


@pytest.mark.parametrize(
    ("message", "error"),
    [
        ("An IO error occurred: 'No space left on device (os error 28)'", StorageFullError),
        ("[Errno 122] Disk quota exceeded", StorageFullError),
        ("Permission denied (os error 13)", ConfigurationError),
        ("Os { code: 24, kind: Uncategorized }", StoreUnavailableError),
        ("Failed to acquire Lockfile: LockBusy.", StoreUnavailableError),
        ("An index writer was killed.. A worker thread", StoreUnavailableError),
        ("anything else", ConfigurationError),
    ],
)
def test_messages_of_the_library_are_translated(message: str, error: type[Exception]):
    translated_error = build_error(Path("/srv/index"), message)
    assert type(translated_error) is error
    assert "/srv/index" in str(translated_error)
