"""Mistakes in fold-in and in held-out evaluation."""

from __future__ import annotations

from planted import PlantedBug

__all__ = ["BUGS"]

_GROUPS = "hdpkit.steps.new_groups"
_FIXED = "hdpkit.posterior.fold_in"
_LABELS = "hdpkit.posterior.new_labels"
_BURSTY = "hdpkit.measures.bursty"
_COMPLETION = "hdpkit.posterior.evaluation.completion"
_EVALUATE = "hdpkit.posterior.evaluation.evaluate"
_RESULT = "hdpkit.posterior.evaluation.result"

BUGS: tuple[PlantedBug, ...] = (
    PlantedBug(
        "fold-in without alpha P",
        "A customer of a group that has others gets one of their dishes: the parent's row left out.",
        _GROUPS,
        "return tables, joins, fresh * self.above * f",
        "return tables, joins, (fresh if not tables else 0.0) * self.above * f",
        "check_fold_in_steps",
    ),
    PlantedBug(
        "fold-in with alpha for alpha P",
        "The concentration itself for its share of a dish.",
        _GROUPS,
        "return tables, joins, fresh * self.above * f",
        "return tables, joins, fresh * (self.above > 0) * f",
        "check_fold_in_steps",
    ),
    PlantedBug(
        "fold-in without the new dish",
        "A customer of a new group never has a dish that the state lacks.",
        _GROUPS,
        "return tables, joins, fresh * self.above * f",
        "return tables, joins, fresh * self.above * f * (np.arange(len(f)) < len(f) - 1)",
        "check_fold_in_steps",
    ),
    PlantedBug(
        "the new dish is left out of completion",
        "Proportions of the live dishes alone, as libraries with a fixed number of topics have them.",
        _COMPLETION,
        "used = prior > 0  # a",
        "used = np.arange(len(prior)) < len(prior) - 1  # a",
        "check_completion_by_em",
    ),
    PlantedBug(
        "fold-in with the customer itself",
        "n_jk with the customer for n_jk without.",
        _GROUPS,
        "if self.at[i] >= 0:\n                self.leave(i)\n            self.sit(i, source)",
        "before = self.at[i]\n            self.sit(i, source)\n            if before >= 0:\n"
        "                self.at[i], before = before, self.at[i]\n                self.leave(i)\n"
        "                self.at[i] = before",
        "check_fold_in_steps",
    ),
    PlantedBug(
        "fold-in without the discount of new tables",
        "theta for theta + d T.",
        _GROUPS,
        "fresh = self.theta + self.d * len(tables) if tables else 1.0",
        "fresh = max(self.theta, 0.01) if tables else 1.0",
        "check_fold_in_steps",
    ),
    PlantedBug(
        "proportions of counts alone",
        "n_jk / n_j for the posterior mean (n_jk + alpha P(k)) / (n_j + alpha).",
        _GROUPS,
        "mean = (self.theta + self.d * len(self.dish)) * self.above",
        "mean = 0.0 * self.above",
        "check_fold_in",
    ),
    PlantedBug(
        "the burn-in is averaged",
        "All sweeps are averaged, those before the burn-in's end, too.",
        _GROUPS,
        "if sweep > burn_in:",
        "if sweep > 0:",
        "check_fold_in",
    ),
    PlantedBug(
        "earlier customers are not reseated",
        "Left-to-right without the sweep over the customers before a position.",
        _GROUPS,
        "self.reseat(0, i, source)",
        "self.reseat(0, 0, source)",
        "check_left_to_right",
    ),
    PlantedBug(
        "a particle's first customer with the group's concentration",
        "P(k) theta / (theta + n) for P(k) in a group without customers, whose parent's row passes through.",
        _GROUPS,
        "norm = self.theta + seated if seated else 1.0",
        "norm = self.theta + seated if seated else 1.0 + self.theta",
        "check_left_to_right",
    ),
    PlantedBug(
        "groups hang on the root",
        "A group whose label names a restaurant draws from the root all the same.",
        _LABELS,
        "above[given] = nodes[given]",
        "above[given] = 0",
        "check_one_token",
    ),
    PlantedBug(
        "densities without their scale",
        "Rows are divided by their largest entry, and the log of it is forgotten.",
        _EVALUATE,
        "np.add.at(scales, fixed.layout.group, fixed.log_scale[fixed.row])",
        "np.add.at(scales, fixed.layout.group, 0.0 * fixed.log_scale[fixed.row])",
        "check_one_token",
    ),
    PlantedBug(
        "logarithms are averaged",
        "The mean of log probabilities over states for the log of the mean probability.",
        _RESULT,
        "mean: Floats = top + np.log(np.mean(np.exp(logs - top), axis=0))",
        "mean: Floats = np.mean(logs, axis=0)",
        "check_average_over_states",
    ),
    PlantedBug(
        "held-out words in the fit",
        "Proportions are fitted to the whole group, the half that is scored among it.",
        _EVALUATE,
        "return whole.restricted(self.observed), whole.restricted(~self.observed)",
        "return whole, whole.restricted(~self.observed)",
        "check_halves",
    ),
    PlantedBug(
        "the first half is observed",
        "Halves by position for random ones: documents from counts have their words in the order of terms.",
        _EVALUATE,
        "source.permutation(last - first)[: (last - first) // 2]",
        "np.arange((last - first) // 2)",
        "check_halves",
    ),
    PlantedBug(
        "a new document's own words are forgotten",
        "Dishes that differ by document, as if the document had no words yet.",
        _GROUPS,
        "shared[dish] += self.copies[value] - self.a",
        "shared[dish] += 0.0",
        "check_fold_in_steps",
    ),
    PlantedBug(
        "all values of a new document repeat",
        "The customers of a dish with other values are counted for this one, too.",
        _GROUPS,
        "if of_row == row:",
        "if of_row >= 0:",
        "check_fold_in_steps",
    ),
    PlantedBug(
        "repeats without the discount of new tables",
        "b for b + a T.",
        _GROUPS,
        "return (shared + (self.b + self.a * opened) * f) / (self.b + customers)",
        "return (shared + self.b * f) / (self.b + customers)",
        "check_fold_in_steps",
    ),
    PlantedBug(
        "held-out words by the dishes of all documents",
        "The dishes that the observed half has made its own are not those that score the other half.",
        _GROUPS,
        "found[held] += [self.predictive(row) / sweeps for row in held_row[held]]",
        "found[held] += [self.weights_of_group() @ self.density[row] / sweeps for row in held_row[held]]",
        "check_predictions",
    ),
    PlantedBug(
        "topics of tokens for topics of tables",
        "Each word counts in its topic, not each table of words.",
        _BURSTY,
        "at_tables[: len(opens)][opens[: len(dishes)] == 0] = -1",
        "pass",
        "check_topics_of_tables",
    ),
    PlantedBug(
        "new terms among all terms",
        "The probability of the observed half's terms is not taken away.",
        _EVALUATE,
        "return found - np.where(tokens > 0, tokens * rest, 0.0), tokens",
        "return found, tokens",
        "check_new_terms",
    ),
    PlantedBug(
        "statistics with the new values",
        "The new values are counted in a dish before their density under it is found.",
        _FIXED,
        "dishes = np.full(len(joined), -1, dtype=np.int32)",
        "dishes = np.full(len(joined), int(slots[0]), dtype=np.int32)",
        "check_completion_by_em",
    ),
)
