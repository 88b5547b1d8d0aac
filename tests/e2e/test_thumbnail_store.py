"""Thumbnails in a separate store: written, shown, audited, repaired and taken down."""

from __future__ import annotations

from pathlib import Path

from starlette.testclient import TestClient

from e2e.running import fonds
from filled_home import open_home
from fixtures.pdfs import text_pdf
from fonds.config import load_settings
from fonds.web.app import create_app


def list_thumbnails(folder: Path) -> list[str]:
    return sorted(path.name for path in folder.rglob("*.jpg"))


def test_only_thumbnails_are_in_the_thumbnail_store(tmp_path: Path) -> None:
    home, public = tmp_path / "home", tmp_path / "public"
    home.mkdir()
    (home / "fonds.toml").write_text(f'thumbnails = "file:{public}"\n')
    (tmp_path / "a.pdf").write_bytes(text_pdf(["A report with a picture of its first page."]))
    assert fonds(home, "ingest", tmp_path / "a.pdf").code == 0
    (row,) = fonds(home, "export").lines
    sha1hex, name = row["sha1hex"], f"{row['sha1hex']}.180px.jpg"
    assert list_thumbnails(public) == [name]
    assert list_thumbnails(home) == []
    assert [path.suffix for path in public.rglob("*") if path.is_file()] == [".jpg"]
    settings = load_settings(home)
    with open_home(home, settings) as stores, TestClient(create_app(stores)) as client:
        answer = client.get(f"/file/{sha1hex}/thumbnail", headers={"host": "localhost"})
        assert answer.content == next(public.rglob(name)).read_bytes()
    assert fonds(home, "audit", "--deep").code == 0
    next(public.rglob(name)).unlink()
    assert fonds(home, "audit").code == 1
    assert fonds(home, "repair", "--yes").code == 0
    assert list_thumbnails(public) == [name]
    assert fonds(home, "audit", "--deep").code == 0
    assert fonds(home, "takedown", sha1hex, "--reason", "privacy", "--yes").code == 0
    assert list_thumbnails(public) == []
    assert fonds(home, "audit").code == 0


def test_an_unsupported_thumbnail_store_is_refused_by_setting_name(tmp_path: Path) -> None:
    result = fonds(tmp_path / "home", "--set", "thumbnails=ftp://a/b", "ingest", tmp_path)
    assert result.code == 2
    assert "thumbnails" in result.err
