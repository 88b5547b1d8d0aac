"""Actions of curators on themes, on the pages and in the API: names, pins and exclusions."""

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

COLLECTION_PATH = "/themes/made/five"
NAME = "Ships & <b>tides</b>"


@pytest.fixture
def stores(tmp_path: Path) -> Iterator[Stores]:
    fill_themed(tmp_path)
    with open_home(tmp_path) as stores:
        yield stores


@pytest.fixture
def client(stores: Stores) -> Iterator[TestClient]:
    with TestClient(create_app(stores), base_url="http://localhost:8765") as client:
        yield client


def _get_themes(client: TestClient) -> list[dict[str, Any]]:
    themes: list[dict[str, Any]] = client.get(f"/api{COLLECTION_PATH}").json()["themes"]
    return themes


def _post(client: TestClient, action: str, status: int = 303, **fields: str) -> str:
    headers = {"Sec-Fetch-Site": "same-origin"}
    response = client.post(
        f"{COLLECTION_PATH}/{action}", data=fields, headers=headers, follow_redirects=False
    )
    assert response.status_code == status, response.text
    return response.headers.get("location", response.text)


def test_a_renamed_theme_has_its_name_on_every_page(client: TestClient, stores: Stores) -> None:
    smallest = _get_themes(client)[-1]
    theme_url = _post(client, "rename", conf="DEFAULT", theme=smallest["id"], name=NAME)
    page = read(client, theme_url)
    assert page.heading == NAME
    assert f"Keywords: {smallest['label']}" in page.words()
    assert page.tree.xpath("//input[@id='name']/@value") == [NAME]
    (renamed_theme,) = [theme for theme in _get_themes(client) if theme["id"] == smallest["id"]]
    assert (renamed_theme["name"], renamed_theme["label"], renamed_theme["pinned"]) == (
        NAME,
        smallest["label"],
        False,
    )
    titles = renamed_theme["titles"]
    for href in (
        COLLECTION_PATH,
        f"{COLLECTION_PATH}/over-time",
        "/themes",
        titles[0]["href"],
        f"{theme_url}/documents",
    ):
        assert NAME in read(client, href).words(), href
    assert NAME in read(client, COLLECTION_PATH).words("//*[contains(@class, 'map')]")
    clusters = client.get("/clusters/made/five").json()["clusters"]
    assert [cluster["name"] for cluster in clusters if cluster["id"] == smallest["id"]] == [NAME]
    assert client.get(f"/clusters/made/five/{smallest['id']}").json()["cluster"]["name"] == NAME
    assert [log_row.what for log_row in ActionLog(stores.records, lambda: NOW).list_newest(9)][
        :1
    ] == [f"POST {COLLECTION_PATH}/rename DEFAULT “{smallest['id']}” {NAME}"]
    _post(client, "rename", conf="DEFAULT", theme=smallest["id"], name="")
    assert NAME not in read(client, COLLECTION_PATH).words()


def test_a_pinned_theme_is_listed_first(client: TestClient) -> None:
    before = [theme["id"] for theme in _get_themes(client)]
    _post(client, "pin", conf="DEFAULT", theme=before[-1])
    assert [theme["id"] for theme in _get_themes(client)] == [before[-1], *before[:-1]]
    page = read(client, COLLECTION_PATH)
    assert "pinned" in page.words("(//li[@class='theme-line'])[1]//h3")
    assert client.get(f"/api{COLLECTION_PATH}").json()["pinned"] == 1
    _post(client, "unpin", conf="DEFAULT", theme=before[-1])
    assert [theme["id"] for theme in _get_themes(client)] == before


def test_a_document_is_excluded_listed_and_included_again(client: TestClient) -> None:
    theme = _get_themes(client)[0]
    before = client.get(f"/api{theme['href']}").json()
    document = before["documents"][0]
    forms = read(client, theme["href"]).tree.xpath("//li[contains(@class,'hit')]//form/@action")
    assert forms == [f"{COLLECTION_PATH}/exclude"] * len(before["documents"])
    document_url = _post(client, "exclude", conf="DEFAULT", theme=theme["id"], ids=document["id"])
    page = read(client, document_url)
    assert f"A curator removed this document from {theme['label']}" in page.words()
    after = client.get(f"/api{theme['href']}").json()
    assert after["size"] == theme["size"] - 1
    assert document["id"] not in {row["id"] for row in after["documents"]}
    exclusions = client.get(f"/api{COLLECTION_PATH}/excluded").json()["excluded"]
    assert [(row["document"]["id"], row["theme"]) for row in exclusions] == [
        (document["id"], theme["id"])
    ]
    assert len(client.get(f"/csv{COLLECTION_PATH}/excluded").text.splitlines()) == 2
    assert document["title"] in read(client, f"{COLLECTION_PATH}/excluded").words()
    assert f"{COLLECTION_PATH}/excluded" in read(client, COLLECTION_PATH).links("//p")
    collection_url = _post(client, "include", conf="DEFAULT", theme=theme["id"], ids=document["id"])
    assert read(client, collection_url).heading.endswith("no documents removed from themes")
    assert client.get(f"/api{theme['href']}").json()["size"] == theme["size"]


def test_the_api_returns_the_result_of_each_action(client: TestClient) -> None:
    theme = _get_themes(client)[1]
    api = f"/api{COLLECTION_PATH}"
    renamed_theme = client.post(
        f"{api}/rename", json={"theme": theme["label"], "name": "Sea"}
    ).json()
    assert renamed_theme == {
        "id": theme["id"], "label": theme["label"], "name": "Sea", "pinned": False, "documents": None,
    }  # fmt: skip
    assert client.post(f"{api}/pin", json={"theme": "Sea"}).json()["pinned"] is True
    ids = [
        document["id"] for document in client.get(f"/api{theme['href']}").json()["documents"][:3]
    ]
    for action in ("exclude", "include"):
        for count in (3, 0):
            result = client.post(f"{api}/{action}", json={"theme": theme["id"], "ids": ids}).json()
            assert result["documents"] == count


REFUSED: tuple[tuple[str, dict[str, Any], str], ...] = (
    ("rename", {"theme": "nonsense", "name": "x"}, "No theme named 'nonsense'"),
    ("rename", {"theme": "x"}, "“name” is required for rename."),
    ("pin", {"theme": "x", "name": "y"}, "“name” is not allowed for pin."),
    ("exclude", {"theme": "x", "ids": ["nobody"]}, "No document 'nobody' in"),
    ("exclude", {"theme": "x", "ids": []}, "length >= 1"),
    ("pin", {"theme": "x", "conf": "tight"}, "No theme named 'x'"),
    ("pin", {"them": "x"}, "Did you mean “theme”?"),
)


def test_invalid_actions_are_refused_with_a_message(client: TestClient) -> None:
    for action, body, message in REFUSED:
        response = client.post(f"/api{COLLECTION_PATH}/{action}", json=body)
        assert response.status_code == 400, (action, body)
        assert message in response.json()["error"], (action, body)


def test_unknown_collections_and_actions_are_refused(client: TestClient) -> None:
    body = {"theme": "x"}
    assert client.post("/api/themes/made/fife/pin", json=body).status_code == 404
    assert client.post(f"/api{COLLECTION_PATH}/pn", json=body).status_code in (400, 404, 422)
    assert "No theme named" in _post(client, "pin", 400, conf="DEFAULT", theme="nonsense")
    headers = {"Origin": "https://evil.example"}
    assert client.post(f"{COLLECTION_PATH}/pin", data=body, headers=headers).status_code == 403
