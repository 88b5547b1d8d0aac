"""The whole corpus through the command line: every record is settled, the counts add up, memory is flat."""

from __future__ import annotations

import json
import subprocess
import sys
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from fixtures.warcs import http_response

CORPUS = Path(__file__).parents[3].parent / "shared" / "corpus"
RECORDS_PACKED = 4000
MEMORY_MAX_MIB = 700

pytestmark = [
    pytest.mark.skipif(not CORPUS.is_dir(), reason=f"the corpus is not there: {CORPUS}"),
]


@dataclass(frozen=True)
class Taken:
    """One ingest: its summary, how long it took, the most memory its main process had."""

    summary: dict[str, Any]
    seconds: float
    peak_mib: float
    errors: str


def take_in(home: Path, *paths: Path) -> Taken:
    started = time.monotonic()
    command = [sys.executable, "-m", "fonds", "--home", home, "ingest", "--json", *paths]
    with (home.parent / f"{home.name}.err").open("w+") as errors:
        run = subprocess.Popen(list(map(str, command)), stdout=subprocess.PIPE, stderr=errors)
        peak_mib = 0.0
        while run.poll() is None:
            peak_mib = max(peak_mib, resident_mib(run.pid))
            time.sleep(0.2)
        out = run.communicate()[0]
        errors.seek(0)
        said = errors.read()
    assert run.returncode in (0, 1), said
    return Taken(json.loads(out), time.monotonic() - started, peak_mib, said)


def resident_mib(pid: int) -> float:
    try:
        lines = Path(f"/proc/{pid}/status").read_text().splitlines()
    except OSError:
        return 0.0
    found = next((line for line in lines if line.startswith("VmHWM:")), "VmHWM: 0 kB")
    return int(found.split()[1]) / 1024


def audited(home: Path) -> dict[str, Any]:
    command = [sys.executable, "-m", "fonds", "--home", str(home), "audit", "--json"]
    found: dict[str, Any] = json.loads(subprocess.run(command, stdout=subprocess.PIPE).stdout)
    return found


def check(name: str, home: Path, taken: Taken) -> dict[str, Any]:
    summary = taken.summary
    print(f"\n{name}: {json.dumps(summary)}")
    print(f"  {summary['in'] / taken.seconds:.0f} records/s, main process {taken.peak_mib:.0f} MiB")
    ended = summary["done"] + sum(summary["dropped"].values())
    ended += sum(summary["quarantined"].values())
    assert summary["in"] == ended
    assert summary["pending"] == 0
    assert "internal-error" not in summary["quarantined"], taken.errors
    assert taken.peak_mib < MEMORY_MAX_MIB
    found = audited(home)
    assert found["balanced"], found["missing"]
    steps: dict[str, Any] = found["steps"]["library"]
    return steps


@pytest.mark.parametrize("part", ["warc", "pdf", "html", "feeds", "papers", "text"])
def test_every_record_of_a_part_is_settled(tmp_path: Path, part: str) -> None:
    taken = take_in(tmp_path / part, CORPUS / part)
    steps = check(part, tmp_path / part, taken)
    pdfs, pages = steps["extract_pdf"]["in"], steps["parse_story"]["in"]
    print(f"  {pdfs / taken.seconds:.1f} PDFs/s, {pages / taken.seconds:.1f} pages/s")


def bodies() -> Iterator[tuple[str, str, bytes]]:
    """URL, type and bytes of the corpus' PDFs and pages, in turn."""
    for path in sorted([*(CORPUS / "html").rglob("*.html"), *(CORPUS / "pdf").rglob("*.pdf")]):
        kind = "application/pdf" if path.suffix == ".pdf" else "text/html"
        yield (
            f"http://corpus.example/{path.relative_to(CORPUS)}".replace(" ", "%20"),
            kind,
            path.read_bytes(),
        )


def test_a_warc_of_some_thousand_records_packed_from_it(tmp_path: Path) -> None:
    import gzip

    path = tmp_path / "packed.warc.gz"
    found = list(bodies())
    with path.open("wb") as stream:
        for number in range(RECORDS_PACKED):
            url, kind, body = found[number % len(found)]
            if kind == "text/html":  # another page each time round; a PDF comes again as it is
                body += f"<!-- {number // len(found)} -->".encode()
            headers = (("Content-Type", kind),)
            record = http_response(body, url=f"{url}?{number}", headers=headers)
            stream.write(gzip.compress(record, 6, mtime=0))
    taken = take_in(tmp_path / "home", path)
    steps = check(f"packed, {path.stat().st_size / 1e6:.0f} MB", tmp_path / "home", taken)
    assert taken.summary["in"] == RECORDS_PACKED
    pdfs, pages = steps["extract_pdf"]["in"], steps["parse_story"]["in"]
    print(f"  {pdfs} PDFs and {pages} pages in {taken.seconds:.0f} s")
    again = take_in(tmp_path / "home", path)
    assert again.summary["in"] == 0
    assert again.summary["known"] == RECORDS_PACKED
