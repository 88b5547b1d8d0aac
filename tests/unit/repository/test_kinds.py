"""Derivative kinds are declared once: nothing that reports on them names one."""

from __future__ import annotations

import dataclasses
from itertools import combinations

import pytest

from fonds.derivatives.kind import DerivativeKind
from fonds.derivatives.kinds import KINDS, iter_kinds_with_rows
from fonds.model.rows import ROWS
from fonds.pipelines.flavours.registry import PIPELINES
from fonds.search.export_rows import FILE_COLUMNS
from fonds.wiring.steps import STEPS
from unit.repository.tree import PACKAGE, modules

MAY_NAME = (
    "derivatives/",
    "ingest/steps/",
    "model/",
    "papers/",
    "search/results.py",
    "stores/",
    "viewer/",
)
"""Packages that may import the row of a derivative: they declare, write, store or describe it."""

each_kind = pytest.mark.parametrize("kind", KINDS, ids=lambda kind: kind.name)


def test_only_who_makes_or_keeps_a_derivative_names_its_row() -> None:
    names = {kind.row.__name__ for kind in KINDS}
    strays = [
        f"{module.place} imports {name}"
        for module in modules()
        if not module.path.relative_to(PACKAGE).as_posix().startswith(MAY_NAME)
        for name in module.imports()
        if name.rpartition(".")[2] in names
    ]
    assert strays == []


@each_kind
def test_the_row_of_a_kind_has_what_every_report_asks_for(kind: DerivativeKind) -> None:
    assert kind.row in ROWS
    assert kind.row.KEY == ("sha1hex",)
    names = {one.name for one in dataclasses.fields(kind.row)}  # type: ignore[arg-type]
    assert {"sha1hex", "updated", "status", "extractor"} <= names
    assert "status" in getattr(kind.row, "COUNTED_BY", ())


@each_kind
def test_a_kind_names_steps_there_are(kind: DerivativeKind) -> None:
    stages = {stage.step: stage for make in PIPELINES.values() for stage in make(()).stages}
    assert kind.step in STEPS
    assert stages[kind.step].sink
    if kind.reading:
        assert stages[kind.reading.step].reads.payload is kind.reading.payload


def test_names_and_columns_are_each_given_once() -> None:
    names = [kind.name for kind in KINDS]
    assert len(names) == len(set(names))
    for one, other in combinations(iter_kinds_with_rows(), 2):
        shared = one.columns.keys() & other.columns.keys()
        assert not shared or not set(one.mimetypes) & set(other.mimetypes), (one.name, other.name)
        assert all(one.columns[name] == other.columns[name] for name in shared)
    own = {name for kind in KINDS for name in kind.columns} - {"url"}
    assert not own & {*FILE_COLUMNS, "text"}
