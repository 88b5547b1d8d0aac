"""Each template has a page that browser tests check fully on every push."""

from __future__ import annotations

from browser.library import PAGES, list_templates
from browser.templates import INCLUDED, REPRESENTATIVES
from browser.test_form_answers import ANSWERS
from fonds.web.html.rendering import ENVIRONMENT


def test_every_template_has_a_representative_page() -> None:
    assert set(ENVIRONMENT.list_templates(["html"])) == REPRESENTATIVES.keys() | INCLUDED


def test_each_representative_page_has_its_template() -> None:
    templates = list_templates() | {name: answer.template for name, answer in ANSWERS.items()}
    assert not PAGES & ANSWERS.keys()
    for template, name in REPRESENTATIVES.items():
        assert templates[name] == template
