"""Types are prepared before they are decoded: concurrent first uses would crash the process."""

from __future__ import annotations

import ast
from collections.abc import Iterator

import pytest

from unit.repository.tree import Module, list_modules

PLAIN = frozenset({"bool", "bytes", "dict", "float", "int", "list", "str", "tuple", "Layer", "Raw"})


def iter_unprepared(tree: ast.Module) -> Iterator[int]:
    """Lines that decode to a class that `prepare_type` did not prepare. Plain containers are exempt."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Call) and (kind := find_decoded_type(node)) is not None:
            is_prepared = isinstance(kind, ast.Call) and ast.unparse(kind.func) == "prepare_type"
            words = {ast.unparse(name).split(".")[-1] for name in list_names(kind)}
            if not is_prepared and not words <= PLAIN:
                yield node.lineno


def find_decoded_type(call: ast.Call) -> ast.expr | None:
    """Return the type that a call of msgspec decodes to, if it states one."""
    function = ast.unparse(call.func)
    keywords = {word.arg: word.value for word in call.keywords}
    if function == "msgspec.convert":
        return keywords.get("type") or call.args[1]
    if function.endswith((".Decoder", "decode")) and "msgspec" in function:
        first = call.args[0] if function.endswith("Decoder") and call.args else None
        return keywords.get("type") or first
    return None


def list_names(kind: ast.expr) -> list[ast.expr]:
    """Return the names in a type: dict, Layer and msgspec.Raw for `dict[Layer, msgspec.Raw]`."""
    if isinstance(kind, ast.Name | ast.Attribute):
        return [kind]
    return [
        name
        for child in ast.iter_child_nodes(kind)
        if isinstance(child, ast.expr)
        for name in list_names(child)
    ]


def is_in_package(module: Module) -> bool:
    place = module.place
    return place.startswith("src/fonds/") and place != "src/fonds/model/encoding.py"


def test_every_class_is_prepared_before_it_is_decoded() -> None:
    package_modules = [candidate for candidate in list_modules() if is_in_package(candidate)]
    assert sum(1 for module in package_modules if "prepare_type(" in module.text) > 10
    assert [
        f"{module.place}:{line}"
        for module in package_modules
        for line in iter_unprepared(module.tree)
    ] == []


@pytest.mark.parametrize(
    ("code", "is_reported"),
    [
        ("msgspec.json.decode(body, type=Story)", True),
        ("msgspec.convert(plain, Story)", True),
        ("msgspec.convert(plain, list[Story])", True),
        ("msgspec.msgpack.Decoder(Story)", True),
        ("msgspec.json.decode(body, type=prepare_type(Story))", False),
        ("msgspec.json.decode(body, type=list[tuple[str, float]])", False),
        ("msgspec.json.Decoder()", False),
    ],
)
def test_an_unprepared_type_is_reported(code: str, is_reported: bool) -> None:
    assert bool(list(iter_unprepared(ast.parse(code)))) is is_reported
