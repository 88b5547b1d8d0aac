"""What a search page and its API are asked: each a parameter of the URL, which holds all of it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import date
from types import MappingProxyType
from typing import Annotated, Any, Literal

from pydantic import (
    AfterValidator,
    BaseModel,
    BeforeValidator,
    ConfigDict,
    Field,
    StringConstraints,
)

from fonds.model.document import DateOf
from fonds.model.file import Kind
from fonds.model.partial_date import entered_day
from fonds.model.search import RESULTS_MAX, MatchMode, SearchQuery

PAGE_SIZE, SIZE_MAX = 10, 1_000
QUERY_MAX_CHARS = 1_000
FACET_VALUES, FACET_VALUES_MAX = 20, 1_000


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
"""In English, as the pages are; a language without one here is shown by its code."""


def format_value_name(parameter: str, value: str) -> str:
    """How people call a value."""
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
    dates: DateOf = Field(
        DateOf.PUBLISHED,
        description="The dates meant by from, to, undated, newest, oldest and the counts by month",
    )
    sort: Literal["score", "newest", "oldest", "added", "id"] = Field(
        "score",
        description="Order of the results, newest where there are no words; that by id is for having all",
    )
    after: Annotated[str | None, StringConstraints(max_length=200)] = Field(
        None, description="With sort=id: begin behind this document, the last of the page before"
    )
    size: int = Field(PAGE_SIZE, ge=1, le=SIZE_MAX, description="Results a page")
    facets: int = Field(
        FACET_VALUES, ge=0, le=FACET_VALUES_MAX, description="Values listed of each facet, at most"
    )
    find: str = Field(
        "",
        max_length=100,
        description="Of facets only values that have this in them, or in their names",
    )
    themes: Annotated[str, StringConstraints(max_length=600)] = Field(
        "", description="NAMESPACE/KEY: count the results by the themes of this collection"
    )
    collapse: Literal["", "yes", "no"] = Field(
        "", description="Whether one document stands for all that say nearly the same"
    )
    alike: Annotated[str, StringConstraints(max_length=200)] = Field(
        "", description="Id of a document: only those of the search it stands for, and itself"
    )
    match: Literal["", "exact", "best"] = Field(
        "",
        description="exact: all of the words; best: any of them, ranked. Empty: exact; on the search page and"
        " in /api/search best when exact finds nothing, but not with sort=id",
    )
    page: int = Field(1, ge=1, le=RESULTS_MAX // PAGE_SIZE, description="Page of results, from 1")

    @property
    def order(self) -> str:
        """The order results stand in: without words none is better than another, and the newest are first."""
        return "newest" if self.sort == "score" and not self.q.strip() else self.sort

    def build_query(self, ids: Sequence[str] = ()) -> SearchQuery:
        """The same for the index; with `ids` among these documents only."""
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
        """Return the parameters of the URL that are not defaults, on its first page.

        `changes` replace values. None removes one.
        """
        said = self.model_dump(
            by_alias=True, exclude={"page", "after"}, exclude_defaults=True, mode="json"
        )
        return {name: 1 if value is True else value for name, value in said.items()} | {**changes}

    def list_filters(self) -> list[ActiveFilter]:
        """Every filter in use; the words and the order are none."""
        found = []
        for name, value in self.build_params().items():
            if name in (
                "q",
                "sort",
                "facets",
                "size",
                "find",
                "themes",
                "collapse",
                "dates",
                "match",
            ):
                continue
            is_date = name in ("from", "to", "undated") and self.dates is not DateOf.PUBLISHED
            told = f"{self.dates} {name}" if is_date else name
            for one in value if isinstance(value, list) else [value]:
                left = (
                    [other for other in value if other != one] if isinstance(value, list) else None
                )
                shown = "undated" if name == "undated" else format_value_name(name, str(one))
                found.append(ActiveFilter(told, shown, {name: left or None}))
        return found


@dataclass(frozen=True, slots=True)
class ActiveFilter:
    """A filter in use. `removal` is the change of parameters that removes it."""

    name: str
    value: str
    removal: Mapping[str, Any]
