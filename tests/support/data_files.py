"""The file of a run's data, alone: without the folder that has its checksum."""

from npz_files import write_tree

from hdpkit.files import read_npz, reading
from hdpkit.run.data_file import data_of_tree

FORMAT = "hdpkit data"


def write_data(file, tree):
    """Write the result of `tree_of_data`, or a forged one."""
    write_tree(file, FORMAT, tree)


def read_data(file):
    """The data, if the file is whole."""
    tree = read_npz(file, FORMAT)
    with reading(file):
        return data_of_tree(tree)
