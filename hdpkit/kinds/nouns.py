"""The words of the field of a kind of model."""

from __future__ import annotations

import re

import attrs


def plural(number: int, what: str) -> str:
    """A number with its noun."""
    return f"{number} {what}" if number == 1 else f"{number} {what}s"


@attrs.frozen
class Nouns:
    """The nouns of a field. Each also has its plural: ``nouns.topics``."""

    title: str  # what a page about the run is titled
    topic: str  # what states and chains have in common
    dish: str  # a dish of one state
    token: str
    document: str
    term: str

    def put_into(self, text: str) -> str:
        """A text in which ``{topics}`` is this noun, and so on."""
        return re.sub(r"\{(\w+)\}", lambda found: getattr(self, found[1]), text)

    @property
    def topics(self) -> str:
        """Plural of ``topic``."""
        return f"{self.topic}s"

    @property
    def dishes(self) -> str:
        """Plural of ``dish``."""
        return f"{self.dish}s"

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
        """The name of a level as it is shown: that of documents in the words of the field."""
        return self.document if name == "document" else name
