"""The commands report and enforce the confinement of readers."""

from __future__ import annotations

from pathlib import Path

import pytest

from e2e.running import fonds
from fixtures.pdfs import text_pdf
from fonds.isolation.confinement import Layer
from fonds.isolation.pool import ChildPool


@pytest.fixture(scope="module")
def missing_layers() -> list[Layer]:
    """The layers that are not active on this machine."""
    with ChildPool(1) as pool:
        return [layer for layer, why_not in pool.get_layers().items() if why_not]


def test_doctor_reports_whether_each_layer_is_active(
    tmp_path: Path, missing_layers: list[Layer]
) -> None:
    findings = fonds(tmp_path, "doctor", "--json").last["findings"]
    layers = [item for item in findings if item["name"].startswith("readers confined by ")]
    assert len(layers) == len(Layer)
    assert all(finding["fine"] for finding in layers)
    inactive = [finding["name"] for finding in layers if finding["warning"]]
    assert inactive == [f"readers confined by {layer}" for layer in missing_layers]
    assert all("not active: " in finding["detail"] for finding in layers if finding["warning"])


def test_doctor_fails_if_a_required_layer_is_missing(
    tmp_path: Path, missing_layers: list[Layer]
) -> None:
    result = fonds(tmp_path, "--set", "isolation=required", "doctor", "--json")
    failed = [finding["name"] for finding in result.last["findings"] if not finding["fine"]]
    assert failed == [f"readers confined by {layer}" for layer in missing_layers]
    assert result.code == (1 if missing_layers else 0)


def test_an_ingest_refuses_to_start_without_the_required_layers(
    tmp_path: Path, missing_layers: list[Layer]
) -> None:
    (tmp_path / "paper.pdf").write_bytes(text_pdf())
    result = fonds(
        tmp_path / "home", "--set", "isolation=required", "ingest", tmp_path / "paper.pdf"
    )
    if not missing_layers:
        assert result.code == 0
        return
    assert result.code == 2
    assert result.err.startswith('fonds: isolation = "required", but readers cannot be confined')
    assert str(missing_layers[0]) in result.err
    assert "Traceback" not in result.err


def test_an_invalid_isolation_setting_is_refused(tmp_path: Path) -> None:
    result = fonds(tmp_path, "--set", "isolation=maybe", "doctor")
    assert result.code == 2
    assert "possible" in result.err
    assert "required" in result.err
