"""The state of a chain over shards on disk: files of the shards, and what all documents have in common.

The folder of the chain is that of any chain (`hdpkit.run.run_folder`). Its states have the sweep, what
all workers have in common, and the checksum of the file of each shard in the folder ``sweep-NNNNNNNN``.
"""

from __future__ import annotations

import itertools
import shutil
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

import attrs
import numpy as np
import numpy.typing as npt
import scipy

from hdpkit._count_changes import write_sparse
from hdpkit.arrays import Int32s, Int64s, sums_by_key
from hdpkit.checks import numbers_between, positive_number, real_number, whole_number, whole_numbers
from hdpkit.data import Corpus
from hdpkit.errors import KernelError, RunError, ShardError
from hdpkit.files import checksum_of, npz_of, read_npz, reading, refuse_others, storage_errors, write_aside
from hdpkit.franchise.declarations import FixedWeights
from hdpkit.franchise.franchise import Franchise
from hdpkit.franchise.root import log_dishes
from hdpkit.franchise.scores import ROOT_WEIGHTS, columns_of, log_seating_of_restaurant
from hdpkit.franchise.whole_corpus import Changes, CountedBursts, WholeCorpus
from hdpkit.numerics import add_up, lgamma, log
from hdpkit.random import STARTS, Streams
from hdpkit.run.samples import sparse_of, sparse_rows
from hdpkit.run.shards.state import OPENS, begin_shards, checked_seating, seat_bursts
from hdpkit.stores._stirling import sum_of_logs
from hdpkit.stores.frozen import COUNTED

FORMAT = "hdpkit shard"
_SLOTS_PER_DISH = 1_000_000
_PREFIX = "sweep-"


def seating_folder(chain: Path, sweep: int) -> Path:
    """Folder of the shards' files of a sweep, in the folder of the chain."""
    return chain / f"{_PREFIX}{sweep:08d}"


def shard_file(folder: Path, number: int) -> Path:
    """File of the state of a shard."""
    return folder / f"shard-{number:04d}.npz"


def stored_sweeps(chain: Path) -> set[int]:
    """Sweeps of which there are folders of shards' files."""
    names = [path.name.removeprefix(_PREFIX) for path in chain.glob(f"{_PREFIX}*")]
    return {int(name) for name in names if name.isascii() and name.isdecimal()}


def remove_others(chain: Path, sweeps: set[int]) -> None:
    """Remove the files of all other sweeps, to which no checkpoint refers."""
    for sweep in stored_sweeps(chain) - sweeps:
        shutil.rmtree(seating_folder(chain, sweep), ignore_errors=True)


@attrs.frozen(eq=False)
class Written:
    """What is known of the file of a shard that was written."""

    digest: str  # its checksum
    tables: Int64s  # of each slot in the documents of the shard
    # distinct numbers of tokens of its documents, without 0, and how many have each
    sizes: tuple[Int64s, Int64s]


def write_shard(folder: str, number: int, seating: Mapping[str, Int32s]) -> Written:
    """Write the state of a shard. A StorageError names the shard."""
    path = shard_file(Path(folder), number)
    narrow = {name: _narrow(column) for name, column in seating.items()}
    data = npz_of(FORMAT, {"shard": number, "seating": narrow})
    with storage_errors(
        f"shard {number}", path, "at a place where it can be written",
        "Make it possible and run again: the run goes on from its last checkpoint.",
    ):  # fmt: skip
        refuse_others(path.parent.parent, folder=True)
        path.parent.mkdir(parents=True, exist_ok=True)
        refuse_others(path.parent, folder=True)
        refuse_others(path)
        with write_aside(path, path.with_name(path.name + ".tmp")) as file:
            file.write(data)
    return Written(checksum_of(data), *totals_of(seating))


def totals_of(seating: Mapping[str, Int32s]) -> tuple[Int64s, tuple[Int64s, Int64s]]:
    """Tables of each slot in the documents of a shard, and their numbers of tokens, as in `Written`."""
    tables = np.bincount(seating["count_dish"], weights=seating["count_tables"])
    lengths = np.bincount(seating["count_node"], weights=seating["count_customers"]).astype(np.int64)
    return tables.astype(np.int64), np.unique(lengths[lengths > 0], return_counts=True)


def summed(
    totals: Iterable[tuple[Int64s, tuple[Int64s, Int64s]]], n_slots: int
) -> tuple[Int64s, tuple[Int64s, Int64s]]:
    """The sum of `totals_of` over shards."""
    tables, found = np.zeros(n_slots, dtype=np.int64), []
    for of_shard, sizes in totals:
        tables[: len(of_shard)] += of_shard
        found.append(sizes)
    return tables, sums_by_key(*np.concatenate(found, axis=1))


def _narrow(column: Int32s) -> npt.NDArray[Any]:
    """Numbers in two bytes each, if possible."""
    return column.astype(np.uint16) if column.itemsize > 2 and column.max(initial=0) < 1 << 16 else column


@attrs.frozen(eq=False, kw_only=True)
class Stored:
    """What all documents have in common at a checkpoint."""

    common: dict[str, Any]  # from `hdpkit.run.shards.state.common_state`
    counts: Any  # csr_array (K, n_terms): tokens of each term in each dish
    # observations of each topic by term: tables where topics differ by document, otherwise the same
    observed: Any
    # where they differ, `CountedBursts.totals` and `CountedBursts.cells` of all documents
    bursts: tuple[Int64s, Int64s] | None
    tables: Int64s  # of each dish in all documents: customers of the root
    sizes: tuple[Int64s, Int64s]  # as in `Written`, of all documents
    log_joint: float  # of the last sweep; nan before the first one
    digests: tuple[str, ...]  # checksum of the file of each shard

    @property
    def sweep(self) -> int:
        """Sweep of the state."""
        return int(self.common["sweep"])

    @classmethod
    def of(
        cls,
        common: dict[str, Any],
        counts: Any,
        log_joint: float,
        shards: Mapping[int, Written],
        observed: tuple[Any, tuple[Int64s, Int64s]] | None = None,
    ) -> Stored:
        """The state of which the files of all shards were written; ``observed`` is from `Worker.observed`."""
        totals = [(one.tables, one.sizes) for one in shards.values()]
        tables, sizes = summed(totals, int(np.max(common["slots"])) + 1)
        return cls(
            common=common,
            counts=counts,
            observed=counts if observed is None else observed[0],
            bursts=None if observed is None else observed[1],
            tables=tables[common["slots"]],
            sizes=sizes,
            log_joint=log_joint,
            digests=tuple(shards[i].digest for i in sorted(shards)),
        )

    def frozen(self) -> dict[str, Any]:
        """The state in the form in which a checkpoint has it; `read` is the inverse."""
        own = {}
        if self.bursts is not None:
            own = {"observed": sparse_rows(self.observed), "bursts": list(self.bursts)}
        return {
            **self.common,
            **own,
            "counts": sparse_rows(self.counts),
            "tables": self.tables,
            "sizes": list(self.sizes),
            "log_joint": self.log_joint,
            "shards": list(self.digests),
        }

    @classmethod
    def read(
        cls,
        frozen: Mapping[str, Any],
        n_terms: int,
        n_shards: int,
        weights: bool,
        where: Path,
        differ: bool,
    ) -> Stored:
        """The state of a checkpoint, checked, since compiled code uses its numbers without checks."""
        with reading(where):
            common = {key: value for key, value in frozen.items() if key not in _OWN}
            _check_common(common)
            if weights and ROOT_WEIGHTS not in common["components"]:
                raise ValueError("no weights of the root")
            k = len(common["slots"])
            counts = sparse_of(frozen["counts"], k, n_terms)
            customers = np.asarray(counts.sum(axis=1))
            remedy = "Restore a copy of it."
            tables = whole_numbers("tables", frozen["tables"], 1, 2**31 - 1, length=k, remedy=remedy)
            digests = frozen["shards"]
            if not np.all(tables <= customers) or int(customers.max(initial=0)) >= 2**31:
                raise ValueError("other numbers of tables")
            sizes, documents = (
                np.asarray(whole_numbers("sizes", column, 1, 2**62, remedy=remedy), dtype=np.int64)
                for column in frozen["sizes"]
            )
            if len(sizes) != len(documents) or sizes @ documents != customers.sum():
                raise ValueError("other numbers of tokens")
            if not isinstance(digests, list) or not all(isinstance(one, str) for one in digests):
                raise TypeError("other checksums")
            if len(digests) != n_shards:
                raise ValueError(f"checksums of {len(digests)} shards of {n_shards}")
            observed, bursts = counts, None
            if differ:
                observed = sparse_of(frozen["observed"], k, n_terms)
                bursts = _bursts_of(frozen["bursts"], counts, observed)
            log_joint = frozen["log_joint"]
            if not (isinstance(log_joint, float) and np.isnan(log_joint)):
                real_number("log_joint", log_joint)
            return cls(
                common=common,
                counts=counts,
                observed=observed,
                bursts=bursts,
                tables=np.asarray(tables, dtype=np.int64),
                sizes=(sizes, documents),
                log_joint=float(log_joint),
                digests=tuple(digests),
            )


_OWN = ("counts", "tables", "sizes", "log_joint", "shards", "observed", "bursts")


def _bursts_of(given: Any, counts: Any, observed: Any) -> tuple[Int64s, Int64s]:
    """`Stored.bursts`; an error unless they have the sums of these tokens and tables."""
    if (counts - observed).data.min(initial=0) < 0 or (observed > 0).nnz != (counts > 0).nnz:
        raise ValueError("other tables of terms")
    totals, cells = (np.asarray(one, dtype=np.int64).reshape(-1, 3) for one in given)
    for customers, tables, n in (totals.T, cells.T):
        if np.any(tables < 1) or np.any(customers < tables) or np.any(n < 1):
            raise ValueError("other pairs of customers and tables")
        if (customers @ n, tables @ n) != (counts.sum(), observed.sum()):
            raise ValueError("other sums of customers and tables")
    return totals, cells


def _check_common(common: Mapping[str, Any]) -> None:
    """Raise an error unless this can be a state common to all workers; franchises check its other numbers."""
    whole_number("sweep", common["sweep"])
    for name in ("measure", "components"):
        if not isinstance(common[name], dict):
            raise TypeError(f"{name}: {type(common[name]).__name__}")
    remedy = "Restore a copy of it."
    slots = whole_numbers("slots", common["slots"], 0, 2**31 - 2, remedy=remedy)
    births = whole_number("births", common["births"])
    ids = whole_numbers("dish_ids", common["dish_ids"], 0, births - 1, length=len(slots), remedy=remedy)
    if not len(slots) or np.any(np.diff(slots) <= 0) or len(np.unique(ids)) < len(ids):
        raise ValueError("dishes twice, or none")
    if slots[-1] > _SLOTS_PER_DISH * len(slots):  # tables by slot would need any amount of memory
        raise ValueError("slots without dishes")
    of_root, of_documents = common["concentration"]
    measure = common["measure"].items()
    positive = [value for name, value in measure if not name.startswith("discount/")]
    for value in (of_root, of_documents, *positive):
        positive_number("hyperparameter", value)
    weights = common["components"].get(ROOT_WEIGHTS)
    if weights is not None:
        kept = numbers_between("weights", weights["weights"], 0.0, 1.0, remedy=remedy)
        if kept.shape != (len(slots) + 1,) or abs(kept.sum() - 1.0) > 1e-6:
            raise ValueError("other weights")


@attrs.frozen(eq=False)
class FromFolder:
    """A start from a checkpoint: each worker reads the states of its own shards."""

    folder: str  # of the files of the shards
    state: dict[str, Any]  # common to all workers
    digests: tuple[str, ...]  # checksum of the file of each shard
    bursts: bool = False  # whether topics differ by document

    @classmethod
    def of(cls, chain: Path, stored: Stored) -> FromFolder:
        """The start from a state in the folder of its chain."""
        folder = str(seating_folder(chain, stored.sweep))
        return cls(folder, stored.common, stored.digests, stored.bursts is not None)

    def common(self) -> dict[str, Any]:
        """The state common to all workers."""
        return self.state

    def seating(self, number: int, info: Any, corpus: Corpus) -> dict[str, Int32s]:
        """Read the state of a shard; raises a ShardError that names it if the file is missing or differs."""
        return checked_seating(number, self.read(number), corpus, self.state["slots"], self.bursts)

    def read(self, number: int) -> dict[str, Any]:
        """The seating in the file of a shard, if it is that of the checkpoint; errors as in `seating`."""
        path = shard_file(Path(self.folder), number)
        try:
            refuse_others(path.parent, folder=True)
            tree = read_npz(path, FORMAT, self.digests[number])
            with reading(path):
                return dict(tree["seating"])
        except RunError as error:
            raise ShardError.of(number, error.parameter, error.value, error.allowed, error.remedy) from error


def one_document(source: Any) -> Corpus:
    """A corpus of one token over the terms of a corpus in shards: a franchise needs a document."""
    one = scipy.sparse.csr_array(([1], ([0], [0])), shape=(1, source.n_terms))
    return Corpus.from_counts(one, vocabulary=getattr(source, "vocabulary", None))


def check_served(franchise: Franchise) -> None:
    """Raise a KernelError unless sweeps over shards are supported."""
    try:
        franchise.kernel("sweep_shards")
    except KernelError as error:
        raise KernelError(
            "base", franchise.measure, "a DirichletMultinomial, or a Bursty around one",
            "Use hk.DirichletMultinomial, or hk.Scheduler over the whole corpus.",
        ) from error  # fmt: skip


def begin_without_documents(franchise: Franchise, stored: Stored, seed: int) -> None:
    """Give a franchise over `one_document` the topics, weights and hyperparameters of a checkpoint."""
    slots = np.asarray(stored.common["slots"], dtype=np.int64)
    n_slots = int(slots.max()) + 1
    customers, observations, tables = np.zeros((3, n_slots), dtype=np.int64)
    customers[slots] = np.asarray(stored.counts.sum(axis=1))
    observations[slots], tables[slots] = np.asarray(stored.observed.sum(axis=1)), stored.tables
    by_term = scipy.sparse.csr_array(stored.observed.T)
    by_term.sort_indices()
    term = np.repeat(np.arange(by_term.shape[0]), np.diff(by_term.indptr))
    counts = write_sparse(term * n_slots + slots[by_term.indices], by_term.data.astype(np.int64))
    bursts = None if stored.bursts is None else CountedBursts(customers, *stored.bursts)
    total = Changes(observations, tables, np.zeros(1, dtype=np.int64), (counts,), bursts)
    own = () if bursts is None else (OPENS,)
    seating = {name: np.ones(1, dtype=np.int32) for name in ("dish", *COUNTED, *own)}
    seating["dish"][0] = seating["count_dish"][0] = slots[0]
    seat_bursts(franchise, seating)
    streams = Streams(seed)
    corpus, source = WholeCorpus(0, stored.sizes), streams.source(STARTS)
    franchise.access.change(begin_shards, franchise, seating, total, stored.common, corpus, source)
    franchise.streams = streams


def seated_logs(franchise: Franchise, documents: Sequence[int]) -> list[float]:
    """Sum over documents and dishes of log S(customers, tables), for consecutive ranges of documents."""
    node, _, customers, tables = _columns(franchise)
    places = np.searchsorted(node, np.cumsum([1, *documents]))
    n, t = (np.asarray(column, dtype=np.int64) for column in (customers, tables))
    return [
        float(sum_of_logs(n[first:last], t[first:last]))
        for first, last in itertools.pairwise(places.tolist())
    ]


def log_joint_of_all(franchise: Franchise, log_likelihood: float) -> float:
    """The log joint of all documents without their `seated_logs`: the same bits in every worker."""
    root, documents = franchise.declarations
    node, _, customers, _ = _columns(franchise)
    served = np.asarray(customers[: np.searchsorted(node, 1)], dtype=np.int64)  # customers of the root
    declared, n_tables = franchise.root.declared, int(served.sum())
    if isinstance(declared, FixedWeights):
        seating = log_dishes(declared.n_dishes, len(served), n_tables)
    else:
        seating = log_seating_of_restaurant(served, _concentration(franchise, root.name), 0.0)
    theta = _concentration(franchise, documents.name)
    (sizes, with_size), _ = franchise.counted_totals_of(1)
    there = sizes > 0
    seating += (n_tables - int(with_size[there].sum())) * log(theta)
    alone = lgamma(theta + 1.0)
    seating -= add_up(
        n * (lgamma(theta + size) - alone)
        for size, n in zip(sizes[there].tolist(), with_size[there].tolist(), strict=True)
    )
    return float(seating + log_likelihood + franchise.log_prior() + franchise.parts.log_density(franchise))


def _concentration(franchise: Franchise, name: str) -> float:
    return float(np.asarray(franchise.concentration(name)).item())


def _columns(franchise: Franchise) -> Any:
    with franchise.lock():
        return columns_of(franchise.seating, franchise.topology.n_nodes)
