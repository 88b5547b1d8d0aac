"""Run the commands of each how-to in order; each ends with a clean audit."""

from __future__ import annotations

import json
import re
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from e2e.running import fonds
from fixtures.grobid_server import serve_grobid
from fixtures.http_server import HttpServer, serve_http
from journeys.journey import Journey, free_port, is_served, read_commands
from journeys.material import PAPER_SHA1, Material, publish_news, write_material

HOWTOS = Path(__file__).parents[2] / "docs" / "howto"
NEEDS_SERVERS = {
    "spark.md": "tests/servers/test_spark.py",
    "deploy.md": "tests/servers/test_ansible_role.py",
}
"""How-tos that need servers, and the tests that run them."""
EDITS = {
    "add-a-backend.md": "tests/e2e/test_howto_backend.py",
    "add-a-flavour.md": "tests/e2e/test_howto_flavour.py",
    "add-a-step.md": "tests/e2e/test_howto_step.py",
    "add-a-derivative.md": "tests/e2e/test_howto_derivative.py",
    "classify-files.md": "tests/e2e/test_howto_classify.py",
}
"""How-tos whose blocks are source files, and the tests that follow them."""


@pytest.fixture
def site() -> Iterator[HttpServer]:
    with serve_http() as server_state:
        publish_news(server_state)
        yield server_state


@pytest.fixture
def material(tmp_path: Path) -> Material:
    return write_material(tmp_path)


@pytest.fixture
def journey(tmp_path: Path, site: HttpServer) -> Journey:
    return Journey(
        tmp_path,
        tmp_path / "home",
        {
            "https://example.org": site.url,
            "https://example.com": site.url,
            "https://example.net": site.url,
        },
        {"FONDS_ELSEWHERE_PRIVATE_ADDRESSES": "true", "FONDS_FETCH_HOST_GAP_S": "0.1"},
    )


def test_every_howto_with_commands_has_a_test() -> None:
    text = Path(__file__).read_text("utf-8")
    for page in sorted(HOWTOS.glob("*.md")):
        if not read_commands(f"docs/howto/{page.name}"):
            continue
        test_path = (NEEDS_SERVERS | EDITS).get(page.name)
        if test_path:
            assert (HOWTOS.parents[1] / test_path).exists()
        else:
            assert f'"docs/howto/{page.name}"' in text, page.name


def ingest(journey: Journey, *paths: str) -> None:
    result = journey.run(f"fonds ingest -q {' '.join(paths)}")
    assert result.code in (0, 1), result.err


def test_archive(journey: Journey, material: Material) -> None:
    ingest(journey, "papers/", "pages.zip")
    (material.folder / "crawls").mkdir(exist_ok=True)
    key, timestamp, record = _own_capture(journey.home)
    assert key
    journey.replacements |= {
        "https://example.org/page --at 20240301": f"'{record['url']}' --at {timestamp[:8]}",
        "fonds-20260101000000-00000-host-0a1b2c3d.warc.gz:31337": (
            f"{record['filename']}:{record['offset']}"
        ),
    }
    page = read_commands("docs/howto/archive.md")
    journey.walk(page, {"fonds archive upload": "needs a bucket: tests/servers/test_s3_archive.py"})
    assert (material.folder / "page.html").stat().st_size > 0
    journey.audit()


def _own_capture(home: Path) -> tuple[str, str, dict[str, Any]]:
    """Return key, time and fields of the first capture in the CDXJ of the home."""
    (index,) = (home / "archive").glob("*.cdxj")
    key, timestamp, fields = index.read_text("utf-8").splitlines()[0].split(" ", 2)
    return key, timestamp, json.loads(fields)


def test_access(journey: Journey, material: Material) -> None:
    ingest(journey, "papers/", "crawl.warc.gz")
    journey.replacements["SHA1"] = PAPER_SHA1
    journey.typed = {'fonds takedown SHA1 --reason privacy --note "letter of 3 May"': "y\n"}
    journey.walk(read_commands("docs/howto/access.md"), {})
    result = journey.run("fonds show SHA1")
    assert "was taken down" in result.out + result.err
    journey.audit()


def test_follow_news(journey: Journey, material: Material, site: HttpServer) -> None:
    news = material.folder / "news"
    journey.home = news
    journey.replacements["/2026/story"] = "/2026/1"
    journey.environment = {**journey.environment, "FONDS_WEB_PORT": str(port := free_port())}
    links = f'<opml version="2.0"><body><outline xmlUrl="{site.url}/feed.xml"/></body></opml>'
    (material.folder / "feeds.opml").write_text(links)
    journey.until = {
        "fonds run queue-fetcher": lambda: _stories(journey) >= 5,
        "fonds serve": lambda: is_served(port),
    }
    reason = "the same service, in the background"
    journey.walk(
        read_commands("docs/howto/follow-news.md"),
        {"fonds run queue-fetcher 2>> news.log &": reason},
    )
    assert len(journey.outputs['fonds search "bridge closed"'].out.splitlines()) > 5
    assert "outline" in (material.folder / "news.opml").read_text()
    journey.audit()


def _stories(journey: Journey) -> int:
    status = fonds(journey.home, "status", "--json")
    return int(status.last["searchable"]) if status.code == 0 and not status.last["pending"] else 0


def test_group(journey: Journey, material: Material) -> None:
    ingest(journey, "crawl.warc.gz", "pages.zip")
    story = fonds(journey.home, "search", "flood", "--json").lines[0]

    def learn_labels() -> dict[str, str]:
        label = journey.get_first_cluster("news/2024")
        result = fonds(journey.home, "clusters", "news/2024", label, "--json")
        member = result.last["members"][0]["id"]
        return {"'LABEL'": f"'{label}'", "'river, dam, rain'": f"'{label}'", "SHA1": member}

    journey.learn = {"fonds group news/2024": learn_labels}
    journey.replacements["SHA1"] = story["sha1hex"]
    page = read_commands("docs/howto/group.md")
    journey.walk(page, {})
    journey.audit()


def test_papers(journey: Journey, material: Material) -> None:
    shutil.copytree(material.folder / "papers", material.folder / "crawl")
    (material.folder / "more-warcs.txt").write_text("crawl.warc.gz\n")
    journey.replacements["SHA1"] = PAPER_SHA1
    page = read_commands("docs/howto/papers.md")
    journey.exit_codes = {
        "FONDS_MATCH=true fonds ingest crawl/": (1,),  # It contains a broken and an encrypted PDF.
        "fonds backfill extract --to parquet --out extracted/ crawl/ @more-warcs.txt": (0, 1),
    }
    on_postgresql = "needs PostgreSQL: tests/servers/test_sql_selection.py follows it"
    journey.walk(
        page,
        dict.fromkeys(
            (
                'psql -At "$RECORDS" -f choose.sql > work.jsonl',
                "fonds ingest --warc-base warcs/ work.jsonl",
            ),
            on_postgresql,
        ),
    )
    journey.audit()
    _check_papers(journey)
    before = journey.read_state()
    journey.run("FONDS_MATCH=true fonds ingest crawl/")
    journey.run("fonds match")
    assert journey.read_state() == before
    journey.audit()


def _check_papers(journey: Journey) -> None:
    """Check the matches of the paper and its references in all outputs and files of the page."""
    outputs = {name: result.out for name, result in journey.outputs.items()}
    assert "2 crossref" in re.sub(" +", " ", outputs["fonds catalog stats"])
    assert "doi:10.5555/rivers" in next(
        output for name, output in outputs.items() if "catalog search" in name
    )
    file_output = outputs["fonds show SHA1"]
    assert "strong (title-and-author)" in file_output
    assert "doi:10.5555/rivers: title 1.00" in file_output
    assert "→ doi:10.5555/tides (strong)" in file_output
    for column in ("f:c", "file:cdx", "match0:mstatus", "match0:doi", "match0:minfo"):
        assert column in outputs["fonds table get SHA1"], column
    cited = [json.loads(line) for line in outputs["fonds match citations"].splitlines()]
    own = [
        (citation["number"], citation["doi"])
        for citation in cited
        if citation["sha1hex"] == PAPER_SHA1
    ]
    assert own == [(0, "10.5555/tides"), (1, None)]
    (line,) = outputs["fonds match citations --doi 10.5555/tides"].splitlines()
    assert json.loads(line) == next(
        citation for citation in cited if citation["doi"] == "10.5555/tides"
    )
    lines = (journey.folder / "papers.jsonl").read_text("utf-8").splitlines()
    paper = next(row for row in map(json.loads, lines) if row["sha1hex"] == PAPER_SHA1)
    assert (paper["match_status"], paper["match_doi"]) == ("strong", "10.5555/rivers")
    assert "10.5555/tides" in next(
        output for name, output in outputs.items() if "match strings" in name
    )


def test_grobid(journey: Journey, material: Material) -> None:
    shutil.copytree(material.folder / "papers", material.folder / "crawl")
    with serve_grobid() as server:
        journey.replacements["http://localhost:8070"] = server.url
        journey.exit_codes = {
            "FONDS_GROBID_URL=http://localhost:8070 fonds ingest crawl/": (1,),
            "FONDS_GROBID_URL=http://localhost:8070 fonds catchup grobid": (0, 1),
        }
        journey.walk(read_commands("docs/howto/grobid.md"), {})
        assert server.requests
    journey.audit()


def test_replay(journey: Journey, material: Material) -> None:
    ingest(journey, "crawl.warc.gz")
    record = next(
        row for row in fonds(journey.home, "export", "--no-text").lines if row["datetime"]
    )
    port = free_port()
    journey.environment = {
        **journey.environment,
        "FONDS_WEB_PORT": str(port),
        "FONDS_WEB_REPLAY_PORT": str(replay := free_port()),
    }
    journey.replacements = {
        "https://example.org/page": record["url"],
        "20240301120000id_": f"{record['datetime']}id_",
        "127.0.0.1:8766": f"127.0.0.1:{replay}",
        "127.0.0.1:8765": f"127.0.0.1:{port}",
        "url=example.org": f"url={record['url'].split('/')[2]}",
    }

    def walk_when_served() -> bool:
        if not is_served(port):
            return False
        journey.walk(read_commands("docs/howto/replay.md"), {})
        return True

    journey.until = {"fonds serve": walk_when_served}
    journey.run("fonds serve", "fonds serve")
    assert (
        "302" in journey.outputs[next(output for output in journey.outputs if "-sI" in output)].out
    )
    assert (material.folder / "page.html").stat().st_size > 0
    journey.audit()
