"""Two moves of one's own over a corpus in shards: one over documents, one over totals.

The same chain, to the last bit, in one process, in workers of this process, on MPI and on Dask:

    python moves_over_shards.py
    mpiexec -n 3 python -m mpi4py moves_over_shards.py mpi
    python moves_over_shards.py dask

`CopyDish` proposes for each token of a document the dish of another token there. Given topics phi and weights
psi of the root, with m_k other tokens of dish k in the document, the law of the token's dish is proportional
to phi_kx (m_k + alpha psi_k), and the probability of the proposal to m_k. `WalkOnConcentration` is a random
walk on the logarithm of the documents' concentration alpha, which has a Gamma prior; given n_j tokens at t_j
tables, its density is the prior times the product of alpha^t_j Gamma(alpha) / Gamma(alpha + n_j).
"""

import hashlib
import math
import sys

import numpy as np

import hdpkit as hk
from hdpkit import moves, shards
from hdpkit.moves.protocol import accepts


class CopyDish(moves.ByDocument):
    """Metropolis-Hastings: each token takes the dish of another token of its document."""

    def document(self, document, common):
        z, x, phi = document.dishes, document.terms, common.topics
        prior = document.concentration * common.weights
        m = np.bincount(z, minlength=len(prior))  # tokens of each dish
        accepted = 0
        for i in range(len(z) if len(z) > 1 else 0):
            old, new = z[i], z[(i + 1 + document.rng.index(len(z) - 1)) % len(z)]
            m[old] -= 1
            target = phi[:, x[i]] * (m + prior)
            ratio = m[old] * target[new] / (m[new] * target[old])  # 0 if the dish would leave the document
            if document.rng.bernoulli(min(1.0, ratio)):
                z[i] = new
                accepted += 1
            m[z[i]] += 1
        return moves.MoveInfo(len(z), accepted)


class WalkOnConcentration(moves.Move):
    """Metropolis: a random walk on the logarithm of the documents' concentration, with a Gamma prior."""

    over = "totals"
    continuous = True
    updates = ("concentration",)

    def check(self, state):
        deepest = state.declarations[-1]
        if not isinstance(deepest.concentration, hk.Gamma) or np.any(state.discount(deepest.name)):
            raise hk.errors.ScheduleError("moves", self.name, "over one Gamma prior", "Leave it out.")

    def apply(self, state, rng, steps=None):
        number = len(state.declarations) - 1
        declared = state.declarations[number]
        (customers, times), (tables, of) = state.counted_totals_of(number)

        def log_density(alpha):
            prior = declared.concentration.shape * math.log(alpha) - declared.concentration.rate * alpha
            rising = [math.lgamma(alpha + n) - math.lgamma(alpha) for n in customers.tolist()]
            return prior + int(tables @ of) * math.log(alpha) - math.fsum(times * rising)

        alpha = float(state.concentration(declared.name))
        proposed = alpha * math.exp(0.2 * rng.normal())
        accepted = accepts(log_density(proposed) - log_density(alpha), rng)
        state.set_concentration(declared.name, proposed if accepted else alpha)
        return moves.MoveInfo(1, int(accepted))


def model():
    """Documents over a root, some generated documents, and a schedule."""
    generator = np.random.default_rng(0)
    topics = generator.dirichlet(np.full(30, 0.1), size=4)
    shares = generator.dirichlet(np.full(4, 0.3), size=50)
    documents = [generator.choice(30, size=20, p=share @ topics).tolist() for share in shares]
    corpus = hk.Corpus.from_documents(documents, n_terms=30)
    root = hk.Restaurant(hk.DirichletMultinomial(0.1), concentration=hk.Gamma(1.0, 1.0))
    document = hk.Restaurant(root, each="document", concentration=hk.Gamma(1.0, 1.0))
    schedule = [moves.SliceGibbs(), CopyDish(), moves.RootWeights(), WalkOnConcentration()]
    return document, corpus, schedule


def begun():
    """The state at the start of all chains: one sweep from a random one."""
    document, corpus, schedule = model()
    franchise = hk.Franchise(document, corpus, store="counts", root="weights")
    franchise.expand_cells()
    hk.Scheduler(schedule).run(franchise, sweeps=1, rng=0, init=hk.init.Random(6))
    return franchise.freeze()


def over(backend):
    """The state after twenty sweeps over workers, each with some of eight shards; None unless it leads."""
    document, corpus, schedule = model()
    franchise = shards.ShardedFranchise(document, shards.cut(corpus, 8))
    hk.Scheduler(schedule).run(franchise, sweeps=20, rng=1, init=begun(), backend=backend)
    return franchise.freeze()


def in_one_process():
    """The state of the chain in this process after twenty sweeps, and its trace."""
    document, corpus, schedule = model()
    franchise = hk.Franchise(document, corpus, store="counts", root="weights")
    trace = hk.Scheduler(schedule).run(franchise, sweeps=20, rng=1, init=begun())
    return franchise.freeze(), trace


def told(state):
    """Dishes, alpha and a checksum of a state in one line."""
    dish, alpha = state["seating"]["dish"], state["concentration"]
    digest = hashlib.sha256(dish.tobytes() + alpha.tobytes()).hexdigest()[:16]
    return f"{len(state['slots'])} dishes, alpha = {alpha[-1]:.3f}, state {digest}"


def main(backend="here"):
    if backend == "mpi":
        state = over(shards.MPI())
        if state is not None:  # rank 0
            print(told(state))
    elif backend == "dask":
        from distributed import Client, LocalCluster

        with LocalCluster(n_workers=2, threads_per_worker=1, dashboard_address=None) as cluster:
            print(told(over(shards.Dask(Client(cluster)))))
    else:
        state, trace = in_one_process()
        copied = trace.moves[trace.moves["move"] == "CopyDish"]
        print(f"{copied['accepted'].sum() / copied['tried'].sum():.0%} of the proposals to copy accepted")
        print(told(state))
        print(told(over(shards.Local(3))))


if __name__ == "__main__":
    main(*sys.argv[1:])
