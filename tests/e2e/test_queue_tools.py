"""`fonds queue` and `fonds topics`: peek, dump, load, release, purge; the audit balances afterwards."""

from __future__ import annotations

from pathlib import Path

import pytest
from warcio.archiveiterator import ArchiveIterator

from e2e.running import call, fonds
from fixtures.media_cloud import read_stories
from sample import write_sample


@pytest.fixture(scope="module")
def filled_home(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("queue-tools")
    write_sample(folder / "crawl")
    assert fonds(folder / "home", "ingest", folder / "crawl").code == 1
    (folder / "nothing").mkdir()
    return folder / "home"


def _count_quarantined(home: Path) -> int:
    depths = {
        line["subscription"]: line["depth"] for line in call(home, "queue", "list", "--json").lines
    }
    return int(depths["library.extract_pdf"]["quarantined"])


def test_quarantined_messages_are_dumped_loaded_and_retried(
    filled_home: Path, tmp_path: Path
) -> None:
    before = _count_quarantined(filled_home)
    assert before > 0
    message = call(filled_home, "queue", "peek", "extract_pdf-quar", "--count", "1", "--json").last
    assert {"id", "key", "headers", "body"} <= set(message)
    small_dump = fonds(
        filled_home, "queue", "dump", "extract_pdf-quar", tmp_path / "few", "--max", "1", "--keep"
    )
    assert small_dump.out.startswith("1 message written")
    assert (f"1 of about {before:,} ready messages" in small_dump.err) == (before > 1)
    dump = tmp_path / "stuck.warc.gz"
    assert fonds(filled_home, "queue", "dump", "extract_pdf-quar", dump, "--json").last == {
        "messages": before
    }
    with dump.open("rb") as stream:
        kinds = [record.rec_type for record in ArchiveIterator(stream, check_digests="raise")]
    assert kinds == ["warcinfo", *["resource"] * before]
    assert _count_quarantined(filled_home) == 0
    assert "missing from the quarantine" in call(filled_home, "audit").out
    assert fonds(filled_home, "queue", "load", dump).code == 0
    assert _count_quarantined(filled_home) == before
    assert call(filled_home, "audit").code == 0
    assert fonds(filled_home, "queue", "release", "extract_pdf").code == 0
    assert _count_quarantined(filled_home) == 0
    assert fonds(filled_home, "failures", "retry", "--step", "import_story").code == 0
    assert fonds(filled_home, "ingest", filled_home.parent / "nothing").code in (0, 1)
    assert _count_quarantined(filled_home) == before
    assert call(filled_home, "audit").code == 0


def test_a_dump_of_links_is_readable_as_stories_and_loadable(tmp_path: Path) -> None:
    home, dump = tmp_path / "home", tmp_path / "links.warc.gz"
    urls = ["http://a.invalid/1", "http://a.invalid/2"]
    assert fonds(home, "fetch", "--enter-only", *urls).code == 0
    words = ("--pipeline", "news", "fetch", dump)
    assert fonds(home, "queue", "dump", *words, "--json").last == {"messages": 2}
    with dump.open("rb") as stream:
        stories = list(read_stories(stream))
    assert sorted(story.rss_entry.link for story in stories) == urls
    assert all(isinstance(story.rabbitmq_headers, dict) for story in stories)
    assert fonds(home, "queue", "load", "--pipeline", "news", dump).code == 0
    (depth,) = (
        line["depth"]
        for line in call(home, "queue", "list", "--pipeline", "news", "--json").lines
        if line["subscription"] == "news.fetch"
    )
    assert depth["ready"] == 2
    assert call(home, "audit").code == 0


def test_purged_messages_have_an_outcome(filled_home: Path) -> None:
    assert fonds(filled_home, "queue", "purge", "identify-quar", "--yes").code == 0
    assert call(filled_home, "audit").code == 0
    assert call(filled_home, "status", "--json").last["dropped"]["purged"] > 0


def test_a_purge_without_confirmation_removes_nothing(filled_home: Path) -> None:
    before = _count_quarantined(filled_home)
    assert fonds(filled_home, "queue", "purge", "extract_pdf-quar", stdin=b"n\n").code == 130
    assert _count_quarantined(filled_home) == before


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (("peek", "nobody"), "no address named 'library.nobody'"),
        (("peek", "extract_pdf-delay"), "move to library.extract_pdf-in by themselves"),
        (("dump", "extract_pdf", "/nowhere/at/all.warc.gz"), "Cannot write"),
        (("load", "/dev/null/x"), "no such file"),
        (("release", "nobody"), "no address named"),
    ],
)
def test_invalid_arguments_are_refused(
    filled_home: Path, words: tuple[str, ...], message: str
) -> None:
    result = call(filled_home, "queue", *words)
    assert result.code == 2
    assert message in result.err
    assert "Traceback" not in result.err


def test_load_refuses_other_files_and_dump_existing_files(
    filled_home: Path, tmp_path: Path
) -> None:
    page = tmp_path / "page.html"
    page.write_text("<p>hello")
    result = fonds(filled_home, "queue", "load", page)
    assert (result.code, "not a WARC file" in result.err) == (1, True)
    result = fonds(filled_home, "queue", "dump", "extract_pdf", page)
    assert (result.code, "already exists" in result.err) == (2, True)
    assert page.read_text() == "<p>hello"


def test_topics_lists_topics_with_their_schemas(filled_home: Path) -> None:
    lines = call(filled_home, "topics", "--json").lines
    schemas = {line["topic"]: line["schema"] for line in lines}
    assert schemas["fonds-local.pdf-text"] == "pdf-text"
    assert schemas["fonds-local.library.captured"] is None
    assert "unextracted" in call(filled_home, "topics").out
    assert call(filled_home, "topics", "create").code == 0
