"""Types are made ready before they are decoded: threads that meet one at once would end the process."""

from __future__ import annotations

import ast
from collections.abc import Iterator

import pytest

from unit.repository.tree import Module, modules

PLAIN = frozenset({"bool", "bytes", "dict", "float", "int", "list", "str", "tuple", "Layer", "Raw"})


def unprepared(tree: ast.Module) -> Iterator[int]:
    """Lines that decode to a class that `prepare_type` did not prepare. Plain containers are exempt."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Call) and (kind := decoded_to(node)) is not None:
            made_ready = isinstance(kind, ast.Call) and ast.unparse(kind.func) == "prepare_type"
            words = {ast.unparse(one).split(".")[-1] for one in names_in(kind)}
            if not made_ready and not words <= PLAIN:
                yield node.lineno


def decoded_to(call: ast.Call) -> ast.expr | None:
    """The type a call of msgspec is to make, where it says one."""
    called = ast.unparse(call.func)
    named = {word.arg: word.value for word in call.keywords}
    if called == "msgspec.convert":
        return named.get("type") or call.args[1]
    if called.endswith((".Decoder", "decode")) and "msgspec" in called:
        first = call.args[0] if called.endswith("Decoder") and call.args else None
        return named.get("type") or first
    return None


def names_in(kind: ast.expr) -> list[ast.expr]:
    """`dict[Layer, msgspec.Raw]` as dict, Layer and msgspec.Raw."""
    if isinstance(kind, ast.Name | ast.Attribute):
        return [kind]
    return [
        name
        for child in ast.iter_child_nodes(kind)
        if isinstance(child, ast.expr)
        for name in names_in(child)
    ]


def of_the_package(module: Module) -> bool:
    place = module.place
    return place.startswith("src/fonds/") and place != "src/fonds/model/encoding.py"


def test_every_class_is_prepared_before_it_is_decoded() -> None:
    ours = [module for module in modules() if of_the_package(module)]
    assert sum(1 for our in ours if "prepare_type(" in our.text) > 10
    assert [f"{our.place}:{line}" for our in ours for line in unprepared(our.tree)] == []


@pytest.mark.parametrize(
    ("code", "found"),
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
def test_a_type_that_is_not_prepared_is_seen(code: str, found: bool) -> None:
    assert bool(list(unprepared(ast.parse(code)))) is found
