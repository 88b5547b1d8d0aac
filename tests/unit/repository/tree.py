"""The repository as the house tests read it: files, parsed modules, and what stands in them."""

from __future__ import annotations

import ast
import gc
import os
import re
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache, cached_property
from pathlib import Path

ROOT = Path(__file__).parents[3]
PACKAGE = ROOT / "src" / "fonds"
MADE = frozenset({"build", "dist", "fonds-data", "sample-crawl", "sample-library"})
CHECKED_FILES = frozenset(os.environ.get("CHECKED_FILES", "").split())
"""Python files that are read, from the repository's root; all if none is named. A test that follows a how-to
names what it changed."""
NOT_OURS = MADE | {"__pycache__", "node_modules"}

Function = ast.FunctionDef | ast.AsyncFunctionDef
Definition = Function | ast.ClassDef


@dataclass(frozen=True)
class Module:
    """One Python file, parsed."""

    path: Path
    text: str
    tree: ast.Module

    @property
    def place(self) -> str:
        """The path from the repository's root, for messages."""
        return self.path.relative_to(ROOT).as_posix()

    @property
    def dotted(self) -> str:
        """The name it is imported by; for modules of the package only."""
        parts = self.path.relative_to(PACKAGE.parent).with_suffix("").parts
        return ".".join(parts).removesuffix(".__init__")

    @property
    def room(self) -> str:
        """The folder below the package it stands in, or its own name."""
        return self.dotted.split(".")[1] if "." in self.dotted else ""

    @cached_property
    def nodes(self) -> tuple[ast.AST, ...]:
        """Every node of the tree. Walking it takes longer than most checks of what is found."""
        return tuple(ast.walk(self.tree))

    def functions(self) -> Iterator[Function]:
        """Every function and method, nested ones too."""
        for node in self.nodes:
            if isinstance(node, Function):
                yield node

    def imports(self) -> Iterator[str]:
        """The dotted name of everything imported, at the top or inside a function."""
        for node in self.nodes:
            if isinstance(node, ast.Import):
                yield from (alias.name for alias in node.names)
            elif isinstance(node, ast.ImportFrom) and node.module:
                yield from (f"{node.module}.{alias.name}" for alias in node.names)

    def strings(self) -> Iterator[str]:
        """Every string constant, docstrings too."""
        for node in self.nodes:
            if isinstance(node, ast.Constant) and isinstance(node.value, str):
                yield node.value

    def names(self) -> set[str]:
        """Every identifier the file itself introduces: module, definitions, arguments, variables, fields."""
        found = {self.path.stem}
        for node in self.nodes:
            match node:
                case ast.Name(id=name, ctx=ast.Store()) | ast.Attribute(attr=name, ctx=ast.Store()):
                    found.add(name)
                case ast.FunctionDef(name=name) | ast.AsyncFunctionDef(name=name):
                    found.add(name)
                case ast.ClassDef(name=name) | ast.arg(arg=name):
                    found.add(name)
        return found


@cache
def modules(folder: Path = PACKAGE) -> tuple[Module, ...]:
    """Every Python file below a folder of the repository.

    Trees have no circles: garbage collection would walk over them in vain, for three quarters of the time.
    """
    was_enabled = gc.isenabled()
    gc.disable()
    try:
        return tuple(_parsed(path) for path in _python_files(folder))
    finally:
        gc.freeze()
        if was_enabled:
            gc.enable()


def _python_files(folder: Path) -> list[Path]:
    if not CHECKED_FILES:
        return sorted(folder.rglob("*.py"))
    named = sorted(ROOT / name for name in CHECKED_FILES if name.endswith(".py"))
    return [path for path in named if path.is_relative_to(folder)]


def everywhere() -> tuple[Module, ...]:
    """Every Python file of the repository: package, scripts and tests."""
    return modules() + modules(ROOT / "scripts") + modules(ROOT / "tests")


def _parsed(path: Path) -> Module:
    text = path.read_text("utf-8")
    return Module(path, text, ast.parse(text))


@cache
def texts() -> dict[str, str]:
    """Every text file of the repository that is kept under version control, by its path."""
    found = {}
    for folder, folders, files in os.walk(ROOT):
        folders[:] = [name for name in folders if name not in NOT_OURS and not _hidden(name)]
        for name in files:
            path = Path(folder, name)
            data = path.read_bytes()
            if b"\x00" not in data:
                found[path.relative_to(ROOT).as_posix()] = data.decode("utf-8", "replace")
    return found


def _hidden(folder: str) -> bool:
    return folder.startswith(".") and folder != ".ci"


def public(module: Module) -> Iterator[tuple[str, Definition]]:
    """Public functions and classes of a module, and the public methods of those classes."""
    for node in module.tree.body:
        if not isinstance(node, Definition) or node.name.startswith("_"):
            continue
        yield node.name, node
        if isinstance(node, ast.ClassDef):
            for method in node.body:
                if isinstance(method, Function) and not method.name.startswith("_"):
                    yield f"{node.name}.{method.name}", method


def recipes() -> dict[str, str]:
    """The Makefile's recipes: name and what it says of itself."""
    makefile = (ROOT / "Makefile").read_text("utf-8")
    return dict(re.findall(r"^([a-z-]+):[^\n#]*## (.+)$", makefile, re.MULTILINE))
