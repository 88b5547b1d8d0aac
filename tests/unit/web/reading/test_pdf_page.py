"""A PDF read page by page: picture, text, hits on both, and the way from page to page."""

from __future__ import annotations

from base64 import b32encode
from io import BytesIO

from PIL import Image
from starlette.testclient import TestClient

from fonds.model.errors import TransientError
from fonds.model.pdf import PageView
from fonds.ports import Stores
from fonds.viewer import pdf_pages
from fonds.web.app import create_app
from fonds.web.pages.pdf_page import NOT_DRAWN
from page_reading import read
from reading_home import PAGES, TITLE, ReadingHome


def test_a_page_shows_its_picture_and_its_text(client: TestClient, reading: ReadingHome) -> None:
    page = read(client, f"/file/{reading.pdf}/pages/1")
    assert page.heading == f"Page 1 of 3 {TITLE}"
    assert page.words("//div[@class='prose']") == " ".join(PAGES[0].split())
    (picture,) = page.tree.xpath("//img")
    answer = client.get(picture.get("src"))
    assert answer.headers["content-type"] == "image/webp"
    assert answer.headers["content-security-policy"].startswith("default-src 'none'; sandbox")
    size = Image.open(BytesIO(answer.content)).size
    assert size == (int(picture.get("width")), int(picture.get("height")))


def test_hits_are_marked_in_the_text_and_on_the_picture(
    client: TestClient, reading: ReadingHome
) -> None:
    page = read(client, f"/file/{reading.pdf}/pages/3?q=flood")
    assert [one.text_content() for one in page.tree.xpath("//mark")] == ["Floods", "flood"]
    assert len(page.tree.xpath("//svg[@class='leaf-boxes']/rect")) == 2
    assert "3 matches on 2 pages" in page.words()
    chips = page.links("//ul[@class='chips']")
    assert chips == {
        f"/file/{reading.pdf}/pages/1?q=flood": "Page 1 1 match",
        f"/file/{reading.pdf}/pages/3?q=flood": "Page 3 2 matches",
    }
    assert "← Previous match (p. 1)" in page.words()
    told = client.get(f"/api/files/{reading.pdf}/pages/3?q=flood").json()
    assert len(told["boxes"]) == len(told["text_marks"]) == 2
    for left, top, right, bottom in told["boxes"]:
        assert 0 <= left < right <= told["width"]
        assert 0 <= top < bottom <= told["height"]


def test_pages_lead_to_the_next_and_keep_what_is_marked(
    client: TestClient, reading: ReadingHome
) -> None:
    where = f"/file/{reading.pdf}/pages"
    links = read(client, f"{where}/2?q=flood").links("//nav[@class='pager']")
    assert links == {
        f"{where}/1?q=flood": "← Previous page",
        f"{where}/3?q=flood": "Next page →",
    }
    assert list(read(client, f"{where}/1").links("//nav[@class='pager']")) == [f"{where}/2"]
    assert list(read(client, f"{where}/3").links("//nav[@class='pager']")) == [f"{where}/2"]


def test_finding_in_a_file_leads_to_the_first_page_with_a_hit(
    client: TestClient, reading: ReadingHome
) -> None:
    where = f"/file/{reading.pdf}/pages"
    for asked, to in (
        ("?q=recedes", "/3?q=recedes"),
        ("?q=unheard", "/1?q=unheard"),
        ("?n=2&q=recedes", "/2?q=recedes"),
        ("", "/1"),
    ):
        answer = client.get(f"{where}{asked}")
        assert (answer.status_code, answer.headers["location"]) == (303, f"{where}{to}")
    said = read(client, f"{where}/1?q=unheard").words()
    assert "No matches for “unheard”" in said


def test_other_spellings_of_the_hash_are_sent_to_one(
    client: TestClient, reading: ReadingHome
) -> None:
    base32 = b32encode(bytes.fromhex(reading.pdf)).decode()
    answer = client.get(f"/file/{base32}/pages/2?q=a+b")
    assert answer.headers["location"] == f"/file/{reading.pdf}/pages/2?q=a+b"


def test_a_page_that_cannot_be_drawn_says_why(client: TestClient, reading: ReadingHome) -> None:
    page = read(client, f"/file/{reading.broken}/pages/1")
    assert "No picture of this page: neither pdfium nor qpdf" in page.words()
    assert client.get(f"/file/{reading.broken}/pages/1/image").status_code == 404


def test_without_what_draws_there_is_the_text(stores: Stores, reading: ReadingHome) -> None:
    with TestClient(create_app(stores), base_url="http://localhost") as bare:
        page = read(bare, f"/file/{reading.pdf}/pages/1")
        assert NOT_DRAWN in page.words()
        assert "The flood of March" in page.words()


def test_pages_that_are_not_there_are_refused(client: TestClient, reading: ReadingHome) -> None:
    said = read(client, f"/file/{reading.pdf}/pages/4", 404).words()
    assert "There is no page 4. This PDF has 3 pages." in said
    assert client.get(f"/file/{reading.pdf}/pages/0").status_code == 400
    assert client.get(f"/file/{reading.versions[0]}/pages/1").status_code == 404
    assert client.get(f"/file/{'0' * 40}/pages/1").status_code == 404
    asked = client.get(f"/api/files/{reading.pdf}/pages/1", params={"q": '"open'})
    assert (asked.status_code, asked.json()["parameter"]) == (400, "q")


def test_too_many_readers_are_asked_to_come_again(stores: Stores, reading: ReadingHome) -> None:
    class Busy(pdf_pages.PageViews):
        def get_view(self, *args: object) -> PageView:  # type: ignore[override]
            raise TransientError("pages are being drawn")

    app = create_app(stores, views=Busy(lambda body, number: PageView(None), "r"))
    with TestClient(app, base_url="http://localhost") as busy:
        answer = busy.get(f"/file/{reading.pdf}/pages/1/image")
        assert (answer.status_code, answer.headers["retry-after"]) == (503, "5")


def test_the_page_of_a_pdf_leads_to_its_pages(client: TestClient, reading: ReadingHome) -> None:
    links = read(client, f"/file/{reading.pdf}").links()
    assert links[f"/file/{reading.pdf}/pages/1"]
    assert links[f"/file/{reading.pdf}/pages/3"] == "Page 3"
    assert (
        f"/file/{reading.versions[0]}/pages/1"
        not in read(client, f"/file/{reading.versions[0]}").links()
    )


def test_a_passage_that_was_found_leads_to_its_page(
    client: TestClient, reading: ReadingHome
) -> None:
    links = read(client, "/search?q=recedes").links("//ol[@class='hits']")
    assert links[f"/file/{reading.pdf}/pages/3?q=recedes"] == "page 3"


def test_the_files_page_tells_which_pages_have_text_and_leads_to_each(
    client: TestClient, reading: ReadingHome
) -> None:
    strip = client.get(f"/api/files/{reading.pdf}").json()["strip"]
    assert [one["words"] for one in strip["cells"]] == [7, 3, 5]
    page = read(client, f"/file/{reading.pdf}")
    assert page.words("//h2[@id='pages-head']") == "3 of 3 pages have text"
    cells = page.tree.xpath("//ol[@class='page-strip']//a")
    assert [cell.get("href") for cell in cells] == [
        f"/file/{reading.pdf}/pages/{number}" for number in (1, 2, 3)
    ]
    assert [cell.text_content() for cell in cells] == [
        f"Page {number}: {words} words" for number, words in ((1, 7), (2, 3), (3, 5))
    ]
    assert page.words("//ul[@class='page-key']") == "has text: 3 no text: 0 unknown: 0"
    assert not page.tree.xpath("//section[@id='pages']//table")
    assert client.get(f"/api/files/{reading.versions[0]}").json()["strip"] is None


def test_the_files_page_has_a_box_that_leads_to_the_first_page_with_a_hit(
    client: TestClient, reading: ReadingHome
) -> None:
    (form,) = read(client, f"/file/{reading.pdf}").tree.xpath("//section[@id='pages']//form")
    (name,) = form.xpath(".//input/@name")
    answer = client.get(f"{form.get('action')}?{name}=recedes")
    assert answer.headers["location"] == f"/file/{reading.pdf}/pages/3?q=recedes"
    assert not read(client, f"/file/{reading.broken}").tree.xpath("//section[@id='pages']")
