"""`make profile`: a flame graph, and CPU time by package."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]


def test_profile_of_an_audit(tmp_path: Path) -> None:
    command = [sys.executable, str(ROOT / "scripts" / "flame_graphs.py"), "audit", "--json"]
    result = subprocess.run(
        [*command, "--documents", "3", "--out", str(tmp_path / "graphs")],
        capture_output=True, text=True, check=False, timeout=300,
    )  # fmt: skip
    if result.returncode == 2 and "py-spy may not trace" in result.stderr:
        pytest.skip(result.stderr)
    assert result.returncode == 0, result.stderr
    (profile,) = json.loads(result.stdout)
    assert profile["task"] == "audit"
    assert profile["documents"] == 3
    assert profile["cpu_ms_per_document"] > 0
    assert profile["samples"] > 0
    assert sum(profile["shares"].values()) == pytest.approx(1)
    assert "imports" in profile["shares"]
    graph = tmp_path / "graphs" / "audit.svg"
    assert profile["flame_graph"] == str(graph)
    text = graph.read_text()
    assert "<svg" in text
    assert "fonds/" in text
