"""Mutational signatures: counts of mutations by sample and channel, components, and plots."""

from hdpkit.signatures.channels import CHANNELS, Channels, channels_of
from hdpkit.signatures.export import write_signatures
from hdpkit.signatures.extraction import Signatures, extract_signatures
from hdpkit.signatures.known import Decomposition, KnownSignatures, Matches, read_signatures
from hdpkit.signatures.pages import write_pages
from hdpkit.signatures.pictures import plot_activity, plot_cosines, plot_exposures, plot_spectra
from hdpkit.signatures.spectra import read_spectra
from hdpkit.signatures.starts import start_from_part

__all__ = [
    "CHANNELS",
    "Channels",
    "Decomposition",
    "KnownSignatures",
    "Matches",
    "Signatures",
    "channels_of",
    "extract_signatures",
    "plot_activity",
    "plot_cosines",
    "plot_exposures",
    "plot_spectra",
    "read_signatures",
    "read_spectra",
    "start_from_part",
    "write_pages",
    "write_signatures",
]
