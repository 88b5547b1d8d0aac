"""Convert values of exact search fields, such as `language`, to the form that the index stores.

The value `none` becomes '', which selects documents without a value.
"""

from __future__ import annotations

from fonds.model.file import SEARCHED_KINDS, Kind
from fonds.model.suggestions import format_unknown_name
from fonds.papers.bibliography.identifiers import strip_resolver
from fonds.rights.licenses import normalize_license as normalize_license_name
from fonds.text.language_codes import ISO_639_1, UNDETERMINED, find_two_letter_code
from fonds.urls.parts import split_address

NONE = "none"


def format_sentence(message: str) -> str:
    """Return a message with a capital first letter and a full stop or question mark at the end."""
    return message[:1].upper() + message[1:].rstrip("?.") + ("?" if message.endswith("?") else ".")


def normalize_kind(value: str) -> str:
    """Return the name of a file kind, such as `pdf`, in lower case.

    Raises ValueError if the kind is unknown.
    """
    if value.lower() not in list(Kind):
        raise ValueError(format_sentence(format_unknown_name("kind", value, SEARCHED_KINDS)))
    return value.lower()


def normalize_language(value: str) -> str:
    """Return the two-letter code of a language, given any of its codes.

    Returns '' for `none`, which selects documents without a language. Raises ValueError with a
    message for users for an unknown language.
    """
    code = value.lower()
    if code in ("", NONE):
        return ""
    found_code = code if code == UNDETERMINED else find_two_letter_code(code)
    if found_code is None:
        suggestion = f" Did you mean {code[:2]!r}?" if code[:2] in ISO_639_1 else ""
        raise ValueError(
            f"There is no language code {value!r}. Use two letters, such as en, or {NONE!r} for"
            f" documents without a language.{suggestion}"
        )
    return found_code


def normalize_case(value: str) -> str:
    """Return the value of a search field in lower case, as the index stores it.

    Returns '' for `none`, which selects documents without a value.
    """
    return "" if value.lower() == NONE else value.lower()


def normalize_site(value: str) -> str:
    """Return the host of a URL or host name, in lower case.

    Returns '' for `none`, which selects documents without a host.
    """
    url = value if "//" in value else f"//{value}"
    host = split_address(url).host.lower().strip(".")
    return "" if host == NONE else host


def normalize_doi(value: str) -> str:
    """Return a DOI in lower case without its resolver address (`https://doi.org/`).

    Returns '' for `none`, which selects documents without a DOI. Raises ValueError with a message
    for users if the value is not a DOI.
    """
    plain = strip_resolver(value.lower())
    if plain == NONE:
        return ""
    if not plain.startswith("10.") or "/" not in plain:
        raise ValueError(
            "A DOI begins with 10. and contains a slash, such as 10.1234/abc. Use none for documents"
            " without a DOI."
        )
    return plain


def normalize_license(value: str) -> str:
    """Return the identifier of a licence, given as identifier, URL or name (`CC BY 4.0`).

    Returns '' for `none`, which selects documents without a licence.
    """
    is_written_out = "://" in value or " " in value
    return normalize_license_name(value) if is_written_out else normalize_case(value)
