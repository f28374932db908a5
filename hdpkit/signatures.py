"""Mutational signatures: counts of mutations by sample and channel, components, and plots."""

from hdpkit.kinds.signatures.channels import CHANNELS, Channels, channels_of
from hdpkit.kinds.signatures.extraction import (
    extract_signatures,
    name_signatures,
    signature_tables,
    write_signatures,
)
from hdpkit.kinds.signatures.known import Decomposition, KnownSignatures, Matches, read_signatures
from hdpkit.kinds.signatures.pictures import (
    plot_activity,
    plot_cosines,
    plot_decomposition,
    plot_exposures,
    plot_spectra,
    write_pages,
)
from hdpkit.kinds.signatures.spectra import read_spectra
from hdpkit.kinds.signatures.starts import RankChoice, choose_rank

__all__ = [
    "CHANNELS",
    "Channels",
    "Decomposition",
    "KnownSignatures",
    "Matches",
    "RankChoice",
    "channels_of",
    "choose_rank",
    "extract_signatures",
    "name_signatures",
    "plot_activity",
    "plot_cosines",
    "plot_decomposition",
    "plot_exposures",
    "plot_spectra",
    "read_signatures",
    "read_spectra",
    "signature_tables",
    "write_pages",
    "write_signatures",
]
