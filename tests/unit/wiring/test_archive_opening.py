"""Opening the archive with settings for places outside the home."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from fonds.config import Settings, load_settings
from fonds.model.capture import Place, PlaceKind
from fonds.model.errors import ConfigurationError, PermanentError
from fonds.wiring import archive as archives

OBJECTS = "fonds.stores.s3.objects"
PLACE = Place(PlaceKind.FILE, "s3://crawls/a.pdf")


def test_the_s3_library_is_imported_only_for_s3_places(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, OBJECTS, None)
    archive = archives.open_archive(tmp_path, Settings())
    with pytest.raises(PermanentError, match=r"pip install 'fonds\[s3\]'"):
        archive.read(PLACE)


def test_an_s3_url_without_its_library_is_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, OBJECTS, None)
    with pytest.raises(ConfigurationError, match="pip install") as error:
        archives.open_archive(
            tmp_path, Settings().replace_values(elsewhere_s3_url="s3://key:hidden@host:9000")
        )
    assert "hidden" not in str(error.value)


@pytest.mark.parametrize("url", ["s3://key:hidden@", "ftp://key:hidden@host", "key:hidden"])
def test_an_invalid_s3_url_is_refused(url: str, tmp_path: Path) -> None:
    with pytest.raises(ConfigurationError, match="s3_url"):
        archives.open_archive(tmp_path, Settings().replace_values(elsewhere_s3_url=url))
    assert "hidden" not in repr(Settings().replace_values(elsewhere_s3_url=url))


@pytest.mark.parametrize(
    "setting",
    [
        {"elsewhere.replay_url": "https://web.example/web/"},
        {"elsewhere.replay_url": "https://web.example/{url}/{timestamp}"},
        {"elsewhere.replay_url": "ftp://web.example/{timestamp}/{url}"},
        {"elsewhere.replay_url": "https://web.example/{timestamp}?u={url}"},
        {"elsewhere.replay_url": "https://{timestamp}.example/{url}"},
        {"elsewhere.petabox_url": "https://petabox.example/{path}"},
        {"elsewhere.petabox_url": "https://petabox.example/{item}{path}"},
    ],
)
def test_an_invalid_url_template_is_refused(setting: dict[str, str], tmp_path: Path) -> None:
    with pytest.raises(ConfigurationError, match=next(iter(setting))):
        load_settings(tmp_path, setting)


def test_empty_templates_and_other_archives_are_accepted(tmp_path: Path) -> None:
    load_settings(tmp_path, {"elsewhere.replay_url": "", "elsewhere.petabox_url": ""})
    load_settings(
        tmp_path,
        {
            "elsewhere.replay_url": "http://127.0.0.1:8080/all/{timestamp}id_/{url}",
            "elsewhere.petabox_url": "https://archive.org/download/{item}/{path}",
        },
    )
