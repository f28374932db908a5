"""Mistakes in selected terms: their sums, their proportions, the moves of both."""

from __future__ import annotations

from planted import PlantedBug

__all__ = ["BUGS"]

_SUMS = "hdpkit.measures.selection"
_MEASURE = "hdpkit.measures.sparse_dirichlet_multinomial"
_PART = "hdpkit.measures.proportions"
_COEFFICIENTS = "        log_sum = self.log_sum(a, n)\n        inside"
_NUMBER = "            selected = a + self._law(slot, given).draw(a, n, source)\n"
_DRAW = "        return int(source.choose(np.exp(self._log_law(a, n))))\n"

BUGS: tuple[PlantedBug, ...] = (
    PlantedBug(
        "D dropped",
        "f_k(v) lacks Z(a, N), which differs between dishes (Wang & Blei 2009, equation 6).",
        _SUMS,
        _COEFFICIENTS,
        "        log_sum = 0.0\n        inside",
        "check_selected_terms",
    ),
    PlantedBug(
        "prior binomial",
        "1 / (smoothing R + N) is averaged under the prior of R in place of its posterior; sums to one, too.",
        _SUMS,
        _COEFFICIENTS,
        "        R = np.arange(a, self.n_terms + 1)\n"
        "        if n > 0:\n"
        "            shares = np.exp(self._log_law(a, 0)) / (self.smoothing * R + n)\n"
        "            others = self.smoothing * (R - a) / max(self.n_terms - a, 1)\n"
        "            return float(shares.sum()), float((shares * others).sum())\n" + _COEFFICIENTS,
        "check_selected_terms",
    ),
    PlantedBug(
        "1/V for a new dish",
        "f_new(v) = 1/V, as if every dish selected a term.",
        _MEASURE,
        "* inside if one.terms[value] else outside)",
        "* inside if one.terms[value] else outside if one.total else 1.0 / self.n_terms)",
        "check_selected_terms",
    ),
    PlantedBug(
        "number of selections of y terms dropped",
        "The sums lack C(V - |A|, y).",
        _SUMS,
        "        choices = gammaln(V - a + 1) - gammaln(y + 1) - gammaln(V - a - y + 1)\n",
        "        choices = 0.0 * y\n",
        "check_selected_terms",
    ),
    PlantedBug(
        "number of selections dropped from the joint draw",
        "y is drawn without C(V - |A|, y) (Wang & Blei 2009, footnote 4).",
        _SUMS,
        _DRAW,
        "        y = np.arange(self.n_terms - a + 1)\n"
        "        law = self._log_law(a, n) + scipy.special.gammaln(y + 1)"
        " + scipy.special.gammaln(self.n_terms - a - y + 1)\n"
        "        return int(source.choose(np.exp(law)))\n",
        "check_selectors",
    ),
    PlantedBug(
        "drawn topics select terms one by one",
        "Terms without customers are selected independently, with the mean proportion of those selected.",
        _SUMS,
        "    more = law.draw(len(shapes) - len(others), n, source)\n",
        "    mean = law.expected(len(shapes) - len(others), n) - (len(shapes) - len(others))\n"
        "    more = int(np.sum(source.uniform(len(others)) * len(others) < mean))\n",
        "check_drawn_topics",
    ),
    PlantedBug(
        "drawn topics have the mean number of terms",
        "The sum of the parameters of each term's beta distribution is that of the mean number of terms.",
        "hdpkit.franchise.sample",
        "            more = [self.selection.draw(distinct, self.customers, source) for _ in range(n)]\n",
        "            more = [self.selection.expected(distinct, self.customers) - distinct] * n\n",
        "check_drawn_topics",
    ),
    PlantedBug(
        "proportion of a new dish from its prior",
        "A dish is born with pi from Beta(r, s), whatever brings it to life.",
        _PART,
        "*self._drawn(slot, n_different, len(customers), source)",
        "*self._drawn(slot, 0, 0, source)",
        "check_stored_selections",
    ),
    PlantedBug(
        "schemes mixed",
        "Seats are drawn with pi integrated out while it is stored.",
        _PART,
        "            statistics.given = None if self.table is None else self.table.get(slot)\n",
        "            statistics.given = None\n",
        "check_stored_selections",
    ),
    PlantedBug(
        "selectors from a stale proportion",
        "Selectors are drawn given the proportion of the last time.",
        _PART,
        "        present = self.table.many(slots).tolist()\n",
        "        now = self.table.many(slots).tolist()\n"
        "        present, self.__dict__['late'] = self.__dict__.get('late', now), now\n",
        "check_selectors",
    ),
    PlantedBug(
        "proportion from stale selectors",
        "pi is drawn given the selectors of the last time, and these anew afterwards.",
        _PART,
        _NUMBER,
        "            selected = max(a, self.__dict__.get('late', a))\n"
        "            self.__dict__['late'] = a + self._law(slot, given).draw(a, n, source)\n",
        "check_selectors",
    ),
    PlantedBug(
        "proportion without the prior",
        "pi ~ Beta(1 + R, 1 + V - R), whatever r and s are.",
        _PART,
        "source.log_beta(float(r) + selected, float(s) + (measure.n_terms - selected))",
        "source.log_beta(1.0 + selected, 1.0 + (measure.n_terms - selected))",
        "check_selectors",
    ),
    PlantedBug(
        "density of proportions of one dish",
        "The log joint counts the density of the first proportion alone.",
        _PART,
        "        return math.fsum(norm + (r - 1.0) * logs[:, 0] + (s - 1.0) * logs[:, 1])\n",
        "        return math.fsum(norm + (r - 1.0) * logs[:1, 0] + (s - 1.0) * logs[:1, 1])\n",
        "check_density_of_selections",
    ),
    PlantedBug(
        "terms selected for certain",
        "Data are simulated as if every dish selected a term.",
        _MEASURE,
        "        return float(np.log(self.predictive(statistics).sum()))\n",
        "        return 0.0\n",
        "check_contract_of_selections",
    ),
)
