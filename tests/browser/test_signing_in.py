"""Sign-in with a real browser without scripts: the session, the admin page, and revoked keys."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from playwright.sync_api import Browser, BrowserContext, Page

from browser.browsing import serve_app
from browser.matrix import check_accessible
from fonds.model.access import Role
from guarded_home import GuardedHome, open_guarded_home

pytestmark = pytest.mark.xdist_group("forms")


@pytest.fixture
def served(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[GuardedHome, str]]:
    with (
        open_guarded_home(tmp_path_factory.mktemp("guarded"), reading=True) as home,
        serve_app(home.pages) as address,
    ):
        yield home, address


def sign_in(context: BrowserContext, address: str, secret: str) -> Page:
    page = context.new_page()
    page.goto(f"{address}/sign-in?next=/failures")
    page.get_by_label("Key").fill(secret)
    page.get_by_role("button", name="Sign in").click()
    return page


def test_a_session_ends_when_its_key_is_revoked(
    browser: Browser, served: tuple[GuardedHome, str]
) -> None:
    home, address = served
    context = browser.new_context(java_script_enabled=False)
    page = context.new_page()
    page.goto(f"{address}/failures")
    page.get_by_role("link", name="Sign in with a key").click()
    page.get_by_label("Key").fill("fonds_" + "a" * 52)
    page.get_by_role("button", name="Sign in").click()
    assert "This key is wrong" in page.get_by_role("alert").inner_text()
    page = sign_in(context, address, home.secrets[Role.READER])
    assert page.url == f"{address}/failures"
    assert page.get_by_role("link", name="Access keys").count() == 0
    (cookie,) = context.cookies()
    assert (cookie["httpOnly"], cookie["sameSite"]) == (True, "Strict")
    admins = browser.new_context(java_script_enabled=False)
    admin = sign_in(admins, address, home.secrets[Role.ADMIN])
    admin.get_by_role("link", name="Access keys").click()
    assert admin.locator("h1").inner_text() == "3 active keys"
    admin.get_by_text("Revoke reader").click()
    admin.get_by_label("Reason for revoking reader").fill("lost")
    admin.locator("li", has_text="reader").get_by_role("button", name="Revoke").click()
    assert admin.locator("h1").inner_text() == "2 active keys"
    answer = page.reload()
    assert answer is not None
    assert answer.status == 401
    admin.get_by_role("button", name="Sign out").click()
    assert admin.get_by_role("link", name="Sign in", exact=True).count() == 1
    assert not [cookie for cookie in admins.cookies() if "session" in cookie.get("name", "")]


@pytest.mark.nightly
@pytest.mark.parametrize("path", ["/sign-in", "/admin", "/embargoes"])
def test_access_pages_are_accessible_and_fit_a_phone(
    browser: Browser, served: tuple[GuardedHome, str], path: str
) -> None:
    home, address = served
    context = browser.new_context(bypass_csp=True, viewport={"width": 1280, "height": 900})
    page = sign_in(context, address, home.secrets[Role.ADMIN])
    for width, scheme in ((1280, "light"), (1280, "dark"), (320, "light")):
        page.set_viewport_size({"width": width, "height": 800})
        page.emulate_media(color_scheme="dark" if scheme == "dark" else "light")
        page.goto(f"{address}{path}")
        check_accessible(page, f"{scheme}, {width}")
        assert page.evaluate("document.documentElement.scrollWidth") == width
