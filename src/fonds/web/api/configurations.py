"""Configurations by name, plainly or as the transforms of v0.1: one and the same.

Source: Grouperfish v0.1's REST: /configurations/<ns>/transforms/<name>, `{"transform", "parameters"}`.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import msgspec
from fastapi import APIRouter
from starlette.responses import Response

from fonds.grouping import configuration as configurations
from fonds.grouping.configuration import ALGORITHMS, Configuration, build_values
from fonds.grouping.names import DEFAULT
from fonds.model.suggestions import find_nearest_name
from fonds.web.access.roles import CURATES, READS
from fonds.web.api import bodies
from fonds.web.api.paths import Conf, Namespace, build_path
from fonds.web.serving.json_requests import (
    Body,
    TheService,
    decode_body,
    escape_pointer,
    json_response,
    refuse_invalid,
    takes,
)
from fonds.web.serving.parameters import namespace_named, parse_conf
from fonds.web.serving.problems import RESPONSES, RefusedError
from fonds.wiring.collections import CollectionService

router = APIRouter(responses=RESPONSES, tags=["configurations"], dependencies=[READS])

Parameters = dict[str, Any]
TRANSFORMS = {"textcluster": "stories", "coclustering": "topics"}
"""The names the original had, and what is nearest to them in what they are for."""
TOP_DOCUMENTS = 10
_FIELDS = {"id": "id", "text": "text"}


class TransformIn(msgspec.Struct, forbid_unknown_fields=True):
    """A transform as v0.1 has it; `transform` is an algorithm, or one of the original's names."""

    transform: str
    parameters: dict[str, Any] = {}


@dataclass(frozen=True, slots=True)
class Transform:
    """A configuration as v0.1 tells it."""

    transform: str
    parameters: Parameters


_TRANSFORM = takes(
    {
        "type": "object",
        "required": ["transform"],
        "additionalProperties": False,
        "properties": {
            "transform": {"enum": [*ALGORITHMS, *TRANSFORMS]},
            "parameters": {
                **bodies.PARAMETERS,
                "properties": {
                    name: value
                    for name, value in bodies.PARAMETERS["properties"].items()
                    if name != "algorithm"
                },
            },
        },
    },
    {"transform": "topics", "parameters": {"clusters": 12}},
)


@router.get(
    "/configurations/{ns}", response_model=dict[str, Parameters], summary="All configurations"
)
def list_configurations(service: TheService, ns: Namespace) -> Response:
    """Of a namespace, by name; `DEFAULT` is there without having been put."""
    namespace_named(ns)
    if not service.are_there():
        return json_response({DEFAULT: build_values(Configuration())})
    found = configurations.list_configurations(service.tables, ns)
    return json_response({name: build_values(one) for name, one in found.items()})


@router.get("/configurations/{ns}/{conf}", response_model=Parameters, summary="One configuration")
def get(service: TheService, ns: Namespace, conf: Conf) -> Response:
    """Its parameters, those that were not said with what is usual."""
    return json_response(build_values(service.configuration(namespace_named(ns), parse_conf(conf))))


@router.put(
    "/configurations/{ns}/{conf}",
    status_code=201,
    response_model=Parameters,
    openapi_extra=bodies.CONFIGURATION,
    summary="Keep a configuration",
    dependencies=[CURATES],
)
def put(service: TheService, body: Body, ns: Namespace, conf: Conf) -> Response:
    """In place of one of the same name; what is not said is as usual. What was built stays as it is."""
    values = decode_body(body, Parameters)
    return _save_configuration(
        service, ns, conf, values, "", build_path("configurations", ns, conf), build_values
    )


@router.delete(
    "/configurations/{ns}/{conf}",
    status_code=204,
    response_class=Response,
    summary="Forget it",
    dependencies=[CURATES],
)
@router.delete(
    "/configurations/{ns}/transforms/{conf}",
    status_code=204,
    response_class=Response,
    summary="Forget it",
    dependencies=[CURATES],
)
def delete(service: TheService, ns: Namespace, conf: Conf) -> Response:
    """What was built by it stays. 204 also where there is none."""
    namespace_named(ns)
    parse_conf(conf)
    if service.are_there():
        configurations.remove(service.tables, ns, conf)
    return Response(status_code=204)


@router.get(
    "/configurations/{ns}/transforms/{conf}",
    response_model=Transform,
    summary="One configuration, as v0.1 tells it",
)
def get_transform(service: TheService, ns: Namespace, conf: Conf) -> Response:
    """The algorithm as `transform`, everything else as its `parameters`."""
    return json_response(
        _build_transform(service.configuration(namespace_named(ns), parse_conf(conf)))
    )


@router.put(
    "/configurations/{ns}/transforms/{conf}",
    status_code=201,
    response_model=Transform,
    openapi_extra=_TRANSFORM,
    summary="Keep a configuration, as v0.1 tells it",
    dependencies=[CURATES],
)
def put_transform(service: TheService, body: Body, ns: Namespace, conf: Conf) -> Response:
    """The original's `fields` may be said as they are here, and its `limits`: `clusters` is `clusters_max`,
    `top_documents` is 10, since `/results` takes another number as `top`.
    """
    sent = decode_body(body, TransformIn)
    algorithm = TRANSFORMS.get(sent.transform, sent.transform)
    if algorithm not in ALGORITHMS:
        near = find_nearest_name(sent.transform, (*ALGORITHMS, *TRANSFORMS))
        said = f"There is no transform {sent.transform[:100]!r}; there are {', '.join(ALGORITHMS)}."
        raise RefusedError(400, said, pointer="/transform", nearest=near)
    values = {**_translate_parameters(sent.parameters), "algorithm": algorithm}
    where = build_path("configurations", ns, "transforms", conf)
    return _save_configuration(service, ns, conf, values, "/parameters", where, _build_transform)


def _save_configuration(
    service: CollectionService,
    ns: str,
    conf: str,
    values: Parameters,
    pointer: str,
    where: str,
    build_response: Any,
) -> Response:
    namespace_named(ns)
    parse_conf(conf)
    for name in values:
        if name not in configurations.NAMES:
            near = find_nearest_name(name, configurations.NAMES)
            meant = f" Did you mean “{near}”?" if near else ""
            said = f"There is no parameter “{name[:100]}”.{meant} It takes {', '.join(configurations.NAMES)}."
            raise RefusedError(400, said, pointer=f"{pointer}/{escape_pointer(name)}", nearest=near)
    with refuse_invalid(pointer):
        made = configurations.build_configuration(values)
        configurations.save_configuration(service.writing().tables, ns, conf, made)
    return json_response(build_response(made), 201, {"Location": where})


def _build_transform(configuration: Configuration) -> Transform:
    values = build_values(configuration)
    return Transform(values.pop("algorithm"), values)


def _translate_parameters(parameters: Parameters) -> Parameters:
    """The parameters with what the original called otherwise. Raises RefusedError 400."""
    values = dict(parameters)
    fields, limits = values.pop("fields", _FIELDS), values.pop("limits", {})
    if fields != _FIELDS:
        said = 'A document has its id in "id" and its text in "text".'
        raise RefusedError(400, said, pointer="/parameters/fields")
    if not isinstance(limits, dict) or limits.keys() - {"clusters", "top_documents"}:
        said = "Limits are clusters and top_documents."
        raise RefusedError(400, said, pointer="/parameters/limits")
    if limits.get("top_documents", TOP_DOCUMENTS) != TOP_DOCUMENTS:
        said = f"Of each cluster {TOP_DOCUMENTS} documents are told; ask /results with ?top= for others."
        raise RefusedError(400, said, pointer="/parameters/limits/top_documents")
    if "clusters" in limits:
        values.setdefault("clusters_max", limits["clusters"])
    return values
