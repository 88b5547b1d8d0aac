"""The environment of the other programs, made once for all that look at what they say."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from peers.programs import PACKAGES, installed, run


@pytest.fixture(scope="session")
def python(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The Python of a new environment that holds the readers."""
    folder = tmp_path_factory.mktemp("peers")
    run(sys.executable, "-m", "venv", folder)
    installed(folder / "bin/pip", "install", "--quiet", *PACKAGES)
    return folder / "bin/python"
