"""Every test named in the table of faults exists."""

from __future__ import annotations

import re

from unit.repository.tree import ROOT

TEST_REFERENCE = re.compile(r"`(tests/[\w/]+\.py)(?:::(\w+))?`")
FAULTS_MIN = 40


def test_every_fault_names_existing_tests() -> None:
    lines = [
        line
        for line in (ROOT / "docs/story-faults.md").read_text("utf-8").splitlines()
        if line.startswith("| ") and not line.startswith("| fault")
    ]
    assert len(lines) >= FAULTS_MIN
    missing = [line for line in lines if not TEST_REFERENCE.search(line)]
    for path, name in TEST_REFERENCE.findall("\n".join(lines)):
        file = ROOT / path
        if not file.is_file() or (name and f"def {name}(" not in file.read_text("utf-8")):
            missing.append(f"{path}::{name}")
    assert missing == []
