"""The file of a run's data, alone: without the folder that has its checksum."""

from hdpkit.files import read_sealed, seal
from hdpkit.run.data_file import DATA_MAGIC, unpack_data


def write_data(file, payload):
    """Write the result of `pack_data`, or a forged one."""
    file.write_bytes(seal(DATA_MAGIC, payload))


def read_data(file):
    """The data, if the file is whole."""
    return unpack_data(read_sealed(file, DATA_MAGIC)[0], file)
