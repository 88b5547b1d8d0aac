"""Follow `docs/howto/add-a-derivative.md` in a copy of the repository."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from e2e.crawls import page
from e2e.howto_copy import CODE_RULES, Copy, copy_repository, run_checks
from e2e.running import fonds
from fixtures.warcs import gzip_records, http_response

pytestmark = pytest.mark.xdist_group("howto_derivative")


@pytest.fixture(scope="module")
def copy(tmp_path_factory: pytest.TempPathFactory) -> Copy:
    return copy_repository(tmp_path_factory.mktemp("copy"), "add-a-derivative.md")


@pytest.fixture(scope="module")
def pages(tmp_path_factory: pytest.TempPathFactory) -> Path:
    crawl = tmp_path_factory.mktemp("crawl") / "pages.warc.gz"
    records = [http_response(page(n), url=f"http://news.example/{n}") for n in range(3)]
    crawl.write_bytes(gzip_records(records))
    return crawl


@pytest.fixture(scope="module")
def home(tmp_path_factory: pytest.TempPathFactory, copy: Copy, pages: Path) -> Path:
    """A home with pages ingested before the how-to was followed, and one ingested after it."""
    home = tmp_path_factory.mktemp("home") / "home"
    assert fonds(home, "ingest", pages).code == 0
    touched = copy.follow()
    assert len(touched) == len(set(touched)) + 3  # Three files are changed in two places.
    later_crawl = pages.with_name("more.warc.gz")
    later_crawl.write_bytes(gzip_records([http_response(page(7), url="http://news.example/7")]))
    result = copy.fonds(home, "ingest", later_crawl, "--json")
    assert (result.code, result.last["done"]) == (0, 1), result.err
    return home


def test_the_repository_rules_and_its_own_tests_pass(copy: Copy, home: Path) -> None:
    run_checks(
        copy,
        *CODE_RULES,
        "tests/unit/repository/test_kinds.py",
        "tests/unit/repository/test_pipelines.py",
        "tests/unit/ingest/test_count_sentences.py",
        "tests/unit/stores/test_sql_records.py",
    )


def test_all_reports_include_the_derivative(copy: Copy, home: Path) -> None:
    rows = copy.fonds(home, "export", "--no-text").lines
    counts = {row["url"].rsplit("/", 1)[-1]: row["sentence_count"] for row in rows}
    assert [name for name, count in sorted(counts.items()) if count is None] == ["0", "1", "2"]
    assert counts["7"] > 10
    (sha1hex,) = [row["sha1hex"] for row in rows if row["sentence_count"]]
    file_data = copy.fonds(home, "show", sha1hex, "--json").last
    assert file_data["derivatives"]["sentences"]["sentence_count"] == counts["7"]
    assert re.search(
        rf"Sentences\n *sentences +{counts['7']} *\n", copy.fonds(home, "show", sha1hex).out
    )
    assert "stories → count_sentences" in copy.fonds(home, "pipelines", "library").out
    assert copy.fonds(home, "audit").code == 0


PRINT_PAGES = """
import sys
from pathlib import Path
from starlette.testclient import TestClient
from fonds.config import Settings
from fonds.web.app import create_app
from fonds.wiring.stores import open_stores
client = TestClient(create_app(open_stores(Path(sys.argv[1]), Settings())), base_url="http://localhost")
for path in sys.argv[2:]:
    print(client.get(path).text)
"""


def test_the_file_page_and_the_overview_show_the_derivative(copy: Copy, home: Path) -> None:
    rows = copy.fonds(home, "export", "--no-text").lines
    counted_row = next(row for row in rows if row["sentence_count"])
    result = copy.run(PRINT_PAGES, str(home), f"/file/{counted_row['sha1hex']}", "/api/overview")
    assert f"<dt>sentences</dt><dd>{counted_row['sentence_count']}</dd>" in result.out, result.err
    assert '"kind":"sentences","title":"sentences","count":' in result.out
    assert "fonds-sentences/1" in result.out


def test_catchup_derives_older_files_and_the_audit_reports_a_lost_row(
    copy: Copy, home: Path
) -> None:
    counted = copy.fonds(home, "catchup", "sentences", "--dry-run", "--json").last
    assert counted == {"files": 3, "by_status": {"": 3}}
    result = copy.fonds(home, "catchup", "sentences")
    assert result.code == 0, result.err
    rows = copy.fonds(home, "export", "--no-text").lines
    assert all(row["sentence_count"] > 10 for row in rows)
    assert copy.fonds(home, "catchup", "sentences", "--dry-run", "--json").last["files"] == 0
    assert copy.fonds(home, "audit").code == 0
    listed = copy.fonds(home, "catchup", "--list", "--json").lines
    assert {line["kind"]: line["made_by"] for line in listed}["sentences"] == "count_sentences"
    result = copy.run(DELETE_ROW, str(home), rows[0]["sha1hex"])
    assert result.code == 0, result.err
    audited = copy.fonds(home, "audit", "--json")
    assert audited.code == 1
    (fault,) = [text for text in audited.last["missing"] if "sentences" in text]
    assert (
        fault
        == f"count_sentences is done with {rows[0]['sha1hex']}, but sentences does not show it"
    )


DELETE_ROW = """
import sys
from pathlib import Path
from fonds.config import Settings
from fonds.model.rows.sentences import SentencesRow
from fonds.wiring.stores import close_stores, open_stores
stores = open_stores(Path(sys.argv[1]), Settings())
stores.records.delete(SentencesRow, [sys.argv[2]])
close_stores(stores)
"""
