"""Confusion matrix whose rows learn from each other: how often a prediction is right, and what is taken for it.

**Rows are PREDICTED classes k, columns are OUTCOMES j of a label**, one of which, own_k, is the agreement.
Agreements theta_k,own: `HierarchicalAccuracy`, with the mean score of a row's own class as covariate. Errors:
theta_kj = (1 - theta_k,own) phi_kj, and in the plate ``prediction`` (K), with hyperparameters that rows share,

    phi_k ~ Dirichlet(kappa q_k) over j != own_k,    q_k = (1 - lambda) told_k + lambda even_k,

where told_k are the mean scores of the other classes among the items predicted k, normalised, or without scores the
roots of the numbers of items that are predicted as the other classes, and even_k is uniform over these: log kappa ~
Normal(log 12, 1.5) says how like q_k the rows are, logit lambda ~ Normal(-1, 1.5) how little told_k knows of errors.
Scores may know nothing of how frequent classes are. Where sizes are known with them, the numbers of items that are
predicted as every class, told_k are the scores' shares with probability 1/2, and with 1/4 each, for all rows alike,
these times the first or the second power of the sizes, normalised (`_error_shares.shares_resized`).
Where some classes are predicted for no item, as those are that a system does not know, even_k gives way to
(1 - nu) even_k + nu new_k, with new_k uniform over them and logit nu ~ Normal(0, 2); but with probability 1/3 no item
is of such a class, for all rows alike, and told_k and even_k have shares of the other classes alone
(`_error_shares.shares_without_unpredicted`). Plate ``item`` (N): label_i ~ Categorical(theta_k(i)) (METHODS 12.5).

Agreements and errors are independent, in the prior and so in the posterior. Given (kappa, lambda, nu) the posterior is
`NestedDirichlet`. The posterior of their logarithms and logits is carried by J weighted points
(`_numerics/dirichlet_points.py`). One more error j of row k, after n_kj of them and E_k errors in all, multiplies the
weights by (kappa q_kj + n_kj) / (kappa + E_k), so that a campaign can go on from label to label at the cost O(J).

By the aggregation property of the Dirichlet distribution errors that count for the same (labels of equal cost) may be
taken together: told, even and new are then sums.

Shapes: counts (..., K, O), points (..., J), draws (S, ..., K, O). Everything is 64-bit.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import partial

import numpy as np

from bayes_assess._tools import engine
from bayes_assess._tools.arrays import show
from bayes_assess._tools.axes import PRNGKey, any_engine
from bayes_assess._tools.engine import xp
from bayes_assess._tools.lazy import dist, numpyro
from bayes_assess._tools.pytrees import register_dataclass
from bayes_assess._tools.shapes import Array, ArrayLike, Float, Int
from bayes_assess.errors import PriorError
from bayes_assess.models._bases import Points
from bayes_assess.models._error_shares import (
    check_predicted,
    shares_by_sizes,
    shares_of_new,
    shares_resized,
    shares_without_unpredicted,
)
from bayes_assess.models._numerics.dirichlet_points import (
    CONCENTRATION,
    MIX,
    NEW,
    mean_rows,
    of_reading,
    reading_log_weights,
    readings_of,
    weighted_points,
)
from bayes_assess.models._numerics.polya_urn import are_few
from bayes_assess.models.belief import host_generator, merge_columns
from bayes_assess.models.dirichlet_confusion import FloatMatrix, IntMatrix, row_shares
from bayes_assess.models.hierarchical_accuracy import LOG_STRENGTH, HierarchicalAccuracy, regression
from bayes_assess.models.nested_dirichlet import (
    NestedDirichlet,
    Own,
    joined_moments,
    merged_own,
    n_quantile_draws,
    row_draws,
    row_quantiles,
    split_counts,
)
from bayes_assess.models.program_items import added, counts_of, items_of


def program(
    predictions: Int[Array, " N"],
    labels: Int[Array, " N"] | None = None,
    *,
    covariates: Float[Array, "K P"],
    location: Float[Array, " P"],
    scale: Float[Array, " P"],
    strength_prior: Float[Array, " 2"] | tuple[float, float] = LOG_STRENGTH,
    own: Int[Array, " K"],
    told: Float[Array, "K O"],
    even: Float[Array, "K O"],
    new: Float[Array, "K O"] | None = None,
    resized: Float[Array, "H K O"] | None = None,
    never: Float[Array, "2 K O"] | None = None,
) -> None:
    """Run the generative program: a regression of agreements, shares of errors around the scores', a label per item.

    Parameters
    ----------
    predictions : (N,) integers in 0..K-1
        Predicted class of every labelled item.
    labels : (N,) integers in 0..O-1, optional
        Outcomes; left out, the program simulates them.
    covariates, location, scale, strength_prior : (K, P), (P,), (P,), (2,)
        As in `hierarchical_accuracy.program`.
    own, told, even, new, resized, never : (K,), (K, O), (K, O), (K, O) or None, (H, K, O) or None, (2, K, O) or None
        As in `HierarchicalConfusion`; here every outcome is possible.

    Examples
    --------
    >>> import jax.numpy as jnp, numpyro
    >>> seeded = numpyro.handlers.seed(program, rng_seed=0)
    >>> one, even = jnp.ones((3, 1)), (1 - jnp.eye(3)) / 2
    >>> trace = numpyro.handlers.trace(seeded).get_trace(
    ...     jnp.array([0, 0, 2]), covariates=one, location=jnp.ones(1), scale=jnp.ones(1), own=jnp.arange(3),
    ...     told=even, even=even,
    ... )
    >>> trace["theta"]["value"].shape, trace["label"]["value"].shape
    ((3, 3), (3,))
    """
    from bayes_assess.models._numerics import charts  # imports NumPyro

    own, told, even = (xp.asarray(x) for x in (own, told, even))
    expected, strength = regression(covariates, location, scale, strength_prior)
    kappa = xp.exp(numpyro.sample("log_kappa", dist.Normal(*CONCENTRATION)))
    tables, logits = readings_of(told, even, new, resized, never), []
    logits.append(xp.asarray(numpyro.sample("logit_mix", dist.Normal(*MIX))))
    if new is not None:
        logits.append(xp.asarray(numpyro.sample("logit_new", dist.Normal(*NEW))))
    n_rows, n_outcomes = told.shape
    place = (own[:, None] + 1 + xp.arange(n_outcomes - 1)) % n_outcomes  # columns of the errors
    q = xp.take_along_axis(mean_rows(tables, logits), place[None], axis=-1)  # (R, K, O - 1)
    counts, row = counts_of(predictions, labels, n_rows, n_outcomes), xp.arange(n_rows)
    agreements, errors = counts[row, own], xp.take_along_axis(counts, place, axis=1)
    with numpyro.plate("prediction", n_rows):
        parameters = strength * xp.stack([expected, 1 - expected], axis=-1)
        seen = xp.stack([agreements, errors.sum(1)], axis=-1)
        logit = xp.asarray(numpyro.sample("logit", charts.LogitDirichlet(parameters, seen)))
        log_right, log_wrong = xp.moveaxis(charts.log_shares(logit), -1, 0)
    share = xp.zeros((n_rows, 1))
    if n_outcomes > 2:
        log_prior = xp.asarray(reading_log_weights(len(q), never is not None))
        error_prior = charts.RowsReadAlike(kappa * q, log_prior, errors)
        share = charts.log_shares(xp.asarray(numpyro.sample("error_logit", error_prior)))
    log_theta = xp.zeros(told.shape).at[row[:, None], place].set(log_wrong[:, None] + share).at[row, own].set(log_right)
    numpyro.deterministic("theta", xp.exp(log_theta))
    with numpyro.plate("item", len(predictions)):
        numpyro.sample("label", dist.CategoricalLogits(log_theta[predictions]), obs=labels)


_TABLES = ("told", "even", "counts", "new", "resized", "never")
_POINTS = ("log_kappa", "logit_mix", "log_weight", "logit_new")
_DATA = ["agreement", "own", *_TABLES, *_POINTS]


@partial(register_dataclass, data_fields=_DATA, meta_fields=[])
@dataclass(frozen=True)
class HierarchicalConfusion(Points):
    """A mixture of `NestedDirichlet` distributions over the rows of a confusion matrix.

    Made by `from_prior`; `update_counts` adds labels.

    Parameters
    ----------
    agreement : HierarchicalAccuracy
        Belief on the agreements of the K predicted classes.
    own : (K,) integers
        Outcome that is the agreement.
    told, even : (K, O)
        Shares of the errors by the scores, and uniform ones; 0 for the agreement and for outcomes that are impossible.
    counts : (..., K, O)
        Labels by outcome.
    log_kappa, logit_mix, log_weight : (..., J)
        Hyperparameter points (kappa, lambda) of the errors, and the logarithms of their weights.
    new : (K, O), optional
        Shares of the errors that are uniform over the classes that are predicted for no item; None where there are none
        such, or nothing else.
    logit_new : (..., J), optional
        The points' nu.
    resized : (H, K, O), optional
        Shares by the scores if these know nothing of how frequent classes are: other readings of `told`. The points
        are those of `told` and then of each of these, equally many.
    never : (2, K, O), optional
        Shares told and even if no item is of the classes that are predicted for none: one more reading.

    Examples
    --------
    >>> prior = HierarchicalConfusion.from_prior(n_classes=3)
    >>> posterior = prior.update_counts([[9, 1, 0], [2, 8, 0], [0, 0, 0]])  # the third row has no label
    >>> bool(posterior.mean[2, 2] > 0.7 > prior.mean[2, 2])
    True
    """

    agreement: HierarchicalAccuracy
    own: Own
    told: Float[Array, "K O"] | Float[np.ndarray, "K O"]
    even: Float[Array, "K O"] | Float[np.ndarray, "K O"]
    counts: FloatMatrix
    log_kappa: Float[Array, "*batch J"] | Float[np.ndarray, "*batch J"]
    logit_mix: Float[Array, "*batch J"] | Float[np.ndarray, "*batch J"]
    log_weight: Float[Array, "*batch J"] | Float[np.ndarray, "*batch J"]
    new: Float[Array, "K O"] | Float[np.ndarray, "K O"] | None = None
    logit_new: Float[Array, "*batch J"] | Float[np.ndarray, "*batch J"] | None = None
    resized: Float[Array, "H K O"] | Float[np.ndarray, "H K O"] | None = None
    never: Float[Array, "2 K O"] | Float[np.ndarray, "2 K O"] | None = None

    @classmethod
    @any_engine
    def from_prior(
        cls,
        *,
        mean_scores: ArrayLike | None = None,
        n_classes: int | None = None,
        predicted: ArrayLike | None = None,
    ) -> HierarchicalConfusion:
        """Build the prior; it has no strength to choose, since that is learned.

        Parameters
        ----------
        mean_scores : (C, C) in [0, 1], optional
            Row k is the mean score vector of the items *predicted* k; a row of zeros stands for a class that is
            predicted for no item, of which nothing is told.
        n_classes : int, optional
            C, where there are no scores.
        predicted : (C,) bool or whole numbers, optional
            Which classes are predicted for some item, or for how many: errors may be rarer of rare classes than scores
            tell, and are so where no score tells more. Left out, those with a row of scores, or all.

        Raises
        ------
        PriorError
            If `mean_scores` is no square matrix or has a value outside [0, 1], there is one class, neither or both of
            `mean_scores` and `n_classes` are given, or `predicted` does not fit.

        Examples
        --------
        >>> scores = [[0.7, 0.2, 0.1], [0.1, 0.8, 0.1], [0, 0, 0]]
        >>> HierarchicalConfusion.from_prior(mean_scores=scores).told.round(2).tolist()
        [[0.0, 0.67, 0.33], [0.5, 0.0, 0.5], [0.5, 0.5, 0.0]]
        """
        if (mean_scores is None) == (n_classes is None):
            raise PriorError("Pass either `mean_scores`, or `n_classes` where there are no scores.")
        shares = None if mean_scores is None else row_shares(mean_scores)
        n = len(shares) if shares is not None else n_classes
        if not isinstance(n, int) or n < 2 or (shares is not None and shares.shape != (n, n)):
            given = show(n_classes) if shares is None else f"mean scores of shape {shares.shape}"
            raise PriorError(f"A confusion matrix has a row and a column for each of 2 classes or more; found {given}.")
        diagonal = np.eye(n, dtype=bool)
        even = ~diagonal / (n - 1)
        known = np.ones(n, bool) if mean_scores is None else np.asarray(mean_scores).sum(1) > 0
        sizes = known if predicted is None else check_predicted(predicted, n)
        known = sizes > 0
        new = shares_of_new(known)
        if shares is None:
            agreement, told, resized = HierarchicalAccuracy.from_prior(n_groups=n), shares_by_sizes(sizes), None
        else:
            told = np.where(diagonal, 0.0, shares)
            told /= told.sum(1, keepdims=True)
            accuracy = np.diagonal(shares).copy()
            if known.any():  # of the others nothing is known: not even that their scores are low
                accuracy[~known] = accuracy[known].mean()
            agreement, resized = HierarchicalAccuracy.from_prior(mean_score=accuracy), shares_resized(told, sizes)
        never = shares_without_unpredicted(np.stack([told, even]), known)
        return _with_points(agreement, np.arange(n), told, even, new, resized, never)

    @any_engine
    def update_counts(self, counts: IntMatrix) -> HierarchicalConfusion:
        """Add counts (..., K, O) of outcomes, and place the points anew."""
        counts = xp.asarray(counts).astype(xp.float64)
        agreements, _ = split_counts(counts, self.own)
        agreement = self.agreement.update(agreements, counts.sum(-1))
        tables = self.told, self.even, self.new, self.resized, self.never
        return _with_points(agreement, self.own, *tables, self.counts + counts)

    @any_engine
    def refreshed(self) -> HierarchicalConfusion:
        """Place the points anew, after `observe` or `update_at_mean` has moved their weights or the counts alone."""
        return self.update_counts(xp.zeros_like(self.counts))

    def program_arguments(self, counts: IntMatrix | None = None) -> dict[str, object]:
        """Return the arguments of `program` under which its posterior is this belief after `counts`.

        Parameters
        ----------
        counts : (K, O) integers, optional
            Further labels of every predicted class (rows) by outcome (columns).

        Raises
        ------
        LabelError
            If the counts do not fit, or are no whole numbers.
        PriorError
            If an outcome is impossible: the program has a density for none such.

        Examples
        --------
        >>> prior = HierarchicalConfusion.from_prior(n_classes=3)
        >>> prior.program_arguments([[1, 0, 0], [0, 0, 2], [0, 0, 0]])["labels"].tolist()
        [0, 2, 2]
        """
        own, told, even = (np.asarray(x) for x in (self.own, self.told, self.even))
        if ((even > 0).sum(1) < even.shape[1] - 1).any():
            raise PriorError("The program takes every outcome for possible, and some is impossible here.")
        predictions, labels = items_of(added(np.asarray(self.counts), counts), told.shape)
        prior = self.agreement.program_arguments()
        regression = {name: prior[name] for name in ("covariates", "location", "scale", "strength_prior")}
        errors = {"own": own, "told": told, "even": even}
        more = {"new": self.new, "resized": self.resized, "never": self.never}
        errors |= {name: np.asarray(x) for name, x in more.items() if x is not None}
        return {"predictions": predictions, "labels": labels, **regression, **errors}

    @any_engine
    def observe(self, cell: Int[Array, ""], outcome: Int[Array, ""]) -> HierarchicalConfusion:
        """Learn one label at the cost O(H + J + O): points stay, their weights move. Not for batches."""
        own, counts = xp.asarray(self.own), xp.asarray(self.counts)
        _, errors = split_counts(counts[cell][None], own[cell][None])
        agrees = outcome == own[cell]
        kappa = xp.exp(xp.asarray(self.log_kappa))
        n_points = kappa.shape[-1]
        told, even = (xp.asarray(x)[cell, outcome] for x in (self.told, self.even))
        others = (self.new, self.resized, self.never)
        shares = readings_of(told, even, *(None if x is None else xp.asarray(x)[..., cell, outcome] for x in others))
        q = mean_rows([of_reading(x, xp.arange(n_points), n_points) for x in shares], self._logits)
        chance = kappa * q + errors[0, outcome]
        likelihood = xp.where(agrees, 1.0, chance / (kappa + errors.sum()))
        return replace(
            self,
            agreement=engine.tree_map(xp.asarray, self.agreement).observe(cell, agrees),
            counts=engine.at(counts)[cell, outcome].add(1),
            log_weight=self.log_weight + xp.log(likelihood),
        )

    @any_engine
    def update_at_mean(self, n: Int[Array, "*batch K"]) -> HierarchicalConfusion:
        """Imagine `n` more labels of every predicted class, (..., K), that come back at the posterior mean."""
        n = xp.asarray(n, xp.float64)
        return replace(self, agreement=self.agreement.update_at_mean(n), counts=self.counts + n[..., None] * self.mean)

    @any_engine
    def component(self, key: PRNGKey) -> NestedDirichlet:
        """Draw one part of the mixture: the belief as it would be if the hyperparameters were known.

        Examples
        --------
        >>> import jax
        >>> HierarchicalConfusion.from_prior(n_classes=3).component(jax.random.key(0)).mean.shape
        (3, 3)
        """
        return _component(key, self)

    def components(self, rng: np.random.Generator, shape: tuple[int, ...] = ()) -> NestedDirichlet:
        """Draw parts of the mixture by their weights, (*shape, ..., K, O), on the host."""
        agreement = self.agreement.components(rng, shape)
        with engine.eager():
            alpha = _parameters(self, self.drawn_points(rng, shape))
        return NestedDirichlet(agreement.a, agreement.b, alpha, np.asarray(self.own))

    def _pool_draws_on_host(
        self, key: PRNGKey, n: int, counts: IntMatrix, sizes: Int[np.ndarray, " K"]
    ) -> Float[np.ndarray, "S *batch K O"]:
        rest = np.asarray(sizes) - np.asarray(counts).sum(-1)
        if not (np.asarray(sizes) > 0).all() or not are_few(rest, np.shape(counts)[-1]):
            return super()._pool_draws_on_host(key, n, counts, sizes)
        rng = host_generator(key)
        return self.components(rng, (n,)).completed(rng, counts, rest) / np.asarray(sizes)[:, None]

    @any_engine
    def merged(self, level: Int[np.ndarray, "K C"], n_levels: int) -> HierarchicalConfusion:
        """Count errors of equal level as one outcome, row by row; (..., K, U), by the aggregation property.

        What labels have said of the hyperparameters so far is kept.

        Raises
        ------
        PriorError
            If an error has the level of the agreement.

        Examples
        --------
        >>> prior = HierarchicalConfusion.from_prior(n_classes=3)
        >>> prior.merged(np.array([[0, 1, 1], [1, 0, 1], [1, 1, 0]]), 2).even.tolist()
        [[0.0, 1.0], [0.0, 1.0], [0.0, 1.0]]
        """
        own = merged_own(level, self.own, np.asarray(self.even) > 0)
        present = (name for name in _TABLES if getattr(self, name) is not None)
        tables = {name: merge_columns(np.asarray(getattr(self, name)), level, n_levels) for name in present}
        return replace(self, own=own, **tables)

    @property
    def _readings(self) -> list[Array]:
        """Shares told, even and perhaps new, by reading."""
        return readings_of(self.told, self.even, self.new, self.resized, self.never)

    @property
    def _logits(self) -> list[Array]:
        return [xp.asarray(x) for x in (self.logit_mix, self.logit_new) if x is not None]

    @any_engine
    def log_evidence(self) -> Float[Array, "*batch"]:
        """Log probability of the labels as a sequence, everything integrated out, from the points."""
        return self.agreement.log_evidence() + engine.logsumexp(self.log_weight, axis=-1)

    @engine.jit
    def _moments(self):
        """Moments of the mixture.

        Under every point the mean of phi is linear in shares by reading and errors, with coefficients that rows alone
        have, so that no K x O x J array is ever made.
        """
        _, errors = split_counts(xp.asarray(self.counts), self.own)
        kappa = xp.exp(xp.asarray(self.log_kappa))[..., None, :]
        total, w = kappa + errors.sum(-1)[..., None], self.weight[..., None, :]  # (..., K, J), (..., 1, J)
        coefficients, rest = [], kappa
        for logit in self._logits:
            share = engine.sigmoid(logit)[..., None, :]
            coefficients, rest = [*coefficients, rest * (1 - share)], rest * share
        readings, n_points = self._readings, kappa.shape[-1]
        n = len(readings[0])
        reading = of_reading(xp.arange(n), xp.arange(n_points), n_points)
        told, *others = *coefficients, rest
        tables = [*readings[0], *(table[0] for table in readings[1:])]
        coefficients = [told * (reading == r) for r in range(n)] if n > 1 else [told]
        coefficients += others if self.never is None else [x * (reading < n - 1) for x in others]
        if self.never is not None:
            tables.append(xp.asarray(self.never)[1])
            coefficients.append(sum(others) * (reading == n - 1))
        part = xp.stack([x / total for x in (*coefficients, 1)], axis=-1)  # (..., K, J, 3 to 8)
        basis = xp.stack([*(xp.broadcast_to(x, errors.shape) for x in tables), errors], axis=-1)
        center = (w[..., None] * part).sum(-2)
        off, narrow = part - center[..., None, :], w / (total + 1)
        linear = (narrow[..., None] * part).sum(-2)
        square = xp.einsum("...j,...jp,...jq->...pq", w, off, off)
        square -= xp.einsum("...j,...jp,...jq->...pq", narrow, part, part)
        share = xp.einsum("...kop,...kp->...ko", basis, center)
        variance = xp.einsum("...kop,...kp->...ko", basis, linear)
        variance += xp.einsum("...kop,...kpq,...koq->...ko", basis, square, basis)
        agreement = self.agreement
        return joined_moments(self.own, agreement.mean, agreement.variance, share, xp.maximum(variance, 0))

    @partial(engine.jit, static_argnums=(2, 3))
    def _draws(self, key: PRNGKey, n: int, dtype: str):
        key_agreement, key_point, key_errors = engine.random.split(key, 3)
        point = engine.random.categorical(key_point, self.log_weight, shape=(n, *self.log_weight.shape[:-1]))
        agreement = self.agreement.sample(key_agreement, n, dtype=np.dtype(dtype))
        return row_draws(key_errors, xp.asarray(agreement), _parameters(self, point).astype(dtype), self.own)

    @engine.jit
    def _quantiles(self, level: Float[Array, "*levels"]):
        shape = self.counts.shape
        counts = xp.asarray(self.counts).reshape(-1, 1, shape[-1])
        n, n_rows = n_quantile_draws(counts.shape), shape[-2]
        points = {name: getattr(self, name) for name in _POINTS}
        tables = {name: getattr(self, name) for name in ("own", "told", "even", "new")}
        points = {name: xp.asarray(x).reshape(-1, np.shape(x)[-1]) for name, x in points.items() if x is not None}
        tables = {name: xp.asarray(x) for name, x in tables.items() if x is not None}
        key_agreement, key_errors = engine.random.split(engine.random.key(0))
        agreement = xp.asarray(self.agreement.sample(key_agreement, n)).reshape(n, -1)

        def draw(row):
            key_point, key_share = engine.random.split(engine.random.fold_in(key_errors, row))
            of_row = {name: x[row % n_rows][None] for name, x in tables.items()}
            of_row |= {name: x[row // n_rows] for name, x in points.items()}
            several = {"resized": self.resized, "never": self.never}
            of_row |= {name: xp.asarray(x)[:, row % n_rows][:, None] for name, x in several.items() if x is not None}
            alone = replace(self, counts=counts[row], **of_row)
            alpha = _parameters(alone, engine.random.categorical(key_point, alone.log_weight, shape=(n,)))
            return row_draws(key_share, agreement[:, row][:, None], alpha, alone.own)[:, 0]

        return row_quantiles(level, len(counts), draw).reshape(*level.shape, *shape)


def _with_points(agreement, own, told, even, new, resized=None, never=None, counts=None) -> HierarchicalConfusion:
    own, told, even = (xp.asarray(x) for x in (own, told, even))
    new, resized, never = (None if x is None else xp.asarray(x) for x in (new, resized, never))
    counts = xp.zeros(told.shape) if counts is None else counts
    errors = split_counts(counts, own)[1]
    log_kappa, logit_mix, logit_new, log_weight = weighted_points(
        readings_of(told, even, new, resized, never), errors, never is not None
    )
    return HierarchicalConfusion(
        agreement, own, told, even, counts, log_kappa, logit_mix, log_weight, new, logit_new, resized, never
    )


def _parameters(belief: HierarchicalConfusion, point: Int[Array, "*S *batch"]) -> Float[Array, "*S *batch K O"]:
    """Dirichlet parameters of the errors at chosen points."""
    _, errors = split_counts(xp.asarray(belief.counts), belief.own)
    log_kappa, *logits = (_taken(x, point)[..., None, None] for x in (belief.log_kappa, *belief._logits))
    tables = [of_reading(table, point, np.shape(belief.log_kappa)[-1]) for table in belief._readings]
    return xp.exp(log_kappa) * mean_rows(tables, logits) + errors


def _taken(values: Array, point: Int[Array, "*S *batch"]) -> Float[Array, "*S *batch"]:
    """Values (..., J) at one point for every draw of every batch."""
    values = xp.broadcast_to(values, (*point.shape, np.shape(values)[-1]))
    return xp.take_along_axis(values, point[..., None], axis=-1)[..., 0]


@engine.jit
def _component(key: PRNGKey, belief: HierarchicalConfusion) -> NestedDirichlet:
    key_agreement, key_errors = engine.random.split(key)
    a, b = belief.agreement.parts
    point = engine.random.categorical(key_agreement, belief.agreement.log_weight)[..., None, None]
    a, b = (xp.take_along_axis(x, point, axis=-2)[..., 0, :] for x in (a, b))
    alpha = _parameters(belief, engine.random.categorical(key_errors, belief.log_weight))
    return NestedDirichlet(a, b, alpha, xp.asarray(belief.own))
