"""What the dishes, customers, groups and terms of a run are called where it is shown."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import attrs

from hdpkit.data import Corpus
from hdpkit.record.run_folder import SIGNATURES
from hdpkit.signatures.channels import channels_of

__all__ = ["TOPICS", "Nouns", "nouns_of"]


@attrs.frozen
class Nouns:
    """The nouns of a field. Each also has its plural: ``nouns.topics``.

    Attributes
    ----------
    title : str
        What a page about the run is titled.
    topic, token, document, term : str
        What a dish, a customer, a group and a term are called.
    """

    title: str
    topic: str
    token: str
    document: str
    term: str

    @property
    def topics(self) -> str:
        """Plural of ``topic``."""
        return f"{self.topic}s"

    @property
    def tokens(self) -> str:
        """Plural of ``token``."""
        return f"{self.token}s"

    @property
    def documents(self) -> str:
        """Plural of ``document``."""
        return f"{self.document}s"

    @property
    def terms(self) -> str:
        """Plural of ``term``."""
        return f"{self.term}s"

    def level(self, name: str) -> str:
        """The name of a level as it is shown: that of documents in the words of the field.

        Parameters
        ----------
        name : str
            Name of a declaration.
        """
        return self.document if name == "document" else name


TOPICS = Nouns("Topics", "topic", "token", "document", "term")
"""Of models of texts."""
# A dish of a state is a component; signatures are what states and chains have in common.
_MUTATIONS = Nouns("Signatures", "component", "mutation", "sample", "channel")


def nouns_of(data: Any, folder: str | os.PathLike[str] | None = None) -> Nouns:
    """The nouns for a run: those of mutational signatures if it is one, otherwise those of topic models.

    Parameters
    ----------
    data : Corpus
        Its terms may be channels of mutations.
    folder : path, optional
        Folder of the run, which has a file if it was begun by ``hdpkit signatures``.
    """
    declared = folder is not None and (Path(folder) / SIGNATURES).exists()
    terms = (data.vocabulary or ()) if isinstance(data, Corpus) else ()
    return _MUTATIONS if declared or channels_of(terms) is not None else TOPICS
