"""An ingest gives the same state on servers as on embedded stores."""

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
PDFS_MAX = 100
DEPLOYMENTS = [("rabbitmq", "opensearch"), ("kafka", "elasticsearch")]


@pytest.fixture(scope="module")
def inputs(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A generated crawl and, if available, WARCs and some dozens of PDFs of the corpus."""
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
"""One reader at a time. A broker may still deliver two WARCs in another order, so that another capture owns a
file of both. Such files are compared without their owner."""


@pytest.fixture(scope="module")
def embedded(inputs: Path) -> tuple[dict[str, Any], list[dict[str, Any]]]:
    """State and exported rows of an ingest with embedded stores."""
    home = inputs.parent / "embedded"
    result = fonds(home, "ingest", *ONE_PROCESS, f"@{inputs}")
    assert result.code in (0, 1), result.err
    assert adds_up(result.last)
    return state(home), export_rows(home, {})


def export_rows(home: Path, environment: dict[str, str]) -> list[dict[str, Any]]:
    """Return the rows of `fonds export` without the times of this run."""
    out = home.parent / f"{home.name}.jsonl"
    result = fonds(home, "export", "--format", "jsonl", "--out", out, **environment)
    assert result.code == 0, result.err
    return [_to_plain(json.loads(line)) for line in out.read_bytes().splitlines()]


def to_comparable(rows: list[dict[str, Any]], shared_files: set[str]) -> list[str]:
    """Return sorted rows; of a file with shared_files captures only its SHA-1."""
    return sorted(
        row["sha1hex"] if row["sha1hex"] in shared_files else json.dumps(row, sort_keys=True)
        for row in rows
    )


def _to_plain(row: dict[str, Any]) -> dict[str, Any]:
    """Return a row without its times and its place in our WARCs."""
    plain = {name: value for name, value in row.items() if name not in TIME_FIELDS}
    if str(row["warc_path"]).startswith(ARCHIVE_PREFIX):
        plain |= {"warc_path": ARCHIVE_PREFIX, "warc_offset": 0, "warc_csize": 0}
    metadata = json.loads(row["metadata"] or "{}")
    metadata.get("content_metadata", {}).pop("parsed_date", None)
    return plain | {"metadata": metadata}


@pytest.mark.parametrize(("queue", "index"), DEPLOYMENTS)
def test_an_ingest_on_servers_gives_the_same_state(
    queue: str, index: str, inputs: Path, embedded: tuple[dict[str, Any], list[dict[str, Any]]]
) -> None:
    home = inputs.parent / f"on-{queue}"
    with (
        run_private_server(queue) as broker,
        create_deployment(queue, index, {queue: broker}) as settings,
    ):
        environment = variables(settings)
        result = fonds(home, "ingest", *ONE_PROCESS, f"@{inputs}", **environment)
        assert result.code in (0, 1), result.err
        assert result.last["pending"] == 0
        audited = fonds(home, "audit", **environment)
        assert audited.code == 0, audited.out
        actual, rows = state(home, **settings), export_rows(home, environment)
    expected, expected_rows = embedded
    shared_files = list_shared_files(expected)
    assert shared_files == list_shared_files(actual)
    actual, expected = ignore_owners(actual), ignore_owners(expected)
    for part in expected:
        assert actual[part] == expected[part], part
    assert to_comparable(rows, shared_files) == to_comparable(expected_rows, shared_files)
