"""Each template has a page that browser tests check in full on every push."""

from __future__ import annotations

from browser.library import PAGES, list_templates
from browser.templates import INCLUDED, REPRESENTATIVES
from browser.test_form_answers import ANSWERS
from fonds.web.html.rendering import ENVIRONMENT


def test_every_template_is_visited_on_push() -> None:
    assert set(ENVIRONMENT.list_templates(["html"])) == REPRESENTATIVES.keys() | INCLUDED


def test_a_page_that_represents_a_template_is_made_of_it() -> None:
    templates = list_templates() | {name: one.template for name, one in ANSWERS.items()}
    assert not PAGES & ANSWERS.keys()
    for template, name in REPRESENTATIVES.items():
        assert templates[name] == template
