"""Sections of the page: each has a heading, a template, and a function that computes its content."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from typing import Any

import attrs

from hdpkit.checks import function, instance, text, validator
from hdpkit.errors import ParameterError
from hdpkit.pages.report_data import ReportData

_KEY = re.compile(r"[a-z][a-z0-9-]*")


def _mapping(instance_: Any, attribute: Any, value: Any) -> None:
    instance(attribute.name, value, Mapping, "a dict", remedy="Leave it out where there is nothing.")


def _key(instance_: Any, attribute: Any, value: Any) -> None:
    if not isinstance(value, str) or not _KEY.fullmatch(value):
        raise ParameterError(
            attribute.name, value, "small letters, digits and hyphens", "It is part of links: my-section."
        )


@attrs.frozen(kw_only=True)
class Content:
    """The content of a section for a run.

    Attributes
    ----------
    values : dict
        Values for the template. The template escapes texts.
    charts : dict
        Name -> Altair chart, for instance of ``hdpkit.plots``, or Vega-Lite specification including its data.
        To show one, a template has ``{{ chart("name", caption, description) }}``. Names must be unique on the
        page, so begin them with the key.
    data : dict
        Data for the script of the page, converted to JSON.
    """

    values: Mapping[str, Any] = attrs.field(factory=dict, validator=_mapping)
    charts: Mapping[str, Any] = attrs.field(factory=dict, validator=_mapping)
    data: Mapping[str, Any] = attrs.field(factory=dict, validator=_mapping)


@attrs.frozen(kw_only=True)
class Section:
    """A section of the page.

    Parameters
    ----------
    key : str
        Its name in links: lower-case letters, digits and hyphens.
    title : str
        The heading, also used in the list of sections: a Jinja template, which can use ``nouns``, the words
        for dishes and customers in the field of the run (``{{ nouns.topics }}``, ``{{ nouns.tokens }}``).
    template : str
        Jinja template that is filled with the values of the content: the name of a file in ``templates`` of
        the package if it ends in ``.html``, otherwise the text of a template. All values are escaped.
    read : callable
        Takes a `ReportData` and returns a `Content`, or None if this run has nothing to show.
    """

    key: str = attrs.field(validator=_key)
    title: str = attrs.field(validator=validator(text, remedy="Give a few words."))
    template: str = attrs.field(validator=validator(text, remedy="The text of a Jinja template."))
    read: Callable[[ReportData], Content | None] = attrs.field(validator=validator(function))
