"""Users, passwords and keys in URLs are hidden, for any characters."""

from __future__ import annotations

from urllib.parse import quote, urlsplit

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fonds.model.secrets import (
    HIDDEN,
    check_secrets,
    has_secret,
    redact_secrets,
    strip_credentials,
)

RESERVED = ":/?#[]@!$&'()*+,;=%\\\"<>^`{|} ~-._"
# The marks prevent a short password from occurring elsewhere in the text by chance.
SECRETS = st.text(RESERVED + "aZ0\u00e9\u6771", max_size=20).map(lambda text: f"Q{text}Q")
SCHEMES = st.sampled_from(["http", "https", "postgresql", "amqp", "s3", "kafka", "hbase+x"])
PATHS = st.text("abc/._-~", max_size=10).map(lambda text: f"/{text}")
PARAMETERS = st.sampled_from(
    ["password", "passwd", "pass", "PASSWORD", "sasl.password", "secret", "secret_key", "api-key",
     "access_key_id", "token", "X-Amz-Signature", "x_credential", "client_secret", "passphrase", "pwd"]
)  # fmt: skip


@given(SCHEMES, SECRETS, SECRETS, PATHS)
def test_a_redacted_url_shows_neither_user_nor_password(
    scheme: str, user: str, password: str, path: str
) -> None:
    for before in (f"{user}:{password}", f"{user}:", f":{password}"):
        redacted = redact_secrets(f"{scheme}://{before}@db.example:5432{path}")
        assert redacted == f"{scheme}://{HIDDEN}@db.example:5432{path}"


@given(SCHEMES, SECRETS, SECRETS, PATHS)
def test_percent_encoded_credentials_are_accepted_and_hidden_in_any_text(
    scheme: str, user: str, password: str, path: str
) -> None:
    url = f"{scheme}://{quote(user, safe='')}:{quote(password, safe='')}@db.example:5432{path}"
    check_secrets(url)
    parts = urlsplit(url)
    assert (parts.hostname, parts.port) == ("db.example", 5432)
    for text in (f"{url} does not answer", f"in {url!r}: no", f"a\n  {url}\nb", f"{url} and {url}"):
        redacted = redact_secrets(text)
        assert quote(password, safe="") not in redacted
        assert f"{HIDDEN}@db.example:5432" in redacted
    assert strip_credentials(url) == f"{scheme}://db.example:5432{path}"
    assert has_secret(url)


@given(SCHEMES, SECRETS, SECRETS)
def test_unencoded_credentials_are_refused_or_parsed_as_written(
    scheme: str, user: str, password: str
) -> None:
    """Parsing an accepted URL returns the password as it was written."""
    url = f"{scheme}://{user}:{password}@db.example/x"
    refusal = find_refusal(url)
    if refusal is None:
        assert urlsplit(url).hostname == "db.example"
        assert ":" in user or urlsplit(url).password == password
        assert strip_credentials(url) == f"{scheme}://db.example/x"
    else:
        assert password not in refusal


def find_refusal(url: str) -> str | None:
    try:
        check_secrets(url)
    except ValueError as error:
        return str(error)
    return None


@given(PARAMETERS, st.text(RESERVED.replace("&", "") + "aZ0", min_size=1), PATHS)
def test_parameters_with_secret_names_are_hidden(name: str, secret: str, path: str) -> None:
    secret = f"Q{secret}Q"
    redacted = redact_secrets(f"kafka://h:9092{path}?acks=1&{name}={secret}&linger=5")
    assert redacted == f"kafka://h:9092{path}?acks=1&{name}={HIDDEN}&linger=5"
    encoded = quote(secret, safe="")
    assert encoded not in redact_secrets(f"the broker at h?{name}={encoded}: no")


@pytest.mark.parametrize(
    "text",
    [
        "https://example.org/a@b",
        "see https://example.org/a@b",
        "http://h:8080/x",
        "sqlite:queue.sqlite",
        "file:/archive/a@b:c",
        "s3://bucket/a@b",
        "author=Smith&from=2020&design=x&bypass=1",
        "https://web.archive.org/web/{timestamp}id_/{url}",
        "no URL, mail a:b@example.org",
        "",
    ],
)
def test_text_without_secrets_is_unchanged(text: str) -> None:
    assert redact_secrets(text) == text
    assert not has_secret(text)
    check_secrets(text)


@pytest.mark.parametrize(
    "url",
    [
        "postgresql://user:hunter/TWO@h/db",
        "postgresql://user:a@b@h/db",
        "http://u:p w@h/",
        "http://u:p?w@h/",
        "http://u:p#w@h/",
        "http://u/x:pw@h/",
        "http://token@x@h/",
        "http://u:p\nw@h/",
        "http://h/\x00",
        "elasticsearch://h:9200/a@b",
    ],
)
def test_urls_with_an_ambiguous_password_are_refused(url: str) -> None:
    with pytest.raises(ValueError, match=r"URL|last @") as raised:
        check_secrets(url)
    assert "hunter" not in str(raised.value)


def test_authorization_headers_are_hidden() -> None:
    redacted = redact_secrets("sent Authorization: Basic dXNlcjpwYXNz and Bearer abc.def-ghi")
    assert redacted == "sent Authorization: Basic *** and Bearer ***"


def test_a_long_line_of_urls_is_redacted_in_linear_time() -> None:
    """The text is scanned once; a quadratic algorithm would not finish."""
    text = "x://a:b@" * 200_000
    assert "a:b" not in redact_secrets(text)
    assert "a:b" not in redact_secrets(f"see {text}")
    assert redact_secrets("see " + "p" * 2_000_000).endswith("p")
