"""Search request: the parameters of a search, with one parser and one renderer.

The parameters are the same in a URL, on the command line and in the manifest of an export. The
parameters in `FILTERS` select documents and mean the same for every kind of search. Other
parameters state how a result is shown.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import date
from types import MappingProxyType
from typing import Annotated, Any, Literal, get_origin

from pydantic import (
    AfterValidator,
    BaseModel,
    BeforeValidator,
    ConfigDict,
    Field,
    StringConstraints,
    ValidationError,
)

from fonds.model.document import DateOf
from fonds.model.file import Kind
from fonds.model.parameter_errors import (
    build_repeated_parameter,
    build_unknown_parameter,
    build_value_error,
)
from fonds.model.partial_date import entered_day
from fonds.model.search import QUERY_MAX_CHARS, RESULTS_MAX, MatchMode, SearchQuery

PAGE_SIZE, SIZE_MAX = 10, 1_000
FACET_VALUES, FACET_VALUES_MAX = 20, 1_000
FILTERS = (
    "q", "kind", "language", "domain", "collection", "from", "to", "undated", "dates", "alike", "match",
)  # fmt: skip
"""Parameters that select the documents of a result, by their names in a URL."""
VIEW_PARAMETERS = ("sort", "after", "size", "page", "facets", "find", "themes", "collapse")
"""Parameters that state how a result is shown, by their names in a URL."""
AS_OF_PARAMETERS = ("day", "change", "page")
"""Parameters of a search as of an earlier day, by their names in a URL."""
_UNLISTED_FILTERS = frozenset({"q", "dates", "match"})
"""Filters that a page does not list: the search words, and how words and dates are interpreted."""

KIND_WORDS: Mapping[str, str] = MappingProxyType(
    {"pdf": "PDF", "story": "News page", "jats": "Article", "unread": "Unread", "other": "Other"}
)
LANGUAGE_NAMES: Mapping[str, str] = MappingProxyType(
    {
        "af": "Afrikaans", "ar": "Arabic", "bg": "Bulgarian", "bn": "Bengali", "bs": "Bosnian",
        "ca": "Catalan", "cs": "Czech", "cy": "Welsh", "da": "Danish", "de": "German", "el": "Greek",
        "en": "English", "eo": "Esperanto", "es": "Spanish", "et": "Estonian", "eu": "Basque",
        "fa": "Persian", "fi": "Finnish", "fr": "French", "ga": "Irish", "gl": "Galician", "gu": "Gujarati",
        "he": "Hebrew", "hi": "Hindi", "hr": "Croatian", "hu": "Hungarian", "hy": "Armenian",
        "id": "Indonesian", "is": "Icelandic", "it": "Italian", "ja": "Japanese", "ka": "Georgian",
        "kk": "Kazakh", "km": "Khmer", "kn": "Kannada", "ko": "Korean", "la": "Latin", "lo": "Lao",
        "lt": "Lithuanian", "lv": "Latvian", "mk": "Macedonian", "ml": "Malayalam", "mn": "Mongolian",
        "mr": "Marathi", "ms": "Malay", "mt": "Maltese", "my": "Burmese", "nb": "Norwegian Bokmål",
        "ne": "Nepali", "nl": "Dutch", "nn": "Norwegian Nynorsk", "no": "Norwegian", "pa": "Punjabi",
        "pl": "Polish", "ps": "Pashto", "pt": "Portuguese", "ro": "Romanian", "ru": "Russian",
        "si": "Sinhala", "sk": "Slovak", "sl": "Slovenian", "so": "Somali", "sq": "Albanian",
        "sr": "Serbian", "sv": "Swedish", "sw": "Swahili", "ta": "Tamil", "te": "Telugu", "th": "Thai",
        "tl": "Tagalog", "tr": "Turkish", "uk": "Ukrainian", "ur": "Urdu", "vi": "Vietnamese",
        "yi": "Yiddish", "zh": "Chinese", "zu": "Zulu",
    }
)  # fmt: skip
"""English names of languages by code, for pages. Pages show the code of any other language."""


def format_value_name(parameter: str, value: str) -> str:
    """Return the display name of a filter value, such as English for the language `en`.

    `parameter` is the URL parameter of the filter. An empty value becomes `none`.
    """
    if not value:
        return "none"
    if parameter == "kind":
        return KIND_WORDS.get(value, value)
    return LANGUAGE_NAMES.get(value, value) if parameter == "language" else value


def _list_distinct(values: list[str]) -> list[str]:
    return list(dict.fromkeys(values))


def _drop_empty(values: list[str]) -> list[str]:
    return _list_distinct([value for value in values if value])


Value = Annotated[str, StringConstraints(max_length=255)]
Values = Annotated[list[Value], Field(max_length=20), AfterValidator(_list_distinct)]
Day = Annotated[date | None, BeforeValidator(entered_day)]
Kinds = Annotated[list[Kind], Field(max_length=20), BeforeValidator(_drop_empty)]


ChangeName = Literal[
    "", "unchanged", "other_version", "version_added", "added", "no_longer_found", "read_again",
    "read_again_no_longer_found", "not_compared", "not_compared_no_longer_found",
    "taken_down", "under_embargo",
]  # fmt: skip
"""Kinds of change (`fonds.search.as_of.SORTS`) that a search as of a day can list; '' for none."""


class SearchRequest(BaseModel):
    """Parameters of a search. Each field is a URL parameter. Empty filters do not restrict the
    result.
    """

    model_config = ConfigDict(extra="forbid", frozen=True)

    q: str = Field(
        "", max_length=QUERY_MAX_CHARS, description='Words, "phrases", -excluded, OR, field:value'
    )
    kind: Kinds = Field([], description="pdf, story or jats; repeat for alternatives")
    language: Values = Field(
        [], description="Two-letter code, none for documents without; repeat for alternatives"
    )
    domain: Values = Field(
        [], description="Domain, none for documents without; repeat for alternatives"
    )
    collection: Values = Field([], description="Collection; repeat for alternatives")
    from_: Day = Field(None, alias="from", description="First day, YYYY-MM-DD; empty for any")
    to: Day = Field(None, description="Last day, YYYY-MM-DD; empty for any")
    undated: bool = Field(False, description="Only documents without a date")
    dates: DateOf = Field(
        DateOf.PUBLISHED,
        description="Dates meant by from, to, undated, newest, oldest and the counts by month",
    )
    alike: Annotated[str, StringConstraints(max_length=200)] = Field(
        "", description="Id of a document: only this document and its near-duplicates in the result"
    )
    match: Literal["", "exact", "best"] = Field(
        "",
        description="exact: all of the words; best: any of them, ranked. Empty: exact; a search that finds"
        " nothing then lists the best match, unless sort is id",
    )
    sort: Literal["score", "newest", "oldest", "added", "id"] = Field(
        "score",
        description="Order of the results, newest where there are no words; id reads a whole result",
    )
    after: Annotated[str | None, StringConstraints(max_length=200)] = Field(
        None, description="With sort=id: begin behind this document, the last of the page before"
    )
    size: int = Field(PAGE_SIZE, ge=1, le=SIZE_MAX, description="Results per page")
    page: int = Field(1, ge=1, le=RESULTS_MAX // PAGE_SIZE, description="Page of results, from 1")
    facets: int = Field(
        FACET_VALUES, ge=0, le=FACET_VALUES_MAX, description="Maximum values per facet"
    )
    find: str = Field(
        "",
        max_length=100,
        description="List only facet values that contain this, or whose names do",
    )
    themes: Annotated[str, StringConstraints(max_length=600)] = Field(
        "", description="NAMESPACE/KEY: count the results by the themes of this collection"
    )
    collapse: Literal["", "yes", "no"] = Field(
        "", description="Whether near-duplicates are one result"
    )
    day: Day = Field(None, description="Search as of the end of this day, YYYY-MM-DD, in UTC")
    change: ChangeName = Field(
        "", description="List the documents with this change; empty for none"
    )

    @property
    def order(self) -> str:
        """Order of the results: `score`, `newest`, `oldest`, `added` or `id`.

        A search by score without words has no scores, so it lists the newest first.
        """
        return "newest" if self.sort == "score" and not self.q.strip() else self.sort

    @property
    def has_page_numbers(self) -> bool:
        """Whether result pages have numbers. A result in order of id, or after a document id, has
        none.
        """
        return self.sort != "id" and self.after is None

    @property
    def allows_best_match(self) -> bool:
        """Whether the search may list documents with any of its words if no document has all of
        them.
        """
        return not self.match and bool(self.q.strip()) and self.has_page_numbers

    def build_query(self, ids: Sequence[str] = ()) -> SearchQuery:
        """Return the index query for the request. With `ids`, it finds only documents with these
        ids.
        """
        return SearchQuery(
            ids=ids,
            text=self.q,
            kinds=self.kind,
            languages=self.language,
            domains=self.domain,
            collections=self.collection,
            date_from=self.from_,
            date_to=self.to,
            undated=self.undated,
            dates=self.dates,
            sort=self.order,
            offset=(self.page - 1) * self.size,
            count_max=self.size,
            facet_values_max=FACET_VALUES_MAX if self.find.strip() else self.facets,
            after=self.after,
            match=MatchMode(self.match or MatchMode.EXACT),
        )

    def build_params(self, changes: Mapping[str, Any] = MappingProxyType({})) -> dict[str, Any]:
        """Return the URL parameters of the request that differ from the defaults, by name.

        `page` and `after` are omitted. `changes` replaces values by parameter name. The value None
        removes a parameter from the URL.
        """
        values = self.model_dump(
            by_alias=True, exclude={"page", "after"}, exclude_defaults=True, mode="json"
        )
        return {name: 1 if value is True else value for name, value in values.items()} | {**changes}

    def build_filters(self) -> dict[str, Any]:
        """Return those URL parameters of the request that select documents and are not defaults, by
        name.
        """
        return {name: value for name, value in self.build_params().items() if name in FILTERS}

    def list_filters(self) -> list[ActiveFilter]:
        """Return all active filters except the search words.

        Each filter has the change of URL parameters that removes it.
        """
        active = []
        for name, value in self.build_filters().items():
            if name in _UNLISTED_FILTERS:
                continue
            is_date = name in ("from", "to", "undated") and self.dates is not DateOf.PUBLISHED
            label = f"{self.dates} {name}" if is_date else name
            for item in value if isinstance(value, list) else [value]:
                remaining = (
                    [other for other in value if other != item] if isinstance(value, list) else None
                )
                display = "undated" if name == "undated" else format_value_name(name, str(item))
                active.append(ActiveFilter(label, display, {name: remaining or None}))
        return active


PARAMETERS: Mapping[str, bool] = MappingProxyType(
    {
        field.alias or name: get_origin(field.annotation) is list
        for name, field in SearchRequest.model_fields.items()
    }
)
"""All parameters of a search by their names in a URL, with whether the parameter may be repeated.
"""


def parse_request(parameters: Mapping[str, str | Sequence[str]]) -> SearchRequest:
    """Return the search request that URL parameters describe.

    Raises ParameterError if a name is unknown, a value is invalid, or a parameter with one value is
    repeated.
    """
    values: dict[str, str | Sequence[str]] = {}
    for name, value in parameters.items():
        if name not in PARAMETERS:
            raise build_unknown_parameter(name, PARAMETERS)
        values_list = [value] if isinstance(value, str) else list(value)
        if PARAMETERS[name]:
            values[name] = values_list
        elif len(values_list) > 1:
            raise build_repeated_parameter(name)
        elif values_list:
            values[name] = values_list[0]
    try:
        return SearchRequest.model_validate(values)
    except ValidationError as error:
        fault = error.errors()[0]
        raise build_value_error({**fault, "loc": ("query", *fault["loc"])}) from error


def render_filters(request: SearchRequest) -> dict[str, str | list[str]]:
    """Return the filters of a search request as URL parameters, by name.

    Filters select documents; parameters of display such as the page are omitted. `parse_request`
    restores a request with the same filters from them.
    """
    return {
        name: value if isinstance(value, list) else str(value)
        for name, value in request.build_filters().items()
    }


@dataclass(frozen=True, slots=True)
class ActiveFilter:
    """Active filter of a search, as a page lists it.

    - `name`, `value`: label and display value.
    - `removal`: changes of URL parameters that remove the filter.
    """

    name: str
    value: str
    removal: Mapping[str, Any]
