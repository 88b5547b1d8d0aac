"""Actions: changes that people make with a form and programs with JSON, each declared once.

An action has one function, one struct of parameters and one role. The routes that receive its form
and its JSON are built here. So parsing, the permission check, the entry in the log of changes and
error responses are the same for every action.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Annotated, Any, Generic, TypeVar
from urllib.parse import parse_qsl

import msgspec
from fastapi import APIRouter, Depends, Request
from starlette.responses import RedirectResponse, Response

from fonds.model.access import Role
from fonds.model.encoding import prepare_type
from fonds.model.errors import ConfigurationError
from fonds.web.access.roles import LeastRole
from fonds.web.access.viewers import describe_act
from fonds.web.serving.json_requests import SentJson, decode_body, takes
from fonds.web.serving.problems import RefusedError

FORM_MAX_BYTES = 32_768
CROSS_SITE_FORM_MESSAGE = "This form was not sent from a page of this server."
EXCERPT_CHARS = 40

P = TypeVar("P", bound=msgspec.Struct)
A = TypeVar("A")


class NoParameters(msgspec.Struct, forbid_unknown_fields=True):
    """Parameters of an action that has none. A request with any parameter is refused."""


class InvalidParameterError(Exception):
    """Error for a missing or invalid value of a parameter of an action.

    `parameter`: name of the parameter. The message is a sentence for the person who sent it.
    """

    def __init__(self, message: str, parameter: str) -> None:
        super().__init__(message)
        self.parameter = parameter


@dataclass(frozen=True, slots=True)
class FormResult(Generic[P, A]):
    """A submitted form, and the result of its action.

    `parameters`: the parsed fields of the form.
    `answer`: value that the function of the action returned.
    """

    request: Request
    parameters: P
    answer: A


@dataclass(frozen=True, slots=True, eq=False)
class FormRoute(Generic[P, A]):
    """Route that performs an action when an HTML form is submitted.

    `respond`: function that returns the address that the browser opens next, or a page.
    """

    path: str
    respond: Callable[[FormResult[P, A]], str | Response]


@dataclass(frozen=True, slots=True, eq=False)
class JsonRoute:
    """Route that performs an action when a program sends JSON.

    `path_aliases`: further paths of the same route, each with the id of its operation.
    `operation_id`: id of the operation in the OpenAPI description; '' means the name of the
        action's function.
    `answer`: type of the response; None means the return type of the action's function.
    `request_body`: OpenAPI description of the body, for a function that parses the body itself.
    """

    path: str
    summary: str
    method: str = "POST"
    path_aliases: Mapping[str, str] = field(default_factory=dict)
    operation_id: str = ""
    example: object = None
    schema_extra: dict[str, Any] | None = None
    status: int = 200
    answer: Any = None
    request_body: dict[str, Any] | None = None
    tags: Sequence[str] = ()


@dataclass(frozen=True, slots=True, eq=False)
class Action(Generic[P, A]):
    """A change that people make with a form and programs with JSON.

    `role`: least role that the sender needs.
    `perform`: function that makes the change. FastAPI injects its arguments; the argument `sent`
        has the parsed parameters.
    `parameters`: type of `sent`; None if `perform` parses the request's body itself.
    `form`, `json`: the routes that receive the form and the JSON; None for a route that the action
        lacks.
    `describe`: function that returns the text that the log of changes shows next to method and
        path; None for no text.
    """

    name: str
    role: Role
    perform: Callable[..., A]
    parameters: type[P] | None = None
    form: FormRoute[P, A] | None = None
    json: JsonRoute | None = None
    describe: Callable[[P], str] | None = None


@dataclass(frozen=True, slots=True)
class ActionDeclaration:
    """FastAPI dependency that declares which action a route performs."""

    action: Action[Any, Any]

    async def __call__(self) -> None:
        """Do nothing: this object only declares an action, which `find_action` reads."""


@dataclass(frozen=True, slots=True)
class FormBody:
    """FastAPI dependency that parses the form in a request's body into a struct of type `kind`."""

    kind: type[Any]
    max_bytes: int = FORM_MAX_BYTES

    async def __call__(self, request: Request) -> Any:
        """Parse the form in the request's body.

        Raises RefusedError 400 for an invalid form, 413 for one that is too long.
        """
        body = bytearray()
        async for piece in request.stream():
            body += piece
            if len(body) > self.max_bytes:
                raise RefusedError(413, CROSS_SITE_FORM_MESSAGE)
        return parse_form(bytes(body), self.kind)


@dataclass(frozen=True, slots=True)
class JsonBody:
    """FastAPI dependency that parses the JSON in a request's body into a struct of type `kind`."""

    kind: type[Any]

    async def __call__(self, body: SentJson) -> Any:
        """Parse the JSON in the request's body.

        An empty body counts as `{}` if no field is required. Raises RefusedError 400 for an invalid
        body.
        """
        fields = msgspec.structs.fields(self.kind)
        if not fields and body.strip() not in (b"", b"{}"):
            raise RefusedError(400, "This request takes no body.", pointer="")
        if not body.strip() and not any(field.required for field in fields):
            return self.kind()
        return decode_body(body, self.kind)


def find_action(route: Any) -> Action[Any, Any] | None:
    """Return the action that a route performs, None for a route that was not built from an
    action.
    """
    dependencies = [dependency.dependency for dependency in getattr(route, "dependencies", ())]
    actions = [
        dependency.action
        for dependency in dependencies
        if isinstance(dependency, ActionDeclaration)
    ]
    return actions[-1] if actions else None


def add_actions(router: APIRouter, *actions: Action[Any, Any]) -> None:
    """Add the form route and the JSON route of each action to a router."""
    for action in actions:
        permission = [Depends(LeastRole(action.role)), Depends(ActionDeclaration(action))]
        if action.form is not None:
            router.add_api_route(
                action.form.path,
                _build_form_endpoint(action, action.form),
                methods=["POST"],
                response_model=None,
                include_in_schema=False,
                dependencies=permission,
            )
        if action.json is not None:
            _add_json_routes(router, action, action.json, permission)


def _add_json_routes(
    router: APIRouter, action: Action[Any, Any], route: JsonRoute, permission: list[Any]
) -> None:
    endpoint, annotation = _build_json_endpoint(action)
    answer = route.answer or annotation
    # FastAPI accepts no model for a response without a body, only its class.
    model = {"response_class": Response} if answer is Response else {"response_model": answer}
    operation_id = route.operation_id or action.perform.__name__
    for path, path_operation_id in (*route.path_aliases.items(), (route.path, operation_id)):
        router.add_api_route(
            path,
            endpoint,
            methods=[route.method],
            operation_id=path_operation_id,
            status_code=route.status,
            summary=route.summary,
            openapi_extra=_describe_body(action, route),
            dependencies=permission,
            tags=[*route.tags],
            **model,
        )


def _describe_body(action: Action[Any, Any], route: JsonRoute) -> dict[str, Any] | None:
    kind = action.parameters
    if kind is None or not msgspec.structs.fields(kind):
        return route.request_body
    schema = msgspec.json.schema(kind)["$defs"][kind.__name__]
    return takes({**schema, **(route.schema_extra or {})}, route.example)


def _build_form_endpoint(
    action: Action[Any, Any], route: FormRoute[Any, Any]
) -> Callable[..., Response]:
    def endpoint(**arguments: Any) -> Response:
        request = arguments["request"]
        try:
            answer = _perform(action, arguments)
        except InvalidParameterError as error:
            raise RefusedError(400, str(error), parameter=error.parameter) from error
        response = route.respond(FormResult(request, arguments.get("sent"), answer))
        return response if isinstance(response, Response) else RedirectResponse(response, 303)

    kind = action.parameters
    _sign(endpoint, action.perform, FormBody(kind) if kind else None)
    return endpoint


def _build_json_endpoint(action: Action[Any, Any]) -> tuple[Callable[..., Any], Any]:
    """Return the function that answers an action's JSON route, and the type that the function
    returns.
    """

    def endpoint(**arguments: Any) -> Any:
        try:
            return _perform(action, arguments)
        except InvalidParameterError as error:
            raise RefusedError(400, str(error), pointer=f"/{error.parameter}") from error

    kind = action.parameters
    return endpoint, _sign(endpoint, action.perform, JsonBody(kind) if kind else None)


def _perform(action: Action[Any, Any], arguments: dict[str, Any]) -> Any:
    """Add the description of the action to the log of changes, then perform the action.

    Raises RefusedError 409 for a ConfigurationError.
    """
    if action.describe is not None:
        describe_act(arguments["request"], action.describe(arguments["sent"]))
    accepted_parameters = inspect.signature(action.perform).parameters
    try:
        return action.perform(
            **{name: value for name, value in arguments.items() if name in accepted_parameters}
        )
    except ConfigurationError as error:
        message = str(error)
        raise RefusedError(409, f"{message[:1].upper()}{message[1:]}") from error


def _sign(endpoint: Any, perform: Callable[..., Any], body: FormBody | JsonBody | None) -> Any:
    """Give an endpoint the name, docstring and parameters of `perform`.

    Add the parameters `request` and, if there is a `body` dependency, `sent` with the parsed body.
    Return the type that `perform` returns.
    """
    signature = inspect.signature(perform, eval_str=True)
    annotations: dict[str, Any] = {"request": Request}
    defaults: dict[str, Any] = {}
    for parameter in signature.parameters.values():
        annotations[parameter.name] = parameter.annotation
        if parameter.default is not inspect.Parameter.empty:
            defaults[parameter.name] = parameter.default
    if body is not None:
        annotations["sent"] = Annotated[Any, Depends(body)]
    endpoint.__name__, endpoint.__doc__ = perform.__name__, perform.__doc__
    endpoint.__signature__ = inspect.Signature(
        [
            inspect.Parameter(
                name,
                inspect.Parameter.KEYWORD_ONLY,
                default=defaults.get(name, inspect.Parameter.empty),
                annotation=annotation,
            )
            for name, annotation in annotations.items()
        ]
    )
    return signature.return_annotation


def parse_form(body: bytes, kind: type[P]) -> P:
    """Parse a URL-encoded form into a struct.

    A checkbox that is sent is true. An empty field counts as missing unless its type is text.
    Raises RefusedError 400 for an unknown, missing or invalid field.
    """
    inspected_type = msgspec.inspect.type_info(kind)
    struct_fields = (
        inspected_type.fields if isinstance(inspected_type, msgspec.inspect.StructType) else ()
    )
    fields = {field.encode_name: _list_types(field.type) for field in struct_fields}
    values: dict[str, Any] = {}
    for name, text in _split_form(body, len(fields)):
        if name not in fields:
            raise RefusedError(400, CROSS_SITE_FORM_MESSAGE)
        types = fields[name]
        is_list = any(isinstance(field_type, msgspec.inspect.ListType) for field_type in types)
        if name in values and not is_list:
            raise RefusedError(400, CROSS_SITE_FORM_MESSAGE)
        if any(isinstance(field_type, msgspec.inspect.StrType) for field_type in types):
            values[name] = text
        elif not text.strip():
            continue
        elif is_list:
            values[name] = [*values.get(name, ()), text]
        elif any(isinstance(field_type, msgspec.inspect.BoolType) for field_type in types):
            values[name] = True
        else:
            values[name] = text.strip()
    try:
        return msgspec.convert(values, prepare_type(kind))
    except msgspec.ValidationError as error:
        raise _explain_fault(str(error), values, fields) from error


def _list_types(field_type: msgspec.inspect.Type) -> Sequence[msgspec.inspect.Type]:
    """Return the types of which a type is a union, or only the type itself if it is no union."""
    if isinstance(field_type, msgspec.inspect.UnionType):
        return tuple(field_type.types)
    return (field_type,)


def _split_form(body: bytes, n_fields: int) -> list[tuple[str, str]]:
    try:
        # A browser encodes everything that is not ASCII.
        text = body.decode("ascii")
        return parse_qsl(text, max_num_fields=max(n_fields, 1), keep_blank_values=True)
    except ValueError:
        raise RefusedError(400, CROSS_SITE_FORM_MESSAGE) from None


def _explain_fault(
    message: str, values: dict[str, Any], fields: Mapping[str, Sequence[msgspec.inspect.Type]]
) -> RefusedError:
    """Explain a missing or invalid field of a form in a sentence for the user."""
    name = next(
        (field for field in fields if f"`{field}`" in message or f"`$.{field}" in message), ""
    )
    if name not in values:
        return RefusedError(400, f"Fill in “{name}”.", parameter=name)
    text = str(values[name])
    explanation = f"“{text[:EXCERPT_CHARS]}” is not a valid value of “{name}”."
    for field_type in fields[name]:
        if isinstance(field_type, msgspec.inspect.DateType):
            explanation = f"“{text[:EXCERPT_CHARS]}” is not a date. Write it as 2027-12-31."
        elif isinstance(field_type, msgspec.inspect.EnumType):
            explanation = f"Choose a {name}: {', '.join(field_type.cls)}."
        elif isinstance(field_type, msgspec.inspect.StrType):
            if field_type.max_length is not None and len(text) > field_type.max_length:
                explanation = f"The {name} has at most {field_type.max_length:,} characters."
            elif not text.strip():
                explanation = f"Fill in “{name}”."
    return RefusedError(400, explanation, parameter=name)
