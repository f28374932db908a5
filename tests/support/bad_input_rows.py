"""The table of bad input: a row for every public function, bad values for each of its parameters.

`test_bad_input` finds the required rows by introspection. Public functions without a row are listed with a
reason.
"""

import numpy as np
import scipy.sparse as sp
from bad_input_data import DATA, NO_GROUPS, NO_LIMITS, NO_NAMES, NO_VOCABULARY
from bad_input_evaluation import COMPARISON, EVALUATION
from bad_input_measures import MEASURES
from bad_input_model import KNOWN, MODEL, NO_KNOWN
from bad_input_models import MODELS, NGRAMS
from bad_input_plots import NO_TRACE, PLOTS
from bad_input_runs import CHAINS, FOLDERS, RUNS
from bad_input_summaries import NO_ITEMS, NO_LABELS, NO_TOPICS, SUMMARIES
from bad_values import ALIASES, BY_NAME, Anything, Made, Told, tiny  # noqa: F401 - for the test, too

import hdpkit as hk

ROWS = (
    DATA | NGRAMS | MODEL | MODELS | MEASURES | RUNS | FOLDERS | EVALUATION | COMPARISON | PLOTS | SUMMARIES
    | KNOWN
)  # fmt: skip
BY_NAME |= {
    "groups": NO_GROUPS, "items": NO_ITEMS, "labels": NO_LABELS, "limits": NO_LIMITS, "names": NO_NAMES,
    "topics": NO_TOPICS, "trace": NO_TRACE, "vocabulary": NO_VOCABULARY,
}  # fmt: skip
ROWS["Franchise"].bad["known"] = NO_KNOWN
ROWS["Scheduler.run"].bad.update(CHAINS)

# Public functions without rows, by the reason: whose business what goes in is.
REASONS = {
    "test_kinds.py tries its settings, check_estimator of scikit-learn its methods": """
        HiddenMarkovModel* MixtureModel* SparseTopicModel* TopicModel*""",
    "the protocol of a measure, a part, a store or a prior, which users write and the package calls": """
        BaseMeasure.* AtomicMeasure.* Uniform.* Categorical.* NonConjugate.* Bursty.* GammaPoisson.*
        GammaPoissonReference.* BetaBernoulli.* BetaBernoulliReference.* DirichletMultinomial*.*
        SparseDirichletMultinomial*.* *Reference.bank Spelling.for_data Part.* IntegrablePart.* SharedValue.*
        SeatingStore.* *.log_density *.draw Finite.__call__ Finite.choose""",
    "the same, but for constructors from data": """
        NormalGamma.[!wh]* NormalInverseWishart.[!wh]* VonMisesFisher.[!w]*""",
    "the protocol of a move, which the scheduler calls with what it checked": """
        *.apply *.check *.n_steps *.threaded *.others *.runs_in moves.*.begin moves.*.sweep moves.*.document
        moves.*.needs_lengths""",
    "a record that the package makes and hands out": """
        moves.Document moves.Common moves.MoveInfo Draw Sample StateProbabilities FoldIn Evaluation Forecast
        Comparison MixingCheck CheckedChains StatisticCheck ScheduleResult Tick ChainTrace Run RestaurantView
        Proposal""",
    "built by its class methods: the constructor checks nothing, and says so": """
        Corpus ShardedCorpus NGrams Sequences Groups""",
    "called by other rooms of the package with what they checked": """
        Samples.[aosw]* Checkpoint.due Limits.check* *.empty_row Corpus.with_cells Sample.topic*s
        Sample.topics_of Trace.followed_by ChainTrace.followed_by PreviousDish.home PreviousDish.followers""",
    "takes a slice of groups, as any array does": "Sample.*group_weights",
    "called by moves and starts with what the franchise gave them; a step checks its range": """
        Franchise.in_chunks Franchise.labelled_seating Franchise.draw_tables* Franchise.size_counts_in_dishes
        Franchise.draw_topics Franchise.draw_proportions Franchise.enter* Franchise.free_*
        Franchise.unit_dishes Franchise.scan_units Franchise.log_units Franchise.add_units
        Franchise.reseat_groups Franchise.move_units""",
}
EXCLUDED = {pattern: reason for reason, patterns in REASONS.items() for pattern in patterns.split()}


def documents(*lists, **options):
    return lambda: hk.Corpus.from_documents(list(lists), **options)


LEGAL = {
    "one token": documents([0]),
    "one term": documents([0, 0], [0]),
    "an empty document": documents([], [0, 1], []),
    "terms that no document has": documents([0], n_terms=5),
    "documents of words": documents(["a", "b"], ["b"]),
    "an empty row of counts": lambda: hk.Corpus.from_counts([[0, 0], [1, 2]]),
    "an empty column of sparse counts": lambda: hk.Corpus.from_counts(
        sp.csr_array(np.array([[1, 0], [2, 0]]))
    ),
    "whole numbers as floats": lambda: hk.Corpus.from_counts(np.array([[1.0, 2.0]])),
    "an empty group": lambda: hk.Groups.from_arrays([[], [0, 1]]),
    "an empty sentence": lambda: hk.NGrams.from_sentences([[]], order=3),
    "a sentence without start and end": lambda: hk.NGrams.from_sentences(
        [["a", "b"], []], order=2, start=None, end=None
    ),
    "an empty context": lambda: hk.NGrams.from_pairs(["a"], [()]),
    "one customer, no label": lambda: hk.Groups.from_labels([0]),
    "selectors over two terms": lambda: (documents([0, 1])(), hk.SparseDirichletMultinomial(0.5)),
    "a vector of eta": lambda: (documents([0, 1])(), hk.DirichletMultinomial([0.5, 1])),
    "numbers of NumPy": lambda: (
        documents([0, 1], n_terms=np.int64(3))(),
        hk.DirichletMultinomial(np.float32(0.5)),
    ),
}
