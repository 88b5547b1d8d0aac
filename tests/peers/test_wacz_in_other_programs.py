"""Our WACZ files in others' hands: validated by py-wacz, in an environment that is thrown away."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from fixtures.pdfs import image_pdf, text_pdf
from peers.programs import installed, run


@pytest.fixture(scope="module")
def wacz(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The command of py-wacz, whose packages would not agree with those of the other readers."""
    folder = tmp_path_factory.mktemp("py-wacz")
    run(sys.executable, "-m", "venv", folder)
    installed(
        folder / "bin/pip",
        "install",
        "--quiet",
        "wacz==0.6.0",
        "frictionless==5.21.0",
        "setuptools<81",
    )
    return folder / "bin/wacz"


@pytest.mark.parametrize("query", ["*", "text:none", "flood -flood"])
def test_py_wacz_validates_an_export(wacz: Path, tmp_path: Path, query: str) -> None:
    files, home, out = tmp_path / "files", tmp_path / "home", tmp_path / "result.wacz"
    files.mkdir()
    (files / "words.pdf").write_bytes(text_pdf(("The flood came by night.",), info={"Title": "T"}))
    (files / "notes.pdf").write_bytes(text_pdf(("Another text about rivers",)))
    (files / "picture.pdf").write_bytes(image_pdf())
    fonds = (sys.executable, "-m", "fonds")
    run(*fonds, "ingest", "--home", home, files)
    run(*fonds, "export", "--home", home, "--format", "wacz", "--out", out, query)
    assert "the passed WACZ is valid" in run(wacz, "validate", "-f", out)
