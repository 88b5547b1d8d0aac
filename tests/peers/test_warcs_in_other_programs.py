"""WARC files of Fonds are indexed and replayed by pywb, and read by warcio, FastWARC and jwarc.

The programs are installed in a temporary environment; without a registry, the tests are skipped.
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
from peers.entries import build_entries
from peers.programs import install, run

# pywb keeps session ids in paths of URLs when it looks up keys; our index has keys without them.
KEYS_DIFFER = {"us": {"http://example.org/semi;jsessionid=0123456789abcdef0123456789abcdef"}}


FOLDER = Path(__file__).parent


@pytest.fixture(scope="module")
def jar(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Install jwarc with Maven; return its JAR."""
    for program in ("mvn", "java", "javac"):
        if shutil.which(program) is None:
            pytest.skip(f"{program} is missing: install openjdk-17-jdk-headless and maven")
    folder = tmp_path_factory.mktemp("jwarc")
    shutil.copy(FOLDER / "jwarc.xml", folder / "pom.xml")
    words = ("mvn", "-q", "-B", "-f", folder / "pom.xml", "dependency:copy-dependencies")
    install(*words, f"-DoutputDirectory={folder}")
    (path,) = folder.glob("jwarc-*.jar")
    return path


@pytest.fixture(scope="module", params=["WARC/1.1", "WARC/1.0"])
def warc(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Write a WARC with all entries, and its index."""
    folder = tmp_path_factory.mktemp("archive")
    archive = FolderArchive(folder, ArchiveOptions(version=request.param))
    archive.write(build_entries())
    archive.finish()
    (path,) = folder.glob("*.warc.gz")
    return path


@pytest.mark.parametrize("indexed_by", ["pywb", "us"])
def test_pywb_replays_every_capture(
    python: Path, warc: Path, tmp_path: Path, indexed_by: str
) -> None:
    entries = build_entries()
    assert len(entries) == 45
    captures = _encode_captures(entries)
    index = [warc.with_name(warc.name.replace(".warc.gz", ".cdxj"))] if indexed_by == "us" else []
    answers = json.loads(
        run(python, FOLDER / "replay_pywb.py", tmp_path, warc, *index, stdin=captures)
    )
    wrong = {
        entry.url: (status, digest)
        for entry, (status, digest) in zip(entries, answers, strict=True)
        if (status, digest) != (_get_status(entry), sha1(entry.body).hexdigest())
    }
    assert wrong.keys() == KEYS_DIFFER.get(indexed_by, set()), wrong


def _encode_captures(entries: list[ArchiveEntry]) -> str:
    return json.dumps([[format_datetime14(entry.captured_at), entry.url] for entry in entries])


def _get_status(entry: ArchiveEntry) -> int:
    return entry.http.status if entry.http else 200


@pytest.mark.parametrize("reader", ["read_warcio.py", "read_fastwarc.py"])
def test_python_readers_read_all_records_with_valid_digests(
    python: Path, warc: Path, reader: str
) -> None:
    rows = [json.loads(line) for line in run(python, FOLDER / reader, warc).splitlines()]
    assert [(row["type"], row["url"], row["sha1"]) for row in rows[1:]] == _list_expected_records()
    # warcio does not check digests of revisits and reports None.
    wrong = [row for row in rows if not (row["digest"] or row["type"] == "revisit")]
    assert wrong == []


def test_jwarc_reads_all_records_with_valid_digests(jar: Path, warc: Path) -> None:
    lines = run("java", "-cp", jar, FOLDER / "ReadJwarc.java", warc).splitlines()
    rows = [line.split(" ", 3) for line in lines]
    assert [(kind, url, digest) for kind, digest, _, url in rows[1:]] == _list_expected_records()
    assert {is_valid for _, _, is_valid, _ in rows} == {"true"}


def test_jwarc_validates_the_file(jar: Path, warc: Path) -> None:
    run("java", "-jar", jar, "validate", warc)


@pytest.fixture(scope="module")
def purged_warc(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Write a WARC, and take down every third entry."""
    folder = tmp_path_factory.mktemp("purged")
    archive = FolderArchive(folder)
    archive.write(build_entries())
    archive.finish()
    (path,) = folder.glob("*.warc.gz")
    for entry in build_entries()[::3]:
        key = sha1(entry.body).hexdigest()
        assert not archive.purge(
            path.name, Tombstone(key, "privacy", entry.captured_at)
        ).waiting_reason
    return path


@pytest.mark.parametrize("reader", ["read_warcio.py", "read_fastwarc.py"])
def test_python_readers_read_tombstones_and_unchanged_records(
    python: Path, purged_warc: Path, reader: str
) -> None:
    rows = [json.loads(line) for line in run(python, FOLDER / reader, purged_warc).splitlines()]
    records = [(row["type"], row["url"], row["sha1"]) for row in rows[1:]]
    assert len(records) == len(_list_expected_records())
    purged_flags = [is_tombstone(url) for _, url, _ in records]
    assert sum(purged_flags) >= 2 * len(build_entries()[::3])
    assert {
        kind for (kind, _, _), is_purged in zip(records, purged_flags, strict=True) if is_purged
    } == {"resource"}
    remaining = [
        (record, before)
        for record, before, is_purged in zip(
            records, _list_expected_records(), purged_flags, strict=True
        )
        if not is_purged
    ]
    assert all(record == before for record, before in remaining)
    assert [row for row in rows if not (row["digest"] or row["type"] == "revisit")] == []


def test_pywb_replays_captures_that_were_not_taken_down(
    python: Path, purged_warc: Path, tmp_path: Path
) -> None:
    purged_digests = {sha1(entry.body).hexdigest() for entry in build_entries()[::3]}
    entries = [
        entry for entry in build_entries() if sha1(entry.body).hexdigest() not in purged_digests
    ]
    captures = _encode_captures(entries)
    answers = json.loads(
        run(python, FOLDER / "replay_pywb.py", tmp_path, purged_warc, stdin=captures)
    )
    wrong = [
        entry.url
        for entry, (status, digest) in zip(entries, answers, strict=True)
        if (status, digest) != (_get_status(entry), sha1(entry.body).hexdigest())
    ]
    assert (wrong, len(entries) > 20) == ([], True)


def test_jwarc_validates_a_file_with_tombstones(jar: Path, purged_warc: Path) -> None:
    run("java", "-jar", jar, "validate", purged_warc)


def _list_expected_records() -> list[tuple[str, str, str]]:
    """Return type, URL and SHA-1 of the payload of every record after the first."""
    expected = []
    for entry in build_entries():
        kind = "revisit" if entry.original else "response" if entry.http else "resource"
        body = b"" if entry.original else entry.body
        expected.append((kind, entry.url, sha1(body).hexdigest()))
        metadata_sha1 = sha1(entry.metadata_json or b"").hexdigest()
        expected.append(("metadata", f"urn:metadata:{entry.url}", metadata_sha1))
    return expected
