"""Modules that read foreign bytes state their limits."""

from __future__ import annotations

import ast

from unit.repository.tree import list_modules

READERS = (
    "src/fonds/archive/cdx.py",
    "src/fonds/archive/members/",
    "src/fonds/archive/warc/",
    "src/fonds/extract/",
    "src/fonds/following/listings/",
    "src/fonds/ingest/sources/container.py",
    "src/fonds/text/coding.py",
    "src/fonds/text/xml.py",
)
"""Modules and packages that read bytes from outside."""
MARK = "Limits:"


def test_every_module_that_loops_over_input_states_its_limits() -> None:
    loops = [
        module
        for module in list_modules()
        if module.place.startswith(READERS)
        and any(isinstance(node, ast.While) for node in module.nodes)
    ]
    assert len(loops) > 10
    undocumented = [
        loop.place for loop in loops if MARK not in (ast.get_docstring(loop.tree) or "")
    ]
    assert undocumented == []
