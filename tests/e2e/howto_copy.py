"""A copy of the repository in which a test follows a how-to, with the code that stands there."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

from e2e.running import Ran, fonds

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


@dataclass
class Copy:
    """The repository as it is, and then as the howto makes it."""

    root: Path
    howto: Path

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
        self._draw()
        return touched

    def _draw(self) -> None:
        drawn = self.python("-m", "fonds", "pipelines", "library").stdout
        file = self.root / "ARCHITECTURE.md"
        whole, count = PICTURE.subn(lambda _: f"```\n{drawn}```", file.read_text("utf-8"))
        assert count == 1
        file.write_text(whole, "utf-8")

    def _numbers(self) -> tuple[str, str]:
        folder = self.root / "src/fonds/stores/migrations"
        last = max(int(file.stem[1:5]) for file in folder.glob("m0*.py"))
        return f"{last + 1:04}", f"{last:04}"

    def python(self, *words: str) -> subprocess.CompletedProcess[str]:
        """Python in the copy, with its package before ours."""
        return subprocess.run(
            [sys.executable, *words],
            cwd=self.root,
            env=os.environ | {"PYTHONPATH": str(self.root / "src")},
            capture_output=True,
            text=True,
            timeout=TIMEOUT_S,
            check=False,
        )

    def fonds(self, home: Path, *words: str | Path) -> Ran:
        return fonds(home, *words, PYTHONPATH=str(self.root / "src"))


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


def run_checks(copy: Copy, *paths: str) -> None:
    """Run tests of the copy, then check its lint rules and its format."""
    ran = copy.python("-m", "pytest", "-q", "-p", "no:cacheprovider", *paths)
    assert ran.returncode == 0, ran.stdout[-3000:]
    for words in (("check",), ("format", "--check")):
        ran = copy.python("-m", "ruff", *words, "--no-cache", "src", "tests/unit", "tests/contract")
        assert ran.returncode == 0, ran.stdout[-3000:]
