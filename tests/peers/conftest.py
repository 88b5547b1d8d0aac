"""The environment of the other programs, created once per session."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from peers.programs import PACKAGES, install, run


@pytest.fixture(scope="session")
def python(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return the Python of a new environment with the readers."""
    folder = tmp_path_factory.mktemp("peers")
    run(sys.executable, "-m", "venv", folder)
    install(folder / "bin/pip", "install", "--quiet", *PACKAGES)
    return folder / "bin/python"
