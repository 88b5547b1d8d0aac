"""Documents in no theme are reached by their reason, whatever themes are called."""

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
HERE = "/themes/made/words"
CALLED = ("outlier", "apart", "document", "excluded")


@pytest.fixture(scope="module")
def words(tmp_path_factory: pytest.TempPathFactory) -> Iterator[TestClient]:
    """Pages of a collection whose themes are called as reasons and pages are."""
    folder = tmp_path_factory.mktemp("words")
    fill_themed(folder)
    with (
        open_home(folder) as found,
        TestClient(create_app(found), base_url="http://localhost:8765") as asked,
    ):
        changes = open_themes(found, 1_790_100_000)
        save_configuration(
            changes.tables, "made", "DEFAULT", build_configuration({"clusters": len(CALLED)})
        )
        changes.put(NAME, [
            Document(f"{word}{at}", f"{word} {word} {word}", title=f"{word} {at}")
            for word in CALLED for at in range(6)
        ])  # fmt: skip
        changes.put(NAME, [Document("none", "?! ... -- ?!")])
        rebuild(changes, NAME)
        changes.put(NAME, [Document("stray", "outlier apart document excluded")])
        yield asked


def test_a_theme_called_as_a_reason_and_the_reason_have_a_page_each(words: TestClient) -> None:
    told = words.get(f"/api{HERE}").json()
    assert {one["label"] for one in told["themes"]} == set(CALLED)
    for word in CALLED:
        by_label = f"{HERE}/~{ord(word[0]):02X}{word[1:]}"
        assert words.get(f"/api{by_label}").json()["label"] == word
        assert read(words, by_label).heading == word
    for one in told["unclustered"]:
        reason = words.get(f"/api{one['href']}").json()
        assert (reason["reason"], reason["size"]) == (one["reason"], one["count"])
        assert one["href"] == f"{HERE}/unclustered/{one['reason']}"
        assert len(words.get(f"/csv{one['href']}").text.splitlines()) == one["count"] + 1
        assert words.get(f"/api{one['href']}/documents").json()["total"] == one["count"]
        assert read(words, one["href"])
    every = words.get(f"/api{HERE}/unclustered").json()
    assert every["size"] == sum(one["count"] for one in told["unclustered"]) == 2
    assert {one["id"] for one in every["documents"]} == {"none", "stray"}


def test_programs_ask_for_a_reason_a_theme_is_called_by(words: TestClient) -> None:
    of_theme = words.get("/clusters/made/words/outlier").json()
    assert (of_theme["cluster"]["label"], of_theme["unclustered_reason"]) == ("outlier", None)
    of_reason = words.get("/clusters/made/words/outlier?unclustered=true").json()
    assert of_reason["cluster"] is None
    assert [one["id"] for one in of_reason["members"]] == ["stray"]
    plain = words.get("/clusters/made/words/outlier?unclustered=true&form=plain").json()
    assert plain == ["stray"]


def test_a_reason_there_is_not_is_told_with_the_nearest(words: TestClient) -> None:
    answer = words.get(f"/api{HERE}/unclustered/outlir")
    assert answer.status_code == 404
    assert "Did you mean 'outlier'" in answer.json()["error"]
    assert words.get(f"/api{HERE}/unclustered/outlir/documents").status_code == 404
