"""The bench of fetching measures the step that the program has."""

from __future__ import annotations

from pathlib import Path

from bench_fetch import create_step


def test_the_spool_that_stores_nothing_has_the_methods_of_the_real_one(tmp_path: Path) -> None:
    real, empty = (create_step(tmp_path, spooled=spooled)._spool for spooled in (True, False))
    names = {
        name for name in dir(real) if not name.startswith("_") and callable(getattr(real, name))
    }
    assert "find_kept" in names
    assert names <= set(dir(empty))
