"""No user, password or key of a URL is shown, whatever characters it is made of."""

from __future__ import annotations

from urllib.parse import quote, urlsplit

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fonds.model.secrets import (
    HIDDEN,
    check_secrets,
    collect_credentials,
    has_secret,
    redact_secrets,
    strip_credentials,
)

RESERVED = ":/?#[]@!$&'()*+,;=%\\\"<>^`{|} ~-._"
# The marks keep a short password from standing in the rest of the text by chance.
SECRETS = st.text(RESERVED + "aZ0\u00e9\u6771", max_size=20).map(lambda text: f"Q{text}Q")
SCHEMES = st.sampled_from(["http", "https", "postgresql", "amqp", "s3", "kafka", "hbase+x"])
PATHS = st.text("abc/._-~", max_size=10).map(lambda text: f"/{text}")
PARAMETERS = st.sampled_from(
    ["password", "passwd", "pass", "PASSWORD", "sasl.password", "secret", "secret_key", "api-key",
     "access_key_id", "token", "X-Amz-Signature", "x_credential", "client_secret", "passphrase", "pwd"]
)  # fmt: skip


@given(SCHEMES, SECRETS, SECRETS, PATHS)
def test_a_url_shows_neither_user_nor_password(
    scheme: str, user: str, password: str, path: str
) -> None:
    for before in (f"{user}:{password}", f"{user}:", f":{password}"):
        shown = redact_secrets(f"{scheme}://{before}@db.example:5432{path}")
        assert shown == f"{scheme}://{HIDDEN}@db.example:5432{path}"


@given(SCHEMES, SECRETS, SECRETS, PATHS)
def test_encoded_ones_are_accepted_and_hidden_in_any_text(
    scheme: str, user: str, password: str, path: str
) -> None:
    url = f"{scheme}://{quote(user, safe='')}:{quote(password, safe='')}@db.example:5432{path}"
    check_secrets(url)
    parts = urlsplit(url)
    assert (parts.hostname, parts.port) == ("db.example", 5432)
    for text in (f"{url} does not answer", f"in {url!r}: no", f"a\n  {url}\nb", f"{url} and {url}"):
        shown = redact_secrets(text)
        assert quote(password, safe="") not in shown
        assert f"{HIDDEN}@db.example:5432" in shown
    assert strip_credentials(url) == f"{scheme}://db.example:5432{path}"
    assert has_secret(url)


@given(SCHEMES, SECRETS, SECRETS)
def test_what_is_not_encoded_is_refused_or_means_what_it_says(
    scheme: str, user: str, password: str
) -> None:
    """Whoever takes an accepted URL apart finds the password where it was written."""
    url = f"{scheme}://{user}:{password}@db.example/x"
    refusal = _refusal(url)
    if refusal is None:
        assert urlsplit(url).hostname == "db.example"
        assert ":" in user or urlsplit(url).password == password
        assert strip_credentials(url) == f"{scheme}://db.example/x"
    else:
        assert password not in refusal


def _refusal(url: str) -> str | None:
    try:
        check_secrets(url)
    except ValueError as error:
        return str(error)
    return None


@given(PARAMETERS, st.text(RESERVED.replace("&", "") + "aZ0", min_size=1), PATHS)
def test_parameters_that_sound_like_secrets_are_hidden(name: str, secret: str, path: str) -> None:
    secret = f"Q{secret}Q"
    shown = redact_secrets(f"kafka://h:9092{path}?acks=1&{name}={secret}&linger=5")
    assert shown == f"kafka://h:9092{path}?acks=1&{name}={HIDDEN}&linger=5"
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
def test_what_is_no_secret_stays(text: str) -> None:
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
def test_urls_whose_password_has_no_clear_end_are_refused(url: str) -> None:
    with pytest.raises(ValueError, match=r"URL|last @") as told:
        check_secrets(url)
    assert "hunter" not in str(told.value)


def test_headers_are_hidden() -> None:
    shown = redact_secrets("sent Authorization: Basic dXNlcjpwYXNz and Bearer abc.def-ghi")
    assert shown == "sent Authorization: Basic *** and Bearer ***"


def test_a_long_line_of_urls_costs_little() -> None:
    """One pass over the text: what would square with its length would never end here."""
    text = "x://a:b@" * 200_000
    assert "a:b" not in redact_secrets(text)
    assert "a:b" not in redact_secrets(f"see {text}")
    assert redact_secrets("see " + "p" * 2_000_000).endswith("p")


@given(SECRETS, SECRETS)
def test_users_go_to_their_origin_alone(user: str, password: str) -> None:
    encoded = f"{quote(user, safe='')}:{quote(password, safe='')}"
    credentials = collect_credentials(
        [f"https://{encoded}@Host.example/warcs", "/a/folder", "http://plain/"]
    )
    header = credentials.build_authorization("https", "host.example", 443)
    assert header is not None
    assert header.startswith("Basic ")
    for other in (("http", "host.example", 443), ("https", "host.example", 8443),
                  ("https", "other.example", 443), ("http", "plain", 80)):  # fmt: skip
        assert credentials.build_authorization(*other) is None
    assert password not in repr(credentials)
