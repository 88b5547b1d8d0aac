"""REST API of the configurations of a namespace, by name."""

from __future__ import annotations

from typing import Any

from fastapi import APIRouter
from pydantic import RootModel
from starlette.responses import Response

from fonds.grouping import configuration as configurations
from fonds.grouping.configuration import Configuration, build_values
from fonds.grouping.names import DEFAULT
from fonds.model.access import Role
from fonds.model.suggestions import find_nearest_name
from fonds.web.access.roles import READS
from fonds.web.actions import Action, JsonRoute, add_actions
from fonds.web.api import bodies
from fonds.web.api.paths import Conf, Namespace, build_path
from fonds.web.serving.json_requests import (
    Body,
    TheService,
    decode_body,
    escape_pointer,
    json_response,
    refuse_invalid,
)
from fonds.web.serving.parameters import parse_conf, parse_namespace
from fonds.web.serving.problems import RESPONSES, RefusedError
from fonds.wiring.collections import CollectionService

router = APIRouter(responses=RESPONSES, tags=["configurations"], dependencies=[READS])

Parameters = dict[str, Any]


class ConfigurationParameters(RootModel[Parameters]):
    """Parameters of a configuration by name."""


class ConfigurationsByName(RootModel[dict[str, ConfigurationParameters]]):
    """Configurations of a namespace by name."""


@router.get(
    "/configurations/{ns}",
    response_model=ConfigurationsByName,
    summary="All configurations",
    operation_id="list_configurations",
)
def list_configurations(service: TheService, ns: Namespace) -> Response:
    """List the configurations of a namespace by name. `DEFAULT` always exists."""
    parse_namespace(ns)
    if not service.has_tables():
        return json_response({DEFAULT: build_values(Configuration())})
    by_name = configurations.list_configurations(service.tables, ns)
    return json_response(
        {name: build_values(configuration) for name, configuration in by_name.items()}
    )


@router.get(
    "/configurations/{ns}/{conf}",
    response_model=ConfigurationParameters,
    summary="One configuration",
    operation_id="get_configuration",
)
def get(service: TheService, ns: Namespace, conf: Conf) -> Response:
    """Return the parameters of a configuration, including defaults."""
    return json_response(build_values(service.configuration(parse_namespace(ns), parse_conf(conf))))


def put(service: TheService, body: Body, ns: Namespace, conf: Conf) -> Response:
    """Create or replace a configuration.

    Missing parameters get their defaults. Existing clusterings do not change.
    """
    values = decode_body(body, Parameters)
    saved_configuration = save_configuration(service, ns, conf, values)
    where = build_path("configurations", ns, conf)
    return json_response(build_values(saved_configuration), 201, {"Location": where})


def delete(service: TheService, ns: Namespace, conf: Conf) -> Response:
    """Delete a configuration. Its clusterings remain. 204 even if it does not exist."""
    parse_namespace(ns)
    parse_conf(conf)
    if service.has_tables():
        configurations.remove(service.tables, ns, conf)
    return Response(status_code=204)


def save_configuration(
    service: CollectionService, ns: str, conf: str, values: Parameters, pointer: str = ""
) -> Configuration:
    """Create or replace the configuration `conf` of a namespace.

    `pointer`: JSON pointer to the parameters in the request's body, for error messages.

    Raises RefusedError 400 for an invalid name, and for an unknown or invalid parameter.
    """
    parse_namespace(ns)
    parse_conf(conf)
    for name in values:
        if name not in configurations.NAMES:
            near = find_nearest_name(name, configurations.NAMES)
            hint = f" Did you mean “{near}”?" if near else ""
            message = (
                f"There is no parameter “{name[:100]}”.{hint} "
                f"Known: {', '.join(configurations.NAMES)}."
            )
            raise RefusedError(
                400, message, pointer=f"{pointer}/{escape_pointer(name)}", nearest=near
            )
    with refuse_invalid(pointer):
        configuration = configurations.build_configuration(values)
        configurations.save_configuration(service.open_writer().tables, ns, conf, configuration)
    return configuration


add_actions(
    router,
    Action(
        "save a configuration",
        Role.CURATOR,
        put,
        json=JsonRoute(
            "/configurations/{ns}/{conf}",
            "Save a configuration",
            "PUT",
            operation_id="put_configuration",
            status=201,
            answer=ConfigurationParameters,
            request_body=bodies.CONFIGURATION,
        ),
    ),
    Action(
        "delete a configuration",
        Role.CURATOR,
        delete,
        json=JsonRoute(
            "/configurations/{ns}/{conf}",
            "Delete a configuration",
            "DELETE",
            operation_id="delete_configuration",
            status=204,
        ),
    ),
)
