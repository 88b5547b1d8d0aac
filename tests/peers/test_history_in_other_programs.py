"""`f:c` in Heritrix's own hands: its HBase history reads what we write, and writes what we read."""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable
from datetime import UTC, datetime
from io import BytesIO
from pathlib import Path

import pytest

from fonds.archive.warc.reader import read_record
from fonds.archive.warc.writer import RecordWriter
from fonds.model.archive import ArchiveEntry, OriginalCapture
from fonds.model.capture import Capture, Place, PlaceKind
from fonds.model.keys import parse_record_id
from fonds.stores.journal_table.cells import (
    F_C,
    build_first_seen_cell,
    parse_first_archived,
    read_first_seen,
    set_dupe_count,
)
from fonds.stores.journal_table.keys import build_old_key, parse_key
from peers.programs import installed, run

HERE = Path(__file__).parent
SHA1HEX = "90ffd2359008d82298821d16b21778c5c39aec36"
MOMENT = datetime(2017, 3, 4, 5, 6, 7, tzinfo=UTC)


@pytest.fixture(scope="module")
def heritrix(tmp_path_factory: pytest.TempPathFactory) -> Callable[[bytes], list[str]]:
    """What Heritrix makes of a cell it loaded: key, how a revisit names the record, an own id, cell."""
    for program in ("mvn", "java", "javac"):
        if shutil.which(program) is None:
            pytest.skip(f"there is no {program}: install openjdk-17-jdk-headless and maven")
    folder = tmp_path_factory.mktemp("heritrix")
    shutil.copy(HERE / "heritrix.xml", folder / "pom.xml")
    words = ("mvn", "-q", "-B", "-f", folder / "pom.xml", "dependency:copy-dependencies")
    installed(*words, f"-DoutputDirectory={folder}/lib")
    run("javac", "-nowarn", "-cp", f"{folder}/lib/*", "-d", folder, HERE / "HistoryThere.java")

    def asked(cell: bytes) -> list[str]:
        words = ("java", "-Dfile.encoding=UTF-8", "-cp", f"{folder}:{folder}/lib/*")
        line = f"{SHA1HEX} {cell.decode()}\n"
        said = run(*words, "org.archive.modules.recrawl.hbase.HistoryThere", stdin=line)
        return said.splitlines()[-1].split(" ", 3)

    return asked


def test_heritrix_reads_what_we_write_and_we_what_it_writes(
    heritrix: Callable[[bytes], list[str]],
) -> None:
    place = Place(PlaceKind.WARC, "/crawls/X-2017-00001.warc.gz", 2**33, 10)
    capture = Capture("id", "in", place, "http://example.org/a?b=é</x>", MOMENT, "response")
    out = BytesIO()
    entry = ArchiveEntry("id", capture.url, MOMENT, "text/html", b"<p>")
    record_id = RecordWriter(out).write_entry(entry).record_id
    cell = build_first_seen_cell(capture, place, count=2, record_id=record_id)
    key, named, own, written = heritrix(set_dupe_count(cell[F_C], 3))
    assert key.encode() == build_old_key(SHA1HEX)
    assert parse_key(key) == bytes.fromhex(SHA1HEX)
    assert json.loads(written) == {**json.loads(cell[F_C]), "c": 3}
    ours, theirs = read_first_seen(cell), read_first_seen({F_C: written.encode()})
    assert ours is not None
    assert theirs is not None
    assert (theirs.url, theirs.date, theirs.warc, theirs.offset, theirs.count) == (
        *(ours.url, ours.date, ours.warc, ours.offset),
        3,
    )
    record = read_record(BytesIO(out.getvalue()), 0, body_max_bytes=10)
    assert record.warc_headers["WARC-Record-ID"] == named
    assert parse_record_id(own) == own
    assert parse_first_archived({F_C: written.encode()}) == OriginalCapture(
        capture.url, MOMENT, record_id
    )
