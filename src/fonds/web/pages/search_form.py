"""What a search page and its API are asked: each a parameter of the URL, which holds all of it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import date
from typing import Annotated, Any, Literal

from pydantic import (
    AfterValidator,
    BaseModel,
    BeforeValidator,
    ConfigDict,
    Field,
    StringConstraints,
)

from fonds.model.document import SearchQuery
from fonds.model.file import Kind
from fonds.web.rendering import link

PAGE_SIZE, SIZE_MAX = 10, 1_000
RESULTS_MAX = 10_000
QUERY_MAX_CHARS = 1_000
FACET_VALUES, FACET_VALUES_MAX = 20, 1_000


def _day(value: object) -> object:
    """An empty field of a form means no limit; anything else is YYYY-MM-DD."""
    if isinstance(value, str):
        return date.fromisoformat(value.strip()) if value.strip() else None
    return value


def _distinct(values: list[str]) -> list[str]:
    return list(dict.fromkeys(values))


def _said(values: list[str]) -> list[str]:
    return _distinct([value for value in values if value])


Day = Annotated[date | None, BeforeValidator(_day)]
Value = Annotated[str, StringConstraints(max_length=255)]
Values = Annotated[list[Value], Field(max_length=20), AfterValidator(_distinct)]
Kinds = Annotated[list[Kind], Field(max_length=20), BeforeValidator(_said)]


class SearchForm(BaseModel):
    """What to look for; every field is a parameter of the URL, and empty ones do not narrow."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    q: str = Field(
        "", max_length=QUERY_MAX_CHARS, description='Words, "phrases", -excluded, OR, field:value'
    )
    kind: Kinds = Field([], description="pdf, story or other; repeat for alternatives")
    language: Values = Field(
        [], description="Two-letter code, empty for none; repeat for alternatives"
    )
    domain: Values = Field(
        [], description="Domain, empty for files without one; repeat for alternatives"
    )
    collection: Values = Field([], description="Collection; repeat for alternatives")
    from_: Day = Field(None, alias="from", description="First day, YYYY-MM-DD; empty for any")
    to: Day = Field(None, description="Last day, YYYY-MM-DD; empty for any")
    undated: bool = Field(False, description="Only documents without a date")
    sort: Literal["score", "newest", "oldest", "id"] = Field(
        "score", description="Order of the results; that by id is for having all of them"
    )
    after: Annotated[str | None, StringConstraints(max_length=200)] = Field(
        None, description="With sort=id: begin behind this document, the last of the page before"
    )
    size: int = Field(PAGE_SIZE, ge=1, le=SIZE_MAX, description="Results a page")
    facets: int = Field(
        FACET_VALUES, ge=0, le=FACET_VALUES_MAX, description="Values listed of each facet, at most"
    )
    page: int = Field(1, ge=1, le=RESULTS_MAX // PAGE_SIZE, description="Page of results, from 1")

    def query(self) -> SearchQuery:
        """The same for the index."""
        return SearchQuery(
            text=self.q,
            kinds=self.kind,
            languages=self.language,
            domains=self.domain,
            collections=self.collection,
            date_from=self.from_,
            date_to=self.to,
            undated=self.undated,
            sort=self.sort,
            offset=(self.page - 1) * self.size,
            count_max=self.size,
            facet_values_max=self.facets,
            after=self.after,
        )

    def params(self) -> dict[str, Any]:
        """What is asked for, without the page and what says nothing, by the names in the URL."""
        said = self.model_dump(
            by_alias=True, exclude={"page", "after"}, exclude_defaults=True, mode="json"
        )
        return {name: 1 if value is True else value for name, value in said.items()}

    def href(self, changes: Mapping[str, Any]) -> str:
        """The same search with other values (None removes one); always its first page."""
        return link("/search", **{**self.params(), **changes})

    def filters(self) -> list[Filter]:
        """Every filter in use; the words and the order are none."""
        found = []
        for name, value in self.params().items():
            if name in ("q", "sort", "facets", "size"):
                continue
            for one in value if isinstance(value, list) else [value]:
                left = (
                    [other for other in value if other != one] if isinstance(value, list) else None
                )
                shown = "undated" if name == "undated" else str(one) or "none"
                found.append(Filter(name, shown, self.href({name: left}), {name: left or None}))
        return found


@dataclass(frozen=True, slots=True)
class Filter:
    """A filter in use; `href` is the search without it, `removal` what to change for that."""

    name: str
    value: str
    href: str
    removal: Mapping[str, Any]
