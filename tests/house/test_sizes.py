"""No file, function or room grows so large that nobody reads it whole."""

from __future__ import annotations

import ast
from collections import defaultdict

from house.tree import PACKAGE, ROOT, everywhere, lines_of, modules

FILE_LINES_MAX = 350
FUNCTION_LINES_MAX = 40
ROOM_MODULES_MAX = 12
PORT_METHODS_MAX = 6
FLAT_ROOMS = frozenset({"cli/commands", "model", "stores/records/migrations"})
"""One file a command group, a noun, a step of the schema, however many there are."""
EMPTY_WORDS = frozenset(
    {"base", "utils", "util", "common", "helpers", "misc", "manager", "handler"}
)


def test_no_file_has_more_than_350_lines() -> None:
    sizes = {module.place: len(module.text.splitlines()) for module in everywhere()}
    assert {place: n for place, n in sizes.items() if n > FILE_LINES_MAX} == {}


def test_no_function_has_more_than_40_lines() -> None:
    read = modules() + modules(ROOT / "scripts")
    long = {
        f"{module.place}:{node.name}": lines_of(node)
        for module in read
        for node in module.functions()
        if lines_of(node) > FUNCTION_LINES_MAX
    }
    assert long == {}


def test_no_room_has_more_than_12_modules() -> None:
    """A sub-package counts as one; the folder's own `__init__` counts as none."""
    rooms: dict[str, set[str]] = defaultdict(set)
    for module in modules():
        within = module.path.relative_to(PACKAGE)
        for depth in range(1, len(within.parts)):
            folder, inside = within.parts[:depth], within.parts[depth]
            if inside != "__init__.py" and "/".join(folder) not in FLAT_ROOMS:
                rooms["/".join(folder)].add(inside)
    assert {room: len(held) for room, held in rooms.items() if len(held) > ROOM_MODULES_MAX} == {}


def test_no_port_has_more_than_six_methods() -> None:
    """The width of a port is the size of every backend."""
    ports = [module for module in modules() if module.path.parent == PACKAGE / "ports"]
    methods = {
        node.name: [one.name for one in node.body if isinstance(one, ast.FunctionDef)]
        for module in ports
        for node in module.tree.body
        if isinstance(node, ast.ClassDef) and "Protocol" in ast.unparse(ast.Tuple(node.bases))
    }
    assert {"Queue", "Table", "Records", "Blobs", "Index", "Archive"} <= methods.keys()
    assert {port: names for port, names in methods.items() if len(names) > PORT_METHODS_MAX} == {}


def test_no_module_has_a_name_that_says_nothing() -> None:
    names = [
        module.place for module in everywhere() if EMPTY_WORDS & set(module.path.stem.split("_"))
    ]
    folders = [
        path.relative_to(PACKAGE).as_posix()
        for path in PACKAGE.rglob("*")
        if path.is_dir() and path.name in EMPTY_WORDS
    ]
    assert names + folders == []
