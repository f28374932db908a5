"""The demo corpus: collection from installed packages, and the choice of words."""

import sys
import textwrap

import pytest

from hdpkit.data.files.installed_docs import collect_docstrings, demo_documents
from hdpkit.data.files.tokens import (
    count_words,
    merge_plurals,
    prose,
    recurring_lines,
    tokenise,
    trim_vocabulary,
)
from hdpkit.errors import DataError

PACKAGE = {
    "__init__.py": '''
        """The noisy package."""
        import sys, warnings
        print("printed on import")
        print("complained on import", file=sys.stderr)
        warnings.warn("old", DeprecationWarning)
        from math import sqrt
        from .shapes import Circle
        def _hidden():
            """Never seen."""
    ''',
    "shapes.py": '''
        class Round:
            def area(self):
                """The area of it."""
            @classmethod
            def unit(cls):
                """The unit shape."""
            @property
            def radius(self):
                """Half the width."""
            def _secret(self):
                """Not public."""
        class Circle(Round):
            """A circle."""
            def area(self):
                """The area of it."""
        class Odd(dict):
            """A dictionary."""
        answer = 42
        round_thing = Circle()
    ''',
    "leaves.py": '"""It leaves."""\nraise SystemExit(3)\n',
    "breaks.py": '"""It breaks."""\nraise RuntimeError("no")\n',
    "needs.py": "import no_such_package_anywhere\n",
    "_inner.py": '''
        def helper():
            """What the helper does."""
        def area():
            """The area of it."""
    ''',
    "tests/__init__.py": 'raise KeyboardInterrupt("tests are never imported")\n',
    "sub/__init__.py": '"""A part."""\n',
    "sub/deep.py": '''
        def dive():
            """Go down."""
    ''',
}


@pytest.fixture
def noisy(tmp_path, monkeypatch):
    for path, text in PACKAGE.items():
        file = tmp_path / "noisy_fake" / path
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(textwrap.dedent(text).lstrip())
    monkeypatch.syspath_prepend(tmp_path)
    yield "noisy_fake"
    for name in [name for name in sys.modules if name.partition(".")[0] == "noisy_fake"]:
        del sys.modules[name]


def test_collects_every_text_once_under_its_public_name(noisy):
    found = collect_docstrings((noisy,))
    assert dict(zip(found.names, found.texts, strict=True)) == {
        "noisy_fake": "The noisy package.",
        "noisy_fake.Circle": "A circle.",
        "noisy_fake.Circle.area": "The area of it.",
        "noisy_fake.Circle.radius": "Half the width.",
        "noisy_fake.Circle.unit": "The unit shape.",
        "noisy_fake.shapes.Odd": "A dictionary.",
        "noisy_fake.sub": "A part.",
        "noisy_fake.sub.deep.dive": "Go down.",
        "noisy_fake._inner.helper": "What the helper does.",
    }


def test_import_is_muted_and_failures_are_counted(noisy, capfd, recwarn):
    found = collect_docstrings((noisy,))
    assert found.failed == ("noisy_fake.breaks", "noisy_fake.leaves", "noisy_fake.needs")
    assert capfd.readouterr() == ("", "")
    assert not recwarn.list


def test_a_part_of_a_noisy_package_is_muted_too(noisy, capfd):
    assert collect_docstrings((f"{noisy}.sub",)).names == ("noisy_fake.sub", "noisy_fake.sub.deep.dive")
    assert capfd.readouterr() == ("", "")


def test_the_order_is_the_same_whatever_was_imported_before(noisy):
    assert collect_docstrings((noisy,)) == collect_docstrings((noisy,))


def test_progress_counts_to_the_end(noisy):
    seen = []
    collect_docstrings((noisy,), progress=lambda *args: seen.append(args))
    total = seen[0][1]
    assert [done for done, _, _ in seen] == list(range(total + 1))
    assert {all_of_it for _, all_of_it, _ in seen} == {total}
    assert seen[0][2] == noisy


@pytest.mark.parametrize("name", ["no_such_package_anywhere", "noisy_fake.nothing.here"])
def test_a_package_that_is_not_there_is_named(noisy, name):
    with pytest.raises(DataError, match=name[:12]):
        collect_docstrings((name,))


def test_installed_numpy_linalg():
    docs = demo_documents(("numpy.linalg",), max_share=0.9)
    assert docs.failed == ()
    assert "numpy.linalg.svd" in docs.names
    assert len(docs.documents) == len(docs.names) == len(set(docs.names)) <= docs.n_docstrings
    assert all(docs.documents)
    assert docs.vocabulary == sorted({word for words in docs.documents for word in words})
    assert docs.n_tokens == sum(map(len, docs.documents)) < docs.n_words
    svd = docs.documents[docs.names.index("numpy.linalg.svd")]
    assert {"singular", "decomposition"} <= set(svd)


def test_prose_drops_what_is_not_about_the_subject():
    text = textwrap.dedent("""
        filter(signal, cutoff=None)

        Smooth a signal [1]_ by :math:`\\frac{a}{b}`.

        .. math:: x = \\sum_i y_i

            still the formula

        Parameters
        ----------
        cutoff : typename
            Where it ends.

        Examples
        --------
        >>> import nothing
        >>> y = smooth(wave)  # comment
        printedoutput
        >>> plt.plot(y)

        More prose.

        See Also
        --------
        median : Another filter.

        References
        ----------
        .. [1] Somebody, "A paper".
    """)
    words = tokenise(prose(text))
    kept = "smooth signal cutoff ends smooth wave prose median filter"
    assert words == kept.split()


def test_printed_sets_leave_no_trace_of_the_hash_seed():
    words = [
        tokenise(prose(f"Use of ``{order}`` hides a filter."))
        for order in ("{'b1x', 'axy'}", "{'axy', 'b1x'}")
    ]
    assert words[0] == words[1]
    assert "filter" in words[0]
    assert "axy" not in words[0]


def test_words():
    assert tokenise("The sparse_matrix is 3x3, of Rank_2; an FFT") == ["sparse", "matrix", "rank", "fft"]
    assert tokenise("") == []
    assert count_words("The sparse_matrix of 2") == 3


def test_pasted_lines_are_found_whatever_the_template_filled_in():
    texts = [f"About {name}{name}.\n  Broadcast  `{name}` with *out*." for name in "abcdefgh"]
    pasted = recurring_lines(texts, 8)
    assert len(pasted) == 1
    assert tokenise("Broadcast ``zeta`` with *it*.\nA spline.", without=pasted) == ["spline"]
    assert recurring_lines(texts, 9) == frozenset()
    assert recurring_lines(["same\nsame"] * 7, 8) == frozenset()


def test_plurals_join_their_singulars():
    documents = [["filter", "filters", "basis"], ["filters", "class", "matrices", "series"]]
    assert merge_plurals(documents) == [
        ["filter", "filter", "basis"],
        ["filter", "class", "matrices", "series"],
    ]


def test_trimming_by_document_frequency():
    documents = [
        ["everywhere", "pair"],
        ["everywhere", "pair"],
        ["everywhere", "once", "once"],
        ["everywhere"],
    ]
    assert trim_vocabulary(documents, min_documents=2, max_share=0.5) == (
        [["pair"], ["pair"], [], []],
        ["pair"],
    )
