"""The tree of a franchise: which kind it is."""

from __future__ import annotations

from collections.abc import Sequence

from hdpkit.data import GroupedData, NGrams
from hdpkit.errors import DeclarationError
from hdpkit.franchise.declarations import Restaurant
from hdpkit.franchise.state_homes import StateHomes
from hdpkit.franchise.state_topology import StateTopology, state_topology
from hdpkit.franchise.topology import ContextTopology, Topology, is_context_chain, labelled_topology

Tree = Topology | ContextTopology | StateTopology


def build_topology(chain: Sequence[Restaurant], data: GroupedData, known: int = 0) -> Tree:
    """Create the restaurants of these declarations for these data; ``known`` components have customers.

    Levels that are the contexts of n-gram data become a tree that can grow.
    """
    if any(isinstance(one.each, StateHomes) for one in chain):
        return state_topology(chain, data, known)
    if is_context_chain(chain, data):
        assert isinstance(data, NGrams)
        if known:
            raise DeclarationError(
                "known", known, "no components over contexts of n-grams", "Leave known out."
            )
        return ContextTopology(len(chain), data)
    return labelled_topology(chain, data, known)
