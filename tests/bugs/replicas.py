"""Mistakes in replica exchange, and in likelihoods raised to a power."""

from __future__ import annotations

from planted import PlantedBug

__all__ = ["BUGS"]

_MOVE = "hdpkit.moves.replica_exchange"
_MEASURE = "hdpkit.measures.dirichlet_multinomial"
_PROTOCOL = "hdpkit.measures.protocol"
_BANK = "hdpkit.measures.powered_bank"
_SEATS = "hdpkit.franchise.seats"

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
    PlantedBug(
        "the power forgotten in predictives",
        "Customers are seated at power 1, blocks and exchanges at the power.",
        _BANK,
        "self.own * np.asarray(self.of.log_predictive(customer, slots))",
        "np.asarray(self.of.log_predictive(customer, slots))",
        "check_tempered_in_python",
    ),
    PlantedBug(
        "the power forgotten in blocks",
        "Tables change dishes at power 1.",
        _BANK,
        "self.own * np.asarray(self.of.log_block(customers, slots))",
        "np.asarray(self.of.log_block(customers, slots))",
        "check_tempered_in_python",
    ),
    PlantedBug(
        "the power of the chain in the ratio",
        "The likelihood of a state at another power is that at its own.",
        _PROTOCOL,
        "return self.of_all / power_of(bank) * logs",
        "return logs",
        "check_tempered_exchanges",
    ),
    PlantedBug(
        "the statistics at power 1",
        "The bank of a franchise at a power is that of the measure itself.",
        "hdpkit.franchise.customers",
        "return powered_bank(bank_for(state, measure.measure, data), measure.power)",
        "return powered_bank(bank_for(state, measure.measure, data), 1.0)",
        "check_tempered",
    ),
    PlantedBug(
        "the power of the outer block forgotten",
        "A block within a block, or within a chain at a power, has its own power only.",
        _SEATS,
        "Tempered(self.measure, power), powered_bank(self.bank, power)",
        "Tempered(self.measure, power), powered_bank((self._untempered or (self.bank,))[0], power)",
        "check_at_power",
    ),
    PlantedBug(
        "a block that doesn't end",
        "After the block the franchise is still at its power.",
        _SEATS,
        "lambda: self.access.change(self._raise_to, power), self._lower)",
        "lambda: self.access.change(self._raise_to, power), lambda depth: None)",
        "check_at_power",
    ),
    PlantedBug(
        "the final scan at a power",
        "Its probability is in the ratio, but not that of the sides that it draws.",
        "hdpkit.moves.split_merge",
        "            log_q = _scan(state, rng, units, order, sides, sizes, slots, current)\n",
        "            with state.at_power(0.5 if current is None else 1.0):\n"
        "                log_q = _scan(state, rng, units, order, sides, sizes, slots, current)\n",
        "check_annealed_split_merge",
    ),
)
