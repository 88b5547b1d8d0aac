"""The overview names the sources that began to fail or fell silent since a day, and each leads to them."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
from starlette.testclient import TestClient

from filled_home import opened
from fonds.ports import Stores
from fonds.sources.following.editing import Wanted, new_source
from fonds.sources.following.standing import ONCE_WELL
from fonds.web.pages.overview.troubled import troubled_since
from page_reading import read

SECTION = "//section[@aria-labelledby='since']"


@pytest.fixture
def stores(tmp_path: Path) -> Iterator[Stores]:
    with opened(tmp_path) as found:
        yield found


def test_sources_that_began_to_fail_or_fell_silent_since_a_day_are_named(
    themed: TestClient,
) -> None:
    told = themed.get("/api/overview?since=2020-01-01").json()["sources_since"]
    assert [(one["standing"], one["total"]) for one in told] == [("failing", 1), ("silent", 1)]
    page = read(themed, "/?since=2020-01-01")
    for one in told:
        assert one["href"] in page.links(SECTION)
        behind = themed.get("/api" + one["href"]).json()
        assert behind["total"] == one["total"] == len(one["last"])
        ids = [row["source_id"] for row in behind["rows"]]
        assert ids == [each["source_id"] for each in one["last"]]
        assert one["last"][0]["href"] in page.links(SECTION)
    assert not page.tree.xpath("//main//img | //main//b")
    later = (datetime.now(UTC).date() + timedelta(days=9)).isoformat()
    assert themed.get(f"/api/overview?since={later}").json()["sources_since"] == []
    assert themed.get("/api/overview").json()["sources_since"] is None


def test_of_many_sources_some_are_named_and_the_rest_counted(stores: Stores) -> None:
    at, today = datetime.now(UTC), datetime.now(UTC).date()
    rows = [
        replace(
            new_source(f"https://{number}.example/", Wanted(), at),
            standing="failing",
            failures=1,
            failing_since=at - timedelta(minutes=number),
            muted_until=ONCE_WELL if number == 3 else None,
        )
        for number in range(9)
    ]
    stores.records.put(rows)
    (found,) = troubled_since(stores.records, today - timedelta(days=1), at) or []
    assert (found.total, len(found.last)) == (8, 5)
    assert [one.name for one in found.last] == [rows[n].url for n in (0, 1, 2, 4, 5)]
