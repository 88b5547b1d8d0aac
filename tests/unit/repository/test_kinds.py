"""Derivative kinds are declared once, and no report names a kind."""

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
from unit.repository.tree import PACKAGE, list_modules

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


def test_only_packages_that_write_or_store_derivatives_import_their_rows() -> None:
    names = {kind.row.__name__ for kind in KINDS}
    strays = [
        f"{module.place} imports {name}"
        for module in list_modules()
        if not module.path.relative_to(PACKAGE).as_posix().startswith(MAY_NAME)
        for name in module.imports()
        if name.rpartition(".")[2] in names
    ]
    assert strays == []


@each_kind
def test_the_row_of_a_kind_has_the_columns_of_every_report(kind: DerivativeKind) -> None:
    assert kind.row in ROWS
    assert kind.row.KEY == ("sha1hex",)
    names = {field.name for field in dataclasses.fields(kind.row)}  # type: ignore[arg-type]
    assert {"sha1hex", "updated", "status", "extractor"} <= names
    assert "status" in getattr(kind.row, "COUNTED_BY", ())


@each_kind
def test_a_kind_names_existing_steps(kind: DerivativeKind) -> None:
    stages = {stage.step: stage for make in PIPELINES.values() for stage in make(()).stages}
    assert kind.step in STEPS
    assert stages[kind.step].sink
    if kind.reading:
        assert stages[kind.reading.step].reads.payload is kind.reading.payload


def test_kind_names_are_unique_and_shared_columns_agree() -> None:
    names = [kind.name for kind in KINDS]
    assert len(names) == len(set(names))
    for first, second in combinations(iter_kinds_with_rows(), 2):
        shared = first.columns.keys() & second.columns.keys()
        assert not shared or not set(first.mimetypes) & set(second.mimetypes), (
            first.name,
            second.name,
        )
        assert all(first.columns[name] == second.columns[name] for name in shared)
    own = {name for kind in KINDS for name in kind.columns} - {"url"}
    assert not own & {*FILE_COLUMNS, "text"}
