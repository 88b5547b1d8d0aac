"""What a person sees of the confinement of readers."""

from __future__ import annotations

from pathlib import Path

import pytest

from e2e.running import fonds
from fixtures.pdfs import text_pdf
from fonds.isolation.confinement import Layer
from fonds.isolation.pool import ChildPool


@pytest.fixture(scope="module")
def missing() -> list[Layer]:
    """The layers that do not hold here."""
    with ChildPool(1) as pool:
        return [layer for layer, why_not in pool.get_layers().items() if why_not]


def test_doctor_says_of_every_layer_whether_it_holds(tmp_path: Path, missing: list[Layer]) -> None:
    told = fonds(tmp_path, "doctor", "--json").last["findings"]
    layers = [one for one in told if one["name"].startswith("readers confined by ")]
    assert len(layers) == len(Layer)
    assert all(one["fine"] for one in layers)
    not_held = [one["name"] for one in layers if one["warning"]]
    assert not_held == [f"readers confined by {layer}" for layer in missing]
    assert all("not active: " in one["detail"] for one in layers if one["warning"])


def test_doctor_is_not_content_with_less_than_is_required(
    tmp_path: Path, missing: list[Layer]
) -> None:
    ran = fonds(tmp_path, "--set", "isolation=required", "doctor", "--json")
    poor = [one["name"] for one in ran.last["findings"] if not one["fine"]]
    assert poor == [f"readers confined by {layer}" for layer in missing]
    assert ran.code == (1 if missing else 0)


def test_what_is_required_and_not_to_be_had_stops_an_ingest_before_it_begins(
    tmp_path: Path, missing: list[Layer]
) -> None:
    (tmp_path / "paper.pdf").write_bytes(text_pdf())
    ran = fonds(tmp_path / "home", "--set", "isolation=required", "ingest", tmp_path / "paper.pdf")
    if not missing:
        assert ran.code == 0
        return
    assert ran.code == 2
    assert ran.err.startswith('fonds: isolation = "required", but readers cannot be confined')
    assert str(missing[0]) in ran.err
    assert "Traceback" not in ran.err


def test_another_word_for_isolation_is_refused(tmp_path: Path) -> None:
    ran = fonds(tmp_path, "--set", "isolation=maybe", "doctor")
    assert ran.code == 2
    assert "possible" in ran.err
    assert "required" in ran.err
