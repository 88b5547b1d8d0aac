"""`fonds queue` and `fonds topics`: look, dump, load, release, purge; and a library that adds up after."""

from __future__ import annotations

from pathlib import Path

import pytest
from warcio.archiveiterator import ArchiveIterator

from e2e.running import call, fonds
from fixtures.media_cloud import read_stories
from sample import write_sample


@pytest.fixture(scope="module")
def filled(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("queue-tools")
    write_sample(folder / "crawl")
    assert fonds(folder / "home", "ingest", folder / "crawl").code == 1
    (folder / "nothing").mkdir()
    return folder / "home"


def _quarantined(home: Path) -> int:
    depths = {
        line["subscription"]: line["depth"] for line in call(home, "queue", "list", "--json").lines
    }
    return int(depths["library.extract_pdf"]["quarantined"])


def test_what_is_set_apart_can_be_dumped_and_loaded_and_tried_again(
    filled: Path, tmp_path: Path
) -> None:
    before = _quarantined(filled)
    assert before > 0
    seen = call(filled, "queue", "peek", "extract_pdf-quar", "--count", "1", "--json").last
    assert {"id", "key", "headers", "body"} <= set(seen)
    few = fonds(
        filled, "queue", "dump", "extract_pdf-quar", tmp_path / "few", "--max", "1", "--keep"
    )
    assert few.out.startswith("1 message written")
    assert (f"1 of about {before:,} ready messages" in few.err) == (before > 1)
    dump = tmp_path / "stuck.warc.gz"
    assert fonds(filled, "queue", "dump", "extract_pdf-quar", dump, "--json").last == {
        "messages": before
    }
    with dump.open("rb") as stream:
        kinds = [one.rec_type for one in ArchiveIterator(stream, check_digests="raise")]
    assert kinds == ["warcinfo", *["resource"] * before]
    assert _quarantined(filled) == 0
    assert "missing from the quarantine" in call(filled, "audit").out
    assert fonds(filled, "queue", "load", dump).code == 0
    assert _quarantined(filled) == before
    assert call(filled, "audit").code == 0
    assert fonds(filled, "queue", "release", "extract_pdf").code == 0
    assert _quarantined(filled) == 0
    assert fonds(filled, "failures", "retry", "--step", "import_story").code == 0
    assert fonds(filled, "ingest", filled.parent / "nothing").code in (0, 1)
    assert _quarantined(filled) == before
    assert call(filled, "audit").code == 0


def test_a_dump_of_links_is_read_as_stories_and_loaded_again(tmp_path: Path) -> None:
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


def test_what_is_purged_is_on_the_books(filled: Path) -> None:
    assert fonds(filled, "queue", "purge", "identify-quar", "--yes").code == 0
    assert call(filled, "audit").code == 0
    assert call(filled, "status", "--json").last["dropped"]["purged"] > 0


def test_without_a_yes_nothing_is_thrown_away(filled: Path) -> None:
    before = _quarantined(filled)
    assert fonds(filled, "queue", "purge", "extract_pdf-quar", stdin=b"n\n").code == 130
    assert _quarantined(filled) == before


@pytest.mark.parametrize(
    ("words", "told"),
    [
        (("peek", "nobody"), "no address named 'library.nobody'"),
        (("peek", "extract_pdf-delay"), "move to library.extract_pdf-in by themselves"),
        (("dump", "extract_pdf", "/nowhere/at/all.warc.gz"), "Cannot write"),
        (("load", "/dev/null/x"), "no such file"),
        (("release", "nobody"), "no address named"),
    ],
)
def test_bad_words_are_told(filled: Path, words: tuple[str, ...], told: str) -> None:
    ran = call(filled, "queue", *words)
    assert ran.code == 2
    assert told in ran.err
    assert "Traceback" not in ran.err


def test_a_file_that_is_no_dump_is_refused_and_one_that_is_there_is_kept(
    filled: Path, tmp_path: Path
) -> None:
    page = tmp_path / "page.html"
    page.write_text("<p>hello")
    ran = fonds(filled, "queue", "load", page)
    assert (ran.code, "not a WARC file" in ran.err) == (1, True)
    ran = fonds(filled, "queue", "dump", "extract_pdf", page)
    assert (ran.code, "already exists" in ran.err) == (2, True)
    assert page.read_text() == "<p>hello"


def test_topics_are_listed_with_their_readers(filled: Path) -> None:
    lines = call(filled, "topics", "--json").lines
    schemas = {line["topic"]: line["schema"] for line in lines}
    assert schemas["fonds-local.pdf-text"] == "pdf-text"
    assert schemas["fonds-local.library.captured"] is None
    assert "unextracted" in call(filled, "topics").out
    assert call(filled, "topics", "create").code == 0
