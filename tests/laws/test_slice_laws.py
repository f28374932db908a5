"""Documents in parallel given drawn topics and root weights: the law of sweeps for any number of threads."""

import marginals
import numpy as np
import pytest
from exact_points import one_step_of_points
from exact_weights import WEIGHT_P_VALUES, ExactWeightModel
from one_sample import one_sample_p
from scipy import stats

import hdpkit as hk
from hdpkit import moves
from hdpkit.moves.document_sweeps import DocumentPlan, DocumentSweeps
from hdpkit.random import Streams
from hdpkit.testing.cases import Corner, tiny_franchise
from hdpkit.testing.pvalues import SampledTests

FAMILY = SampledTests()
DRAWS = 2000

BOTH = (moves.SliceGibbs(), moves.CountGibbs())
SPREAD = [[1.2, 0.4], [0.4, 0.9]]
KNOWN = hk.Known([[0.7, 0.3, 0.0], [0.2, 0.2, 0.6]], counts=5, frozen=[True, False])


def topics(eta=0.5, power=1.0):
    """Topics at a power of their likelihood, and the marginal of a dish."""
    measure = hk.DirichletMultinomial(eta, n_terms=3)
    return (
        measure if power == 1.0 else measure.tempered(power)
    ), marginals.dirichlet_multinomial_log_marginal(eta, 3, power)


def numbers(measure, marginal, *parameters):
    return measure(*parameters), marginal(*parameters)


OF_MEASURES = {
    "counts": numbers(hk.GammaPoisson, marginals.gamma_poisson_log_marginal, 1.5, 0.8),
    "bits": (hk.BetaBernoulli(0.7, 1.2, n_dims=3), marginals.beta_bernoulli_log_marginal(0.7, 1.2)),
    "numbers": numbers(hk.NormalGamma, marginals.normal_gamma_log_marginal, 0.2, 0.5, 1.5, 0.8),
    "vectors": numbers(
        hk.NormalInverseWishart, marginals.normal_inverse_wishart_log_marginal, [0.2, -0.4], 0.7, 3.5, SPREAD
    ),
    "directions": numbers(hk.VonMisesFisher, marginals.von_mises_fisher_log_marginal, 2.5, [0.6, -0.8], 0.7),
    "sparse topics": (
        hk.SparseDirichletMultinomial(0.5, n_terms=3),
        marginals.sparse_dirichlet_multinomial_log_marginal(0.5, 3, shapes=(1.0, 1.0)),
    ),
}
# The measure and its marginal, the move, the shape, draws by compiled code (a fourth by readable code), more.
CASES = [
    *((topics(), move, shape, DRAWS, {"kernel": kernel}) for move in BOTH for kernel, shape in (
        ("fused", "2+2"), ("fused", "2+1 with one at the root"), ("fused", "three levels of three"),
        ("fused", "three levels, inner customers"), ("reference", "2+1"),
    )),
    # All gamma draws of a new topic are 0 in single precision with probability (1e-37)**(sum of eta).
    (topics(0.005), BOTH[0], "2+2", DRAWS, {}), (topics(1e-12), BOTH[1], "2+2", DRAWS, {}),
    (topics(1e-30), BOTH[0], "three levels of three", DRAWS, {}),
    (topics(0.02), BOTH[1], "three levels, inner customers", DRAWS, {}),
    *((topics(), move, "2+1", 800, {"kernel": kernel, "known": KNOWN})
      for move in BOTH for kernel in ("fused", "reference")),
    *((topics(0.5, power), move, shape, DRAWS, {"kernel": kernel}) for move, power, kernel, shape in (
        (BOTH[0], 0.3, "fused", "2+2"), (BOTH[0], 0.7, "fused", "three levels of three"),
        (BOTH[0], 0.3, "reference", "2+1"), (BOTH[1], 0.3, "fused", "2+2"),
        (BOTH[1], 0.7, "reference", "2+1"), (moves.TableGibbs(), 0.3, "generic", "2+2"),
    )),
    *((measure, BOTH[0], "2+1", 400, {}) for measure in OF_MEASURES.values()),
    (OF_MEASURES["counts"], BOTH[1], "2+1", 400, {}),
]  # fmt: skip
ONE_STEP = {f"one step: {n}, {case[1]!r} over {case[0][0]!r}": case for n, case in enumerate(CASES)}
for one in ONE_STEP:
    FAMILY.register(one, WEIGHT_P_VALUES)
NEW_TOPICS = {
    "symmetric": 0.005,
    "underflow": 1e-30,
    "asymmetric": [0.002, 0.01, 0.003],
    "one is large": [1e-5, 1e-3, 3.0],
}
for one in NEW_TOPICS:
    FAMILY.register(f"new topics: {one}")

ETAS = {"small": 0.05, "middle": 0.5, "one": 1.0, "large": 3.0}
COUNTS = [0, 0, 1, 2, 5, 6, 7, 40]
for one in ETAS:
    FAMILY.register(f"topics, eta {one}", len(COUNTS))


SOON = (0, 6, 10, 15, 18, 24)  # of each kind; the others with -m long


@pytest.mark.parametrize(
    "case",
    [pytest.param(one, marks=[] if n in SOON else pytest.mark.long) for n, one in enumerate(ONE_STEP)],
)
def test_one_step_leaves_seating_and_weights_invariant(case):
    (measure, witness), move, shape, draws, options = ONE_STEP[case]
    tiny = tiny_franchise(shape, measure, store="counts", corner=Corner(1.5, 0.7), root="weights", **options)
    if move in BOTH and "kernel" in options:
        assert tiny.kernel("reseat_documents") == options["kernel"]
    model = ExactWeightModel(tiny, witness)
    draws = draws // 4 if options.get("kernel") == "reference" else draws
    schedule = [move, *([] if move in BOTH else [moves.TableCounts()]), moves.RootWeights()]
    FAMILY.check(case, lambda more, seed: one_step_of_points(model, schedule, draws * more, seed))


@pytest.mark.parametrize("size", ETAS)
def test_topics_have_their_law(size):
    # All customers eat one dish: its topic is Dirichlet(eta + counts), each entry of which is beta.
    eta, counts = ETAS[size], np.array(COUNTS)
    corpus = hk.Corpus.from_documents(
        [[str(v) for v, n in enumerate(COUNTS) for _ in range(n)]],
        vocabulary=[str(v) for v in range(len(COUNTS))],
    )
    base = hk.Restaurant(base=hk.DirichletMultinomial(eta), concentration=1e-30)
    document = hk.Restaurant(base=base, concentration=1.0, each="document")
    franchise = hk.Franchise(document, corpus, store="counts", root="weights")
    hk.Scheduler([moves.TableGibbs()]).run(franchise, sweeps=1, rng=0, init="one")
    shapes = eta + counts

    def run(more, seed):
        streams, drawn, found = Streams(seed), [], []
        for i in range(DRAWS * more):
            DocumentSweeps.of(franchise).reseat(streams.source(1, i), "integrated", 1)
            assert franchise.n_dishes == 1
            drawn.append(
                DocumentSweeps.of(franchise).workspace.topics_of(franchise.slots.occupied_slots())[0]
            )
        for place, entries in enumerate(np.array(drawn).T):
            law = stats.beta(shapes[place], shapes.sum() - shapes[place])
            bins = np.minimum((law.cdf(entries) * 20).astype(int), 19)
            found.append(one_sample_p(np.bincount(bins, minlength=20), np.full(20, 0.05)))
        return found

    FAMILY.check(f"topics, eta {size}", run)


@pytest.mark.parametrize("case", NEW_TOPICS)
def test_topics_of_labels_without_customers_have_their_law(case):
    eta = np.broadcast_to(NEW_TOPICS[case], 3)
    corpus = hk.Corpus.from_documents([["0"]], vocabulary=["0", "1", "2"])
    base = hk.Restaurant(base=hk.DirichletMultinomial(NEW_TOPICS[case]), concentration=1.0)
    document = hk.Restaurant(base=base, concentration=1.0, each="document")
    franchise = hk.Franchise(document, corpus, store="counts", root="weights")
    hk.Scheduler([moves.TableGibbs()]).run(franchise, sweeps=1, rng=0, init="one")
    assert franchise.kernel("reseat_documents") == "fused"
    # The probability that a term has more than half of the topic, and that none has.
    law = [stats.beta.sf(0.5, a, eta.sum() - a) for a in eta]
    law = np.array([*law, max(0.0, 1.0 - sum(law))])

    def run(more, seed):
        streams, found = Streams(seed), np.zeros(4, dtype=np.int64)
        for i in range(DRAWS * more // 20):
            labels, weights = np.arange(21, dtype=np.int32), np.full(21, 1 / 21)
            plan = DocumentPlan(labels, weights, 0.0, 0.01, franchise.measure, corpus.values)
            DocumentSweeps.of(franchise)._begin(plan, streams.source(1, i))
            topics = DocumentSweeps.of(franchise).workspace.topics_of(labels[1:])  # slot 0 has the dish
            assert np.allclose(topics.sum(axis=1), 1.0)
            found += np.bincount(np.where(topics.max(axis=1) > 0.5, topics.argmax(axis=1), 3), minlength=4)
        return one_sample_p(found, law / law.sum())

    FAMILY.check(f"new topics: {case}", run)


HEAVY = 2000  # documents
FAMILY.register("a label that is cut off has nearly all the weight: integrated")
FAMILY.register("a label that is cut off has nearly all the weight: drawn")


@pytest.mark.parametrize("integrated", [True, False], ids=["integrated", "drawn"])
def test_a_label_that_is_cut_off_may_have_nearly_all_the_weight(integrated):
    # In each document a customer of label 0, whose slice cuts off label 2, and one of label 2, whose weight
    # is 1e15 times that of all others: proposals that are refused would never end.
    alpha, threshold, psi = 0.7, 0.3, np.array([0.5, 0.35, 1e-15, 0.075, 0.075])
    corpus = hk.Corpus.from_documents([["x", "x"]] * HEAVY)
    base = hk.Restaurant(base=hk.DirichletMultinomial(0.5), concentration=1.0)
    document = hk.Restaurant(base=base, concentration=alpha, each="document")
    franchise = hk.Franchise(document, corpus, store="counts", root="weights")
    xi = np.minimum(psi, threshold)

    def law():
        """Of the first customer: given the slice, summed over what it can be. There is one term."""
        total = np.zeros(len(psi))
        generator = np.random.default_rng(0)
        for low, high in ((0.0, 0.075), (0.075, threshold)):
            through = psi > low + 1e-12
            if integrated:
                weights = alpha * psi / xi * through
            else:
                shapes = np.array([1.0, 0.0, 1.0, 0.0, 0.0]) + alpha * psi
                drawn = np.maximum(generator.gamma(shapes, size=(400_000, len(psi))), 1e-300)
                weights = drawn / xi * through
            weights = weights / weights.sum(axis=-1, keepdims=True)
            total += (high - low) / threshold * weights.reshape(-1, len(psi)).mean(axis=0)
        return total[[0, 1, 3, 4]]

    def run(more, seed):
        streams, found = Streams(seed), np.zeros(len(psi))
        for i in range(more):
            source = streams.source(1, i)
            franchise.clear()
            slots = [franchise.open_dish(source) for _ in range(3)]
            franchise.enter_given(np.tile(slots[::2], HEAVY).astype(np.int32), 0, 2 * HEAVY, source)
            franchise.slots.close(slots[1])  # it stands among the labels without being a dish
            labels = np.array([*slots, *(max(slots) + 1 + np.arange(2))], dtype=np.int32)
            measure = franchise.measure
            plan = DocumentPlan(labels, psi, 0.0, threshold, measure, corpus.values, integrated)
            DocumentSweeps.of(franchise).run(plan, source)
            found += np.bincount(franchise.seating.dishes()[::2], minlength=len(psi))[labels]
        assert found[2] == 0
        return one_sample_p(found[[0, 1, 3, 4]].astype(np.int64), law())

    name = "integrated" if integrated else "drawn"
    FAMILY.check(f"a label that is cut off has nearly all the weight: {name}", run)
