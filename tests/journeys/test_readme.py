"""Run every command of the README, docs/commands.md and docs/home.md in one home, then audit and repeat."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from fixtures.http_server import CannedResponse, HttpServer, serve_http
from journeys.journey import Journey, free_port, is_served, read_commands
from journeys.material import PAPER_SHA1, publish_news, write_material

PAGES = ("README.md", "docs/commands.md", "docs/home.md")
NOT_RUN = {
    "make test": "this is it",
    "pip install 'fonds[kafka,postgresql,s3,opensearch,hbase]'": "needs a package index",
    "export FONDS_QUEUE=kafka://broker:9092 FONDS_RECORDS_FILE=/run/secrets/records": "needs servers",
    "fonds ingest --enter-only /archive/2026": "its queue is a server's",
}
EXIT_CODES = {
    "fonds failures retry --reason missing-source": (0, 1),
}


@pytest.fixture
def site() -> Iterator[HttpServer]:
    with serve_http() as server_state:
        publish_news(server_state)
        yield server_state


def walk_readme(journey: Journey) -> None:
    all_commands = [command for page in PAGES for command in read_commands(page)]
    assert len(all_commands) > 50
    # The pages repeat a few commands.
    journey.walk(list(dict.fromkeys(all_commands)), NOT_RUN)


def test_all_commands_of_the_readme_run_and_the_audit_is_clean(
    tmp_path: Path, site: HttpServer
) -> None:
    material, port = write_material(tmp_path), free_port()
    site.responses["/crawl.warc.gz"] = CannedResponse(
        body=(material.folder / "crawl.warc.gz").read_bytes()
    )
    journey = Journey(
        tmp_path,
        tmp_path / "home",
        {
            "https://example.org/paper.pdf": material.pdf_url,
            "https://example.org": site.url,
            "s3://crawls/2026": str(tmp_path / "crawls"),
            "/archive/warcs": str(tmp_path / "warcs"),
            "SHA1": PAPER_SHA1,
        },
        {
            "FONDS_ELSEWHERE_PRIVATE_ADDRESSES": "true",
            "FONDS_FETCH_HOST_GAP_S": "0.1",
            "FONDS_WEB_PORT": str(port),
        },
        exit_codes=EXIT_CODES,
    )
    journey.until = {
        "fonds serve": lambda: is_served(port),
        ".venv/bin/fonds serve": lambda: is_served(port),
        "fonds run": journey.is_at_work,
        "fonds work extract_pdf --threads 8": journey.is_at_work,
    }
    journey.learn = {
        "fonds clusters news/floods": lambda: {
            '"river, dam"': f'"{journey.get_first_cluster("news/floods")}"'
        }
    }
    journey.typed = {"fonds takedown SHA1 --reason privacy": "y\n"}
    walk_readme(journey)
    journey.audit()
    before = journey.read_state()
    second = journey.run("fonds ingest crawl.warc.gz papers/ pages.zip")
    assert second.code in (0, 1), second.err
    assert journey.read_state() == before
    journey.audit()
