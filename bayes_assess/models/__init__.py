"""Generative models, one per file: the NumPyro program and the closed-form posterior beside it."""

from bayes_assess.models.beta_bernoulli import BetaBernoulli as BetaBernoulli
