"""Progress bars in notebooks, drawn by tqdm, which is an extra."""

from __future__ import annotations

import sys
from collections.abc import Callable
from typing import Any

from hdpkit.schedule.ticks import Tick

__all__ = ["NotebookBars", "notebook_bars"]


def notebook_bars(text: Callable[[Tick], str]) -> NotebookBars | None:
    """Bars if this is a notebook and tqdm is installed; else None.

    Parameters
    ----------
    text : callable
        Returns the text for a tick.
    """
    interactive = sys.modules.get("IPython")
    shell = None if interactive is None else interactive.get_ipython()
    if shell is None or not hasattr(shell, "kernel"):
        return None
    try:
        from tqdm.auto import tqdm
    except ImportError:
        return None
    return NotebookBars(tqdm, text)


class NotebookBars:
    """A bar for each chain."""

    def __init__(self, tqdm: Any, text: Callable[[Tick], str]) -> None:
        self._tqdm, self._text = tqdm, text
        self._bars: dict[int, Any] = {}

    def show(self, tick: Tick) -> None:
        """Show the progress of a chain."""
        bar = self._bars.get(tick.chain)
        if bar is None:
            form = "{percentage:3.0f}%|{bar}| {desc}"
            bar = self._bars[tick.chain] = self._tqdm(total=tick.sweeps, bar_format=form, leave=True)
        bar.n = min(round(tick.sweep + tick.fraction, 2), tick.sweeps)
        bar.set_description_str(self._text(tick), refresh=True)

    def close(self) -> None:
        """Stop drawing; the bars remain visible."""
        for bar in self._bars.values():
            bar.close()
        self._bars = {}
