"""`fonds queue` on brokers: what is set apart is looked at, dumped, loaded, put back and thrown away."""

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
    """Messages on a broker, everything else on this machine."""
    with ExitStack() as stack:
        if request.param == "rabbitmq":
            url = stack.enter_context(run_private_server("rabbitmq")).url
        else:
            url = f"{url_of('TEST_KAFKA_URL')}?partitions=2"
        yield {"FONDS_QUEUE": url, "FONDS_ENV": f"t{os.urandom(4).hex()}"}


def test_the_tools_work_on_a_broker(environment: dict[str, str], tmp_path: Path) -> None:
    home, dump = tmp_path / "home", tmp_path / "stuck.warc.gz"
    write_crawl(tmp_path / "crawl")

    def run(*words: str | Path, code: int = 0) -> list[dict[str, object]]:
        ran = fonds(home, *words, "--json", **environment)
        assert ran.code == code, ran.err
        return ran.lines

    def apart() -> int:
        depths = {one["subscription"]: one["depth"] for one in run("queue", "list")}
        depth = depths["library.extract_pdf"]
        assert isinstance(depth, dict)
        return int(depth["quarantined"])

    run("ingest", tmp_path / "crawl", code=1)
    count = apart()
    assert count > 0
    assert len(run("queue", "peek", "extract_pdf-quar", "--count", "100")) == count
    assert apart() == count
    assert run("queue", "dump", "extract_pdf-quar", dump) == [{"messages": count}]
    with dump.open("rb") as stream:
        records = [one.rec_type for one in ArchiveIterator(stream, check_digests="raise")]
    assert records == ["warcinfo", *["resource"] * count]
    assert apart() == 0
    assert run("queue", "load", dump) == [{"messages": count}]
    assert apart() == count
    run("audit")
    assert run("queue", "release", "extract_pdf") == [{"messages": count}]
    assert run("queue", "purge", "extract_pdf", "--yes") == [{"messages": count}]
    assert apart() == 0
    run("audit")
    (told,) = run("status")
    assert told["dropped"]["purged"] == count  # type: ignore[index]
    assert told["pending"] == 0


def test_catching_up_and_further_thumbnails_work_on_a_broker(
    environment: dict[str, str], tmp_path: Path
) -> None:
    home = tmp_path / "home"
    write_crawl(tmp_path / "crawl")
    more = {"FONDS_PDF_MORE_THUMBNAILS": "360px-webp"}
    assert fonds(home, "ingest", tmp_path / "crawl", **environment).code == 1
    ran = fonds(home, "catchup", "pdf", "--dry-run", "--json", **environment)
    assert ran.last["files"] == 0
    count = fonds(home, "catchup", "pdf", "--dry-run", "--json", **environment, **more).last[
        "files"
    ]
    assert count > 0
    ran = fonds(home, "catchup", "pdf", "--json", **environment, **more)
    assert (ran.code, ran.last["pending"]) == (1, 0), ran.err
    pictures = [path.name.split(".", 1)[1] for path in (home / "blobs/thumbnail").rglob("*px.*")]
    assert pictures.count("360px.webp") == pictures.count("180px.jpg") > 0
    assert fonds(home, "audit", **environment, **more).code == 0
    ran = fonds(home, "catchup", "pdf", "--dry-run", "--json", **environment, **more)
    assert ran.last["files"] == 0
