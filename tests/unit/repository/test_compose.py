"""`compose.yaml` is valid by the Compose Specification, uses only loopback ports, and contains no secret."""

from __future__ import annotations

import json
import re
from importlib.resources import files
from typing import Any

import pytest

from unit.repository.tree import ROOT

pytest.importorskip(
    "check_jsonschema", reason="check-jsonschema, with the schema, is not installed"
)
pytest.importorskip("jsonschema")
pytest.importorskip("ruamel.yaml")

import jsonschema
from ruamel.yaml import YAML

SCHEMA = "builtin_schemas/vendor/compose-spec.json"
COMPOSE_TEXT = (ROOT / "compose.yaml").read_text("utf-8")
COMPOSE: dict[str, Any] = YAML(typ="safe").load(COMPOSE_TEXT)
SERVICES: dict[str, dict[str, Any]] = COMPOSE["services"]
LONG_RUNNING = {
    name: service for name, service in SERVICES.items() if service["restart"] == "unless-stopped"
}
PUBLISHERS = re.compile(
    r"(postgres|rabbitmq|nginx):|(apache/kafka|opensearchproject/opensearch|versity/versitygw"
    r"|amazon/aws-cli|docker\.elastic\.co/elasticsearch/elasticsearch):"
)
REQUIRED = re.compile(r"\$\{[A-Z0-9_]+:\?[^}]+\}")


def list_faults(document: object) -> list[str]:
    schema = json.loads(files("check_jsonschema").joinpath(SCHEMA).read_text("utf-8"))
    kind = jsonschema.validators.validator_for(schema)
    return [f"{error.json_path}: {error.message}" for error in kind(schema).iter_errors(document)]


def test_the_file_is_valid_by_the_schema() -> None:
    assert list_faults(COMPOSE) == []


def test_the_schema_reports_a_misspelled_key() -> None:
    assert list_faults({**COMPOSE, "services": {"x": {"image": "postgres", "port": ["1"]}}})
    assert list_faults({**COMPOSE, "service": {}})


@pytest.mark.parametrize("name", SERVICES)
def test_every_published_port_is_on_loopback(name: str) -> None:
    ports = SERVICES[name].get("ports", [])
    assert [port for port in ports if not re.fullmatch(r"127\.0\.0\.1:\d+:\d+", port)] == []
    assert SERVICES[name].get("network_mode") is None


def test_every_published_port_is_unique() -> None:
    ports = [
        port.split(":")[1] for service in SERVICES.values() for port in service.get("ports", [])
    ]
    assert len(ports) == len(set(ports)) > 5


@pytest.mark.parametrize("name", SERVICES)
def test_an_image_is_official_and_has_a_version(name: str) -> None:
    image = SERVICES[name].get("image")
    if image is None:
        dockerfile = ROOT / SERVICES[name]["build"]["dockerfile"]
        sources = re.findall(r"^FROM (\S+)", dockerfile.read_text("utf-8"), re.M)
        assert all(re.match(r"(maven|eclipse-temurin):", source) for source in sources)
    else:
        assert PUBLISHERS.match(image)
        assert re.search(r":v?\d", image)


@pytest.mark.parametrize("name", LONG_RUNNING)
def test_a_long_running_service_has_a_healthcheck(name: str) -> None:
    check = LONG_RUNNING[name]["healthcheck"]
    assert check["test"][0] == "CMD"
    assert {"interval", "timeout", "retries"} <= check.keys()


def test_data_is_in_named_volumes_and_mounted_files_exist() -> None:
    mounted = [volume for service in SERVICES.values() for volume in service.get("volumes", [])]
    named = {volume.split(":")[0] for volume in mounted if not volume.startswith("./")}
    assert named == COMPOSE["volumes"].keys()
    own = [ROOT / volume.split(":")[0] for volume in mounted if volume.startswith("./")]
    assert own
    assert [path for path in own if not path.exists()] == []
    assert all(volume.endswith(":ro") for volume in mounted if volume.startswith("./"))


def test_secrets_come_from_required_environment_variables() -> None:
    secret = re.compile(r"PASS|SECRET|ACCESS_KEY|TOKEN")
    secrets = {
        f"{name} {variable}": value
        for name, service in SERVICES.items()
        for variable, value in service.get("environment", {}).items()
        if secret.search(variable)
    }
    assert len(secrets) >= 6
    assert {name for name, value in secrets.items() if not REQUIRED.fullmatch(str(value))} == set()


def test_every_variable_is_listed_in_the_usage_comment() -> None:
    used = set(re.findall(r"\$\{([A-Z0-9_]+):\?", COMPOSE_TEXT))
    head = COMPOSE_TEXT.partition("\nname:")[0]
    assert used == set(re.findall(r"([A-Z0-9_]+)=…", head))


def test_a_dependency_has_a_healthcheck_or_runs_once() -> None:
    for service in SERVICES.values():
        for dependency, options in service.get("depends_on", {}).items():
            if options["condition"] == "service_healthy":
                assert "healthcheck" in SERVICES[dependency]
            else:
                assert SERVICES[dependency]["restart"] == "on-failure"


def test_servers_use_the_same_ports() -> None:
    scripts = sorted((ROOT / "scripts").glob("server_*.py"))
    pattern = re.compile(r'SERVER = Server\(\s*"(\w+)", (\d+),')
    server_ports = dict(
        match.groups() for path in scripts if (match := pattern.search(path.read_text()))
    )
    compose_ports = {
        name: service["ports"][0].split(":")[1]
        for name, service in SERVICES.items()
        if "ports" in service
    }
    del server_ports["spark"]  # an engine: Compose has no cluster
    assert len(server_ports) >= 6
    assert {name: compose_ports.get(name) for name in server_ports} == server_ports
