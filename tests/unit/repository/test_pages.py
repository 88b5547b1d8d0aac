"""Generated pages are up to date, and every name is documented."""

from __future__ import annotations

import importlib.util
from types import ModuleType

import click
import pytest

from fonds.cli.main import COMMANDS, cli
from fonds.config import SETTINGS
from fonds.model.disposition import Reason
from fonds.model.pdf import PdfStatus, StatusClass
from unit.repository.tree import ROOT


def load_script(name: str) -> ModuleType:
    path = ROOT / "scripts" / f"{name}.py"
    spec = importlib.util.spec_from_file_location(f"script_{name}", path)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


PAGES: dict[str, str] = (
    load_script("settings_page").build_pages() | load_script("wire_page").build_pages()
)
PAGES |= load_script("openapi_page").build_pages()
PAGES |= load_script("json_page").build_pages()
PAGES |= load_script("query_page").build_pages()
MANUAL: str = load_script("man_page").build_pages()["docs/fonds.1"]
PAGES["docs/fonds.1"] = MANUAL


@pytest.mark.parametrize("name", sorted(PAGES))
def test_a_generated_page_is_up_to_date(name: str) -> None:
    """`python scripts/settings_page.py` and similar scripts update these pages."""
    assert (ROOT / name).read_text("utf-8") == PAGES[name]


@pytest.mark.parametrize("name", COMMANDS)
def test_the_manual_lists_a_command_and_its_options(name: str) -> None:
    manual = MANUAL.replace("\\-", "-")
    command = cli.get_command(click.Context(cli), name)
    assert command is not None
    assert f".SS fonds {name}" in manual
    assert f".B fonds {name}" in manual
    assert [
        param.opts
        for param in command.params
        if param.opts[0][:1] == "-" and param.opts[0] not in manual
    ] == []


def test_the_manual_is_ascii_with_known_roff_requests() -> None:
    requests = {line.split()[0] for line in MANUAL.splitlines() if line.startswith((".", "'"))}
    assert requests == {'.\\"', ".TH", ".SH", ".SS", ".B", ".RI", ".PP", ".TP", ".nf", ".fi"}
    assert MANUAL.isascii()


@pytest.mark.parametrize("name", SETTINGS)
def test_every_setting_is_documented(name: str) -> None:
    page = (ROOT / "docs" / "settings.md").read_text("utf-8")
    assert f"| `{name}` |" in page
    assert f"`FONDS_{name.replace('.', '_').upper()}`" in page


@pytest.mark.parametrize("reason", list(Reason))
def test_every_reason_is_explained(reason: Reason) -> None:
    page = (ROOT / "docs" / "reasons.md").read_text("utf-8")
    assert len(reason.explanation.split()) > 2
    assert f"| `{reason.value}` | {reason.explanation} |" in page


@pytest.mark.parametrize("status", list(PdfStatus))
def test_every_status_of_a_pdf_is_explained(status: PdfStatus) -> None:
    page = (ROOT / "docs" / "pdf-statuses.md").read_text("utf-8")
    assert len(status.explanation.split()) > 2
    assert f"| `{status.value}` | {status.explanation} |" in page
    assert (status.reason is None) == (status.status_class is StatusClass.OK)


def test_reasons_are_their_names_in_lower_case_with_hyphens() -> None:
    assert [
        reason for reason in Reason if reason.value != reason.name.lower().replace("_", "-")
    ] == []
