"""Error for optional libraries that are not installed."""

from __future__ import annotations

from fonds.model.errors import ConfigurationError


def build_missing_extra_error(
    feature: str, extra: str, library: str | None = None
) -> ConfigurationError:
    """Return the error to raise for a feature whose optional library is not installed.

    - `feature`: name of the feature for people.
    - `extra`: extra of the package `fonds` that installs the library.
    - `library`: name of the library; None to say "an extra library".
    """
    needs = f"the library {library!r}" if library else "an extra library"
    return ConfigurationError(f"{feature} needs {needs}. Install it: pip install 'fonds[{extra}]'")
