"""What curators do with themes, from pages and programs: names, pins, documents that do not belong."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from starlette.testclient import TestClient

from filled_home import open_home
from fonds.access.action_log import ActionLog
from fonds.ports import Stores
from fonds.web.app import create_app
from home_rows import NOW
from page_reading import read
from themed_home import fill_themed

HERE = "/themes/made/five"
CALLED = "Ships & <b>tides</b>"


@pytest.fixture
def stores(tmp_path: Path) -> Iterator[Stores]:
    fill_themed(tmp_path)
    with open_home(tmp_path) as found:
        yield found


@pytest.fixture
def pages(stores: Stores) -> Iterator[TestClient]:
    with TestClient(create_app(stores), base_url="http://localhost:8765") as asked:
        yield asked


def _themes(pages: TestClient) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = pages.get(f"/api{HERE}").json()["themes"]
    return found


def _post(pages: TestClient, act: str, status: int = 303, **said: str) -> str:
    headers = {"Sec-Fetch-Site": "same-origin"}
    answer = pages.post(f"{HERE}/{act}", data=said, headers=headers, follow_redirects=False)
    assert answer.status_code == status, answer.text
    return answer.headers.get("location", answer.text)


def test_a_name_stands_wherever_the_theme_is_named_and_the_label_beside_it(
    pages: TestClient, stores: Stores
) -> None:
    smallest = _themes(pages)[-1]
    there = _post(pages, "rename", conf="DEFAULT", theme=smallest["id"], name=CALLED)
    page = read(pages, there)
    assert page.heading == CALLED
    assert f"Keywords: {smallest['label']}" in page.words()
    assert page.tree.xpath("//input[@id='name']/@value") == [CALLED]
    (now,) = [one for one in _themes(pages) if one["id"] == smallest["id"]]
    assert (now["name"], now["label"], now["pinned"]) == (CALLED, smallest["label"], False)
    titles = now["titles"]
    for href in (HERE, f"{HERE}/over-time", "/themes", titles[0]["href"], f"{there}/documents"):
        assert CALLED in read(pages, href).words(), href
    assert CALLED in read(pages, HERE).words("//*[contains(@class, 'map')]")
    told = pages.get("/clusters/made/five").json()["clusters"]
    assert [one["name"] for one in told if one["id"] == smallest["id"]] == [CALLED]
    assert pages.get(f"/clusters/made/five/{smallest['id']}").json()["cluster"]["name"] == CALLED
    assert [one.what for one in ActionLog(stores.records, lambda: NOW).list_newest(9)][:1] == [
        f"POST {HERE}/rename DEFAULT “{smallest['id']}” {CALLED}"
    ]
    _post(pages, "rename", conf="DEFAULT", theme=smallest["id"], name="")
    assert CALLED not in read(pages, HERE).words()


def test_a_pinned_theme_stands_first_whatever_its_size(pages: TestClient) -> None:
    before = [one["id"] for one in _themes(pages)]
    _post(pages, "pin", conf="DEFAULT", theme=before[-1])
    assert [one["id"] for one in _themes(pages)] == [before[-1], *before[:-1]]
    page = read(pages, HERE)
    assert "pinned" in page.words("(//li[@class='theme-line'])[1]//h3")
    assert pages.get(f"/api{HERE}").json()["pinned"] == 1
    _post(pages, "unpin", conf="DEFAULT", theme=before[-1])
    assert [one["id"] for one in _themes(pages)] == before


def test_a_document_is_taken_out_from_its_page_listed_and_put_back(pages: TestClient) -> None:
    theme = _themes(pages)[0]
    told = pages.get(f"/api{theme['href']}").json()
    one = told["documents"][0]
    forms = read(pages, theme["href"]).tree.xpath("//li[contains(@class,'hit')]//form/@action")
    assert forms == [f"{HERE}/exclude"] * len(told["documents"])
    there = _post(pages, "exclude", conf="DEFAULT", theme=theme["id"], ids=one["id"])
    page = read(pages, there)
    assert f"A curator removed it from {theme['label']}" in page.words()
    now = pages.get(f"/api{theme['href']}").json()
    assert now["size"] == theme["size"] - 1
    assert one["id"] not in {each["id"] for each in now["documents"]}
    listed = pages.get(f"/api{HERE}/excluded").json()["excluded"]
    assert [(each["document"]["id"], each["theme"]) for each in listed] == [
        (one["id"], theme["id"])
    ]
    assert len(pages.get(f"/csv{HERE}/excluded").text.splitlines()) == 2
    assert one["title"] in read(pages, f"{HERE}/excluded").words()
    assert f"{HERE}/excluded" in read(pages, HERE).links("//p")
    back = _post(pages, "include", conf="DEFAULT", theme=theme["id"], ids=one["id"])
    assert read(pages, back).heading.endswith("no documents removed from themes")
    assert pages.get(f"/api{theme['href']}").json()["size"] == theme["size"]


def test_programs_do_the_same_and_are_told_what_is_decided(pages: TestClient) -> None:
    theme = _themes(pages)[1]
    api = f"/api{HERE}"
    told = pages.post(f"{api}/rename", json={"theme": theme["label"], "name": "Sea"}).json()
    assert told == {
        "id": theme["id"], "label": theme["label"], "name": "Sea", "pinned": False, "documents": None,
    }  # fmt: skip
    assert pages.post(f"{api}/pin", json={"theme": "Sea"}).json()["pinned"] is True
    ids = [one["id"] for one in pages.get(f"/api{theme['href']}").json()["documents"][:3]]
    for act in ("exclude", "include"):
        for count in (3, 0):
            out = pages.post(f"{api}/{act}", json={"theme": theme["id"], "ids": ids}).json()
            assert out["documents"] == count


REFUSED: tuple[tuple[str, dict[str, Any], str], ...] = (
    ("rename", {"theme": "nonsense", "name": "x"}, "No theme named 'nonsense'"),
    ("rename", {"theme": "x"}, "“name” is required for rename."),
    ("pin", {"theme": "x", "name": "y"}, "“name” is not allowed for pin."),
    ("exclude", {"theme": "x", "ids": ["nobody"]}, "No document 'nobody' in"),
    ("exclude", {"theme": "x", "ids": []}, "length >= 1"),
    ("pin", {"theme": "x", "conf": "tight"}, "No theme named 'x'"),
    ("pin", {"them": "x"}, "Did you mean “theme”?"),
)


def test_what_cannot_be_is_refused_in_words(pages: TestClient) -> None:
    for act, body, said in REFUSED:
        answer = pages.post(f"/api{HERE}/{act}", json=body)
        assert answer.status_code == 400, (act, body)
        assert said in answer.json()["error"], (act, body)


def test_a_collection_or_act_there_is_not_is_refused(pages: TestClient) -> None:
    body = {"theme": "x"}
    assert pages.post("/api/themes/made/fife/pin", json=body).status_code == 404
    assert pages.post(f"/api{HERE}/pn", json=body).status_code in (400, 404, 422)
    assert "No theme named" in _post(pages, "pin", 400, conf="DEFAULT", theme="nonsense")
    headers = {"Origin": "https://evil.example"}
    assert pages.post(f"{HERE}/pin", data=body, headers=headers).status_code == 403
