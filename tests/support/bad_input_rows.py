"""The table of bad input: a row for every public function, bad values for each of its parameters.

`test_bad_input` finds the required rows by introspection. Public functions without a row are listed with a
reason.
"""

import numpy as np
import scipy.sparse as sp
from bad_input_comparison import COMPARISON
from bad_input_data import DATA
from bad_input_evaluation import EVALUATION
from bad_input_folders import CHAINS, FOLDERS
from bad_input_known import KNOWN, NO_KNOWN
from bad_input_measures import MEASURES
from bad_input_model import MODEL
from bad_input_models import MODELS
from bad_input_ngrams import NGRAMS
from bad_input_plots import PLOTS
from bad_input_runs import RUNS
from bad_input_summaries import SUMMARIES
from bad_values import Anything, Made, Told, tiny  # noqa: F401 - for the test, too

import hdpkit as hk

ROWS = {
    **DATA,
    **NGRAMS,
    **MODEL,
    **MODELS,
    **MEASURES,
    **RUNS,
    **FOLDERS,
    **EVALUATION,
    **COMPARISON,
    **PLOTS,
    **SUMMARIES,
    **KNOWN,
}
ROWS["Franchise"].bad["known"] = NO_KNOWN
ROWS["Scheduler.run"].bad.update(CHAINS)

EXCLUDED = {
    **{
        f"{name}*": "test_kinds.py tries its settings, check_estimator of scikit-learn its methods"
        for name in ("HiddenMarkovModel", "MixtureModel", "SparseTopicModel", "TopicModel")
    },
    # what users implement: the harness checks what they return, and nobody calls it but the package
    "BaseMeasure.*": "the protocol of a measure: users write it, check_base_measure tests it",
    "DirichletMultinomial*.*": "a measure's side of its protocol: the franchise checks what goes in",
    **{
        f"{name}.*": "a measure's side of its protocol: the franchise checks what goes in"
        for kind in ("GammaPoisson", "BetaBernoulli")
        for name in (kind, f"{kind}Reference")
    },
    "NormalGamma.[!wh]*": "the same, but for its constructors from data",
    "NormalInverseWishart.[!wh]*": "the same, but for its constructors from data",
    "VonMisesFisher.[!w]*": "the same, but for its constructor from data",
    "*Reference.bank": "a measure's side of its protocol: the franchise checks what goes in",
    **{
        f"{name}.*": "a measure's side of its protocol: the franchise checks what goes in"
        for name in ("AtomicMeasure", "Uniform", "Categorical")
    },
    "NonConjugate.*": "a measure's side of its protocol: the franchise checks what goes in",
    "Spelling.for_data": "a measure's side of its protocol: the franchise checks what goes in",
    "Bursty.*": "a measure's side of its protocol: the franchise checks what goes in",
    "SparseDirichletMultinomial*.*": "a measure's side of its protocol: the franchise checks what goes in",
    "IntegrablePart.*": "the protocol of a part of the state: users write it, the franchise calls it",
    "SharedValue.*": "the protocol of a part of the state, which the franchise calls",
    "Part.*": "the protocol of a part of the state: users write it, the franchise calls it",
    "SeatingStore.*": "the protocol of a store: users write it, check_store tests it",
    "*.log_density": "the protocol of a prior: NaN and points outside the support have a density",
    "*.draw": "the protocol of a prior: called with the generator of a stream",
    "Finite.__call__": "a prior sampler: called with the generator of a stream",
    "Finite.choose": "a prior sampler: called with a choice source",
    "*.apply": "the protocol of a move: called by the scheduler, and what it passes is checked by the steps",
    "*.check": "the protocol of a move: called by the scheduler with the franchise that it checked",
    "*.n_steps": "the protocol of a move: called by the harness",
    "*.threaded": "the protocol of a move: called by the scheduler with a number that it checked",
    "*.others": "the protocol of a move: called by the scheduler with the franchise that it checked",
    "*.runs_in": "the protocol of a move: called by the scheduler",
    "moves.*.begin": "the protocol of a move over documents: called with what apply was given",
    "moves.*.sweep": "the protocol of a move over documents: called after begin",
    "moves.*.document": "the protocol of a move over documents: users write it",
    "moves.*.needs_lengths": "the protocol of a move: called by runs over shards with what they checked",
    "moves.Document": "a record that a move over documents gets",
    "moves.Common": "a record that a move over documents gets",
    # records that the package makes and hands out
    "Draw": "a record that the scheduler makes",
    "Sample.*group_weights": "takes a slice of groups, as any array does",
    "Sample": "a record that Franchise.sample returns",
    "Samples.[aosw]*": "called by the scheduler and the run's folder with numbers that they checked",
    "StateProbabilities": "a record that Franchise.state_probabilities returns",
    "FoldIn": "a record that Franchise.fold_in returns",
    "Evaluation": "a record that evaluate returns",
    "Forecast": "a record that forecast returns",
    "Comparison": "a record that compare_schedules returns",
    "MixingCheck": "a record that check_mixing returns",
    "CheckedChains": "a record that check_mixing returns",
    "StatisticCheck": "a record that check_mixing returns",
    "ScheduleResult": "a record that compare_schedules returns",
    "Tick": "a record that the scheduler makes",
    "moves.MoveInfo": "a record that a move returns",
    "Corpus": "built by its class methods: the constructor checks nothing, and says so",
    "ShardedCorpus": "built by its class methods: the constructor checks nothing, and says so",
    "NGrams": "built by its class methods: the constructor checks nothing, and says so",
    "Sequences": "built by its class methods: the constructor checks nothing, and says so",
    "Groups": "built by its class methods: the constructor checks nothing, and says so",
    "ChainTrace": "made by a run with chains",
    "Run": "made by open_run, which takes the same arguments",
    "Checkpoint.due": "asked by the run",
    "Limits.check*": "called by readers with the numbers that a file gives",
    "RestaurantView": "made by Franchise.restaurant",
    "Proposal": "made by Franchise.proposal",
    # what other rooms of the package ask of data and samples, with numbers of their own
    "*.empty_row": "called by the franchise with the number of its customers",
    "Corpus.with_cells": "called by Franchise.simulate with counts that it drew",
    "Sample.topic*s": "called by summaries with dishes of the sample",
    "Sample.topics_of": "called by summaries with dishes of the sample",
    "Trace.followed_by": "called by rounds with the traces of their runs",
    "ChainTrace.followed_by": "called by rounds with the traces of their runs",
    # what only moves call, with what the franchise itself gave them
    "Franchise.in_chunks": "a loop around a step, which checks its range",
    "Franchise.labelled_seating": "called by moves with the source that they were given",
    "Franchise.draw_tables*": "steps: called by TableCounts with a range, which they check",
    "Franchise.size_counts_in_dishes": "called by Discount with the source that it was given",
    "Franchise.draw_topics": "called by DrawTopics with the source that it was given",
    "Franchise.draw_proportions": "called by DrawProportions with the source that it was given",
    "Franchise.enter*": "a step: called by starts with a range over the customers, which it checks",
    "Franchise.free_*": "called by moves with ranges that the steps check",
    "Franchise.unit_dishes": "a step: takes what Franchise.units returned",
    "Franchise.scan_units": "a step: split-merge calls it with arrays that it keeps itself",
    "Franchise.log_units": "a step: split-merge calls it with arrays that it keeps itself",
    "Franchise.add_units": "a step: split-merge calls it with arrays that it keeps itself",
    "PreviousDish.home": "asked by the franchise with the number of a customer",
    "PreviousDish.followers": "asked by the franchise with the number of a customer",
    "Franchise.reseat_groups": "a step: ReseatGroups passes what Franchise.groups returned",
    "Franchise.move_units": "a step: split-merge calls it with arrays that it keeps itself",
}


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
