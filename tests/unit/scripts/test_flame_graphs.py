"""`make profile`: samples by package, and a py-spy that may not trace."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import pytest

import flame_graphs
from flame_graphs import Profile, count_samples, find_tracing_fault, print_profile


def write_graph(*frames: tuple[str, int, int, int]) -> str:
    """Return a flame graph as py-spy writes it: label, level, start and samples of each frame."""
    return "<svg>" + "".join(
        f'<g><title>{label} ({samples:,} samples, 1.00%)</title><rect x="1%" y="{20 + 16 * level}"'
        f' width="1%" height="15" fill="rgb(1,2,3)" fg:x="{start}" fg:w="{samples}"/></g>'
        for label, level, start, samples in frames
    )


GRAPH = write_graph(
    ("wait (threading.py:5)", 2, 0, 40),
    ("process 7:&quot;python -m fonds (x)&quot;", 0, 0, 1100),
    ("run (fonds/stores/records/sql.py:1)", 1, 0, 1050),
    ("execute (sqlalchemy/engine/base.py:3)", 2, 40, 600),
    ("loads (json/__init__.py:9)", 3, 40, 100),
    ("__init__ (&lt;string&gt;:2)", 2, 700, 50),
    ("_find_and_load (&lt;frozen importlib._bootstrap&gt;:1)", 2, 800, 200),
    ("&lt;module&gt; (lxml/etree.py:1)", 3, 900, 50),
)


def test_time_counts_for_the_package_whose_code_ran() -> None:
    graph = GRAPH.replace("wait (threading", "Condition.wait (threading")
    assert count_samples(graph, splits_imports=False) == {
        "sqlalchemy": 600,
        "fonds.stores.records": 1050 - 40 - 600 - 200,
        "imports": 200,
        "python": 50,
    }


def test_imports_can_count_for_the_package_that_imports() -> None:
    counts = count_samples(GRAPH, splits_imports=True)
    assert counts["fonds.stores.records (import)"] == 150
    assert counts["lxml (import)"] == 50
    assert counts.total() == 1100


def test_the_table_adds_up(capsys: pytest.CaptureFixture[str]) -> None:
    shares = {"sqlalchemy": 0.6, "fonds.stores": 0.394, "lxml": 0.004, "anyio": 0.002}
    print_profile(Profile("audit", 5, 2.0, "audit.svg", 500, shares), "documents")
    lines = capsys.readouterr().out.splitlines()
    assert lines[1] == "audit: 5 documents, 2.00 ms CPU each"
    assert [line.split() for line in lines[4:]] == [
        ["60.0%", "1.200", "sqlalchemy"],
        ["39.4%", "0.788", "fonds.stores"],
        ["0.6%", "0.012", "2", "others"],
    ]


@pytest.mark.parametrize(
    ("script", "message"),
    [("echo Permission denied >&2; exit 1", "Permission denied"), (None, "is not installed")],
)
def test_why_py_spy_cannot_trace(
    script: str | None, message: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def build_recording(graph: Path, rate_hz: int, command: Sequence[str]) -> list[str]:
        return ["sh", "-c", script] if script else [str(tmp_path / "py-spy")]

    monkeypatch.setattr(flame_graphs, "build_recording", build_recording)
    fault = find_tracing_fault()
    assert fault is not None
    assert message in fault
