"""Back-off language models as ARPA files: public names of `hdpkit.formats.arpa`."""

from hdpkit.formats.arpa import ArpaModel, Row, read_arpa, write_arpa

__all__ = ["ArpaModel", "Row", "read_arpa", "write_arpa"]
