"""WARCs with many types of records for the tests of extraction, and their expected outcomes."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from pyarrow import parquet

from fixtures.jats import jats
from fixtures.pdfs import text_pdf
from fixtures.warcs import gzip_records, http_response, revisit, warc_record, warcinfo
from fonds.config import load_settings
from fonds.ports import Job
from fonds.wiring.jobs import build_parquet_job, find_warcs

PDF_HEAD = (("Content-Type", "application/pdf"),)
WARCS = 3
OUTCOMES = {
    "done": 9,
    "dropped:duplicate": 8,
    "dropped:http-status": 3,
    "dropped:not-a-capture": 6,
    "dropped:revisit": 3,
    "dropped:unsupported-type": 3,
    "quarantined:broken-pdf": 1,
}
"""Outcomes of all records of `write_warcs`.

Each WARC has its own paper and page. Another page, a paper, a JATS article and a broken paper are
in all three.
"""


def page(number: int) -> bytes:
    """Generate a page with enough text to be a story."""
    paragraph = (
        f"The council of town {number} decided on the new bridge over the river today. " * 30
    )
    title = f"<title>Bridge number {number} is decided</title>"
    return f"<html><head>{title}</head><body><article><p>{paragraph}</p></article></body></html>".encode()


def write_warcs(folder: Path) -> list[Path]:
    """Write three WARCs with own and shared papers and pages, a redirect, a picture, a revisit and
    a request."""
    folder.mkdir(parents=True, exist_ok=True)
    paths = []
    for number in range(WARCS):
        bodies = (text_pdf([f"Paper {number}"]), text_pdf(["Shared"]), b"%PDF-1.4 and no more")
        host = f"http://h{number}.example"
        records = [
            warcinfo(),
            warc_record(b"GET / HTTP/1.1\r\n\r\n", record_type="request"),
            *(
                http_response(body, headers=PDF_HEAD, url=f"{host}/{place}.pdf")
                for place, body in enumerate(bodies)
            ),
            http_response(page(number), url=f"{host}/2024/03/05/bridge-{number}.html"),
            http_response(page(9), url=f"{host}/2024/03/05/bridge.html"),
            http_response(b"", status_line="HTTP/1.1 301 Moved", url=f"{host}/old"),
            http_response(
                b"\x89PNG\r\n\x1a\n" + b"0" * 20,
                headers=(("Content-Type", "image/png"),),
                url=f"{host}/a.png",
            ),
            revisit(f"{host}/again"),
            http_response(
                jats(), headers=(("Content-Type", "application/xml"),), url=f"{host}/air.xml"
            ),
        ]
        path = folder / f"crawl-{number}.warc.gz"
        path.write_bytes(gzip_records(records))
        paths.append(path)
    return paths


def extraction(home: Path, crawl: Path, folder: Path) -> Job:
    """Build the job that extracts these WARCs into a folder, with the settings of a home."""
    settings = load_settings(home, {})
    return build_parquet_job(find_warcs([str(crawl)], home, settings), folder, home, settings)


def rows_in(folder: Path, name: str) -> list[dict[str, Any]]:
    """Return the rows of a table from all its Parquet files."""
    return [
        row
        for path in sorted((folder / name).glob("*.parquet"))
        for row in parquet.read_table(path).to_pylist()
    ]
