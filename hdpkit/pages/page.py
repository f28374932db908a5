"""The page as text: filled templates, data as JSON, and inline scripts and styles.

All text from a corpus enters the page through Jinja's autoescape or through `as_json`, and the script of the
page inserts it as text nodes. In addition, the page has a content security policy: only the scripts whose
digests it lists can run, and nothing can be loaded.
"""

from __future__ import annotations

import base64
import functools
import hashlib
import json
from collections.abc import Iterable
from importlib import resources
from typing import Any

from hdpkit.canvas import PALETTE, specification
from hdpkit.errors import ParameterError, importing_extra
from hdpkit.pages.report_data import ReportData
from hdpkit.pages.section import Section


def check_extra() -> None:
    """Raise a MissingExtraError if a package for writing reports isn't installed."""
    for name in ("jinja2", "altair", "vl_convert", "sklearn"):
        with importing_extra(name, "report"):
            __import__(name)


@functools.cache
def _vega() -> str:
    """Vega, Vega-Lite and Vega-Embed as one script."""
    import vl_convert

    script = vl_convert.javascript_bundle("window.hdpkitVegaEmbed = vegaEmbed;")
    return str(script).replace("</script", r"<\/script").replace("<!--", r"<\!--")


@functools.cache
def _own(name: str) -> str:
    return resources.files("hdpkit.pages").joinpath("templates", name).read_text(encoding="utf-8")


def as_json(value: Any) -> str:
    """Text of strict JSON that can't end its script element."""
    text = json.dumps(value, ensure_ascii=True, allow_nan=False, separators=(",", ":"), default=_plain)
    for letter in "<>&":
        text = text.replace(letter, f"\\u{ord(letter):04x}")
    return text


def _plain(value: Any) -> Any:
    if hasattr(value, "tolist"):  # numbers and arrays of NumPy
        return value.tolist()
    raise TypeError(f"{type(value).__name__} can't be written as JSON")


def _digest(script: str) -> str:
    return "sha256-" + base64.b64encode(hashlib.sha256(script.encode()).digest()).decode()


def _environment() -> Any:
    import jinja2

    environment = jinja2.Environment(
        loader=jinja2.PackageLoader("hdpkit.pages"),
        autoescape=True,
        undefined=jinja2.StrictUndefined,
        lstrip_blocks=True,
    )
    # Adding zero makes -0.0, to which a tiny negative number is rounded, 0.0.
    environment.filters["percent"] = lambda value, digits=1: f"{round(value, digits + 2) + 0.0:.{digits}%}"
    environment.filters["grouped"] = lambda value: f"{value:,}"
    environment.filters["short"] = lambda value, digits=4: f"{value:,.{digits}g}"
    environment.globals |= vars(environment.get_template("macros.html").module)
    return environment


def _filled(environment: Any, template: str, values: dict[str, Any]) -> str:
    """A template with these values: a block of the package's sections by its name, or a text."""
    if not template.endswith(".html"):
        return str(environment.from_string(template).render(values))
    import jinja2

    sections, name = environment.get_template("sections.html"), template.removesuffix(".html")
    if name not in sections.blocks:
        raise jinja2.TemplateNotFound(template)
    return "".join(sections.blocks[name](sections.new_context(values)))


def rendered(report: ReportData, sections: Iterable[Section], written: str) -> str:
    """The complete page."""
    import jinja2
    from markupsafe import Markup

    environment = _environment()
    charts: dict[str, Any] = {}
    data: dict[str, Any] = {}
    bodies = []
    for section in sections:
        content = section.read(report)
        if content is None:
            continue
        specified = {name: specification(one) for name, one in content.charts.items()}
        for into, more in ((charts, specified), (data, content.data)):
            if twice := set(into) & set(more):
                raise ParameterError(
                    "sections", sorted(twice)[0], "names of charts and data that no other section has",
                    f"Begin them with {section.key!r}.",
                )  # fmt: skip
            into |= more
        try:
            body = _filled(environment, section.template, {**content.values, "nouns": report.nouns})
            title = environment.from_string(section.title).render(nouns=report.nouns)
        except jinja2.TemplateError as error:
            raise ParameterError(
                f"sections[{section.key!r}].template", section.template, f"a template that works ({error})",
                "See the templates of the package.",
            ) from error  # fmt: skip
        bodies.append((section.key, Markup(title), Markup(body)))
    scripts = ([_vega()] if charts else []) + [_own("page.js")]
    # The nouns in the singular, by which the script finds them.
    nouns = {name: getattr(report.nouns, name) for name in ("topic", "token", "document", "term")}
    shown = {**data, "charts": charts, "nouns": nouns, "palette": PALETTE}
    return str(
        environment.get_template("page.html").render(
            title=report.title,
            bodies=bodies,
            written=written,
            scripts=[Markup(script) for script in scripts],
            digests=[_digest(script) for script in scripts],
            style=Markup(_own("page.css")),
            licences=_own("licences.txt"),
            nouns=report.nouns,
            data=Markup(as_json(shown)),
        )
    )
