"""The registry of moves. Examples are instances that the contract tests run on franchises of every depth."""

from hdpkit.moves.protocol import Move
from hdpkit.registry import Registry

moves: Registry[type[Move]] = Registry("move", "hdpkit.moves.registry:moves")
