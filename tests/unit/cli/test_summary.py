"""What people read after a run."""

from __future__ import annotations

from io import StringIO
from pathlib import Path

import pytest
from rich.console import Console

from fonds.cli.context import App
from fonds.cli.working.summary import print_summary
from fonds.library.accounting import Tally
from fonds.runtime.intake import Entered


@pytest.mark.parametrize(
    ("interrupted", "told"),
    [
        (True, "Interrupted before anything came in: run the same command again.\n"),
        (False, "Nothing found.\n"),
    ],
)
def test_a_run_without_records_says_whether_it_was_interrupted(
    tmp_path: Path, interrupted: bool, told: str
) -> None:
    out = StringIO()
    print_summary(
        App(tmp_path, {}, json=False, quiet=False),
        Console(file=out, soft_wrap=True),
        Tally(),
        Entered(),
        0.1,
        0,
        interrupted,
        "Nothing found.",
    )
    assert out.getvalue() == told
