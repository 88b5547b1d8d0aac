"""A copy of the repository in which a test follows a how-to, with the code that stands there."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from dataclasses import dataclass, field
from pathlib import Path

from e2e.running import Ran, fonds, forked

ROOT = Path(__file__).parents[2]
HOWTOS = ROOT / "docs" / "howto"
COPIED = (
    "src", "tests", "scripts", "docs", "pyproject.toml", "README.md", "Makefile", "ARCHITECTURE.md",
)  # fmt: skip
STEP = re.compile(
    r"(?:\*\*`(?P<path>[^`]+)`\*\*(?P<new> \(new\))?|and)"
    r"(?:,? (?P<where>above|below) `(?P<anchor>[^`]+)`)?\n\n```python\n(?P<code>.*?)```",
    re.DOTALL,
)
PICTURE = re.compile(r"```\nlibrary: .*?```", re.DOTALL)
TIMEOUT_S = 300
RUFF = Path(sys.executable).with_name("ruff")
PYTEST = "import sys, pytest; sys.exit(pytest.main(sys.argv[1:]))"
ALWAYS_CHECKED = ("src/fonds/config.py",)
"""The one file that may read the environment: a rule says so."""
CODE_RULES = (
    *("tests/unit/repository/test_code.py", "tests/unit/repository/test_sizes.py"),
    *(
        word
        for test in (
            "test_code.py::test_the_bases_a_library_asks_for_are_still_used",
            "test_code.py::test_each_kind_of_traffic_has_one_http_client",
            "test_code.py::test_pydantic_is_at_the_edge_of_http",
            "test_code.py::test_values_in_memory_are_dataclasses_with_slots",
            "test_sizes.py::test_no_port_has_more_than_six_methods",
        )
        for word in ("--deselect", f"tests/unit/repository/{test}")
    ),
)
"""Rules for any file of the package. Those that compare the whole package with a list are left out."""


@dataclass
class Copy:
    """The repository as it is, and then as the howto makes it."""

    root: Path
    howto: Path
    touched: list[str] = field(default_factory=list)

    def follow(self) -> list[str]:
        """Do each step of the howto; the paths that were written or changed."""
        numbers = self._numbers()
        touched, path = [], ""
        for step in STEP.finditer(self.howto.read_text("utf-8")):
            path = _filled(step["path"], numbers) if step["path"] else path
            code, file = _filled(step["code"], numbers), self.root / path
            if step["new"]:
                assert not file.exists(), path
                file.write_text(code, "utf-8")
            else:
                text = file.read_text("utf-8")
                line = f"{step['anchor']}\n"
                assert text.count(line) == 1, (path, line)
                both = code + line if step["where"] == "above" else line + code
                file.write_text(text.replace(line, both), "utf-8")
            touched.append(path)
        self.touched = sorted(set(touched))
        if "src/fonds/pipelines/flavours/stages.py" in touched:
            self._draw()
        return touched

    def _draw(self) -> None:
        drawn = self.fonds(self.root / "none", "pipelines", "library").out
        file = self.root / "ARCHITECTURE.md"
        whole, count = PICTURE.subn(lambda _: f"```\n{drawn}```", file.read_text("utf-8"))
        assert count == 1
        file.write_text(whole, "utf-8")

    def _numbers(self) -> tuple[str, str]:
        folder = self.root / "src/fonds/stores/migrations"
        last = max(int(file.stem[1:5]) for file in folder.glob("m0*.py"))
        return f"{last + 1:04}", f"{last:04}"

    def run(self, code: str, *words: str, **environment: str) -> Ran:
        """Run Python code in the copy, with its package loaded."""
        told = os.environ | environment
        return forked(words, b"", told, TIMEOUT_S, code=code, folder=self.root, root=self.root)

    def fonds(self, home: Path, *words: str | Path) -> Ran:
        return fonds(home, *words, root=self.root)


def _filled(text: str, numbers: tuple[str, str]) -> str:
    return text.replace("NNNN", numbers[0]).replace("PPPP", numbers[1])


def copied(root: Path, page: str) -> Copy:
    """The repository below `root`, as it is; `page` is the how-to to follow."""
    for name in COPIED:
        if (ROOT / name).is_dir():
            left_out = shutil.ignore_patterns("__pycache__")
            shutil.copytree(ROOT / name, root / name, ignore=left_out)
        else:
            shutil.copy(ROOT / name, root / name)
    return Copy(root, HOWTOS / page)


def run_checks(copy: Copy, *tests: str) -> None:
    """Run tests of the copy, then ruff. Ruff and the rules of the repository look at what was changed."""
    checked = " ".join([*ALWAYS_CHECKED, *copy.touched])
    words = ("-q", "-p", "no:cacheprovider", "-m", "not nightly and not servers", *tests)
    ran = copy.run(PYTEST, *words, CHECKED_FILES=checked)
    assert ran.code == 0, ran.out[-3000:] + ran.err[-3000:]
    for words in (("check",), ("format", "--check")):
        linted = subprocess.run(
            [RUFF, *words, "--no-cache", *(path for path in copy.touched if path.endswith(".py"))],
            cwd=copy.root,
            capture_output=True,
            text=True,
            check=False,
        )
        assert linted.returncode == 0, linted.stdout[-3000:]
