"""The summary after a run."""

from __future__ import annotations

from io import StringIO
from pathlib import Path

import pytest
from rich.console import Console

from fonds.cli.context import App
from fonds.cli.progress import print_summary
from fonds.failures.accounting.tallies import OutcomeTally
from fonds.pipelines.runtime.intake import IntakeCounts


@pytest.mark.parametrize(
    ("interrupted", "expected"),
    [
        (True, "Interrupted before anything was read. Run the same command again.\n"),
        (False, "Nothing found.\n"),
    ],
)
def test_a_run_without_records_reports_an_interruption(
    tmp_path: Path, interrupted: bool, expected: str
) -> None:
    out = StringIO()
    print_summary(
        App(tmp_path, {}, is_json=False, is_quiet=False),
        Console(file=out, soft_wrap=True),
        OutcomeTally(),
        IntakeCounts(),
        0.1,
        0,
        interrupted,
        "Nothing found.",
    )
    assert out.getvalue() == expected
