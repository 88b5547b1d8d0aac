"""`compose.yaml` is one by the Compose Specification's schema, keeps to loopback, and holds no secret."""

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
WRITTEN = (ROOT / "compose.yaml").read_text("utf-8")
READ: dict[str, Any] = YAML(typ="safe").load(WRITTEN)
SERVICES: dict[str, dict[str, Any]] = READ["services"]
LASTING = {name: one for name, one in SERVICES.items() if one["restart"] == "unless-stopped"}
PUBLISHERS = re.compile(
    r"(postgres|rabbitmq|nginx):|(apache/kafka|opensearchproject/opensearch|versity/versitygw"
    r"|amazon/aws-cli|docker\.elastic\.co/elasticsearch/elasticsearch):"
)
REQUIRED = re.compile(r"\$\{[A-Z0-9_]+:\?[^}]+\}")


def faults(document: object) -> list[str]:
    schema = json.loads(files("check_jsonschema").joinpath(SCHEMA).read_text("utf-8"))
    kind = jsonschema.validators.validator_for(schema)
    return [f"{error.json_path}: {error.message}" for error in kind(schema).iter_errors(document)]


def test_it_is_one_by_the_schema() -> None:
    assert faults(READ) == []


def test_the_schema_would_find_a_slip() -> None:
    assert faults({**READ, "services": {"x": {"image": "postgres", "port": ["1"]}}})
    assert faults({**READ, "service": {}})


@pytest.mark.parametrize("name", SERVICES)
def test_nothing_listens_but_on_loopback(name: str) -> None:
    ports = SERVICES[name].get("ports", [])
    assert [port for port in ports if not re.fullmatch(r"127\.0\.0\.1:\d+:\d+", port)] == []
    assert SERVICES[name].get("network_mode") is None


def test_no_port_is_given_twice() -> None:
    ports = [
        port.split(":")[1] for service in SERVICES.values() for port in service.get("ports", [])
    ]
    assert len(ports) == len(set(ports)) > 5


@pytest.mark.parametrize("name", SERVICES)
def test_an_image_is_its_projects_own_and_of_one_version(name: str) -> None:
    image = SERVICES[name].get("image")
    if image is None:
        dockerfile = ROOT / SERVICES[name]["build"]["dockerfile"]
        sources = re.findall(r"^FROM (\S+)", dockerfile.read_text("utf-8"), re.M)
        assert all(re.match(r"(maven|eclipse-temurin):", source) for source in sources)
    else:
        assert PUBLISHERS.match(image)
        assert re.search(r":v?\d", image)


@pytest.mark.parametrize("name", LASTING)
def test_what_lasts_says_when_it_is_healthy(name: str) -> None:
    check = LASTING[name]["healthcheck"]
    assert check["test"][0] == "CMD"
    assert {"interval", "timeout", "retries"} <= check.keys()


def test_data_lies_in_named_volumes_and_what_is_mounted_exists() -> None:
    mounted = [volume for service in SERVICES.values() for volume in service.get("volumes", [])]
    named = {volume.split(":")[0] for volume in mounted if not volume.startswith("./")}
    assert named == READ["volumes"].keys()
    own = [ROOT / volume.split(":")[0] for volume in mounted if volume.startswith("./")]
    assert own
    assert [path for path in own if not path.exists()] == []
    assert all(volume.endswith(":ro") for volume in mounted if volume.startswith("./"))


def test_secrets_come_from_the_environment_and_must_be_there() -> None:
    secret = re.compile(r"PASS|SECRET|ACCESS_KEY|TOKEN")
    given = {
        f"{name} {variable}": value
        for name, one in SERVICES.items()
        for variable, value in one.get("environment", {}).items()
        if secret.search(variable)
    }
    assert len(given) >= 6
    assert {name for name, value in given.items() if not REQUIRED.fullmatch(str(value))} == set()


def test_every_variable_is_named_where_the_file_says_how_to_use_it() -> None:
    used = set(re.findall(r"\$\{([A-Z0-9_]+):\?", WRITTEN))
    head = WRITTEN.partition("\nname:")[0]
    assert used == set(re.findall(r"([A-Z0-9_]+)=…", head))


def test_who_waits_for_another_waits_for_one_that_is_there() -> None:
    for service in SERVICES.values():
        for other, how in service.get("depends_on", {}).items():
            if how["condition"] == "service_healthy":
                assert "healthcheck" in SERVICES[other]
            else:
                assert SERVICES[other]["restart"] == "on-failure"


def test_the_servers_of_the_tests_stand_on_the_same_ports() -> None:
    scripts = sorted((ROOT / "scripts").glob("server_*.py"))
    pattern = re.compile(r'SERVER = Server\("(\w+)", (\d+),')
    ours = dict(found.groups() for path in scripts if (found := pattern.search(path.read_text())))
    theirs = {
        name: one["ports"][0].split(":")[1] for name, one in SERVICES.items() if "ports" in one
    }
    del ours["spark"]  # an engine: whoever has a cluster brings his own
    assert len(ours) >= 6
    assert {name: theirs.get(name) for name in ours} == ours
