"""The page view of a PDF: picture, text, marked matches, and links between pages."""

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
    response = client.get(picture.get("src"))
    assert response.headers["content-type"] == "image/webp"
    assert response.headers["content-security-policy"].startswith("default-src 'none'; sandbox")
    size = Image.open(BytesIO(response.content)).size
    assert size == (int(picture.get("width")), int(picture.get("height")))


def test_hits_are_marked_in_the_text_and_on_the_picture(
    client: TestClient, reading: ReadingHome
) -> None:
    page = read(client, f"/file/{reading.pdf}/pages/3?q=flood")
    assert [mark.text_content() for mark in page.tree.xpath("//mark")] == ["Floods", "flood"]
    assert len(page.tree.xpath("//svg[@class='leaf-boxes']/rect")) == 2
    assert "3 matches on 2 pages" in page.words()
    chips = page.links("//ul[@class='chips']")
    assert chips == {
        f"/file/{reading.pdf}/pages/1?q=flood": "Page 1 1 match",
        f"/file/{reading.pdf}/pages/3?q=flood": "Page 3 2 matches",
    }
    assert "← Previous match (p. 1)" in page.words()
    data = client.get(f"/api/files/{reading.pdf}/pages/3?q=flood").json()
    assert len(data["boxes"]) == len(data["text_marks"]) == 2
    for left, top, right, bottom in data["boxes"]:
        assert 0 <= left < right <= data["width"]
        assert 0 <= top < bottom <= data["height"]


def test_page_links_keep_the_query(client: TestClient, reading: ReadingHome) -> None:
    base_url = f"/file/{reading.pdf}/pages"
    links = read(client, f"{base_url}/2?q=flood").links("//nav[@class='pager']")
    assert links == {
        f"{base_url}/1?q=flood": "← Previous page",
        f"{base_url}/3?q=flood": "Next page →",
    }
    assert list(read(client, f"{base_url}/1").links("//nav[@class='pager']")) == [f"{base_url}/2"]
    assert list(read(client, f"{base_url}/3").links("//nav[@class='pager']")) == [f"{base_url}/2"]


def test_a_query_redirects_to_the_first_page_with_a_match(
    client: TestClient, reading: ReadingHome
) -> None:
    base_url = f"/file/{reading.pdf}/pages"
    for query, target in (
        ("?q=recedes", "/3?q=recedes"),
        ("?q=unheard", "/1?q=unheard"),
        ("?n=2&q=recedes", "/2?q=recedes"),
        ("", "/1"),
    ):
        response = client.get(f"{base_url}{query}")
        assert (response.status_code, response.headers["location"]) == (303, f"{base_url}{target}")
    text = read(client, f"{base_url}/1?q=unheard").words()
    assert "No matches for “unheard”" in text


def test_a_base32_hash_redirects_to_the_hex_url(client: TestClient, reading: ReadingHome) -> None:
    base32 = b32encode(bytes.fromhex(reading.pdf)).decode()
    response = client.get(f"/file/{base32}/pages/2?q=a+b")
    assert response.headers["location"] == f"/file/{reading.pdf}/pages/2?q=a+b"


def test_a_page_that_cannot_be_drawn_shows_the_reason(
    client: TestClient, reading: ReadingHome
) -> None:
    page = read(client, f"/file/{reading.broken}/pages/1")
    assert "No picture of this page: neither pdfium nor qpdf" in page.words()
    assert client.get(f"/file/{reading.broken}/pages/1/image").status_code == 404


def test_without_a_renderer_the_page_shows_the_text(stores: Stores, reading: ReadingHome) -> None:
    with TestClient(create_app(stores), base_url="http://localhost") as client:
        page = read(client, f"/file/{reading.pdf}/pages/1")
        assert NOT_DRAWN in page.words()
        assert "The flood of March" in page.words()


def test_missing_pages_and_invalid_queries_are_refused(
    client: TestClient, reading: ReadingHome
) -> None:
    text = read(client, f"/file/{reading.pdf}/pages/4", 404).words()
    assert "There is no page 4. This PDF has 3 pages." in text
    assert client.get(f"/file/{reading.pdf}/pages/0").status_code == 400
    assert client.get(f"/file/{reading.versions[0]}/pages/1").status_code == 404
    assert client.get(f"/file/{'0' * 40}/pages/1").status_code == 404
    response = client.get(f"/api/files/{reading.pdf}/pages/1", params={"q": '"open'})
    assert (response.status_code, response.json()["parameter"]) == (400, "q")


def test_a_busy_renderer_returns_503_with_a_delay(stores: Stores, reading: ReadingHome) -> None:
    class BusyPageViews(pdf_pages.PageViews):
        def get_view(self, *args: object) -> PageView:  # type: ignore[override]
            raise TransientError("pages are being drawn")

    app = create_app(stores, views=BusyPageViews(lambda body, number: PageView(None), "r"))
    with TestClient(app, base_url="http://localhost") as client:
        response = client.get(f"/file/{reading.pdf}/pages/1/image")
        assert (response.status_code, response.headers["retry-after"]) == (503, "5")


def test_the_file_page_of_a_pdf_links_to_its_pages(
    client: TestClient, reading: ReadingHome
) -> None:
    links = read(client, f"/file/{reading.pdf}").links()
    assert links[f"/file/{reading.pdf}/pages/1"]
    assert links[f"/file/{reading.pdf}/pages/3"] == "Page 3"
    assert (
        f"/file/{reading.versions[0]}/pages/1"
        not in read(client, f"/file/{reading.versions[0]}").links()
    )


def test_a_matching_passage_links_to_its_page(client: TestClient, reading: ReadingHome) -> None:
    links = read(client, "/search?q=recedes").links("//ol[@class='hits']")
    assert links[f"/file/{reading.pdf}/pages/3?q=recedes"] == "page 3"


def test_the_file_page_shows_which_pages_have_text(
    client: TestClient, reading: ReadingHome
) -> None:
    strip = client.get(f"/api/files/{reading.pdf}").json()["strip"]
    assert [cell["words"] for cell in strip["cells"]] == [7, 3, 5]
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


def test_the_search_box_of_the_file_page_finds_the_first_matching_page(
    client: TestClient, reading: ReadingHome
) -> None:
    (form,) = read(client, f"/file/{reading.pdf}").tree.xpath("//section[@id='pages']//form")
    (name,) = form.xpath(".//input/@name")
    response = client.get(f"{form.get('action')}?{name}=recedes")
    assert response.headers["location"] == f"/file/{reading.pdf}/pages/3?q=recedes"
    assert not read(client, f"/file/{reading.broken}").tree.xpath("//section[@id='pages']")
