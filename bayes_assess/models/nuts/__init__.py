"""NUTS on any NumPyro program, with checks of convergence."""

from bayes_assess.models.nuts.fitting import ConvergenceWarning as ConvergenceWarning
from bayes_assess.models.nuts.fitting import fit as fit
from bayes_assess.models.posterior_draws import posterior_draws as posterior_draws
