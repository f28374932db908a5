"""How the site is made: ``sphinx-build -n -W --keep-going -b html docs docs/_build/html``.

Nothing is fetched from the network, and no example is run: the code blocks of the pages and the examples are
run by ``tests/docs``, and the pictures are in ``docs/figures`` and ``benchmarks/results/figures``.
"""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import hdpkit

DOCS = Path(__file__).resolve().parent

project = "hdpkit"
author = "The hdpkit developers"
copyright = author
version = release = hdpkit.__version__

extensions = [
    "myst_parser",
    "numpydoc",
    "sphinx.ext.autodoc",
    "sphinx.ext.autosummary",
    "sphinx.ext.mathjax",
    "sphinx_copybutton",
    "sphinx_design",
    "sphinx_gallery.gen_gallery",
]
exclude_patterns = ["_build", "gallery/*.py", "gallery/*.ipynb", "gallery/*.md5"]
templates_path = ["_templates"]
suppress_warnings = ["ref.python"]  # short names in back quotes that several classes have

# Pages are Markdown, with the same links on the site as in the repository.
myst_enable_extensions = ["colon_fence", "dollarmath"]
myst_heading_anchors = 4
myst_links_external_new_tab = True
myst_all_links_external = False

# API pages.
autosummary_generate = True
autosummary_imported_members = True
autodoc_member_order = "groupwise"
autodoc_typehints = "signature"
autodoc_typehints_format = "short"
python_maximum_signature_line_length = 88
python_use_unqualified_type_names = True
numpydoc_show_class_members = False
default_role = "py:obj"  # a link where there is a page, else code

nitpick_ignore_regex = [
    ("py:obj", r"(?!hdpkit\.|hk\.).*"),  # text in back quotes that is no name of ours
    ("py:.*", r"(?!hdpkit\.|hk\.).*"),  # other projects: no inventories without a network
    ("py:class", r"hdpkit(\.\w+){2,}"),  # types in signatures that have no page
]

html_theme = "pydata_sphinx_theme"
html_title = "hdpkit"
html_show_sourcelink = False
html_copy_source = False
html_theme_options = {
    "show_toc_level": 2,
    "navigation_with_keys": False,
    "header_links_before_dropdown": 6,
    "footer_start": ["copyright"],
    "footer_end": ["theme-version"],
    "pygments_light_style": "friendly",
    "pygments_dark_style": "github-dark",
}
html_context = {"default_mode": "auto"}
html_sidebars = {"index": []}
copybutton_prompt_text = r">>> |\.\.\. |\$ "
copybutton_prompt_is_regexp = True

# Each example with its picture, and the page with its results.
RESULTS = "benchmarks/results"
EXAMPLES = {
    "counts": ("counts.png", "examples"),
    "expected_tables": ("expected_tables.png", "expected_tables"),
    "fuentes": ("fuentes.png", "fuentes"),
    "gaussian_mixtures": ("gaussian_grouped.png", "examples"),
    "recovery": (None, "examples"),
    "signature_cohorts": (None, "signature_cohorts"),
    "sparse_study": ("sparse_study_ap.png", "sparse"),
    "sparse_topics": ("sparse_topics.png", "sparse"),
    "split_merge_study": ("split_merge_study.png", "split_merge"),
    "three_levels": ("three_levels.png", "examples"),
}

sphinx_gallery_conf = {
    "examples_dirs": ["../examples"],
    "gallery_dirs": ["gallery"],
    "filename_pattern": "^$",  # none is run
    "ignore_pattern": r"setup\.py|compiled_measure",
    "plot_gallery": "False",
    "download_all_examples": False,
    "show_memory": False,
    "show_signature": False,
    "write_computation_times": False,
    "within_subsection_order": "FileNameSortKey",
    "nested_sections": False,
}


def finish_example(app: Any, name: str, source: list[str]) -> None:
    """Make the first sentence of an example its title, and put its picture and a link to its page below."""
    example = name.removeprefix("gallery/")
    if not name.startswith("gallery/") or example == "index":
        return
    head, label, text = source[0].partition(f".. _sphx_glr_gallery_{example}.py:\n\n")
    title, _, text = text.partition("\n\n")
    title = " ".join(title.split()).rstrip(".")
    added = ""
    picture, page = EXAMPLES.get(example, (None, None))
    if page:
        added += f":download:`{RESULTS}/{page}.md </../{RESULTS}/{page}.md>` has the results.\n\n"
    if picture:
        added += f".. image:: /../{RESULTS}/figures/{picture}\n   :alt: Picture drawn by {example}.py\n\n"
    text = re.sub(r"\n\n(?=    python )", "\n\n::\n\n", f"\n\n{text}")  # how to run it
    source[0] = f"{head}{label}{title}\n{'=' * len(title)}\n\n{added}{text}"


def link_outside(app: Any, name: str, source: list[str]) -> None:
    """Links to pages of the repository that are no pages of this site lead to a copy of their text."""
    source[0] = re.sub(
        r"\[([^\]]+)\]\((\.\./(?:benchmarks/|CONTRIBUTING)[^)#]*\.md)(?:#[^)]*)?\)",
        r"{download}`\1 <\2>`",
        source[0],
    )


def write_commands(app: Any) -> None:
    """The page of all commands with all their options, as `--help` prints them."""
    import click
    from click.testing import CliRunner

    from hdpkit.cli.main import main

    def helps(command: click.Command, words: list[str]) -> list[str]:
        context = click.Context(command, info_name=" ".join(words), terminal_width=100, max_content_width=100)
        text = "\n".join(f"   {line}".rstrip() for line in full_help(command, context).splitlines())
        title = " ".join(words)
        found = [f"{title}\n{'-' * len(title)}\n\n.. code-block:: text\n\n{text}\n"]
        if isinstance(command, click.Group):
            for name in command.list_commands(context):
                found += helps(command.get_command(context, name), [*words, name])
        return found

    def full_help(command: click.Command, context: click.Context) -> str:
        for parameter in command.params:  # of commands that show the common options only
            if "--help-all" in parameter.opts:
                name = context.info_name
                return CliRunner().invoke(command, ["--help-all"], prog_name=name, terminal_width=100).output
        return command.get_help(context)

    page = DOCS / "reference" / "generated" / "commands.rst"
    page.parent.mkdir(parents=True, exist_ok=True)
    head = "Commands\n========\n\nThe help of each command. :doc:`/command_line` is the guide.\n\n"
    text = head + "\n".join(helps(main, ["hdpkit"]))
    if not page.exists() or page.read_text(encoding="utf-8") != text:
        page.write_text(text, encoding="utf-8")


def give_thumbnails(app: Any) -> None:
    """Small pictures for the gallery's first page, from the figures of these pages."""
    from sphinx_gallery.utils import scale_image

    for example, (picture, _) in EXAMPLES.items():
        if picture:
            thumbnail = DOCS / "gallery" / "images" / "thumb" / f"sphx_glr_{example}_thumb.png"
            thumbnail.parent.mkdir(parents=True, exist_ok=True)
            scale_image(str(DOCS.parent / RESULTS / "figures" / picture), str(thumbnail), 400, 280)


PLACES = (
    "hdpkit",
    *(
        f"hdpkit.{name}"
        for name in ("moves", "init", "errors", "random", "testing", "plots", "summaries", "report")
    ),
)


def find_public_name(app: Any, env: Any, node: Any, content: Any) -> Any:
    """Lead a type of a signature to its page: classes are documented where users import them from."""
    if node.get("refdomain") != "py":
        return None
    target = re.sub(r"^hk\.", "hdpkit.", node.get("reftarget", ""))
    name = target.rpartition(".")[2]
    domain = env.get_domain("py")
    for found in (target, *(f"{place}.{name}" for place in PLACES if node.get("reftype") == "class")):
        if found in domain.objects:
            return domain.resolve_xref(env, node["refdoc"], app.builder, "obj", found, node, content)
    return None


def setup(app: Any) -> dict[str, Any]:
    """Connect the functions above."""
    app.connect("source-read", finish_example)
    app.connect("source-read", link_outside)
    app.connect("builder-inited", write_commands, priority=100)
    app.connect("builder-inited", give_thumbnails, priority=900)
    app.connect("missing-reference", find_public_name)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
