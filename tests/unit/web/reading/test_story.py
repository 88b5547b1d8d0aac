"""A story and its versions: what stands above it, its paragraphs, and what changed word by word."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

import pytest
from starlette.testclient import TestClient

from fonds.config import Settings
from fonds.extract.page import EXTRACTOR
from fonds.model.rows import DispositionRow, StoryMetaRow
from fonds.ports import Stores
from fonds.wiring.stores import list_readers
from page_reading import PageRead, read
from reading_home import HEBREW, ReadingHome

ORIGIN = "http://localhost:8765"


def test_byline_day_and_site_stand_under_the_headline(
    client: TestClient, reading: ReadingHome
) -> None:
    page = read(client, f"/file/{reading.versions[2]}")
    said = page.words("//p[@class='byline']")
    assert said.startswith("Ada Reporter, Ben Writer · published 2026-01-05, captured 19 Feb 2026")
    assert said.endswith("· daily.example")
    right = read(client, f"/file/{reading.hebrew}").words("//p[@class='byline']")
    assert right.startswith("no publication date, captured")


def test_paragraphs_are_kept_and_run_their_own_way(
    client: TestClient, reading: ReadingHome
) -> None:
    page = read(client, f"/file/{reading.versions[2]}")
    paragraphs = page.tree.xpath("//div[@class='prose story']/p[@dir='auto']")
    assert [paragraph.text_content() for paragraph in paragraphs] == [
        "The old bridge was closed on Tuesday.",
        "Nobody was hurt.",
        "Traffic goes round by the ferry.",
    ]
    right = read(client, f"/file/{reading.hebrew}")
    (heading,) = right.tree.xpath("//h1[@dir='auto'][@lang='he']")
    assert heading.text_content() == HEBREW


def test_versions_stand_in_order_and_lead_to_each_other(
    client: TestClient, reading: ReadingHome
) -> None:
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


def _stretches(page: PageRead, part: str) -> list[tuple[str, str]]:
    found = page.tree.xpath(f"//section[@aria-labelledby='part-{part}']//*[self::ins or self::del]")
    return [(one.tag, " ".join(one.text_content().split())) for one in found]


def test_changes_are_told_in_words_part_by_part(client: TestClient, reading: ReadingHome) -> None:
    _, second, third = reading.versions
    page = read(client, f"/file/{third}/changes")
    assert page.words("//p[@class='note']") == (
        "+7 −1 words, headline and byline changed. The text changed."
    )
    assert ("del", "RemovedMonday.") in _stretches(page, "text")
    assert ("ins", "AddedTuesday.") in _stretches(page, "text")
    assert _stretches(page, "title")[0] == ("del", "RemovedBridge")
    assert _stretches(page, "byline") != []
    assert not page.tree.xpath("//h2[@id='part-published']")
    told = client.get(f"/api/files/{third}/changes?since={second}").json()
    assert (told["since"], told["difference"]) == (second, "changed-text")
    assert [part["name"] for part in told["parts"]] == ["title", "byline", "published", "text"]


def test_three_sentences_tell_bytes_text_and_change_apart(
    client: TestClient, reading: ReadingHome
) -> None:
    first, second, third = reading.versions
    said = {
        read(client, f"/file/{one}/changes?since={other}").words("//p[@class='note']")
        for one, other in ((first, first), (second, first), (third, first))
    }
    assert len(said) == 3
    assert "Both captures have the same bytes." in said
    assert any(one.startswith("The text is the same. Other parts") for one in said)


def test_any_two_versions_can_be_compared_and_no_others(
    client: TestClient, reading: ReadingHome
) -> None:
    first, _, third = reading.versions
    back = client.get(f"/api/files/{first}/changes?since={third}").json()
    assert back["parts"][3]["diff"]["removed"] > back["parts"][3]["diff"]["added"]
    for other in (reading.hebrew, reading.pdf, "0" * 40, "nonsense"):
        answer = client.get(f"/api/files/{third}/changes", params={"since": other})
        assert answer.status_code == 400
        assert "no version of this story" in answer.json()["error"]
    assert client.get(f"/file/{reading.pdf}/changes").status_code == 404
    whole = read(client, f"/file/{third}/changes?whole=1")
    assert "Show changes only" in whole.words()


def test_both_texts_stand_beside_each_other_in_rows(
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
    """The third version was read by another program than the second."""
    (row,) = stores.records.get(StoryMetaRow, [reading.versions[2]])
    stores.records.put([replace(row, extractor="article/2 <b>")])
    yield
    stores.records.put([row])


@pytest.mark.usefixtures("other_reader")
def test_versions_read_by_different_programs_are_read_again_by_one(
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
        sent = client.post(path, data={"since": second}, headers={"Origin": ORIGIN})
        assert (sent.status_code, sent.headers["location"]) == (303, f"{path}?since={second}")
    again = read(client, f"{path}?since={second}")
    assert "Both texts are being extracted again." in again.words()
    assert not again.tree.xpath("//button[text()='Extract both again']")
    (reader,) = [one for one in list_readers(Settings()) if one.name.endswith("parse_story")]
    waiting = stores.queue.receive(reader.incoming, 10, 0.0)
    assert {one.message.about for one in waiting} == {second, third}
    stores.queue.settle(waiting)
    for one in stores.records.find(DispositionRow, {"about": [second, third], "is_open": True}):
        stores.ledger.write([replace(one, verdict="done", is_open=False)])


def test_a_text_unchanged_under_another_program_has_a_sentence_of_its_own(
    client: TestClient, reading: ReadingHome, stores: Stores
) -> None:
    first, second, _ = reading.versions
    (row,) = stores.records.get(StoryMetaRow, [second])
    stores.records.put([replace(row, extractor="article/2")])
    page = read(client, f"/file/{second}/changes?since={first}")
    stores.records.put([row])
    said = page.words("//p[@class='note']")
    assert said.startswith("The text is unchanged. Another program extracted it.")


def test_what_are_no_two_versions_is_not_read_again(
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


def test_the_same_program_gives_no_reason_to_read_again(
    client: TestClient, reading: ReadingHome
) -> None:
    _, second, third = reading.versions
    page = read(client, f"/file/{third}/changes?since={second}")
    assert "Different programs" not in page.words()
