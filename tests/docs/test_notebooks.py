"""Notebooks run from top to bottom, and are kept without outputs."""

from pathlib import Path

import nbformat
import pytest
from nbclient import NotebookClient

NOTEBOOKS = sorted((Path(__file__).resolve().parents[2] / "examples").glob("*.ipynb"))


@pytest.mark.parametrize(
    "path",
    [pytest.param(path, marks=pytest.mark.long if "dask" in path.stem else ()) for path in NOTEBOOKS],
    ids=lambda path: path.stem,
)
def test_notebooks_run(path, tmp_path, monkeypatch):
    monkeypatch.setenv("MPLBACKEND", "agg")
    notebook = nbformat.read(path, as_version=4)
    nbformat.validate(notebook)
    code = [cell for cell in notebook.cells if cell.cell_type == "code"]
    assert not any(cell.outputs or cell.execution_count for cell in code)
    resources = {"metadata": {"path": str(tmp_path)}}
    NotebookClient(notebook, timeout=300, kernel_name="python3", resources=resources).execute()
    assert all(cell.execution_count for cell in code)


def test_there_are_notebooks():
    assert [path.stem for path in NOTEBOOKS] == ["shards_on_dask", "texts_to_report"]
