"""Mistakes in replica exchange, and in likelihoods raised to a power."""

from __future__ import annotations

from planted import PlantedBug

__all__ = ["BUGS"]

_MOVE = "hdpkit.moves.replica_exchange"
_MEASURE = "hdpkit.measures.dirichlet_multinomial"

BUGS: tuple[PlantedBug, ...] = (
    PlantedBug(
        "only the chains' own powers in the ratio",
        "The likelihood of a state under the power of the other chain is left out.",
        _MOVE,
        "sign * (chain.log_likelihood(there) - chain.log_likelihood(here))",
        "sign * (chain.log_likelihood() - chain.log_likelihood(here))",
        "check_exchanges",
    ),
    PlantedBug(
        "the power left out of the ratio",
        "The ratio is that of the likelihoods themselves.",
        _MOVE,
        "sign * (chain.log_likelihood(there) - chain.log_likelihood(here))",
        "sign * chain.log_likelihood(chain.measure.tempered(1.0))",
        "check_exchanges",
    ),
    PlantedBug(
        "the likelihood of the state before the exchange",
        "The ratio has one state twice, so that it is always 1.",
        _MOVE,
        "((one, 1.0), (other, -1.0))",
        "((one, 1.0), (one, -1.0))",
        "check_exchanges",
    ),
    PlantedBug(
        "the ratio upside down",
        "Exchanges that should be likely are rare.",
        _MOVE,
        "((one, 1.0), (other, -1.0))",
        "((one, -1.0), (other, 1.0))",
        "check_exchanges",
    ),
    PlantedBug(
        "a state copied to the other chain",
        "The colder chain gets the state of the hotter one, which keeps it.",
        _MOVE,
        "_in_chain(second, first, other)",
        "_in_chain(second, second, other)",
        "check_exchanges",
    ),
    PlantedBug(
        "even pairs only",
        "The second power never exchanges with the third.",
        _MOVE,
        "first = replicas.applications % 2 if n_pairs > 1 else 0",
        "first = 0",
        "check_states_pass_all_powers",
    ),
    PlantedBug(
        "eta raised to the power in the ratio",
        "The power belongs to the likelihood of words, not to the prior of topics.",
        _MEASURE,
        "bank.log_marginals_under(slots, self.eta_vector, self.power)",
        "bank.log_marginals_under(slots, self.power * self.eta_vector, self.power)",
        "check_exchanges",
    ),
    PlantedBug(
        "eta raised to the power in a block",
        "The power belongs to the likelihood of words, not to the prior of topics.",
        _MEASURE,
        "eta, more, gammaln = self.eta_vector[terms], self.power * counts, ",
        "eta, more, gammaln = self.power * self.eta_vector[terms], self.power * counts, ",
        "check_readable_tempered_measure",
    ),
    PlantedBug(
        "topics given all their counts",
        "Topics are drawn given the counts, not given the counts times the power.",
        _MEASURE,
        "source.log_dirichlet(self.power * row + self.eta_vector)",
        "source.log_dirichlet(row + self.eta_vector)",
        "check_powers_of_topics",
    ),
    PlantedBug(
        "topics without the power",
        "A token weighs phi, not phi ** power.",
        _MEASURE,
        "exp_each(self.power * np.array(rows))",
        "exp_each(np.array(rows))",
        "check_powers_of_topics",
    ),
)
