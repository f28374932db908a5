"""Reference seconds: a unit of time that is comparable between machines of different speed or load.

    python benchmarks/reference_second.py CORPUS [--blocks 7]

A reference second is the time in which tomotopy 0.14 (HDPModel, initial_k=100, alpha = gamma = 1 and
eta = 0.1 fixed, one thread) sweeps 2.6 million tokens of a corpus, measured in the same run as the code being
timed. So

    reference seconds = measured seconds x (tomotopy's tokens per second here) / 2.6 million.

Figures of different corpora are comparable if the corpus of the unit is the same. On the AP corpus of LDA-C
(github.com/blei-lab/lda-c; four fifths of its documents, 348,884 tokens), one core of a 2.5 GHz Cascade Lake
server achieved 2.6 million tokens per second: use that corpus to compare with figures given here.
"""

import argparse
import statistics

from contest.contestants import Tomotopy
from machine import block, version

import hdpkit as hk

PER_SECOND = 2.6e6
SETTLE, SWEEPS = 30, 5


class ReferenceClock:
    """tomotopy, run in blocks of five sweeps in between the measured code.

    Parameters
    ----------
    corpus : Corpus
    model : Tomotopy, optional
        An existing model that runs with initial_k=100.

    Attributes
    ----------
    rates : list of float
        Tokens per second of each block.
    """

    def __init__(self, corpus, model=None):
        self.rates = []
        self.model = model
        if model is None and version("tomotopy") is not None:
            self.model = Tomotopy(corpus, initial_k=100)
            self.model.sweep(SETTLE)

    def tick(self):
        """Run a block; call it several times during the measurement."""
        if self.model is not None:
            before = self.model.seconds
            self.model.sweep(SWEEPS)
            self.rates.append(SWEEPS * self.model.n_tokens / (self.model.seconds - before))

    @property
    def seconds(self):
        """Reference seconds per measured second, from the median of the blocks; nan without tomotopy."""
        return statistics.median(self.rates) / PER_SECOND if self.rates else float("nan")

    def __str__(self):
        if not self.rates:
            return "no reference seconds: tomotopy isn't installed (pip install 'hdpkit[benchmarks]')"
        low, high = min(self.rates) / 1e6, max(self.rates) / 1e6
        return (
            f"a measured second is {self.seconds:.2f} reference seconds: tomotopy (initial_k=100, K = "
            f"{self.model.n_topics} now) swept {self.seconds * PER_SECOND / 1e6:.2f} million tokens a second "
            f"({low:.2f} to {high:.2f} in {len(self.rates)} blocks); a reference second is the time in which "
            f"it sweeps {PER_SECOND / 1e6} million"
        )


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("corpus", help="LDA-C file, plain or gzipped")
    parser.add_argument("--blocks", type=int, default=7)
    options = parser.parse_args()
    print(block())
    clock = ReferenceClock(hk.Corpus.from_ldac(options.corpus))
    for _ in range(options.blocks):
        clock.tick()
    print(clock)


if __name__ == "__main__":
    main()
