"""Mutational signatures: counts of mutations by sample and channel, components, and pictures of them."""

from hdpkit.signatures.channels import CHANNELS, Channels, channels_of
from hdpkit.signatures.spectra import read_spectra

__all__ = ["CHANNELS", "Channels", "channels_of", "read_spectra"]
