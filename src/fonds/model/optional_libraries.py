"""Error for optional libraries that are not installed."""

from __future__ import annotations

from fonds.model.errors import ConfigurationError


def build_missing_extra_error(
    feature: str, extra: str, library: str | None = None
) -> ConfigurationError:
    """Return the error for a `feature` whose library is not installed."""
    needs = f"the library {library!r}" if library else "an extra library"
    return ConfigurationError(f"{feature} needs {needs}. Install it: pip install 'fonds[{extra}]'")
