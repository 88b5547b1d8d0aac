"""Every record of the real WARC and ARC files beside warcio and FastWARC: what they read, we read as well."""

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

HERE = Path(__file__).parent
WARCS = Path(__file__).parents[3].parent / "shared" / "corpus" / "warc"
NOT_WARCS = (".json", ".jsonl", ".cdx", ".jpg", ".svg", ".txt")
READERS = ("warcio", "fastwarc")
# Records others give that are none, or not whole: we refuse each, with a reason.
REFUSED = {
    ("warcio", "bad.arc"): "an ARC line without a length is taken for one of length 0",
    ("warcio", "clipped.warc.gz"): "its only member is cut",
    ("fastwarc", "clipped.warc.gz"): "its only member is cut",
    ("warcio", "example-space-in-url.arc"): "it ends 12 bytes before its declared length",
}
# What warcio reads otherwise; FastWARC reads it as we do.
OTHERWISE = {("warcio", "example-wrong-chunks.warc.gz")}

pytestmark = [
    pytest.mark.skipif(not WARCS.is_dir(), reason=f"the corpus is not there: {WARCS}"),
]

Record = tuple[str, str, str]
"""Type, URL, and the SHA-1 of the block."""


def paths() -> list[Path]:
    found = (path for path in sorted(WARCS.rglob("*")) if path.is_file())
    return [path for path in found if path.suffix not in NOT_WARCS]


def ours(path: Path) -> tuple[Counter[Record], list[str]]:
    """The records of a file, and why the rest of it was refused."""
    records: Counter[Record] = Counter()
    refused = []
    with path.open("rb") as stream:
        things = list(check_records(stream, body_max_bytes=10**8))
        for thing in things:
            if isinstance(thing, Damage):
                refused.append(thing.detail)
                continue
            assert isinstance(thing, CheckedRecord)
            whole = b"".join(iter_record_bytes(stream, thing.offset))
            block = whole[len(whole) - thing.fields.length_bytes :]
            records[
                _record(thing.fields.type, thing.fields.url, hashlib.sha1(block).hexdigest())
            ] += 1
    return records, refused


def _record(kind: str | None, url: str | None, digest: str) -> Record:
    """The same for all: an ARC's own header is a warcinfo to us, and where its block begins is a matter of
    taste; some escape the blanks of an address."""
    plain = (url or "").removeprefix("<").removesuffix(">").replace(" ", "%20")
    if kind == "arc_header" or plain.startswith("filedesc:"):
        return "warcinfo", plain, ""
    return "" if kind in (None, "unknown") else kind, plain, digest


def theirs(python: Path, reader: str) -> Mapping[str, Counter[Record]]:
    told = run(
        python,
        HERE.parents[1] / "peers" / "foreign_records.py",
        reader,
        stdin="\n".join(map(str, paths())),
    )
    found: defaultdict[str, Counter[Record]] = defaultdict(Counter)
    for line in map(json.loads, told.splitlines()):
        if "error" not in line:
            found[line["path"]][_record(line["type"], line["url"], line["sha1"])] += 1
    return found


def test_every_record_others_read_is_read_to_the_byte_or_refused_with_a_reason(
    python: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    mine = {str(path): ours(path) for path in paths()}
    total = sum(records.total() for records, _ in mine.values())
    lines, lacking = [], {}
    for reader in READERS:
        found = theirs(python, reader)
        read = sum(records.total() for records in found.values())
        same = sum((records & mine[path][0]).total() for path, records in found.items())
        lines.append(f"{reader}: {read} records read, {same} of them the same here")
        for path, records in found.items():
            if left := records - mine[path][0]:
                lacking[reader, path] = left
    files = sum(1 for records, _ in mine.values() if records)
    none = [path for path, (records, refused) in mine.items() if not records and not refused]
    with capsys.disabled():
        print(f"\n{len(mine)} files, {total} records in {files} of them here")
        print("\n".join(lines))
        for (reader, path), left in lacking.items():
            print(f"  {reader} {Path(path).name}: {left.total()} more; {mine[path][1][:2]}")
    # Packed, and nothing in it.
    assert {gzip.decompress(Path(path).read_bytes()) for path in none} == {b""}
    differing = {(reader, Path(path).name) for reader, path in lacking}
    assert differing <= REFUSED.keys() | OTHERWISE
    assert all(mine[path][1] for reader, path in lacking if (reader, Path(path).name) in REFUSED)
    assert total > 1000
