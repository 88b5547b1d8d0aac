"""CDX server: the index of captures as the CDX servers of web archives return it, as lines of
fields or as JSON.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Annotated, Any, Literal, TypeVar

import msgspec
from fastapi import APIRouter, HTTPException, Query
from pydantic import AfterValidator, BaseModel, ConfigDict, Field
from starlette.responses import PlainTextResponse, Response

from fonds.archive.replay.captures import UrlMatch, pad_lower14, pad_upper14
from fonds.archive.replay.cdx_query import (
    CONDITIONS_MAX,
    DEFAULT_FIELDS,
    LIMIT_MAX,
    CdxCollapse,
    CdxFilter,
    CdxQuery,
    CdxResult,
    CdxResumeKey,
    check_fields,
    run_query,
)
from fonds.web.access.roles import READS
from fonds.web.html.rendering import OpenStores, build_url

URL_MAX_CHARS = 8_192

router = APIRouter(tags=["captures"], dependencies=[READS])
ValueT = TypeVar("ValueT")


def _validate_with(parse: Callable[[str], object]) -> Any:
    """Return a Pydantic validator that calls `parse` on a parameter and keeps the parameter
    unchanged.

    `parse` raises ValueError for an invalid parameter. It is not called for an empty one.
    """

    def check(text: str) -> str:
        if text:
            parse(text)
        return text

    return AfterValidator(check)


FilterText = Annotated[str, _validate_with(CdxFilter.parse)]
CollapseText = Annotated[str, _validate_with(CdxCollapse.parse)]


class CdxForm(BaseModel):
    """Query parameters of a CDX request, as the CDX servers of web archives accept them."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    url: str = Field(
        "", max_length=URL_MAX_CHARS, description="URL; `*` at the end or `*.` at the start"
    )
    match: Literal["exact", "prefix", "host", "domain"] = Field(
        "exact", alias="matchType", description="How to match the URL"
    )
    since: Annotated[str, _validate_with(pad_lower14)] = Field(
        "", alias="from", max_length=14, description="First time, 4 to 14 digits"
    )
    until: Annotated[str, _validate_with(pad_upper14)] = Field(
        "", alias="to", max_length=14, description="Last time, 4 to 14 digits"
    )
    filter: list[FilterText] = Field(
        [],
        max_length=CONDITIONS_MAX,
        description="[!]FIELD:PATTERN, an RE2 pattern for the whole value; repeatable",
    )
    collapse: list[CollapseText] = Field(
        [],
        max_length=CONDITIONS_MAX,
        description="FIELD or FIELD:N; keep the first of adjacent captures with equal values",
    )
    fields: Annotated[str, _validate_with(check_fields)] = Field(
        ",".join(DEFAULT_FIELDS),
        alias="fl",
        max_length=200,
        description="Fields, separated by commas",
    )
    limit: int = Field(LIMIT_MAX, ge=1, le=LIMIT_MAX, description="Maximum captures")
    output: Literal["text", "json"] = Field("text", description="Lines, or a JSON array of arrays")
    resume_key: Annotated[str, _validate_with(CdxResumeKey.decode)] = Field(
        "",
        alias="resumeKey",
        max_length=20_000,
        description="Continue from the key of a previous response",
    )
    show_resume_key: bool = Field(
        False,
        alias="showResumeKey",
        description="Return the key for the next request after the captures",
    )

    def build_query(self) -> CdxQuery:
        """Build the query of the capture index. Raises HTTPException 400 if the request names no
        URL.
        """
        url, match = self.url.strip(), UrlMatch(self.match)
        if not url:
            raise HTTPException(400, "The parameter “url” is required.")
        if match is UrlMatch.EXACT and url.startswith("*."):
            url, match = url[2:], UrlMatch.DOMAIN
        elif match is UrlMatch.EXACT and url.endswith("*"):
            url, match = url[:-1], UrlMatch.PREFIX
        return CdxQuery(
            url=url,
            match=match,
            since=pad_lower14(self.since) if self.since else "",
            until=pad_upper14(self.until) if self.until else "",
            filters=[CdxFilter.parse(text) for text in self.filter if text],
            collapse=[CdxCollapse.parse(text) for text in self.collapse if text],
            fields=check_fields(self.fields),
            limit=self.limit,
            resume=CdxResumeKey.decode(self.resume_key) if self.resume_key else None,
        )


@router.get(
    "/cdx",
    response_class=Response,
    summary="Captures by URL (CDX server API)",
    operation_id="list_captures",
)
def cdx(stores: OpenStores, form: Annotated[CdxForm, Query()]) -> Response:
    """List captures in order of address and time.

    A `Link` header with `rel="next"` leads on if there are more captures than the response holds or
    than could be examined.
    """
    try:
        query = form.build_query()
        result = run_query(stores.records, query)
    except ValueError as error:
        raise HTTPException(400, f"The parameter “url” is invalid: {error}.") from error
    headers = {}
    if result.resume is not None:
        parameters = form.model_dump(by_alias=True, exclude_defaults=True)
        onward = build_url("/cdx", **{**parameters, "resumeKey": result.resume.encode()})
        headers["Link"] = f'<{onward}>; rel="next"'
    if form.output == "json":
        body = msgspec.json.encode(_build_table(query, result, form.show_resume_key))
        return Response(body, media_type="application/json", headers=headers)
    return PlainTextResponse(_format_lines(result, form.show_resume_key), headers=headers)


def _build_table(query: CdxQuery, result: CdxResult, show_resume_key: bool) -> list[list[str]]:
    """Return a table of captures: a row of field names, then one row per capture. Return an empty
    list if there are no captures.
    """
    rows = [list(query.fields), *map(list, result.rows)] if result.rows else []
    if show_resume_key and result.resume is not None:
        rows += [[], [result.resume.encode()]]
    return rows


def _format_lines(result: CdxResult, show_resume_key: bool) -> str:
    lines = [" ".join(row) for row in result.rows]
    if show_resume_key and result.resume is not None:
        lines += ["", result.resume.encode()]
    return "".join(f"{line}\n" for line in lines)
