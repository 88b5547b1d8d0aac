"""Fonds reads every record of real WARC and ARC files that warcio and FastWARC read."""

from __future__ import annotations

import gzip
import hashlib
import json
from collections import Counter, defaultdict
from collections.abc import Mapping
from pathlib import Path

import pytest

from fonds.archive.warc.reader import iter_record_bytes
from fonds.archive.warc.scanner import Damage
from fonds.archive.warc.validator import CheckedRecord, check_records
from peers.programs import run

FOLDER = Path(__file__).parent
WARCS = Path(__file__).parents[3].parent / "shared" / "corpus" / "warc"
NOT_WARCS = (".json", ".jsonl", ".cdx", ".jpg", ".svg", ".txt")
READERS = ("warcio", "fastwarc")
# Records of other readers that are invalid or incomplete. Fonds refuses each, with a reason.
REFUSED = {
    ("warcio", "bad.arc"): "an ARC line without a length is taken for one of length 0",
    ("warcio", "clipped.warc.gz"): "its only member is cut",
    ("fastwarc", "clipped.warc.gz"): "its only member is cut",
    ("warcio", "example-space-in-url.arc"): "it ends 12 bytes before its declared length",
}
# Files that warcio reads differently. FastWARC reads them as Fonds does.
READ_DIFFERENTLY = {("warcio", "example-wrong-chunks.warc.gz")}

pytestmark = [
    pytest.mark.skipif(not WARCS.is_dir(), reason=f"the corpus is not there: {WARCS}"),
]

Record = tuple[str, str, str]
"""Type, URL, and the SHA-1 of the block."""


def list_files() -> list[Path]:
    files = (path for path in sorted(WARCS.rglob("*")) if path.is_file())
    return [path for path in files if path.suffix not in NOT_WARCS]


def read_with_fonds(path: Path) -> tuple[Counter[Record], list[str]]:
    """Return the records of a file, and the reasons why other parts were refused."""
    records: Counter[Record] = Counter()
    reasons = []
    with path.open("rb") as stream:
        checked_records = list(check_records(stream, body_max_bytes=10**8))
        for checked_record in checked_records:
            if isinstance(checked_record, Damage):
                reasons.append(checked_record.detail)
                continue
            assert isinstance(checked_record, CheckedRecord)
            record_bytes = b"".join(iter_record_bytes(stream, checked_record.offset))
            block = record_bytes[len(record_bytes) - checked_record.fields.length_bytes :]
            records[
                _build_record(
                    checked_record.fields.type,
                    checked_record.fields.url,
                    hashlib.sha1(block).hexdigest(),
                )
            ] += 1
    return records, reasons


def _build_record(kind: str | None, url: str | None, digest: str) -> Record:
    """Return a record in a form that is equal for all readers.

    The header of an ARC file becomes a warcinfo without digest, because readers disagree on the start of
    its block. Blanks in addresses are escaped, because some readers do so.
    """
    plain = (url or "").removeprefix("<").removesuffix(">").replace(" ", "%20")
    if kind == "arc_header" or plain.startswith("filedesc:"):
        return "warcinfo", plain, ""
    return "" if kind in (None, "unknown") else kind, plain, digest


def read_with_peer(python: Path, reader: str) -> Mapping[str, Counter[Record]]:
    output = run(
        python,
        FOLDER.parents[1] / "peers" / "foreign_records.py",
        reader,
        stdin="\n".join(map(str, list_files())),
    )
    records: defaultdict[str, Counter[Record]] = defaultdict(Counter)
    for line in map(json.loads, output.splitlines()):
        if "error" not in line:
            records[line["path"]][_build_record(line["type"], line["url"], line["sha1"])] += 1
    return records


def test_all_records_of_other_readers_are_read_equally_or_refused(
    python: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    by_fonds = {str(path): read_with_fonds(path) for path in list_files()}
    total = sum(records.total() for records, _ in by_fonds.values())
    lines, lacking = [], {}
    for reader in READERS:
        by_peer = read_with_peer(python, reader)
        read_count = sum(records.total() for records in by_peer.values())
        equal_count = sum(
            (records & by_fonds[path][0]).total() for path, records in by_peer.items()
        )
        lines.append(f"{reader}: {read_count} records read, {equal_count} of them equal in Fonds")
        for path, records in by_peer.items():
            if missing := records - by_fonds[path][0]:
                lacking[reader, path] = missing
    files = sum(1 for records, _ in by_fonds.values() if records)
    empty = [path for path, (records, refused) in by_fonds.items() if not records and not refused]
    with capsys.disabled():
        print(f"\n{len(by_fonds)} files; Fonds reads {total} records in {files} of them")
        print("\n".join(lines))
        for (reader, path), missing in lacking.items():
            print(f"  {reader} {Path(path).name}: {missing.total()} more; {by_fonds[path][1][:2]}")
    # A compressed file without content.
    assert {gzip.decompress(Path(path).read_bytes()) for path in empty} == {b""}
    differing = {(reader, Path(path).name) for reader, path in lacking}
    assert differing <= REFUSED.keys() | READ_DIFFERENTLY
    assert all(
        by_fonds[path][1] for reader, path in lacking if (reader, Path(path).name) in REFUSED
    )
    assert total > 1000
