"""What reads bytes of others says how long it may take."""

from __future__ import annotations

import ast

from house.tree import modules

ROOMS = ("src/fonds/formats/", "src/fonds/extract/")
MARK = "Bound:"


def test_whoever_loops_over_input_states_its_bound() -> None:
    loops = [
        module
        for module in modules()
        if module.place.startswith(ROOMS)
        and any(isinstance(node, ast.While) for node in ast.walk(module.tree))
    ]
    assert len(loops) > 10
    silent = [one.place for one in loops if MARK not in (ast.get_docstring(one.tree) or "")]
    assert silent == []
