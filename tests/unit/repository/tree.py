"""Files and parsed modules of the repository, for the tests of its rules."""

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
BUILD_FOLDERS = frozenset({"build", "dist", "fonds-data", "sample-crawl", "sample-library"})
CHECKED_FILES = frozenset(os.environ.get("CHECKED_FILES", "").split())
"""Python files to check, relative to the root of the repository; all if empty. A test that follows a how-to
sets the files that it changed."""
IGNORED_FOLDERS = BUILD_FOLDERS | {"__pycache__", "node_modules"}

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
        """Return the path relative to the root of the repository, for messages."""
        return self.path.relative_to(ROOT).as_posix()

    @property
    def dotted(self) -> str:
        """Return the dotted name; for modules of the package only."""
        parts = self.path.relative_to(PACKAGE.parent).with_suffix("").parts
        return ".".join(parts).removesuffix(".__init__")

    @property
    def subpackage(self) -> str:
        """Return the folder of the module directly below the package, or its own name."""
        return self.dotted.split(".")[1] if "." in self.dotted else ""

    @cached_property
    def nodes(self) -> tuple[ast.AST, ...]:
        """All nodes of the tree, cached because walking takes longer than most checks."""
        return tuple(ast.walk(self.tree))

    def functions(self) -> Iterator[Function]:
        """Yield every function and method, also nested ones."""
        for node in self.nodes:
            if isinstance(node, Function):
                yield node

    def imports(self) -> Iterator[str]:
        """Yield the dotted names of all imports, also those inside functions."""
        for node in self.nodes:
            if isinstance(node, ast.Import):
                yield from (alias.name for alias in node.names)
            elif isinstance(node, ast.ImportFrom) and node.module:
                yield from (f"{node.module}.{alias.name}" for alias in node.names)

    def strings(self) -> Iterator[str]:
        """Yield every string constant, also docstrings."""
        for node in self.nodes:
            if isinstance(node, ast.Constant) and isinstance(node.value, str):
                yield node.value

    def names(self) -> set[str]:
        """Return every identifier that the file defines, with the name of the module."""
        identifiers = {self.path.stem}
        for node in self.nodes:
            match node:
                case ast.Name(id=name, ctx=ast.Store()) | ast.Attribute(attr=name, ctx=ast.Store()):
                    identifiers.add(name)
                case ast.FunctionDef(name=name) | ast.AsyncFunctionDef(name=name):
                    identifiers.add(name)
                case ast.ClassDef(name=name) | ast.arg(arg=name):
                    identifiers.add(name)
        return identifiers


@cache
def list_modules(folder: Path = PACKAGE) -> tuple[Module, ...]:
    """Return every Python file below a folder of the repository.

    Garbage collection is off while parsing. Trees have no cycles, and it would take three quarters
    of the time.
    """
    was_enabled = gc.isenabled()
    gc.disable()
    try:
        return tuple(parse_module(path) for path in list_python_files(folder))
    finally:
        gc.freeze()
        if was_enabled:
            gc.enable()


def list_python_files(folder: Path) -> list[Path]:
    if not CHECKED_FILES:
        return sorted(folder.rglob("*.py"))
    checked = sorted(ROOT / name for name in CHECKED_FILES if name.endswith(".py"))
    return [path for path in checked if path.is_relative_to(folder)]


def list_all_modules() -> tuple[Module, ...]:
    """Return every Python file of the repository: package, scripts and tests."""
    return list_modules() + list_modules(ROOT / "scripts") + list_modules(ROOT / "tests")


def parse_module(path: Path) -> Module:
    text = path.read_text("utf-8")
    return Module(path, text, ast.parse(text))


@cache
def read_texts() -> dict[str, str]:
    """Return every text file under version control, by path."""
    texts_by_path = {}
    for folder, folders, files in os.walk(ROOT):
        folders[:] = [
            name for name in folders if name not in IGNORED_FOLDERS and not is_hidden(name)
        ]
        for name in files:
            path = Path(folder, name)
            data = path.read_bytes()
            if b"\x00" not in data:
                texts_by_path[path.relative_to(ROOT).as_posix()] = data.decode("utf-8", "replace")
    return texts_by_path


def is_hidden(folder: str) -> bool:
    return folder.startswith(".") and folder != ".ci"


def iter_public(module: Module) -> Iterator[tuple[str, Definition]]:
    """Yield the public functions and classes of a module, and the public methods of those classes."""
    for node in module.tree.body:
        if not isinstance(node, Definition) or node.name.startswith("_"):
            continue
        yield node.name, node
        if isinstance(node, ast.ClassDef):
            for method in node.body:
                if isinstance(method, Function) and not method.name.startswith("_"):
                    yield f"{node.name}.{method.name}", method


def list_recipes() -> dict[str, str]:
    """Return the recipes of the Makefile: name and description."""
    makefile = (ROOT / "Makefile").read_text("utf-8")
    return dict(re.findall(r"^([a-z-]+):[^\n#]*## (.+)$", makefile, re.MULTILINE))
