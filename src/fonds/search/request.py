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
from typing import Annotated, Any, Literal, get_args

import msgspec
from msgspec import Meta, inspect

from fonds.model.document import DateOf
from fonds.model.encoding import prepare_type
from fonds.model.file import Kind
from fonds.model.parameter_errors import (
    build_invalid_value,
    build_repeated_parameter,
    build_unknown_parameter,
)
from fonds.model.partial_date import entered_day
from fonds.model.search import QUERY_MAX_CHARS, RESULTS_MAX, MatchMode, SearchQuery
from fonds.model.suggestions import format_alternatives

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


Value = Annotated[str, Meta(max_length=255)]
Id = Annotated[str, Meta(max_length=200)]

ChangeName = Literal[
    "", "unchanged", "other_version", "version_added", "added", "no_longer_found", "read_again",
    "read_again_no_longer_found", "not_compared", "not_compared_no_longer_found",
    "taken_down", "under_embargo",
]  # fmt: skip
"""Kinds of change (`fonds.search.as_of.SORTS`) that a search as of a day can list; '' for none."""


class SearchRequest(msgspec.Struct, frozen=True, kw_only=True, rename={"from_": "from"}):
    """Parameters of a search. Each field is a URL parameter. Empty filters do not restrict the
    result.
    """

    q: Annotated[
        str,
        Meta(
            max_length=QUERY_MAX_CHARS, description='Words, "phrases", -excluded, OR, field:value'
        ),
    ] = ""
    kind: Annotated[
        list[Kind],
        Meta(max_length=20, description="pdf, story or jats; repeat for alternatives"),
    ] = []
    language: Annotated[
        list[Value],
        Meta(
            max_length=20,
            description="Two-letter code, or none for documents without a language; repeat for alternatives",
        ),
    ] = []
    domain: Annotated[
        list[Value],
        Meta(
            max_length=20,
            description="Domain, or none for documents without a domain; repeat for alternatives",
        ),
    ] = []
    collection: Annotated[
        list[Value], Meta(max_length=20, description="Collection; repeat for alternatives")
    ] = []
    from_: Annotated[date | None, Meta(description="First day, YYYY-MM-DD; empty for any")] = None
    to: Annotated[date | None, Meta(description="Last day, YYYY-MM-DD; empty for any")] = None
    undated: Annotated[bool, Meta(description="Only documents without a date")] = False
    dates: Annotated[
        DateOf,
        Meta(
            description="Kind of date for from, to, undated, newest, oldest and the counts by month"
        ),
    ] = DateOf.PUBLISHED
    alike: Annotated[
        Id,
        Meta(description="Id of a document: find only it and its near-duplicates"),
    ] = ""
    match: Annotated[
        Literal["", "exact", "best"],
        Meta(
            description="exact: all words; best: any of the words, ranked. Empty: exact, or best if"
            " exact finds nothing and sort is not id"
        ),
    ] = ""
    sort: Annotated[
        Literal["score", "newest", "oldest", "added", "id"],
        Meta(
            description="Order of the results; newest if the query has no words. id can page through a whole"
            " result"
        ),
    ] = "score"
    after: Annotated[
        Id | None,
        Meta(description="With sort=id: id of the last document on the previous page"),
    ] = None
    size: Annotated[int, Meta(ge=1, le=SIZE_MAX, description="Results per page")] = PAGE_SIZE
    page: Annotated[
        int, Meta(ge=1, le=RESULTS_MAX // PAGE_SIZE, description="Page of results, from 1")
    ] = 1
    facets: Annotated[
        int, Meta(ge=0, le=FACET_VALUES_MAX, description="Maximum values per facet")
    ] = FACET_VALUES
    find: Annotated[
        str,
        Meta(
            max_length=100,
            description="List only facet values whose value or name contains this",
        ),
    ] = ""
    themes: Annotated[
        str,
        Meta(
            max_length=600,
            description="NAMESPACE/KEY: count the results by the themes of this collection",
        ),
    ] = ""
    collapse: Annotated[
        Literal["", "yes", "no"],
        Meta(description="Whether to collapse near-duplicates into one result"),
    ] = ""
    day: Annotated[
        date | None, Meta(description="Search as of the end of this day, YYYY-MM-DD, in UTC")
    ] = None
    change: Annotated[
        ChangeName, Meta(description="List the documents with this change; empty for none")
    ] = ""

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
        values = {
            name: msgspec.to_builtins(value)
            for name, parameter in PARAMETERS.items()
            if (value := getattr(self, parameter.attribute)) != parameter.default
            and name not in ("page", "after")
        }
        return {name: 1 if value is True else value for name, value in values.items()} | {**changes}

    def build_filters(self) -> dict[str, Any]:
        """Return those URL parameters of the request that select documents and are not defaults, by
        name.
        """
        return {name: value for name, value in self.build_params().items() if name in FILTERS}

    def list_filters(self) -> list[ActiveFilter]:
        """Return all active filters of the request except the search words.

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
                    [other_item for other_item in value if other_item != item]
                    if isinstance(value, list)
                    else None
                )
                display = "undated" if name == "undated" else format_value_name(name, str(item))
                active.append(ActiveFilter(label, display, {name: remaining or None}))
        return active


@dataclass(frozen=True, slots=True)
class SearchParameter:
    """Parameter of a search, as its field of `SearchRequest` declares it.

    - `attribute`: name of the field; it differs from the parameter's name if that is a keyword of
      Python (`from`).
    - `value_type`: type of one value with its limits; `value_info` is msgspec's description of it.
    - `values_max`: how often the parameter may be repeated; None for a parameter with one value.
    """

    attribute: str
    value_type: Any
    value_info: inspect.Type
    values_max: int | None
    default: Any
    description: str

    @property
    def is_list(self) -> bool:
        """Whether the parameter may be repeated."""
        return self.values_max is not None

    @property
    def is_flag(self) -> bool:
        """Whether the value of the parameter is yes or no."""
        return isinstance(self.value_info, inspect.BoolType)

    @property
    def is_day(self) -> bool:
        """Whether the value of the parameter is a day."""
        return isinstance(self.value_info, inspect.UnionType) and any(
            isinstance(member, inspect.DateType) for member in self.value_info.types
        )

    @property
    def choices(self) -> list[str]:
        """Values that the parameter allows, without ''; an empty list if it has no closed list."""
        if isinstance(self.value_info, inspect.EnumType):
            return [str(choice) for choice in self.value_info.cls]
        if isinstance(self.value_info, inspect.LiteralType):
            # In the order of the declaration; msgspec sorts them.
            return [choice for choice in get_args(get_args(self.value_type)[0]) if choice]
        return []

    def explain_value(self) -> str:
        """Return why a value is invalid, such as `expected 1`, for the error message."""
        match self.value_info:
            case inspect.IntType(ge=least, le=most):
                return f"expected a whole number from {least} to {most:,}"
            case inspect.BoolType():
                return "expected 1"
            case inspect.StrType(max_length=max_chars):
                return f"longer than {max_chars:,} characters"
            case inspect.UnionType(types=(inspect.StrType(max_length=max_chars), *_)):
                return f"longer than {max_chars:,} characters"
            case _:
                return f"expected {format_alternatives(self.choices)}"


def _describe_parameters() -> Mapping[str, SearchParameter]:
    parameters = {}
    for field in msgspec.structs.fields(SearchRequest):
        value_type, values_max, info = field.type, None, inspect.type_info(field.type)
        description = ""
        if isinstance(info, inspect.Metadata):
            description, info = (info.extra_json_schema or {})["description"], info.type
        if isinstance(info, inspect.ListType):
            value_type = get_args(get_args(field.type)[0])[0]
            values_max, info = info.max_length, info.item_type
        parameters[field.encode_name] = SearchParameter(
            attribute=field.name,
            value_type=value_type,
            value_info=info,
            values_max=values_max,
            default=field.default if values_max is None else [],
            description=description,
        )
    return MappingProxyType(parameters)


PARAMETERS: Mapping[str, SearchParameter] = _describe_parameters()
"""All parameters of a search by their names in a URL."""


def parse_request(parameters: Mapping[str, Any]) -> SearchRequest:
    """Return the search request that URL parameters describe.

    A value is a text or a sequence of texts. Raises ParameterError if a name is unknown, a value is
    invalid, or a parameter is repeated too often.
    """
    values: dict[str, Any] = {}
    for name, value in parameters.items():
        if (parameter := PARAMETERS.get(name)) is None:
            raise build_unknown_parameter(name, PARAMETERS)
        texts = list(value) if isinstance(value, list | tuple) else [value]
        if parameter.values_max is not None:
            if parameter.choices:
                texts = [text for text in texts if text]
            if len(texts) > parameter.values_max:
                reason = f"repeated more than {parameter.values_max} times"
                raise build_invalid_value(name, ", ".join(texts), reason)
            values[parameter.attribute] = list(
                dict.fromkeys(_parse_value(name, parameter, text) for text in texts)
            )
        elif len(texts) > 1:
            raise build_repeated_parameter(name)
        elif texts:
            values[parameter.attribute] = _parse_value(name, parameter, texts[0])
    return SearchRequest(**values)


def _parse_value(name: str, parameter: SearchParameter, text: Any) -> Any:
    """Return the value of a parameter, parsed from text. Raises ParameterError if it is invalid."""
    try:
        value = entered_day(text) if parameter.is_day else text
        return msgspec.convert(value, prepare_type(parameter.value_type), strict=False)
    except msgspec.ValidationError as error:
        reason = parameter.explain_value()
        raise build_invalid_value(name, str(text), reason, parameter.choices) from error
    except ValueError as error:
        raise build_invalid_value(name, str(text), str(error)) from error


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

    - `name`, `value`: label and display value, such as `language` and English.
    - `removal`: changes of URL parameters that remove the filter.
    """

    name: str
    value: str
    removal: Mapping[str, Any]
