"""The demo corpus: collection from installed packages, and what of it is left out."""

import sys
import textwrap

import pytest

from hdpkit.data.files.installed_docs import collect_docstrings, demo_corpus
from hdpkit.errors import DataError

PACKAGE = {
    "__init__.py": """
        import sys, warnings
        print("printed on import")
        print("complained on import", file=sys.stderr)
        warnings.warn("old", DeprecationWarning)
        def _hidden():
            'Never seen.'
    """,
    "leaves.py": "raise SystemExit(3)\n",
    "breaks.py": "raise RuntimeError('no')\n",
    "needs.py": "import no_such_package_anywhere\n",
    "tests/__init__.py": "raise KeyboardInterrupt('tests are never imported')\n",
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


def test_import_is_muted_and_failures_are_counted(noisy, capfd, recwarn):
    found = collect_docstrings((noisy,))
    assert found.failed == ("noisy_fake.breaks", "noisy_fake.leaves", "noisy_fake.needs")
    assert capfd.readouterr() == ("", "")
    assert not recwarn.list


def test_installed_numpy_linalg():
    with pytest.raises(DataError, match="no_such_pack"):
        collect_docstrings(("no_such_package_anywhere",))
    corpus = demo_corpus(("numpy.linalg",))
    assert "numpy.linalg.svd" in corpus.names
    assert len(set(corpus.names)) == corpus.n_documents
    assert corpus.document_lengths.min() > 0
    svd = corpus.document_customers(corpus.names.index("numpy.linalg.svd"))
    words = {corpus.term(term) for term in corpus.terms[svd].tolist()}
    assert {"singular", "values", "decomposition", "the", "array"} & words == {"singular", "decomposition"}
