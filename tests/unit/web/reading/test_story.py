"""The page of a story and its versions: byline, paragraphs and changed words."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

import pytest
from starlette.testclient import TestClient

from fonds.config import Settings
from fonds.extract.page_extraction import EXTRACTOR
from fonds.model.rows import DispositionRow, StoryMetaRow
from fonds.ports import Stores
from fonds.wiring.flavours import list_readers
from page_reading import PageRead, read
from reading_home import HEBREW, ReadingHome

ORIGIN = "http://localhost:8765"


def test_the_byline_shows_authors_dates_and_site(client: TestClient, reading: ReadingHome) -> None:
    page = read(client, f"/file/{reading.versions[2]}")
    byline = page.words("//p[@class='byline']")
    assert byline.startswith(
        "Ada Reporter, Ben Writer · published 2026-01-05, captured 19 Feb 2026"
    )
    assert byline.endswith("· daily.example")
    hebrew_byline = read(client, f"/file/{reading.hebrew}").words("//p[@class='byline']")
    assert hebrew_byline.startswith("no publication date, captured")


def test_paragraphs_keep_their_order_and_direction(
    client: TestClient, reading: ReadingHome
) -> None:
    page = read(client, f"/file/{reading.versions[2]}")
    paragraphs = page.tree.xpath("//div[@class='prose story']/p[@dir='auto']")
    assert [paragraph.text_content() for paragraph in paragraphs] == [
        "The old bridge was closed on Tuesday.",
        "Nobody was hurt.",
        "Traffic goes round by the ferry.",
    ]
    hebrew_page = read(client, f"/file/{reading.hebrew}")
    (heading,) = hebrew_page.tree.xpath("//h1[@dir='auto'][@lang='he']")
    assert heading.text_content() == HEBREW


def test_versions_are_listed_in_order_and_linked(client: TestClient, reading: ReadingHome) -> None:
    first, second, third = reading.versions
    page = read(client, f"/file/{second}")
    rows = page.tree.xpath("//section[@id='versions']//tbody/tr")
    assert [row.xpath("td")[0].text for row in rows] == [
        "text changed", "same text", "first version listed",
    ]  # fmt: skip
    assert [row.xpath("th/a/@aria-current") for row in rows] == [[], ["true"], []]
    links = page.links("//nav[@aria-label='Versions of this story']")
    assert links == {
        f"/file/{first}": "← Previous version",
        f"/file/{second}/changes?since={first}": "See what changed",
        f"/file/{third}": "Next version →",
    }
    assert not read(client, f"/file/{reading.hebrew}").tree.xpath("//section[@id='versions']")


def _read_changes(page: PageRead, part: str) -> list[tuple[str, str]]:
    elements = page.tree.xpath(
        f"//section[@aria-labelledby='part-{part}']//*[self::ins or self::del]"
    )
    return [(part.tag, " ".join(part.text_content().split())) for part in elements]


def test_the_changes_page_shows_changed_words_of_each_part(
    client: TestClient, reading: ReadingHome
) -> None:
    _, second, third = reading.versions
    page = read(client, f"/file/{third}/changes")
    assert page.words("//p[@class='note']") == (
        "+7 −1 words, headline and byline changed. The text changed."
    )
    assert ("del", "RemovedMonday.") in _read_changes(page, "text")
    assert ("ins", "AddedTuesday.") in _read_changes(page, "text")
    assert _read_changes(page, "title")[0] == ("del", "RemovedBridge")
    assert _read_changes(page, "byline") != []
    assert not page.tree.xpath("//h2[@id='part-published']")
    changes = client.get(f"/api/files/{third}/changes?since={second}").json()
    assert (changes["since"], changes["difference"]) == (second, "changed-text")
    assert [part["name"] for part in changes["parts"]] == ["title", "byline", "published", "text"]


def test_notes_distinguish_same_bytes_same_text_and_changes(
    client: TestClient, reading: ReadingHome
) -> None:
    first, second, third = reading.versions
    notes = {
        read(client, f"/file/{version}/changes?since={other}").words("//p[@class='note']")
        for version, other in ((first, first), (second, first), (third, first))
    }
    assert len(notes) == 3
    assert "Both captures have the same bytes." in notes
    assert any(version.startswith("The text is the same. Other parts") for version in notes)


def test_only_versions_of_one_story_can_be_compared(
    client: TestClient, reading: ReadingHome
) -> None:
    first, _, third = reading.versions
    reversed_changes = client.get(f"/api/files/{first}/changes?since={third}").json()
    assert (
        reversed_changes["parts"][3]["diff"]["removed"]
        > reversed_changes["parts"][3]["diff"]["added"]
    )
    for other in (reading.hebrew, reading.pdf, "0" * 40, "nonsense"):
        response = client.get(f"/api/files/{third}/changes", params={"since": other})
        assert response.status_code == 400
        assert "no version of this story" in response.json()["error"]
    assert client.get(f"/file/{reading.pdf}/changes").status_code == 404
    full_page = read(client, f"/file/{third}/changes?whole=1")
    assert "Show changes only" in full_page.words()


def test_the_full_view_shows_both_texts_side_by_side(
    client: TestClient, reading: ReadingHome
) -> None:
    _, second, third = reading.versions
    page = read(client, f"/file/{third}/changes?since={second}&whole=1")
    table = "//section[@aria-labelledby='part-text']//*[@role='table']"
    rows = page.tree.xpath(f"{table}//*[@role='row']")
    texts = [[" ".join(cell.text_content().split()) for cell in row] for row in rows]
    assert texts[0][0].startswith("5 Feb 2026") or len(texts[0]) == 2
    assert all(len(row) in (1, 2) for row in texts)
    joined = [" ".join(column) for column in zip(*texts[1:], strict=True)]
    assert "Monday." in joined[0]
    assert "Tuesday." not in joined[0]
    assert "Tuesday." in joined[1]
    assert "Monday." not in joined[1]


@pytest.fixture
def other_reader(stores: Stores, reading: ReadingHome) -> Iterator[None]:
    """Give the third version another extractor than the second."""
    (row,) = stores.records.get(StoryMetaRow, [reading.versions[2]])
    stores.records.put([replace(row, extractor="article/2 <b>")])
    yield
    stores.records.put([row])


@pytest.mark.usefixtures("other_reader")
def test_versions_from_different_extractors_can_be_extracted_again(
    client: TestClient, reading: ReadingHome, stores: Stores
) -> None:
    _, second, third = reading.versions
    path = f"/file/{third}/changes"
    page = read(client, f"{path}?since={second}")
    assert (
        f"The texts were extracted by different programs, {EXTRACTOR} and article/2 <b>"
        in page.words()
    )
    assert "Run fonds catchup story to extract" in page.words()
    for _ in range(2):
        response = client.post(path, data={"since": second}, headers={"Origin": ORIGIN})
        assert (response.status_code, response.headers["location"]) == (
            303,
            f"{path}?since={second}",
        )
    page_after = read(client, f"{path}?since={second}")
    assert "The texts of both versions are being extracted again." in page_after.words()
    assert not page_after.tree.xpath("//button[text()='Extract both again']")
    (reader,) = [row for row in list_readers(Settings()) if row.name.endswith("parse_story")]
    waiting = stores.queue.receive(reader.incoming, 10, 0.0)
    assert {delivery.message.about for delivery in waiting} == {second, third}
    stores.queue.settle(waiting)
    for promise in stores.records.find(DispositionRow, {"about": [second, third], "is_open": True}):
        stores.ledger.write([replace(promise, verdict="done", is_open=False)])


def test_the_note_names_another_extractor_of_an_unchanged_text(
    client: TestClient, reading: ReadingHome, stores: Stores
) -> None:
    first, second, _ = reading.versions
    (row,) = stores.records.get(StoryMetaRow, [second])
    stores.records.put([replace(row, extractor="article/2")])
    page = read(client, f"/file/{second}/changes?since={first}")
    stores.records.put([row])
    note = page.words("//p[@class='note']")
    assert note.startswith("The text is unchanged. Another program extracted it.")


def test_extracting_again_is_refused_for_files_of_other_stories(
    client: TestClient, reading: ReadingHome
) -> None:
    _, second, third = reading.versions
    origin = {"Origin": ORIGIN}
    for since, status in ((third, 400), (reading.hebrew, 400), (reading.pdf, 400), ("x", 400)):
        path = f"/file/{third}/changes"
        assert client.post(path, data={"since": since}, headers=origin).status_code == status
    path = f"/file/{reading.pdf}/changes"
    assert client.post(path, data={"since": second}, headers=origin).status_code == 404
    foreign = {"Origin": "http://other.example"}
    path = f"/file/{third}/changes"
    assert client.post(path, data={"since": second}, headers=foreign).status_code == 403


def test_versions_from_the_same_extractor_show_no_notice(
    client: TestClient, reading: ReadingHome
) -> None:
    _, second, third = reading.versions
    page = read(client, f"/file/{third}/changes?since={second}")
    assert "Different programs" not in page.words()
