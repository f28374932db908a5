"""Files of data: tables of Parquet, and a run's data without the folder that has their checksum."""

import pytest
from npz_files import write_tree

from hdpkit.files import read_npz, reading
from hdpkit.run.data_file import data_of_tree

FORMAT = "hdpkit data"


def write_parquet(path, columns):
    pyarrow, parquet = pytest.importorskip("pyarrow"), pytest.importorskip("pyarrow.parquet")
    parquet.write_table(pyarrow.table(columns), path)


def write_data(file, tree):
    """Write the result of `tree_of_data`, or a forged one."""
    write_tree(file, FORMAT, tree)


def read_data(file):
    """The data, if the file is whole."""
    tree = read_npz(file, FORMAT)
    with reading(file):
        return data_of_tree(tree)
