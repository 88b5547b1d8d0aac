"""Unclustered documents are listed by reason, even if a theme has the name of a reason."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from starlette.testclient import TestClient

from filled_home import open_home
from fonds.grouping.configuration import build_configuration, save_configuration
from fonds.grouping.document import Document
from fonds.grouping.names import CollectionName
from fonds.grouping.rebuild.rebuild import rebuild
from fonds.web.app import create_app
from page_reading import read
from themed_home import fill_themed, open_themes

NAME = CollectionName("made", "words")
COLLECTION_PATH = "/themes/made/words"
LABELS = ("outlier", "apart", "document", "excluded")


@pytest.fixture(scope="module")
def client(tmp_path_factory: pytest.TempPathFactory) -> Iterator[TestClient]:
    """Client of a collection whose themes are named like reasons and pages."""
    folder = tmp_path_factory.mktemp("words")
    fill_themed(folder)
    with (
        open_home(folder) as stores,
        TestClient(create_app(stores), base_url="http://localhost:8765") as client,
    ):
        writer = open_themes(stores, 1_790_100_000)
        save_configuration(
            writer.tables, "made", "DEFAULT", build_configuration({"clusters": len(LABELS)})
        )
        writer.put(NAME, [
            Document(f"{word}{number}", f"{word} {word} {word}", title=f"{word} {number}")
            for word in LABELS for number in range(6)
        ])  # fmt: skip
        writer.put(NAME, [Document("none", "?! ... -- ?!")])
        rebuild(writer, NAME)
        writer.put(NAME, [Document("stray", "outlier apart document excluded")])
        yield client


def test_a_theme_and_a_reason_with_one_name_have_separate_pages(client: TestClient) -> None:
    collection = client.get(f"/api{COLLECTION_PATH}").json()
    assert {theme["label"] for theme in collection["themes"]} == set(LABELS)
    for label in LABELS:
        by_label = f"{COLLECTION_PATH}/~{ord(label[0]):02X}{label[1:]}"
        assert client.get(f"/api{by_label}").json()["label"] == label
        assert read(client, by_label).heading == label
    for link in collection["unclustered"]:
        reason = client.get(f"/api{link['href']}").json()
        assert (reason["reason"], reason["size"]) == (link["reason"], link["count"])
        assert link["href"] == f"{COLLECTION_PATH}/unclustered/{link['reason']}"
        assert len(client.get(f"/csv{link['href']}").text.splitlines()) == link["count"] + 1
        assert client.get(f"/api{link['href']}/documents").json()["total"] == link["count"]
        assert read(client, link["href"])
    unclustered = client.get(f"/api{COLLECTION_PATH}/unclustered").json()
    assert unclustered["size"] == sum(link["count"] for link in collection["unclustered"]) == 2
    assert {document["id"] for document in unclustered["documents"]} == {"none", "stray"}


def test_the_api_returns_the_reason_instead_of_the_theme_on_request(client: TestClient) -> None:
    theme = client.get("/clusters/made/words/outlier").json()
    assert (theme["cluster"]["label"], theme["unclustered_reason"]) == ("outlier", None)
    reason = client.get("/clusters/made/words/outlier?unclustered=true").json()
    assert reason["cluster"] is None
    assert [member["id"] for member in reason["members"]] == ["stray"]
    ids = client.get("/clusters/made/words/outlier?unclustered=true&form=plain").json()
    assert ids == ["stray"]


def test_an_unknown_reason_returns_404_with_the_nearest(client: TestClient) -> None:
    response = client.get(f"/api{COLLECTION_PATH}/unclustered/outlir")
    assert response.status_code == 404
    assert "Did you mean 'outlier'" in response.json()["error"]
    assert client.get(f"/api{COLLECTION_PATH}/unclustered/outlir/documents").status_code == 404
