"""Our WARC files in others' hands: indexed and replayed by pywb, read by warcio, FastWARC and jwarc.

The programs are installed into an environment that is thrown away; without a registry the tests are left out.
"""

from __future__ import annotations

import json
import shutil
from hashlib import sha1
from pathlib import Path

import pytest

from fonds.archive.store.folder import FolderArchive
from fonds.archive.store.options import ArchiveOptions
from fonds.archive.warc.tombstone import is_tombstone
from fonds.model.archive import ArchiveEntry
from fonds.model.capture import format_datetime14
from fonds.model.restrictions import Tombstone
from peers.entries import entries
from peers.programs import installed, run

# pywb looks up URLs with a session id in their path as they are; the key in our index is without it.
KEYS_DIFFER = {"us": {"http://example.org/semi;jsessionid=0123456789abcdef0123456789abcdef"}}


HERE = Path(__file__).parent


@pytest.fixture(scope="module")
def jar(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """jwarc, from Maven."""
    for program in ("mvn", "java", "javac"):
        if shutil.which(program) is None:
            pytest.skip(f"there is no {program}: install openjdk-17-jdk-headless and maven")
    folder = tmp_path_factory.mktemp("jwarc")
    shutil.copy(HERE / "jwarc.xml", folder / "pom.xml")
    words = ("mvn", "-q", "-B", "-f", folder / "pom.xml", "dependency:copy-dependencies")
    installed(*words, f"-DoutputDirectory={folder}")
    (found,) = folder.glob("jwarc-*.jar")
    return found


@pytest.fixture(scope="module", params=["WARC/1.1", "WARC/1.0"])
def warc(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A finished WARC of ours with all entries, its index beside it."""
    folder = tmp_path_factory.mktemp("archive")
    archive = FolderArchive(folder, ArchiveOptions(version=request.param))
    archive.write(entries())
    archive.finish()
    (found,) = folder.glob("*.warc.gz")
    return found


@pytest.mark.parametrize("indexed_by", ["pywb", "us"])
def test_pywb_replays_every_capture(
    python: Path, warc: Path, tmp_path: Path, indexed_by: str
) -> None:
    made = entries()
    assert len(made) == 45
    asked = json.dumps([[format_datetime14(one.captured_at), one.url] for one in made])
    index = [warc.with_name(warc.name.replace(".warc.gz", ".cdxj"))] if indexed_by == "us" else []
    answers = json.loads(run(python, HERE / "replay_pywb.py", tmp_path, warc, *index, stdin=asked))
    wrong = {
        one.url: (status, digest)
        for one, (status, digest) in zip(made, answers, strict=True)
        if (status, digest) != (_status(one), sha1(one.body).hexdigest())
    }
    assert wrong.keys() == KEYS_DIFFER.get(indexed_by, set()), wrong


def _status(one: ArchiveEntry) -> int:
    return one.http.status if one.http else 200


@pytest.mark.parametrize("reader", ["read_warcio.py", "read_fastwarc.py"])
def test_python_readers_find_every_record_right(python: Path, warc: Path, reader: str) -> None:
    found = [json.loads(line) for line in run(python, HERE / reader, warc).splitlines()]
    assert [(one["type"], one["url"], one["sha1"]) for one in found[1:]] == _expected()
    # warcio checks no digest of a revisit and says None.
    wrong = [one for one in found if not (one["digest"] or one["type"] == "revisit")]
    assert wrong == []


def test_jwarc_finds_every_record_right(jar: Path, warc: Path) -> None:
    lines = run("java", "-cp", jar, HERE / "ReadJwarc.java", warc).splitlines()
    found = [line.split(" ", 3) for line in lines]
    assert [(kind, url, digest) for kind, digest, _, url in found[1:]] == _expected()
    assert {right for _, _, right, _ in found} == {"true"}


def test_jwarc_calls_the_file_valid(jar: Path, warc: Path) -> None:
    run("java", "-jar", jar, "validate", warc)


@pytest.fixture(scope="module")
def purged(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A finished WARC of ours out of which every third entry was taken down."""
    folder = tmp_path_factory.mktemp("purged")
    archive = FolderArchive(folder)
    archive.write(entries())
    archive.finish()
    (found,) = folder.glob("*.warc.gz")
    for one in entries()[::3]:
        key = sha1(one.body).hexdigest()
        assert not archive.purge(
            found.name, Tombstone(key, "privacy", one.captured_at)
        ).waiting_reason
    return found


@pytest.mark.parametrize("reader", ["read_warcio.py", "read_fastwarc.py"])
def test_python_readers_find_tombstones_right_and_all_else_as_it_was(
    python: Path, purged: Path, reader: str
) -> None:
    found = [json.loads(line) for line in run(python, HERE / reader, purged).splitlines()]
    told = [(one["type"], one["url"], one["sha1"]) for one in found[1:]]
    assert len(told) == len(_expected())
    stones = [is_tombstone(url) for _, url, _ in told]
    assert sum(stones) >= 2 * len(entries()[::3])
    assert {kind for (kind, _, _), stone in zip(told, stones, strict=True) if stone} == {"resource"}
    left = [
        (one, was) for one, was, stone in zip(told, _expected(), stones, strict=True) if not stone
    ]
    assert all(one == was for one, was in left)
    assert [one for one in found if not (one["digest"] or one["type"] == "revisit")] == []


def test_pywb_replays_what_was_not_taken_down(python: Path, purged: Path, tmp_path: Path) -> None:
    gone = {sha1(one.body).hexdigest() for one in entries()[::3]}
    made = [one for one in entries() if sha1(one.body).hexdigest() not in gone]
    asked = json.dumps([[format_datetime14(one.captured_at), one.url] for one in made])
    answers = json.loads(run(python, HERE / "replay_pywb.py", tmp_path, purged, stdin=asked))
    wrong = [
        one.url
        for one, (status, digest) in zip(made, answers, strict=True)
        if (status, digest) != (_status(one), sha1(one.body).hexdigest())
    ]
    assert (wrong, len(made) > 20) == ([], True)


def test_jwarc_calls_a_file_with_tombstones_valid(jar: Path, purged: Path) -> None:
    run("java", "-jar", jar, "validate", purged)


def _expected() -> list[tuple[str, str, str]]:
    """Type, URL and SHA-1 of the payload of every record behind the first."""
    expected = []
    for one in entries():
        kind = "revisit" if one.original else "response" if one.http else "resource"
        body = b"" if one.original else one.body
        expected.append((kind, one.url, sha1(body).hexdigest()))
        told = sha1(one.metadata_json or b"").hexdigest()
        expected.append(("metadata", f"urn:metadata:{one.url}", told))
    return expected
