"""The failure of an input ends when it is read later, with all stores on servers."""

from __future__ import annotations

from pathlib import Path

import pytest

from deployments import create_deployment, variables
from e2e.running import fonds
from fixtures.pdfs import text_pdf

pytestmark = pytest.mark.servers


@pytest.mark.parametrize("queue", ["rabbitmq", "kafka"])
def test_the_failure_of_an_input_ends_with_stores_on_servers(tmp_path: Path, queue: str) -> None:
    paths = [tmp_path / "in" / f"{name}.pdf" for name in ("first", "second", "never")]
    names = tmp_path / "names"
    names.write_text("".join(f"{path}\n" for path in paths))
    with create_deployment(queue, "elasticsearch", {}) as settings:
        environment = variables(settings)

        def run_command(*words: str | Path) -> dict[str, object]:
            result = fonds(tmp_path / "home", *words, "--json", **environment)
            assert result.code in (0, 1), result.err
            summary: dict[str, object] = result.last
            return summary

        assert run_command("ingest", f"@{names}")["quarantined"] == {"missing-source": 3}
        paths[0].parent.mkdir()
        paths[0].write_bytes(text_pdf(["The first paper."]))
        last = run_command("ingest", f"@{names}")
        assert (last["done"], last["read_later"]) == (1, 1)
        paths[1].write_bytes(text_pdf(["The second paper."]))
        last = run_command("failures", "retry", "--reason", "missing-source")
        assert (last["done"], last["read_later"]) == (1, 1)
        assert last["quarantined"] == {"missing-source": 1}
        listed = fonds(tmp_path / "home", "failures", "--list", "--json", **environment).lines
        assert [line["url"] for line in listed] == [paths[2].as_uri()]
        audit = fonds(tmp_path / "home", "audit", "--deep", "--json", **environment)
        assert audit.code == 0, audit.out
