"""The command line over a filled home, called in this process."""

from __future__ import annotations

import io
import sys
from pathlib import Path

import pytest

from answer_checks import check_answers
from calls import Call, CallResult
from filled_home import FilledHome, fill_home
from fonds.cli.main import cli, run


@pytest.fixture(scope="session")
def home(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("told")


@pytest.fixture(scope="session")
def filled_home(home: Path) -> FilledHome:
    return fill_home(home)


@pytest.fixture
def call(home: Path, filled_home: FilledHome, monkeypatch: pytest.MonkeyPatch) -> Call:
    """`call("search", "flood")` is `fonds --home HOME search flood`."""

    def run_command(*words: str) -> CallResult:
        out, err = (io.TextIOWrapper(io.BytesIO(), "utf-8", write_through=True) for _ in range(2))
        with monkeypatch.context() as patch:
            patch.setattr(sys, "stdout", out)
            patch.setattr(sys, "stderr", err)
            code = run(lambda: cli.main(["--home", str(home), *words], standalone_mode=False))
        texts = [stream.buffer.getvalue().decode() for stream in (out, err)]  # type: ignore[attr-defined]
        if "--json" in words and code == 0:
            check_answers(words, texts[0])
        return CallResult(code, *texts)

    return run_command
