"""The main job leaves the same behind wherever its stores are."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from deployments import create_deployment, variables
from e2e.crawls import write_crawl
from e2e.running import adds_up, fonds
from e2e.states import ARCHIVE_PREFIX, TIME_FIELDS, ignore_owners, list_shared_files, state
from real_servers import run_private_server

pytestmark = pytest.mark.servers

CORPUS = Path(__file__).parents[3] / "shared" / "corpus"
PDFS_MAX = 300
DEPLOYMENTS = [("rabbitmq", "opensearch"), ("kafka", "elasticsearch")]


@pytest.fixture(scope="module")
def inputs(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A crawl of ours, and where it is there the corpus: its WARCs and some hundred PDFs."""
    folder = tmp_path_factory.mktemp("main-job")
    write_crawl(folder / "crawl")
    lines = [str(folder / "crawl")]
    if CORPUS.is_dir():
        lines.append(str(CORPUS / "warc"))
        pdfs = sorted(CORPUS.glob("pdf/**/*.pdf"))
        lines += [str(path) for path in pdfs[:: max(1, len(pdfs) // PDFS_MAX)]]
    (folder / "list.txt").write_text("\n".join(lines))
    return folder / "list.txt"


ONE_PROCESS = ("--json", "--workers=1")
"""One reader at a time. A broker may still bring two WARC files in the other order, and then the other
capture owns what both hold: such files are compared up to their owner."""


@pytest.fixture(scope="module")
def embedded(inputs: Path) -> tuple[dict[str, Any], list[dict[str, Any]]]:
    """What it leaves behind on this machine alone."""
    home = inputs.parent / "embedded"
    ran = fonds(home, "ingest", *ONE_PROCESS, f"@{inputs}")
    assert ran.code in (0, 1), ran.err
    assert adds_up(ran.last)
    return state(home), exported(home, {})


def exported(home: Path, environment: dict[str, str]) -> list[dict[str, Any]]:
    """The rows of `fonds export`, without the times of this run."""
    out = home.parent / f"{home.name}.jsonl"
    ran = fonds(home, "export", "--format", "jsonl", "--out", out, **environment)
    assert ran.code == 0, ran.err
    return [_plain(json.loads(line)) for line in out.read_bytes().splitlines()]


def comparable(rows: list[dict[str, Any]], several: set[str]) -> list[str]:
    """Rows in an order of their own; of a file that several captures brought, its digest alone."""
    return sorted(
        row["sha1hex"] if row["sha1hex"] in several else json.dumps(row, sort_keys=True)
        for row in rows
    )


def _plain(row: dict[str, Any]) -> dict[str, Any]:
    """A row without its times, and without where in our own WARC files its body came to lie."""
    plain = {name: value for name, value in row.items() if name not in TIME_FIELDS}
    if str(row["warc_path"]).startswith(ARCHIVE_PREFIX):
        plain |= {"warc_path": ARCHIVE_PREFIX, "warc_offset": 0, "warc_csize": 0}
    metadata = json.loads(row["metadata"] or "{}")
    metadata.get("content_metadata", {}).pop("parsed_date", None)
    return plain | {"metadata": metadata}


@pytest.mark.parametrize(("queue", "index"), DEPLOYMENTS)
def test_on_servers_it_leaves_the_same_behind(
    queue: str, index: str, inputs: Path, embedded: tuple[dict[str, Any], list[dict[str, Any]]]
) -> None:
    home = inputs.parent / f"on-{queue}"
    with (
        run_private_server(queue) as broker,
        create_deployment(queue, index, {queue: broker}) as settings,
    ):
        environment = variables(settings)
        ran = fonds(home, "ingest", *ONE_PROCESS, f"@{inputs}", **environment)
        assert ran.code in (0, 1), ran.err
        assert ran.last["pending"] == 0
        audited = fonds(home, "audit", **environment)
        assert audited.code == 0, audited.out
        found, rows = state(home, **settings), exported(home, environment)
    expected, expected_rows = embedded
    several = list_shared_files(expected)
    assert several == list_shared_files(found)
    found, left_here = ignore_owners(found), ignore_owners(expected)
    for part in left_here:
        assert found[part] == left_here[part], part
    assert comparable(rows, several) == comparable(expected_rows, several)
