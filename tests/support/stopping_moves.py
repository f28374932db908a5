"""Moves that end a run by an exception of their own; chain processes import them from here."""

from hdpkit import moves


class Raises(moves.Move):
    """Raises an exception in the third sweep, over a franchise and over shards."""

    by_cell = True
    over = "totals"

    def __init__(self, kind):
        self.kind = kind

    def apply(self, state, rng, steps=None):
        if state.sweep == 2:
            raise {"StopIteration": StopIteration, "KeyboardInterrupt": KeyboardInterrupt}[self.kind]
        return moves.MoveInfo()
