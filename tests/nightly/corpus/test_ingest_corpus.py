"""The corpus ingested by command line: every record has an outcome, counts add up, memory stays small."""

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
class IngestResult:
    """An ingest: summary, duration, peak memory of the main process, and standard error."""

    summary: dict[str, Any]
    seconds: float
    peak_mib: float
    errors: str


def ingest(home: Path, *paths: Path) -> IngestResult:
    started = time.monotonic()
    command = [sys.executable, "-m", "fonds", "--home", home, "ingest", "--json", *paths]
    with (home.parent / f"{home.name}.err").open("w+") as errors:
        process = subprocess.Popen(list(map(str, command)), stdout=subprocess.PIPE, stderr=errors)
        peak_mib = 0.0
        while process.poll() is None:
            peak_mib = max(peak_mib, read_peak_mib(process.pid))
            time.sleep(0.2)
        out = process.communicate()[0]
        errors.seek(0)
        error_output = errors.read()
    assert process.returncode in (0, 1), error_output
    return IngestResult(json.loads(out), time.monotonic() - started, peak_mib, error_output)


def read_peak_mib(pid: int) -> float:
    try:
        lines = Path(f"/proc/{pid}/status").read_text().splitlines()
    except OSError:
        return 0.0
    peak_line = next((line for line in lines if line.startswith("VmHWM:")), "VmHWM: 0 kB")
    return int(peak_line.split()[1]) / 1024


def audit(home: Path) -> dict[str, Any]:
    command = [sys.executable, "-m", "fonds", "--home", str(home), "audit", "--json"]
    report: dict[str, Any] = json.loads(subprocess.run(command, stdout=subprocess.PIPE).stdout)
    return report


def check_ingest(name: str, home: Path, result: IngestResult) -> dict[str, Any]:
    summary = result.summary
    print(f"\n{name}: {json.dumps(summary)}")
    print(
        f"  {summary['in'] / result.seconds:.0f} records/s, main process {result.peak_mib:.0f} MiB"
    )
    outcomes = summary["done"] + sum(summary["dropped"].values())
    outcomes += sum(summary["quarantined"].values())
    assert summary["in"] == outcomes
    assert summary["pending"] == 0
    assert "internal-error" not in summary["quarantined"], result.errors
    assert result.peak_mib < MEMORY_MAX_MIB
    report = audit(home)
    assert report["balanced"], report["missing"]
    steps: dict[str, Any] = report["steps"]["library"]
    return steps


@pytest.mark.parametrize("part", ["warc", "pdf", "html", "feeds", "papers", "text"])
def test_every_record_of_a_part_has_an_outcome(tmp_path: Path, part: str) -> None:
    result = ingest(tmp_path / part, CORPUS / part)
    steps = check_ingest(part, tmp_path / part, result)
    pdfs, pages = steps["extract_pdf"]["in"], steps["parse_story"]["in"]
    print(f"  {pdfs / result.seconds:.1f} PDFs/s, {pages / result.seconds:.1f} pages/s")


def iter_bodies() -> Iterator[tuple[str, str, bytes]]:
    """Yield URL, type and bytes of PDFs and pages of the corpus."""
    for path in sorted([*(CORPUS / "html").rglob("*.html"), *(CORPUS / "pdf").rglob("*.pdf")]):
        kind = "application/pdf" if path.suffix == ".pdf" else "text/html"
        yield (
            f"http://corpus.example/{path.relative_to(CORPUS)}".replace(" ", "%20"),
            kind,
            path.read_bytes(),
        )


def test_a_warc_of_4000_records_is_ingested_once(tmp_path: Path) -> None:
    import gzip

    path = tmp_path / "packed.warc.gz"
    bodies = list(iter_bodies())
    with path.open("wb") as stream:
        for number in range(RECORDS_PACKED):
            url, kind, body = bodies[number % len(bodies)]
            # Each repetition of a page differs; PDFs are repeated unchanged.
            if kind == "text/html":
                body += f"<!-- {number // len(bodies)} -->".encode()
            headers = (("Content-Type", kind),)
            record = http_response(body, url=f"{url}?{number}", headers=headers)
            stream.write(gzip.compress(record, 6, mtime=0))
    result = ingest(tmp_path / "home", path)
    steps = check_ingest(f"packed, {path.stat().st_size / 1e6:.0f} MB", tmp_path / "home", result)
    assert result.summary["in"] == RECORDS_PACKED
    pdfs, pages = steps["extract_pdf"]["in"], steps["parse_story"]["in"]
    print(f"  {pdfs} PDFs and {pages} pages in {result.seconds:.0f} s")
    second_result = ingest(tmp_path / "home", path)
    assert second_result.summary["in"] == 0
    assert second_result.summary["known"] == RECORDS_PACKED
