"""Port sizes and module names. Line counts and folder sizes are not checked: subjects decide the cut."""

from __future__ import annotations

import ast

from unit.repository.tree import PACKAGE, list_all_modules, list_modules

PORT_METHODS_MAX = 6
EMPTY_WORDS = frozenset(
    {"base", "utils", "util", "common", "helpers", "misc", "manager", "handler"}
)


def test_no_port_has_more_than_six_methods() -> None:
    """Every backend must implement all methods of its port."""
    ports = [module for module in list_modules() if module.path.parent == PACKAGE / "ports"]
    methods = {
        node.name: [method.name for method in node.body if isinstance(method, ast.FunctionDef)]
        for module in ports
        for node in module.tree.body
        if isinstance(node, ast.ClassDef) and "Protocol" in ast.unparse(ast.Tuple(node.bases))
    }
    assert {"Queue", "Table", "Records", "Blobs", "Index", "Archive"} <= methods.keys()
    assert {port: names for port, names in methods.items() if len(names) > PORT_METHODS_MAX} == {}


def test_no_module_has_a_generic_name() -> None:
    names = [
        module.place
        for module in list_all_modules()
        if EMPTY_WORDS & set(module.path.stem.split("_"))
    ]
    folders = [
        path.relative_to(PACKAGE).as_posix()
        for path in PACKAGE.rglob("*")
        if path.is_dir() and path.name in EMPTY_WORDS
    ]
    assert names + folders == []
