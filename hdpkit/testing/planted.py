"""Planted bugs: known mistakes, put into the production code for the length of a block.

A test suite is worth what it catches. Each `PlantedBug` names the check that must fail while it is planted;
``tests/test_planted_bugs.py`` fails if one survives, or if its place in the source is no longer found.

Nothing is executed anew: the mutated source is compiled, and the code of the functions that differ is
exchanged in place, so that it is active wherever a function was imported, stored or bound.
"""

from __future__ import annotations

import ast
import gc
import importlib
from collections.abc import Iterator
from contextlib import contextmanager
from inspect import CO_OPTIMIZED
from pathlib import Path
from types import CodeType, FunctionType
from typing import Any

import attrs

from hdpkit.errors import ParameterError

__all__ = ["BUGS", "PlantedBug", "planted"]


@attrs.frozen
class PlantedBug:
    """A mistake as a replacement of source text.

    Attributes
    ----------
    name : str
    what : str
        The mistake and, where it is known, who made it or where it is printed.
    module : str
        Dotted name.
    old, new : str
        Text that occurs exactly once in the module's file, within functions, and what stands there instead.
    caught_by : str
        Name of the check that fails while the bug is planted.
    """

    name: str
    what: str
    module: str
    old: str
    new: str
    caught_by: str

    @property
    def path(self) -> Path:
        """File of the module."""
        return Path(str(importlib.import_module(self.module).__file__))

    def sources(self) -> tuple[str, str]:
        """Text of the module as it is and with the bug.

        Raises
        ------
        ParameterError
            Unless ``old`` occurs exactly once.
        """
        text = self.path.read_text(encoding="utf-8")
        if (n := text.count(self.old)) != 1:
            raise ParameterError(
                f"old of {self.name!r}", f"{n} times in {self.module}", "there exactly once",
                "The code has changed: write the bug anew for the present text.",
            )  # fmt: skip
        return text, text.replace(self.old, self.new)


@contextmanager
def planted(bug: PlantedBug) -> Iterator[None]:
    """Plant a bug for the length of a block, in every function of the process that has the code."""
    filename, texts = str(bug.path), bug.sources()
    if _skeleton(texts[0]) != _skeleton(texts[1]):
        raise _misplanted(bug, "more than that", "bodies of functions: no signature, nothing run at import")
    healthy, mutated = (_codes(compile(text, filename, "exec", dont_inherit=True)) for text in texts)
    # What is defined within a function comes with it; closures that live already are exchanged as well.
    changed = [key for key in healthy if key in mutated and _content(healthy[key]) != _content(mutated[key])]
    swapped: list[tuple[FunctionType, CodeType]] = []
    try:
        for key in changed:
            for function in _holders(bug, healthy[key]):
                swapped.append((function, function.__code__))
                function.__code__ = mutated[key]
        if not swapped:
            raise _misplanted(bug, "nothing", "a change of behaviour")
        yield
    finally:
        for function, code in reversed(swapped):
            function.__code__ = code


class _Bodiless(ast.NodeTransformer):
    def visit_FunctionDef(self, node: ast.FunctionDef) -> ast.FunctionDef:
        node.body = []
        return node


def _skeleton(text: str) -> str:
    """A module without the bodies of its functions, whatever lines it stands on."""
    return ast.dump(_Bodiless().visit(ast.parse(text)))


def _misplanted(bug: PlantedBug, value: str, allowed: str) -> ParameterError:
    return ParameterError(f"what {bug.name!r} changes", value, allowed, f"Correct its text in {bug.module}.")


def _holders(bug: PlantedBug, healthy: CodeType) -> list[FunctionType]:
    """Every live function that has this code."""
    holders = [
        thing for thing in gc.get_objects() if type(thing) is FunctionType and _is_from(thing, healthy)
    ]
    if any(_content(function.__code__) != _content(healthy) for function in holders):
        raise _misplanted(bug, f"{healthy.co_qualname}, which differs from its file", "code as imported")
    if not holders and "<locals>" not in healthy.co_qualname:
        raise _misplanted(bug, f"{healthy.co_qualname}, which nobody holds", "functions that are in use")
    return holders


def _is_from(function: FunctionType, healthy: CodeType) -> bool:
    code = function.__code__
    return (
        code.co_qualname == healthy.co_qualname
        and code.co_firstlineno == healthy.co_firstlineno
        and code.co_filename == healthy.co_filename
    )


def _codes(module: CodeType) -> dict[tuple[str, int], CodeType]:
    """Code of every function of a module by qualified name, and a number where several share it."""
    codes: dict[tuple[str, int], CodeType] = {}

    def visit(code: CodeType) -> None:
        if code.co_flags & CO_OPTIMIZED:  # not the module, nor the body of a class
            number = 0
            while (code.co_qualname, number) in codes:
                number += 1
            codes[code.co_qualname, number] = code
        for constant in code.co_consts:
            if isinstance(constant, CodeType):
                visit(constant)

    visit(module)
    return codes


def _content(code: CodeType) -> Any:
    """What a function's code does, whatever lines it stands on."""
    constants = [
        _content(constant) if isinstance(constant, CodeType) else (type(constant), repr(constant))
        for constant in code.co_consts
    ]
    names = (code.co_names, code.co_varnames, code.co_freevars, code.co_cellvars)
    return code.co_code, code.co_exceptiontable, constants, names, code.co_flags


_WALK = "hdpkit.franchise.walk"
_SWEEPS = "hdpkit.franchise.reference"
_CORE = "hdpkit.franchise.core"
_EXPLICIT = "hdpkit.stores.explicit"
_HISTOGRAM = "hdpkit.stores.histogram"
_SPLIT_MERGE = "hdpkit.moves.split_merge"
_CONCENTRATION = "hdpkit.moves.concentration"
_TIME_TABLE = "hdpkit.moves.scheduled"
_SCHEDULER = "hdpkit.schedule.scheduler"
_MULTINOMIAL = "hdpkit.base_measures.dirichlet_multinomial"
_MEASURE = "hdpkit.base_measures.protocol"

BUGS: tuple[PlantedBug, ...] = (
    # ------------------------------------------------------------------ predictive rows and seats
    PlantedBug(
        "new table without the existing dishes",
        "The mass of a new table is that of a new dish alone: 2.76 expected tables for 3.349 in one sampler.",
        _WALK,
        "            row *= theta + d * self.store.node_tables(r)\n",
        "            row[-1] *= theta + d * self.store.node_tables(r)\n            row[:-1] = 0.0\n",
        "check_table_gibbs",
    ),
    PlantedBug(
        "gamma left out",
        "A new dish has weight 1 in the root for theta_0.",
        _WALK,
        "theta, d = self.concentration[r], self.discount[r]",
        "theta, d = (self.concentration[r] if r else 1.0), self.discount[r]",
        "check_table_gibbs",
    ),
    PlantedBug(
        "discount of one table",
        "An existing dish loses d once, for d times its tables.",
        _WALK,
        "self.store.customers(r, dish) - d * self.store.tables(r, dish)",
        "self.store.customers(r, dish) - d * (self.store.tables(r, dish) > 0)",
        "check_table_gibbs",
    ),
    PlantedBug(
        "discount of one table in the new mass",
        "A new table has theta + d for theta + d T.",
        _WALK,
        "            row *= theta + d * self.store.node_tables(r)\n",
        "            row *= theta + d\n",
        "check_table_gibbs",
    ),
    PlantedBug(
        "tokens for tables in m",
        "The root counts the data customers who eat a dish, not the tables that serve it.",
        _WALK,
        "row[i] += self.store.customers(r, dish) -",
        "row[i] += (self.store.customers(r, dish) if r else (self.store.dishes() == dish).sum()) -",
        "check_table_gibbs",
    ),
    PlantedBug(
        "empty restaurant not passed through",
        "theta + d T is evaluated at T = 0: with theta = 0 < d that is 0/0.",
        _WALK,
        "            if total == 0:\n                continue\n",
        "",
        "check_concentrations_below_zero",
    ),
    PlantedBug(
        "lone customer passed through",
        "A restaurant with one customer counts as empty.",
        _WALK,
        "            if total == 0:\n",
        "            if total <= 1:\n",
        "check_table_gibbs",
    ),
    PlantedBug(
        "sharing without the discount",
        "To share weighs c for c - d T when a customer is seated.",
        _WALK,
        "share = self.store.customers(node, dish) - d * tables",
        "share = self.store.customers(node, dish)",
        "check_table_gibbs",
    ),
    PlantedBug(
        "own predictive for the parent's",
        "A table opens with (theta + d T) P_restaurant(dish) for P_parent(dish).",
        _WALK,
        "* self.probability(parent, dish)",
        "* self.probability(node, dish)",
        "check_table_gibbs",
    ),
    PlantedBug(
        "parent not told of a new table",
        "Blunsom et al. 2009, algorithm 1 as printed: a table that opens is no customer of the parent.",
        _WALK,
        "                node = parent\n            else:",
        "                node = parent if not self.store.tables(max(parent, 0), dish) else -1\n"
        "            else:",
        "check_table_gibbs",
    ),
    PlantedBug(
        "parent not told of a closed table",
        "Blunsom et al. 2009, algorithm 2 as printed: a table that closes stays a customer of the parent.",
        _WALK,
        "            node = int(self.topology.parent[node])\n        return closed",
        "            return closed and int(self.topology.parent[node]) < 0\n        return closed",
        "check_table_gibbs",
    ),
    PlantedBug(
        "parent's probability before the removal",
        "A dish is drawn while the table that closed still counts in the parent.",
        _SWEEPS,
        "        if walk.unseat(i, node, dish, source):\n"
        "            _drop_dish(walk, bank, dish)\n"
        "        try:\n"
        "            dish = _choose_dish(",
        "        closed, above = walk.store.remove(node, dish, i, source)\n"
        "        old, parent = dish, int(walk.topology.parent[node])\n"
        "        try:\n"
        "            logs = bank.log_predictive(i, walk.slots.occupied_slots())\n"
        "            chosen = _choose_dish(walk, bank, node, logs, source)\n"
        "            if closed and walk.unseat(above, parent, old, source) and chosen != old:\n"
        "                _drop_dish(walk, bank, old)\n"
        "            dish = (lambda *ignored: chosen)(",
        "check_table_gibbs",
    ),
    PlantedBug(
        "empty dish kept",
        "A dish that lost its last customer stays, owned by nobody.",
        _SWEEPS,
        "        if walk.unseat(i, node, dish, source):\n",
        "        if walk.unseat(i, node, dish, source) and False:\n",
        "check_table_gibbs",
    ),
    PlantedBug(
        "two new dishes for one",
        "A birth is announced twice; the first dish stays without customers.",
        _SWEEPS,
        "return int(live[place]) if place < len(live) else _new_dish(walk, bank)",
        "return int(live[place]) if place < len(live) else max(_new_dish(walk, bank), _new_dish(walk, bank))",
        "check_table_gibbs",
    ),
    PlantedBug(
        "truncated sum over dishes",
        "The last existing dish is left out of the draw.",
        _SWEEPS,
        "np.log(walk.prior_row(node)) + log_likelihood",
        "np.log(np.r_[walk.prior_row(node)[:-2], 0.0, walk.prior_row(node)[-1:]][-len(log_likelihood):])"
        " + log_likelihood",
        "check_table_gibbs",
    ),
    PlantedBug(
        "shifted sum over dishes",
        "The draw answers with the dish before the one that was drawn.",
        _SWEEPS,
        "return int(live[place]) if place < len(live)",
        "return int(live[place - 1]) if place < len(live)",
        "check_table_gibbs",
    ),
    # ------------------------------------------------------------------ tables and their dishes
    PlantedBug(
        "table as a product of its words",
        "A block is scored by the product of its words' predictives.",
        _SWEEPS,
        "bank.log_block(block, walk.slots.occupied_slots())",
        "sum(bank.log_predictive(i, walk.slots.occupied_slots()) for i in block)",
        "check_dish_gibbs",
    ),
    PlantedBug(
        "table counted before it is removed",
        "The weights of dishes are computed while the table's words still count.",
        _SWEEPS,
        "        bank.remove(dish, block)\n"
        "        if walk.unseat(code, node, dish, source):\n"
        "            _drop_dish(walk, bank, dish)\n"
        "        try:\n"
        "            dish = _choose_dish(walk, bank, node, bank.log_block(",
        "        was = [*walk.slots.occupied_slots(), -1]\n"
        "        logs = bank.log_block(block, was[:-1])\n"
        "        bank.remove(dish, block)\n"
        "        if walk.unseat(code, node, dish, source):\n"
        "            _drop_dish(walk, bank, dish)\n"
        "            logs = logs[[k != dish for k in was]]\n"
        "        try:\n"
        "            dish = _choose_dish(walk, bank, node, (lambda *ignored: logs)(",
        "check_dish_gibbs",
    ),
    PlantedBug(
        "scan order that reads what it updates",
        "Tables are visited by the size of their present dishes.",
        _SWEEPS,
        "    for u in range(first, last):\n        code, node, block = units.codes[u]",
        "    def size(u: int) -> int:\n"
        "        return store.customers(0, store.dish_of(units.blocks[u][0]))\n"
        "    for u in sorted(range(first, last), key=size):\n"
        "        code, node, block = units.codes[u]",
        "check_dish_gibbs_sweep",
    ),
    PlantedBug(
        "table moved without those below",
        "The dish of a table changes, but not that of the tables that sit there.",
        _SWEEPS,
        "    for table in units.below[u]:\n",
        "    for table in units.below[u][-1:]:\n",
        "check_dish_gibbs",
    ),
    PlantedBug(
        "customers left behind",
        "A table that changes its dish is counted there, but not its customers.",
        _EXPLICIT,
        "self._count(record.node, dish, customers=record.size, tables=1)\n\n    def relabel",
        "self._count(record.node, dish, customers=1, tables=1)\n\n    def relabel",
        "check_dish_gibbs",
    ),
    # ------------------------------------------------------------------ stores
    PlantedBug(
        "drawing a table without the discount",
        "Blunsom et al. 2009: a table of size s is shared with weight s for s - d.",
        _EXPLICIT,
        "[self._tables[t].size - discount for t in tables]",
        "[self._tables[t].size for t in tables]",
        "check_table_gibbs_of_four",
    ),
    PlantedBug(
        "shifted sum over tables",
        "The draw of a table answers with its neighbour.",
        _EXPLICIT,
        "which = source.choose([self._tables[t].size - discount for t in tables])",
        "which = source.choose([self._tables[t].size - discount for t in tables]) - 1",
        "check_table_gibbs_of_four",
    ),
    PlantedBug(
        "size not moved up",
        "Blunsom et al. 2009, algorithm 1 as printed: sharing a table of size s adds one to HD[s].",
        _HISTOGRAM,
        "        self._change(node, dish, size, -1)\n        self._change(node, dish, size + 1, 1)\n",
        "        self._change(node, dish, size, 1)\n",
        "check_table_gibbs_on_histograms",
    ),
    PlantedBug(
        "old size not removed",
        "Sharing a table of size s adds one of s + 1 and keeps that of s.",
        _HISTOGRAM,
        "        self._change(node, dish, size, -1)\n        self._change(node, dish, size + 1, 1)\n",
        "        self._change(node, dish, size + 1, 1)\n",
        "check_table_gibbs_on_histograms",
    ),
    PlantedBug(
        "removal by table",
        "A customer leaves a table drawn uniformly, not by customers.",
        _HISTOGRAM,
        "size = self._draw_size(node, dish, 0.0, source)",
        "size = list(self._sizes(node, dish))[source.index(self.tables(node, dish))]",
        "check_table_gibbs_on_histograms",
    ),
    PlantedBug(
        "removal with s - d",
        "A customer leaves a table of size s with weight s - d (here d = 0.6) for s.",
        _HISTOGRAM,
        "size = self._draw_size(node, dish, 0.0, source)",
        "size = self._draw_size(node, dish, 0.6, source)",
        "check_table_gibbs_on_histograms",
    ),
    PlantedBug(
        "sharing by size alone on histograms",
        "A size is drawn with weight s for s - d.",
        _HISTOGRAM,
        "(size - discount) * count",
        "size * count",
        "check_table_gibbs_on_histograms",
    ),
    PlantedBug(
        "sizes drawn without their number",
        "A size is drawn with weight s - d, however many tables have it.",
        _HISTOGRAM,
        "(size - discount) * count",
        "size - discount",
        "check_draw_of_sizes",
    ),
    PlantedBug(
        "permutation dropped from seating out",
        "Customers are dealt over the tables in data order.",
        "hdpkit.stores.seating_out",
        "who = [who[p] for p in source.permutation(len(who))]",
        "who = list(who)",
        "check_seating_out",
    ),
    PlantedBug(
        "pairs of tables not permuted",
        "Two tables are dealt in data order, three or more are not.",
        "hdpkit.stores.seating_out",
        "if len(plan) > 1 and max(plan) > 1:",
        "if len(plan) > 2 and max(plan) > 1:",
        "check_seating_out",
    ),
    # ------------------------------------------------------------------ base measures
    PlantedBug(
        "V left out",
        "Hopper 2015: beta for V beta in the denominator of f_k.",
        _MULTINOMIAL,
        "return self.eta * (self.n_terms or 0) if",
        "return self.eta if",
        "check_table_gibbs",
    ),
    PlantedBug(
        "1/V for an asymmetric prior",
        "f_k takes the mean of eta for every term.",
        _MULTINOMIAL,
        "else self.eta[value]",
        "else float(np.mean(self.eta))",
        "check_asymmetric_prior",
    ),
    PlantedBug(
        "repeated words once",
        "Hopper 2015: a product over the terms of a table counts a repeated word once.",
        _MULTINOMIAL,
        "gammaln(before + counts) - gammaln(before)",
        "gammaln(before + 1) - gammaln(before)",
        "check_dish_gibbs",
    ),
    PlantedBug(
        "block's normaliser by terms",
        "The denominator of a block's probability grows by its distinct terms, not by its words.",
        _MULTINOMIAL,
        "gammaln(total + counts.sum())",
        "gammaln(total + len(counts))",
        "check_dish_gibbs",
    ),
    PlantedBug(
        "truncated cumulative sum of terms",
        "The last term is never simulated.",
        _MULTINOMIAL,
        "generator.random() * weights[-1]",
        "generator.random() * weights[-2]",
        "check_simulated_terms",
    ),
    PlantedBug(
        "shifted cumulative sum of terms",
        "The cumulative sum of a simulated term starts at zero.",
        _MULTINOMIAL,
        "weights = np.cumsum(statistics.terms + self.eta_vector)",
        "weights = np.cumsum(np.roll(statistics.terms + self.eta_vector, 1))",
        "check_simulated_terms",
    ),
    PlantedBug(
        "chain rule that doesn't learn",
        "A block's values are not added before the next: the product of words, for any measure.",
        _MEASURE,
        "                self.add(statistics, value)\n",
        "                pass\n",
        "check_chain_rule",
    ),
    PlantedBug(
        "block left in the statistics",
        "The chain rule adds to the dishes' own statistics.",
        _MEASURE,
        "[self.copy(statistics) for statistics in many]",
        "list(many)",
        "check_chain_rule",
    ),
    # ------------------------------------------------------------------ split-merge
    PlantedBug(
        "q left out",
        "The acceptance ratio lacks the probability of the proposal.",
        _SPLIT_MERGE,
        "            - log_q\n",
        "",
        "check_split_merge",
    ),
    PlantedBug(
        "q of the launch state",
        "q is the probability of the launch state, not of the final scan.",
        _SPLIT_MERGE,
        "log_q = _scan(state, rng, units, order, sides, sizes, slots, current)",
        "log_q = -math.log(2.0) * len(order)\n"
        "            _scan(state, rng, units, order, sides, sizes, slots, current)",
        "check_split_merge_by_scans",
    ),
    PlantedBug(
        "q of an intermediate scan",
        "q is the probability of the scan before the final one.",
        _SPLIT_MERGE,
        "_scan(state, rng, units, order, sides, sizes, slots, None)\n"
        "            log_q = _scan(state, rng, units, order, sides, sizes, slots, current)",
        "stale = _scan(state, rng, units, order, sides, sizes, slots, None)\n"
        "            log_q = _scan(state, rng, units, order, sides, sizes, slots, current)\n"
        "            log_q = stale if self.scans else log_q",
        "check_split_merge_by_scans",
    ),
    PlantedBug(
        "merge launched from the present split",
        "The launch state of a merge is where it must lead back to, not a fresh one.",
        _SPLIT_MERGE,
        "sides[others] = [rng.bernoulli(0.5) for _ in others]",
        "sides[others] = [rng.bernoulli(0.5) if current is None else current[i] for i in others]",
        "check_split_merge_by_scans",
    ),
    PlantedBug(
        "merge without a fresh permutation",
        "q of a merge is computed in data order, that of a split in a random one.",
        _SPLIT_MERGE,
        "order = others[rng.permutation(len(others))]",
        "order = others[rng.permutation(len(others))] if current is None else others",
        "check_split_merge",
    ),
    PlantedBug(
        "K after the split",
        "The root's factor theta_0 + d_0 K takes the dishes after the split.",
        _SPLIT_MERGE,
        "n_before = state.n_dishes - (0 if split else 1)",
        "n_before = state.n_dishes + (1 if split else 0)",
        "check_split_merge",
    ),
    PlantedBug(
        "gamma left out of split-merge",
        "The ratio of a split lacks theta_0 + d_0 K.",
        _SPLIT_MERGE,
        "math.log(theta + discount * n_before)",
        "0.0",
        "check_split_merge",
    ),
    PlantedBug(
        "merge ratio not inverted",
        "A merge is accepted with the ratio of the split.",
        _SPLIT_MERGE,
        "log_split if split else -log_split",
        "log_split",
        "check_split_merge",
    ),
    PlantedBug(
        "words for units in split-merge",
        "The factorials take the words below the root's customers, not the customers.",
        _SPLIT_MERGE,
        "            - _log_rising(discount, len(members))\n",
        "            - _log_rising(discount, len(units.gather(members)))\n",
        "check_split_merge",
    ),
    PlantedBug(
        "pair drawn with replacement",
        "The two units may be the same.",
        _SPLIT_MERGE,
        "b += b >= a",
        "b = rng.index(len(units))",
        "check_split_merge",
    ),
    PlantedBug(
        "pair drawn by dish",
        "The first of the pair is uniform within a uniform dish, not over the units.",
        _SPLIT_MERGE,
        "a = rng.index(len(units))",
        "dishes = state.unit_dishes(units)\n"
        "            a = rng.choose([1.0 / np.count_nonzero(dishes == k) for k in dishes])",
        "check_split_merge",
    ),
    PlantedBug(
        "split's words by their predictives",
        "DM(n_b) of the new dish is the product of its words' predictives.",
        _SPLIT_MERGE,
        "float(alone - on_a)",
        "float(sum(state.bank.log_predictive(i, ())[-1] for i in block) - on_a)",
        "check_split_merge",
    ),
    PlantedBug(
        "emptied dish kept by a merge",
        "The dish that a merge empties stays, owned by nobody.",
        _SWEEPS,
        "        if closed:\n            _drop_dish(walk, bank, old)\n",
        "",
        "check_split_merge",
    ),
    PlantedBug(
        "allocation without sizes in q",
        "Units are allotted with their sizes, q is computed without them.",
        _SWEEPS,
        "        log_q += float(logs[side])\n",
        "        bare = bank.log_block(block, slots)[:2]\n"
        "        log_q += float(bare[side] - np.logaddexp(bare[0], bare[1]))\n",
        "check_split_merge",
    ),
    PlantedBug(
        "allocation without sizes",
        "Sequential allocation lacks the factor |A| - d_0 (exact all the same, but not what is said).",
        _SWEEPS,
        "logs = np.log(sizes - walk.discount[0]) + bank.log_block(block, slots)[:2]",
        "logs = bank.log_block(block, slots)[:2]",
        "check_allocation",
    ),
    PlantedBug(
        "Barker below, Metropolis above",
        "A ratio below one is accepted with r / (1 + r), one above for certain.",
        "hdpkit.moves.metropolis",
        "rng.bernoulli(math.exp(log_ratio))",
        "rng.bernoulli(math.exp(log_ratio) / (1.0 + math.exp(log_ratio)))",
        "check_split_merge",
    ),
    # ------------------------------------------------------------------ scores and prior draws
    PlantedBug(
        "log of a zero discount",
        "[theta+d]_d^(T-1) is taken as d^(T-1) times a ratio of theta/d.",
        "hdpkit.franchise.scores",
        "sum(log(theta + i * d) for i in range(1, len(sizes)))",
        "sum(np.log(np.float64(d)) + np.log(theta / np.float64(d) + i) for i in range(1, len(sizes)))",
        "check_scores",
    ),
    PlantedBug(
        "joint without the root",
        "The log joint leaves the root's seating out.",
        "hdpkit.franchise.scores",
        "for node in range(len(concentration)):",
        "for node in range(1, len(concentration)):",
        "check_scores",
    ),
    PlantedBug(
        "rising factorial from theta",
        "[theta]_1^c for [theta+1]_1^(c-1) in the log joint.",
        "hdpkit.franchise.scores",
        "- lgamma(theta + 1.0) if",
        "- lgamma(theta) if",
        "check_scores",
    ),
    PlantedBug(
        "prior drawn from the root",
        "A customer's dish is simulated from the root's weights, not from its restaurant's.",
        "hdpkit.franchise.simulate",
        "source.choose(walk.prior_row(node))",
        "source.choose(walk.prior_row(0))",
        "check_prior_draws",
    ),
    # ------------------------------------------------------------------ concentrations
    PlantedBug(
        "Beta(a, n) for Beta(a+1, n)",
        "The auxiliary variable of theta lacks the 1.",
        _CONCENTRATION,
        "log_w = _log_beta(theta + 1.0, n, generator)",
        "log_w = _log_beta(theta, n, generator)",
        "check_concentration_of_one",
    ),
    PlantedBug(
        "scale for rate",
        "The second parameter of NumPy's gamma is a scale.",
        "hdpkit.priors",
        "generator.gamma(self.shape, 1.0 / self.rate, size)",
        "generator.gamma(self.shape, self.rate, size)",
        "check_concentration_of_one",
    ),
    PlantedBug(
        "odds with the prior's rate",
        "Escobar and West's odds take b for b - log e.",
        _CONCENTRATION,
        "odds = (shape - 1.0) / (n[0] * rate)",
        "odds = (shape - 1.0) / (n[0] * prior.rate)",
        "check_concentration_of_one",
    ),
    PlantedBug(
        "indicator of the other side",
        "s_j ~ Bernoulli(theta / (n_j + theta)) for n_j / (n_j + theta).",
        _CONCENTRATION,
        "* (n + theta) < n)",
        "* (n + theta) < theta)",
        "check_concentration_of_several",
    ),
    PlantedBug(
        "empty restaurants not skipped",
        "Restaurants without customers have their s_j = 1 subtracted too.",
        _CONCENTRATION,
        "* (n + theta) < n)",
        "* (n + theta) < n) - (len(customers) - len(n))",
        "check_concentration_of_several",
    ),
    PlantedBug(
        "log w of the first restaurant alone",
        "The rate takes one auxiliary variable for all.",
        _CONCENTRATION,
        "rate = prior.rate - log_w.sum()",
        "rate = prior.rate - log_w[0]",
        "check_concentration_of_several",
    ),
    PlantedBug(
        "half of each augmentation",
        "Beta(theta+1, n) of one scheme with the y of the other, which has n - 1.",
        _CONCENTRATION,
        "_log_beta(theta + 1.0, n[n > 1] - 1, generator)",
        "_log_beta(theta + 1.0, n, generator)",
        "check_concentration_with_discount",
    ),
    PlantedBug(
        "y of the first table",
        "The y_i count from i = 0: one too many for every restaurant.",
        _CONCENTRATION,
        "np.arange(1, tables)",
        "np.arange(tables)",
        "check_concentration_with_discount",
    ),
    PlantedBug(
        "tokens for the root's customers",
        "gamma is drawn given the number of tokens, not of the tables below the root.",
        _CONCENTRATION,
        "n, t = customers[nodes], tables[nodes]",
        "n, t = (customers[nodes] if number else customers[1:].sum(keepdims=True)), tables[nodes]",
        "check_concentration_of_a_franchise",
    ),
    PlantedBug(
        "tables for tokens below the root",
        "alpha is drawn given the tables of a restaurant, not its customers.",
        _CONCENTRATION,
        "n, t = customers[nodes], tables[nodes]",
        "n, t = (tables if number else customers)[nodes], tables[nodes]",
        "check_concentration_of_a_franchise",
    ),
    # ------------------------------------------------------------------ components and frozen states
    PlantedBug(
        "dish id reused in silence",
        "A dish dies without telling the components, and its number is given out again.",
        _SWEEPS,
        "    walk.slots.close(dish)\n    bank.died(dish)\n",
        "    live = [k for k in walk.slots.occupied_slots() if k != dish]\n"
        "    walk.slots.reset(live, walk.slots.held_slots())\n"
        "    bank.died(dish)\n",
        "check_components",
    ),
    PlantedBug(
        "components not reset",
        "A state is thawed behind the back of the components.",
        _CORE,
        "            component.reset(slots)\n",
        "            pass\n",
        "check_components",
    ),
    PlantedBug(
        "held slots forgotten",
        "A frozen state leaves out the slots that a component keeps empty.",
        _CORE,
        "np.array(self.slots.held_slots(), dtype=np.int32)",
        "np.array([], dtype=np.int32)",
        "check_held_slots",
    ),
    PlantedBug(
        "order of tables forgotten",
        "A frozen seating sorts the tables of a dish anew.",
        _EXPLICIT,
        "for t in self._serving[pair]]",
        "for t in self._serving[pair][::-1]]",
        "check_resumed_runs",
    ),
    PlantedBug(
        "frozen state that lives on",
        "A frozen state shares the array of concentrations with the franchise.",
        _CORE,
        '"concentration": self._concentration.copy(),',
        '"concentration": self._concentration,',
        "check_resumed_runs",
    ),
    PlantedBug(
        "sweep counter forgotten",
        "A thawed franchise counts its sweeps from zero, and uses their streams again.",
        _CORE,
        'self.sweep = int(frozen["sweep"])',
        "self.sweep = 0",
        "check_resumed_runs",
    ),
    # ------------------------------------------------------------------ streams and schedules
    PlantedBug(
        "streams not keyed by sweep",
        "Every sweep draws the same words.",
        _SCHEDULER,
        "streams.source(place + 1, sweep, attempt",
        "streams.source(place + 1, attempt",
        "check_streams",
    ),
    PlantedBug(
        "interrupted attempt not counted",
        "After Ctrl-C the words of the sweep's streams are used twice.",
        _SCHEDULER,
        "franchise.attempt += 1",
        "franchise.attempt += 0",
        "check_streams",
    ),
    PlantedBug(
        "attempts that run into places",
        "The second attempt of one move has the words of the next move's first.",
        "hdpkit.random.streams",
        "place | (attempt << 32)",
        "place + attempt",
        "check_streams",
    ),
    PlantedBug(
        "every(n) off by one",
        "A move that runs every n sweeps runs in 1, n + 1, ...",
        _TIME_TABLE,
        "sweep % self.period == 0",
        "(sweep - 1) % self.period == 0",
        "check_time_tables",
    ),
    PlantedBug(
        "until(n) off by one",
        "A move that runs until sweep n ends at n - 1.",
        _TIME_TABLE,
        "sweep <= self.last",
        "sweep < self.last",
        "check_time_tables",
    ),
    PlantedBug(
        "after(n) off by one",
        "A move that runs after sweep n begins at n.",
        "hdpkit.moves.protocol",
        "first=sweep + 1",
        "first=sweep",
        "check_time_tables",
    ),
    PlantedBug(
        "repeat(n) off by one",
        "A repeated move runs n - 1 times.",
        _TIME_TABLE,
        "else self.times):",
        "else self.times - 1):",
        "check_combinators",
    ),
    PlantedBug(
        "mixture without weights",
        "The moves of a mixture are drawn uniformly.",
        "hdpkit.schedule.combinators",
        "rng.choose(self.weights)",
        "rng.index(len(self.weights))",
        "check_combinators",
    ),
)
