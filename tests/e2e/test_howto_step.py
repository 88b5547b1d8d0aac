"""Follow `docs/howto/add-a-step.md` in a copy of the repository."""

from __future__ import annotations

from pathlib import Path

import pytest

from e2e.crawls import page
from e2e.howto_copy import CODE_RULES, Copy, copy_repository, run_checks
from fixtures.warcs import gzip_records, http_response
from home_texts import list_text_keys, read_text

pytestmark = pytest.mark.xdist_group("howto_step")


@pytest.fixture(scope="module")
def copy(tmp_path_factory: pytest.TempPathFactory) -> Copy:
    copy = copy_repository(tmp_path_factory.mktemp("copy"), "add-a-step.md")
    assert {path for path in copy.follow() if path.startswith("src/")} == {
        "src/fonds/ingest/steps/note_title.py",
        "src/fonds/pipelines/flavours/stages.py",
        "src/fonds/wiring/steps.py",
    }
    return copy


def test_the_repository_rules_and_its_own_tests_pass(copy: Copy) -> None:
    run_checks(
        copy,
        *CODE_RULES,
        "tests/unit/repository/test_pipelines.py",
        "tests/unit/ingest/test_note_title.py",
    )


def test_the_step_stores_the_title_of_each_page(copy: Copy, tmp_path: Path) -> None:
    crawl, home = tmp_path / "pages.warc.gz", tmp_path / "home"
    records = [http_response(page(n), url=f"http://news.example/{n}") for n in range(3)]
    crawl.write_bytes(gzip_records(records))
    result = copy.fonds(home, "ingest", crawl, "--json")
    assert (result.code, result.last["done"]) == (0, 3), result.err
    titles = {row["title"] for row in copy.fonds(home, "export", "--no-text").lines}
    keys = list_text_keys(home, "title/")
    assert {read_text(home, key).decode() for key in keys} == titles
    assert "stories → note_title" in copy.fonds(home, "pipelines", "library").out
    assert copy.fonds(home, "audit").code == 0
