"""`fonds queue` on brokers: quarantined messages are peeked, dumped, loaded, released and purged."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path

import pytest
from warcio.archiveiterator import ArchiveIterator

from e2e.crawls import write_crawl
from e2e.running import fonds
from real_servers import run_private_server, url_of

pytestmark = pytest.mark.servers


@pytest.fixture(params=["rabbitmq", "kafka"])
def environment(request: pytest.FixtureRequest) -> Iterator[dict[str, str]]:
    """Messages on a broker, all other stores embedded."""
    with ExitStack() as stack:
        if request.param == "rabbitmq":
            url = stack.enter_context(run_private_server("rabbitmq")).url
        else:
            url = f"{url_of('TEST_KAFKA_URL')}?partitions=2"
        yield {"FONDS_QUEUE": url, "FONDS_ENV": f"t{os.urandom(4).hex()}"}


def test_queue_commands_work_on_a_broker(environment: dict[str, str], tmp_path: Path) -> None:
    home, dump = tmp_path / "home", tmp_path / "stuck.warc.gz"
    write_crawl(tmp_path / "crawl")

    def run(*words: str | Path, code: int = 0) -> list[dict[str, object]]:
        result = fonds(home, *words, "--json", **environment)
        assert result.code == code, result.err
        return result.lines

    def count_quarantined() -> int:
        depths = {line["subscription"]: line["depth"] for line in run("queue", "list")}
        depth = depths["library.extract_pdf"]
        assert isinstance(depth, dict)
        return int(depth["quarantined"])

    run("ingest", tmp_path / "crawl", code=1)
    count = count_quarantined()
    assert count > 0
    assert len(run("queue", "peek", "extract_pdf-quar", "--count", "100")) == count
    assert count_quarantined() == count
    assert run("queue", "dump", "extract_pdf-quar", dump) == [{"messages": count}]
    with dump.open("rb") as stream:
        records = [record.rec_type for record in ArchiveIterator(stream, check_digests="raise")]
    assert records == ["warcinfo", *["resource"] * count]
    assert count_quarantined() == 0
    assert run("queue", "load", dump) == [{"messages": count}]
    assert count_quarantined() == count
    run("audit")
    assert run("queue", "release", "extract_pdf") == [{"messages": count}]
    assert run("queue", "purge", "extract_pdf", "--yes") == [{"messages": count}]
    assert count_quarantined() == 0
    run("audit")
    (status,) = run("status")
    assert status["dropped"]["purged"] == count  # type: ignore[index]
    assert status["pending"] == 0


def test_a_catchup_of_further_thumbnails_works_on_a_broker(
    environment: dict[str, str], tmp_path: Path
) -> None:
    home = tmp_path / "home"
    write_crawl(tmp_path / "crawl")
    thumbnails = {"FONDS_PDF_MORE_THUMBNAILS": "360px-webp"}
    assert fonds(home, "ingest", tmp_path / "crawl", **environment).code == 1
    result = fonds(home, "catchup", "pdf", "--dry-run", "--json", **environment)
    assert result.last["files"] == 0
    count = fonds(home, "catchup", "pdf", "--dry-run", "--json", **environment, **thumbnails).last[
        "files"
    ]
    assert count > 0
    result = fonds(home, "catchup", "pdf", "--json", **environment, **thumbnails)
    assert (result.code, result.last["pending"]) == (1, 0), result.err
    pictures = [path.name.split(".", 1)[1] for path in (home / "blobs/thumbnail").rglob("*px.*")]
    assert pictures.count("360px.webp") == pictures.count("180px.jpg") > 0
    assert fonds(home, "audit", **environment, **thumbnails).code == 0
    result = fonds(home, "catchup", "pdf", "--dry-run", "--json", **environment, **thumbnails)
    assert result.last["files"] == 0
