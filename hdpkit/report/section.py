"""What a page is made of: a section has a heading, a template, and a function that reads what it shows."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from typing import Any

import attrs

from hdpkit.checks import function, instance, text, validator
from hdpkit.errors import ParameterError
from hdpkit.report.material import Material

__all__ = ["Content", "Section"]

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
    """What a section shows of a run.

    Attributes
    ----------
    values : dict
        What its template reads. Texts are escaped by the template.
    charts : dict
        Name -> Vega-Lite specification, with its data in it. A template shows one by
        ``{{ chart("name", caption, description) }}``; names are the page's, so begin them with the key.
    data : dict
        What the page's own script reads, as JSON.
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
        Its place in links: small letters, digits and hyphens.
    title : str
        Its heading, and its entry in the list of sections.
    template : str
        Jinja template, which gets the values of the content: name of a file in the package's ``templates``
        if it ends in ``.html``, the text of a template otherwise. Everything is escaped.
    read : callable
        Of a `Material`; returns a `Content`, or None where this run has nothing to show.
    """

    key: str = attrs.field(validator=_key)
    title: str = attrs.field(validator=validator(text, remedy="A few words."))
    template: str = attrs.field(validator=validator(text, remedy="The text of a Jinja template."))
    read: Callable[[Material], Content | None] = attrs.field(validator=validator(function))
