"""Base measures whose parameters have priors: one for every parameter that may have one."""

import hdpkit as hk

MEASURES = {
    "dirichlet-multinomial": hk.DirichletMultinomial(hk.Gamma(2.0, 2.0), n_terms=3),
    "dirichlet-multinomial-reference": hk.DirichletMultinomialReference(hk.Gamma(2.0, 2.0), n_terms=3),
}
