"""A copy of the repository in which a test follows a how-to and inserts its code."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from dataclasses import dataclass, field
from pathlib import Path

from e2e.running import CommandResult, fonds, run_forked

ROOT = Path(__file__).parents[2]
HOWTOS = ROOT / "docs" / "howto"
COPIED_PATHS = (
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
"""The only file that may read the environment; a rule checks that."""
CODE_RULES = (
    *("tests/unit/repository/test_code.py", "tests/unit/repository/test_sizes.py"),
    *(
        word
        for test in (
            "test_code.py::test_every_allowed_library_base_is_used",
            "test_code.py::test_extended_dataclasses_are_extended_and_have_no_base",
            "test_code.py::test_each_kind_of_traffic_has_one_http_client",
            "test_code.py::test_pydantic_is_used_only_at_the_edge_of_http",
            "test_code.py::test_values_in_memory_are_dataclasses_with_slots",
            "test_code.py::test_structs_are_where_values_are_decoded_or_encoded",
            "test_code.py::test_only_listed_modules_copy_a_value_into_a_mapping",
            "test_code.py::test_no_answer_is_a_mapping_with_fixed_names",
            "test_sizes.py::test_no_port_has_more_than_six_methods",
        )
        for word in ("--deselect", f"tests/unit/repository/{test}")
    ),
)
"""Rules for any file of the package. Rules that compare the whole package with a list are left
out."""


@dataclass
class Copy:
    """A copy of the repository that follows a how-to."""

    root: Path
    howto: Path
    touched: list[str] = field(default_factory=list)

    def follow(self) -> list[str]:
        """Apply each step of the how-to; return the paths that were written or changed."""
        numbers = self._get_migration_numbers()
        touched, path = [], ""
        for step in STEP.finditer(self.howto.read_text("utf-8")):
            path = _fill_numbers(step["path"], numbers) if step["path"] else path
            code, file = _fill_numbers(step["code"], numbers), self.root / path
            if step["new"]:
                assert not file.exists(), path
                file.write_text(code, "utf-8")
            else:
                text = file.read_text("utf-8")
                line = f"{step['anchor']}\n"
                assert text.count(line) == 1, (path, line)
                lines = code + line if step["where"] == "above" else line + code
                file.write_text(text.replace(line, lines), "utf-8")
            touched.append(path)
        self.touched = sorted(set(touched))
        if "src/fonds/pipelines/flavours/stages.py" in touched:
            self._draw_pipeline()
        return touched

    def _draw_pipeline(self) -> None:
        diagram = self.fonds(self.root / "none", "pipelines", "library").out
        file = self.root / "ARCHITECTURE.md"
        text, count = PICTURE.subn(lambda _: f"```\n{diagram}```", file.read_text("utf-8"))
        assert count == 1
        file.write_text(text, "utf-8")

    def _get_migration_numbers(self) -> tuple[str, str]:
        folder = self.root / "src/fonds/stores/migrations"
        last = max(int(file.stem[1:5]) for file in folder.glob("m0*.py"))
        return f"{last + 1:04}", f"{last:04}"

    def run(self, code: str, *args: str, **environment: str) -> CommandResult:
        """Run Python code in the copy, with its package loaded."""
        full_environment = os.environ | environment
        return run_forked(
            args, b"", full_environment, TIMEOUT_S, code=code, folder=self.root, root=self.root
        )

    def fonds(self, home: Path, *args: str | Path) -> CommandResult:
        return fonds(home, *args, root=self.root)


def _fill_numbers(text: str, numbers: tuple[str, str]) -> str:
    return text.replace("NNNN", numbers[0]).replace("PPPP", numbers[1])


def copy_repository(root: Path, page: str) -> Copy:
    """Copy the repository to `root`; `page` is the how-to to follow."""
    for name in COPIED_PATHS:
        if (ROOT / name).is_dir():
            ignore_patterns = shutil.ignore_patterns("__pycache__")
            shutil.copytree(ROOT / name, root / name, ignore=ignore_patterns)
        else:
            shutil.copy(ROOT / name, root / name)
    return Copy(root, HOWTOS / page)


def run_checks(copy: Copy, *tests: str) -> None:
    """Run tests of the copy, then ruff. Ruff and the code rules check only the changed files."""
    checked_files = " ".join([*ALWAYS_CHECKED, *copy.touched])
    args = ("-q", "-p", "no:cacheprovider", "-m", "not nightly and not servers", *tests)
    result = copy.run(PYTEST, *args, CHECKED_FILES=checked_files)
    assert result.code == 0, result.out[-3000:] + result.err[-3000:]
    for args in (("check",), ("format", "--check")):
        lint = subprocess.run(
            [RUFF, *args, "--no-cache", *(path for path in copy.touched if path.endswith(".py"))],
            cwd=copy.root,
            capture_output=True,
            text=True,
            check=False,
        )
        assert lint.returncode == 0, lint.stdout[-3000:]
