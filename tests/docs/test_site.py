"""The site: every page is in its navigation, and every public name has a page. `.ci/run` builds it."""

import re
from pathlib import Path
from types import ModuleType

import hdpkit

DOCS = Path(__file__).resolve().parents[2] / "docs"
GENERATED = ("gallery/index", "reference/generated/commands")  # made by the build


def toctree_entries(page):
    blocks = re.findall(r"```\{toctree\}\n(.*?)```", page.read_text(encoding="utf-8"), re.DOTALL)
    for line in "\n".join(blocks).splitlines():
        if line and not line.startswith(":"):
            yield (page.parent / line).resolve().relative_to(DOCS).as_posix()


def test_every_page_is_in_the_navigation():
    pages = {
        page.relative_to(DOCS).with_suffix("").as_posix()
        for page in DOCS.rglob("*.md")
        if page.relative_to(DOCS).parts[0] not in ("_build", "gallery")
    }
    named = list(toctree_entries(DOCS / "index.md"))
    assert sorted({entry for entry in named if named.count(entry) > 1}) == []
    assert sorted(set(named) - pages - set(GENERATED)) == []
    assert sorted(pages - set(named) - {"index"}) == [], "add these to a toctree of docs/index.md"


def test_a_newcomer_walks_along_the_path():
    """README, then four pages, each of which leads to the next."""
    path = ["first_model.md", "your_data.md", "read_the_answer.md", "go_further.md"]
    readme = (DOCS.parent / "README.md").read_text(encoding="utf-8")
    assert all(f"(docs/{page})" in readme for page in path)
    for page, following in zip(["index.md", "install.md", *path], ["install.md", *path], strict=False):
        assert f"({following})" in (DOCS / page).read_text(encoding="utf-8"), page


def test_every_public_name_is_in_the_reference():
    listed = set()
    for page in (DOCS / "reference").glob("*.md"):
        text = page.read_text(encoding="utf-8")
        for module, names in re.findall(r"currentmodule:: (\S+)\n(.*?)```", text, re.DOTALL):
            listed |= {f"{module}.{name}" for name in re.findall(r"^   (\w+)$", names, re.MULTILINE)}
    public = set()
    for name in hdpkit.__all__:
        thing = getattr(hdpkit, name)
        if isinstance(thing, ModuleType):
            public |= {f"{thing.__name__}.{inner}" for inner in thing.__all__}
        else:
            public.add(f"hdpkit.{name}")
    remedy = "add these to a page of docs/reference"
    assert sorted(name for name in public - listed if not name.endswith(".printable")) == [], remedy
    for name in listed:
        module, _, attribute = name.rpartition(".")
        assert hasattr(__import__(module, fromlist=["_"]), attribute), name
