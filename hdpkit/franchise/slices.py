"""Sweeps over documents in parallel: topics are drawn, and new dishes are labels with weights."""

from __future__ import annotations

import functools
from typing import Any

import attrs
import numpy as np
import numpy.typing as npt

from hdpkit.arrays import Floats, Int32s
from hdpkit.checks import choice, flag, whole_number
from hdpkit.errors import StateError
from hdpkit.franchise.arguments import check_source
from hdpkit.franchise.assigned import Assigned
from hdpkit.franchise.guard import changes
from hdpkit.franchise.known import NoKnown
from hdpkit.franchise.scores import totals
from hdpkit.franchise.steps import MOST_LAUNCHES, Blocks
from hdpkit.franchise.whole_corpus import Changes, CountedBursts
from hdpkit.measures.non_conjugate import NonConjugate
from hdpkit.random import ChoiceSource
from hdpkit.steps.fused._fused_cells import FEW
from hdpkit.steps.fused._slice_workspace import SliceWorkspace
from hdpkit.steps.slices import draw_shard_topics, settle_shards, sweep_shards
from hdpkit.steps.state_sequences import SequencePlan, sequence_sweep
from hdpkit.steps.step import Step

RESOLUTION = 2.0**-33  # the smallest slice, relative to its upper bound
BELOW = (
    2.0**-2
)  # of the threshold: the bound of the weights of labels in a sweep without slices is below this
MOST_THREADS = 1024
LEAST = 2.0**-8  # moves assign labels with at least this share of the threshold
MOST_SPLIT = 32  # states at once
KEYS = 2**62  # a stream is identified by two numbers below this


@attrs.frozen
class SlicePlan:
    """Labels of a sweep over documents: dishes, and the possible new dishes.

    Parameters
    ----------
    slots : int32 array, shape (n,)
        Slot of each label, ascending; slots of labels that aren't dishes are free.
    weights : float64 array, shape (n,)
        psi of each label.
    remainder : float
        Weight of all other labels, which is below every possible slice.
    threshold : float
        Labels of at least this weight are in every slice: xi_k = min(psi_k, threshold).
    measure : BaseMeasure
    values : sequence
        Values of the customers.
    integrated : bool
        Whether proportions of documents are integrated out, or drawn.
    threads : int
    few : int
        Over cells: labels with more expected customers of a cell than this are drawn by binomials, customers
        of other labels one by one. For more than 64 labels the bound is multiplied by 64 / their number.
    topics : float64 array, shape (n, V), optional
        What terms weigh under each label, instead of drawn topics: powers of topics, or given ones for tests.
    proportions : float64 array, shape (n_nodes, slots), optional
        Given proportions (for tests).
    least : float
        Customers of labels with a smaller weight keep them, and no other customer takes these labels: a sweep
        of the customers of the others, among the others.
    above : float64 array, shape (n_nodes, slots), optional
        The same of weights of restaurants that are neither the root nor without any below them.
    own : float64 array, shape (n_documents, slots, V), optional
        Given topics of the documents, where topics differ by document (for tests).
    known : NoKnown or KnownDishes
        Components whose labels are the first slots.
    held : int8 array, shape (n_nodes,), optional
        For each restaurant, whether its customers are held; None: none are.
    before : int
        Number of earlier documents of the corpus, for a franchise over some shards of it.
    """

    slots: Int32s
    weights: Floats
    remainder: float
    threshold: float
    measure: Any
    values: Any
    integrated: bool = True
    threads: int = 1
    few: int = FEW
    topics: Floats | None = None
    proportions: Floats | None = None
    least: float = 0.0
    above: Floats | None = None
    own: Floats | None = None
    known: NoKnown = attrs.field(factory=NoKnown)
    held: npt.NDArray[np.int8] | None = None
    before: int = 0

    def holds(self, nodes: Any) -> npt.NDArray[np.bool_]:
        """Whether the customers of these restaurants are held."""
        return np.zeros(np.shape(nodes), dtype=bool) if self.held is None else self.held[nodes] != 0


class Slices(Blocks):
    """Sweeps over documents in parallel, over weights of the root that are part of the state."""

    _under_way: tuple[SlicePlan, ChoiceSource] | None = None
    _assigned: Assigned | None = None

    @functools.cached_property
    def _workspace(self) -> SliceWorkspace:
        """Memory of these sweeps, which most schedules don't need."""
        return SliceWorkspace()

    @changes
    def reseat_documents(
        self, source: ChoiceSource, proportions: str = "integrated", threads: int = 1
    ) -> None:
        """Draw the dish of every customer given drawn topics and the root's weights, then the tables.

        Topics are drawn given the state, and the remainder of the root's weights is broken into labels until
        the rest is below the slice: one for all customers, or with proportions drawn one for each. Given
        topics and weights, documents are independent. Labels without customers at the end are returned to the
        remainder.

        Parameters
        ----------
        source : ChoiceSource
            The ``rng`` that a move is given.
        proportions : "integrated" or "drawn"
            Whether the proportions of a document are integrated out, customer by customer, or drawn for each.
        threads : int
            Number of threads, each with one document at a time. The result doesn't depend on it.

        Raises
        ------
        StateError
            Unless the root has weights.
        """
        check_source(source)
        choice("proportions", proportions, ("integrated", "drawn"), remedy="They have the same law.")
        whole_number("threads", threads, 1, MOST_THREADS, remedy="One per processor is usual.")
        integrated = proportions == "integrated"
        if integrated:  # customers are drawn one by one
            self.expand_cells()
        self._sweep_documents(self._plan(source, integrated, threads), source)

    @changes
    def resample_sequences(self, source: ChoiceSource, slices: bool = True, threads: int = 1) -> int:
        """Draw the states of all sequences of a hidden Markov model, each as a whole.

        Parameters
        ----------
        source : ChoiceSource
            The ``rng`` that a move is given.
        slices : bool
            Whether every transition has a slice; without, all states of a finite model are considered.
        threads : int
            Number of threads, each with one sequence at a time. The result doesn't depend on it.

        Returns
        -------
        int
            Number of states that were considered.

        Raises
        ------
        StateError
            Unless the data are sequences, `hk.PreviousDish` is declared, the root has weights, and parameters
            of dishes can be drawn or are in the state (`NonConjugate`).
        """
        check_source(source)
        flag("slices", slices)
        whole_number("threads", threads, 1, MOST_THREADS, remedy="One per processor is usual.")
        self._check_chain()
        if (trouble := sequences_refused(self)) is not None:
            raise StateError("measure", type(self.measure).__name__, "one of whole sequences", trouble)
        if not slices and self.root.most_dishes is None:
            raise StateError(
                "root", self.root.declared, "hk.FixedWeights, without slices", "Use moves.BeamSampler."
            )
        n: int = self._run_sequences(sequence_sweep, source, slices=slices, threads=threads)
        return n

    @changes
    def split_states(self, source: ChoiceSource, scans: int = 3, length: int = 1) -> tuple[bool, bool]:
        """Propose once to split a state of a hidden Markov model, or to merge two: `SplitMergeStates`.

        Parameters
        ----------
        source : ChoiceSource
            The ``rng`` that a move is given.
        scans : int
            Number of scans before the final one.
        length : int
            Largest number of consecutive states that are split or merged at once.

        Returns
        -------
        split, accepted : bool

        Raises
        ------
        StateError
            Unless the data are sequences, `hk.PreviousDish` is declared, the root has weights, and the
            measure has marginals.
        """
        check_source(source)
        scans = whole_number("scans", scans, 0, MOST_LAUNCHES, remedy="A few are enough.")
        length = whole_number("length", length, 1, MOST_SPLIT, remedy="2 is enough for most data.")
        self._check_chain()
        if not self.measure.conjugate:
            raise StateError(
                "measure", type(self.measure).__name__, "conjugate, where a state's marginal is needed",
                "Use TableGibbs and DishParameters.",
            )  # fmt: skip
        from hdpkit.steps.state_splits import split_states  # few runs need it

        found: tuple[bool, bool] = self._run_sequences(split_states, source, scans, length)
        return found

    def _check_chain(self) -> None:
        """Raise an error unless it is a hidden Markov model over weights of the root."""
        if not self.topology.is_chain or not self.draws_tables or self.root.kind == "restaurant":
            raise StateError(
                "each", self.declarations[-1].each, "hk.PreviousDish over store='counts', root='weights'",
                "Only the states of a hidden Markov model are drawn sequence by sequence.",
            )  # fmt: skip

    def _run_sequences(
        self, step: Step, source: ChoiceSource, *arguments: Any, slices: bool = False, threads: int = 1
    ) -> Any:
        """Run a step over sequences, which sets the weights of new dishes."""
        above: Any = self.root.weights
        readable = self.forced_kernel == "reference"
        dishes = self.population.dishes()
        plan = SequencePlan(self.measure, self.data, above, dishes, slices, threads, readable)
        with above.births_given():
            return self._run(step, plan, *arguments, source=source)

    def _plan(self, source: ChoiceSource, integrated: bool, threads: int, slices: bool = True) -> SlicePlan:
        """Break the remainder into labels.

        With proportions drawn, each customer has a slice, and the rest is below all of them. Otherwise labels
        that customers may leave and take are those of at least a weight that is drawn independently of the
        state, or for sweeps without slices `LEAST` times the threshold.
        """
        above = self.root.weights
        if above is None or self.root.kind == "restaurant":
            raise StateError(
                "root", self.root.kind, "weights that are part of the state",
                "Build hk.Franchise(..., store='counts', root='weights').",
            )  # fmt: skip
        corpus = self.whole_corpus
        slots = self.slots.occupied_slots()
        known = above.table.many(slots)
        # It doesn't depend on the state, and is below the weight of nearly every dish, so slices rarely
        # exclude a dish; in a finite model they never do.
        n = self.topology.n_customers if corpus is None else corpus.n_customers
        threshold = 1.0 / max(n, self.root.most_dishes or 1)
        least = threshold * LEAST
        if slices and integrated:
            threshold = least = threshold * BELOW * (1.0 - source.uniform()) ** 0.25
        elif slices:
            least = min(threshold, float(known[:-1].min())) * RESOLUTION
        broken, remainder = above.broken(least, source)
        if slices and integrated:  # no customer may take the others
            remainder += float(broken[broken < least].sum())
            broken = broken[broken >= least]
        weights = np.append(known[:-1], broken)
        fresh = _free_slots(self.slots, slots, len(broken))
        labels = np.append(slots, fresh)
        order = np.argsort(labels)
        labels = labels[order].astype(np.int32)
        topics = self.measure.draw_term_weights(self.bank, labels, order < len(slots), source)
        return SlicePlan(
            labels,
            np.ascontiguousarray(weights[order]),
            remainder,
            threshold,
            self.measure,
            self.population.values(),
            integrated,
            threads,
            topics=topics,
            least=least if integrated else 0.0,
            known=self.known_dishes,
            held=self.held.mask,
            before=0 if corpus is None else corpus.before,
        )

    def _sweep_documents(self, plan: SlicePlan, source: ChoiceSource) -> None:
        """Sweep over the documents, and set the weights of the resulting dishes."""
        above: Any = self.root.weights
        with above.births_given():
            self._run(self.population.sweep, self._workspace, plan, source=source)
        self._weigh(plan)

    def _weigh(self, plan: SlicePlan) -> None:
        """Set the weights of the dishes after a sweep."""
        above: Any = self.root.weights
        slots = self.slots.occupied_slots()
        kept = np.isin(plan.slots, slots)
        remainder = plan.remainder + float(plan.weights[~kept].sum())
        above.take(slots, np.append(plan.weights[kept], remainder))

    def _run_topics(self, plan: SlicePlan, source: ChoiceSource) -> None:
        """Draw topics by the common plan of all workers."""
        self._run(draw_shard_topics, self._workspace, plan, source=source)

    def _run_shards(self, plan: SlicePlan, source: ChoiceSource, n_blocks: int = 1) -> Changes:
        """Sweep over the shards by the common plan of all workers."""
        observations, tables = self._run(sweep_shards, self._workspace, plan, source=source)
        counts = tuple(
            self._workspace.take_changes(len(tables), block, n_blocks) for block in range(n_blocks)
        )
        return Changes(observations, tables, opened_here(self), counts, bursts_here(self))

    def _share_topics(self, memory: Any, worker: int, n_workers: int) -> None:
        """Draw some of the topics into memory shared by all workers; see `SliceWorkspace.share_topics`."""
        self._workspace.share_topics(memory, worker, n_workers)

    def _settle_shards(self, plan: SlicePlan, total: Changes) -> None:
        """Update dishes, the root and its weights after a sweep over all shards by this plan."""
        above: Any = self.root.weights
        # Arrays from another process may begin at any byte.
        observations, tables = (
            np.require(one, requirements=["C", "A"]) for one in (total.observations, total.tables)
        )
        with above.births_given():
            self._run(settle_shards, plan, observations, tables, total.counts)
        if self.whole_corpus is not None:
            self.whole_corpus.opened = total.opened
            take_bursts(self.bank, total.bursts)
        self._weigh(plan)

    def _slice_topics(self) -> Floats:
        """Topics of the current dishes drawn in the last sweep."""
        drawn: Floats = self._workspace.topics_of(self.slots.occupied_slots())
        return drawn

    def _forget_workspace(self) -> None:
        """Discard the data of the last sweep, because the corpus has changed."""
        vars(self).pop("_workspace", None)

    def _workspace_bytes(self) -> int:
        """Bytes kept between sweeps: topics, and arrays of threads."""
        return int(self._workspace.memory_bytes())


def sequences_refused(state: Any) -> str | None:
    """Why sequences can't be drawn as a whole under the measure, and what to do; None: they can."""
    measure = state.measure
    if state.measure_parts or not (measure.conjugate or isinstance(measure, NonConjugate)):
        return f"Integrate out what dishes of {type(measure).__name__} keep, or use TableGibbs."
    if measure.conjugate and not (measure.supports("draw_parameters") and measure.supports("log_likelihood")):
        return f"{type(measure).__name__} has no draw_parameters() and log_likelihood(): use TableGibbs."
    return None


def opened_here(state: Any) -> npt.NDArray[np.int64]:
    """Number of documents of the franchise with t tables, for t = 0, 1, ...."""
    found: npt.NDArray[np.int64] = np.bincount(totals(state.seating, state.topology.n_nodes)[1][1:])
    return found


def bursts_here(state: Any) -> CountedBursts | None:
    """Numbers of the customers of the franchise's documents where topics differ by document."""
    return CountedBursts(*state.bank.counted()) if state.measure.seats_values else None


def take_bursts(bank: Any, bursts: CountedBursts | None) -> None:
    """Let a bank over some documents of a corpus have these numbers, those of all documents."""
    if bursts is not None:  # arrays from another process may begin at any byte
        arrays = bursts.customers, bursts.totals, bursts.cells
        bank.take_whole(*(np.require(one, np.int64, ["C", "A"]) for one in arrays))


def _free_slots(slots: Any, occupied: Int32s, n: int) -> npt.NDArray[np.int64]:
    """The n smallest free slots."""
    taken = [*occupied.tolist(), *slots.held_slots(), *slots.reserved_slots()]
    return np.setdiff1d(np.arange(n + len(taken)), taken)[:n]
