"""openapi-python-client generates a client from docs/openapi.json and from the description of all routes,
without warnings.
"""

from __future__ import annotations

import json
import sys
from pathlib import Path

import pytest
from fastapi import FastAPI

from fonds.web.app import Problem, describe
from peers.programs import install, run

PUBLISHED = Path(__file__).parents[2] / "docs/openapi.json"


@pytest.fixture(scope="module")
def generator(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Install openapi-python-client and return its command."""
    folder = tmp_path_factory.mktemp("openapi-python-client")
    run(sys.executable, "-m", "venv", folder)
    install(folder / "bin/pip", "install", "--quiet", "openapi-python-client==0.29.1")
    return folder / "bin/openapi-python-client"


@pytest.mark.parametrize("name", ["published", "served"])
def test_a_client_is_generated_without_warnings(generator: Path, tmp_path: Path, name: str) -> None:
    path = PUBLISHED
    if name == "served":
        problem = {"model": Problem, "description": "Invalid request"}
        app = FastAPI(title="Fonds", version="1", responses={"4XX": problem})
        describe(app)
        path = tmp_path / "openapi.json"
        path.write_text(json.dumps(app.openapi()))
    config = tmp_path / "config.yml"
    config.write_text("post_hooks: []\n")
    command = (generator, "generate", "--path", path, "--output-path", tmp_path / "client")
    run(*command, "--config", config, "--fail-on-warning")
    modules = [str(module) for module in (tmp_path / "client").rglob("*.py")]
    assert len(modules) > 90
    run(sys.executable, "-m", "compileall", "-q", *modules)
