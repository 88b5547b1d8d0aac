"""The Ansible role, run on this machine: it installs a worker host in a folder, and is idempotent."""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
from pathlib import Path

import pytest

pytestmark = pytest.mark.servers

ROOT = Path(__file__).parents[2]
PLAYBOOK = ROOT / "deploy" / "ansible" / "worker.yml"
RUN_MAX_S = 600


@pytest.fixture
def ansible() -> str:
    path = shutil.which("ansible-playbook")
    if path is None and os.environ.get("TEST_SERVERS_REQUIRED"):
        pytest.fail("ansible-playbook is not installed: Debian package ansible-core")
    if path is None:
        pytest.skip("ansible-playbook is not installed")
    return str(path)


def play(ansible: str, tmp_path: Path, extra: dict[str, object]) -> str:
    """Run the playbook on this machine; return its output."""
    inventory = tmp_path / "hosts.ini"
    inventory.write_text("[fonds_workers]\nlocalhost ansible_connection=local\n")
    command = [ansible, "-i", str(inventory), str(PLAYBOOK), "-e", json.dumps(extra)]
    scratch = {"HOME": str(tmp_path), "TMPDIR": str(tmp_path), "LC_ALL": "C.UTF-8"}
    cache = {"PIP_CACHE_DIR": str(Path.home() / ".cache" / "pip")}
    environment = {**os.environ, **scratch, **cache}
    process = subprocess.run(
        command, capture_output=True, text=True, env=environment, timeout=RUN_MAX_S, check=False
    )
    assert process.returncode == 0, process.stdout[-3000:] + process.stderr[-1000:]
    return process.stdout


def test_the_role_installs_a_worker_host_and_a_second_run_changes_nothing(
    ansible: str, tmp_path: Path
) -> None:
    folders = {name: str(tmp_path / name) for name in ("prefix", "etc", "home", "units")}
    extra: dict[str, object] = {
        **{f"fonds_{name}": path for name, path in folders.items()},
        "fonds_user": "root",
        "fonds_create_user": False,
        "fonds_install_packages": False,
        "fonds_manage_services": False,
        "fonds_become": False,
        "fonds_settings": {"queue": "amqp://user:s3cret@broker/vhost", "collection": "deployed"},
        "fonds_steps": ["extract_pdf", "import_story"],
        "fonds_step_settings": {"extract_pdf": {"web_metrics_port": 9101}},
    }
    first = play(ansible, tmp_path, extra)
    assert "s3cret" not in first
    second = play(ansible, tmp_path, extra)
    assert re.search(r"localhost\s*:.*changed=0\s", second)

    settings = tmp_path / "etc" / "fonds.env"
    assert settings.stat().st_mode & 0o777 == 0o640
    assert "FONDS_COLLECTION=deployed" in settings.read_text()
    assert "FONDS_WEB_METRICS_PORT=9101" in (tmp_path / "etc" / "extract_pdf.env").read_text()
    unit = (tmp_path / "units" / "fonds@.service").read_text()
    assert f"ExecStart={tmp_path}/prefix/venv/bin/fonds work %i" in unit

    fonds = tmp_path / "prefix" / "venv" / "bin" / "fonds"
    bare = {"PATH": os.environ["PATH"], "FONDS_HOME": folders["home"]}
    doctor = subprocess.run(
        [fonds, "doctor"], capture_output=True, text=True, env=bare, check=False
    )
    assert doctor.returncode == 0, doctor.stdout + doctor.stderr
    topics = subprocess.run([fonds, "topics"], capture_output=True, text=True, env=bare, check=True)
    assert "extract_pdf" in topics.stdout
