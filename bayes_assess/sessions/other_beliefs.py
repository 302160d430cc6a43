"""Beliefs that a session did not form itself: the posterior of another model, or draws of it."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from bayes_assess._tools.arrays import listing, show
from bayes_assess._tools.seeds import generator
from bayes_assess._tools.shapes import Array, Int
from bayes_assess._tools.text import plural
from bayes_assess.acquisition._checked_draws import checked_draws, numbers_of_draws
from bayes_assess.designs import DESIGNS, Design
from bayes_assess.designs._label_models import LabelDraws
from bayes_assess.errors import DesignError, InferenceError
from bayes_assess.estimators.label_draws import measure_draws_of_labels
from bayes_assess.models.belief import Belief, check_belief, is_belief
from bayes_assess.models.posterior_draws import check_probabilities, posterior_draws
from bayes_assess.models.sampled_belief import SampledBelief, as_draws
from bayes_assess.models.separate_curves import SampledOnHost
from bayes_assess.pool.cells import Cells
from bayes_assess.pool.pool import Pool
from bayes_assess.questions import Question
from bayes_assess.questions._event_cells import MetricCells, metric_cells
from bayes_assess.questions._setting import Labelled

_NUMBERS = 20_000_000  # of labels of all cells in all draws of measures, within
_FEWEST, _MOST = 500, 4000  # draws


def other_belief(
    posterior: object, question: Question, shape: tuple[int, ...], names: Sequence[np.ndarray] = ()
) -> Belief:
    """Take the posterior of any model, or draws of it, for the belief on a question's cells.

    Parameters
    ----------
    posterior : Belief, ArviZ object with the variable ``theta``, or array (S, ...)
    question : Question
    shape : tuple
        Shape of one draw as the question's cells need it: (K,), or (K, O).
    names : sequence of arrays
        Names of the cells, and of what they are made of: coordinates that are these tell the order.

    Raises
    ------
    InferenceError
        If there are no draws, they do not fit the cells, or are no probabilities.
    PriorError
        If a belief does not fit the cells.

    Examples
    --------
    >>> import numpy as np
    >>> from bayes_assess.questions import GroupAccuracy
    >>> other_belief(np.full((10, 3), 0.5), GroupAccuracy(), (3,)).mean.round(6).tolist()
    [0.5, 0.5, 0.5]
    """
    if is_belief(posterior):
        belief = check_belief(posterior, shape, "the values of the session's groups", question.possible)
        return as_draws(belief) if isinstance(belief, SampledOnHost) else belief  # which no step of a design updates
    question.check_posterior(SampledBelief(np.full((1, *shape), 0.5), np.zeros(1)))  # some take no draws at all
    draws = numbers_of_draws(posterior, "theta", names)
    arranged = question.cell_draws(draws, shape) if draws.ndim > 1 and len(draws) else None
    if arranged is None:
        one = ", ".join(map(str, shape))
        chains = f" Put chains in a row: draws.reshape(-1, {one})." if draws.shape[2:] == shape else ""
        raise InferenceError(
            f"The posterior draws have shape {draws.shape}; the session needs (draws, {one}), in the order of its "
            f"groups' names.{chains}"
        )
    check_probabilities(arranged)
    return SampledBelief(arranged.clip(0.0, 1.0), np.zeros(len(arranged)))


@dataclass(frozen=True)
class Other:
    """The posterior of another model, as the design of a session takes it; see `OtherPosterior`.

    Parameters
    ----------
    posterior : object
        As the user gave it.
    question, pool, cells, design
        Of the session.
    shape : tuple of int
        Of one draw on groups.
    """

    posterior: object
    question: Question
    pool: Pool
    cells: Cells
    design: Design
    shape: tuple[int, ...]

    def of_groups(self) -> tuple[Belief, object]:
        """Return it as the belief on the session's cells, and what a label is worth by it."""
        belief = other_belief(self.posterior, self.question, self.shape, axis_names(self.cells, self.pool))
        self.question.check_posterior(belief)
        return belief, self.question.reward(self.cells, belief)

    def of_labels(self) -> LabelDraws:
        """Return it as draws of the probabilities of labels of the session's cells."""
        check_takes_posterior(self.design, self.question, self.pool)
        return other_labels(self.posterior, metric_cells(self.cells), self.pool)

    def answering(self) -> Callable[[Labelled], dict[str, object]]:
        """Return what says the answer to the session's question, see `Labelled.given`; refuse where it cannot."""
        if self.design.plays_arms:
            return lambda known: {"belief": self.of_groups()[0], "is_given": True}
        check_one_class_each(self.question, self.pool)
        return self._of_measures

    def _of_measures(self, known: Labelled) -> dict[str, object]:
        """Draw the measures: labelled items as they are, the others from the posterior."""
        cells = metric_cells(self.cells)
        labels, counts = other_labels(self.posterior, cells, self.pool), np.asarray(known.state.counts)
        pi, weights = np.asarray(labels.pi), np.asarray(labels.weights)
        n = int(np.clip(_NUMBERS // pi[0].size, _FEWEST, _MOST))
        labelled = self.question.labelled_items(self.pool, cells, known.codes)
        rng = generator(known.seed, "posterior of a measure")
        draws = measure_draws_of_labels(rng, cells.measure, pi, weights, counts, n, labelled)
        return {"given": draws, "posterior": pi}


def said_of_few_draws(
    found: Mapping[str, object], prior: object, counts: Int[Array, "K O"], level: float
) -> tuple[str, ...]:
    """Say where intervals are made of so few posterior draws that none lies beyond their ends.

    These are all that were given, or all that labels have left of many.

    Parameters
    ----------
    found : mapping
        Fields of a result: ``given`` by draws of a ``posterior``, or with a ``belief``, if there is any.
    prior : object
        What learns the labels, if the result has no belief.
    counts : (K, O) integers
    level : float
        Of the intervals.
    """
    if "given" in found:
        n_draws = n_effective = len(np.asarray(found["posterior"]))
    else:
        belief = found.get("belief")
        belief = prior.update_counts(counts) if belief is None and isinstance(prior, SampledBelief) else belief
        if not isinstance(belief, SampledBelief):
            return ()
        n_draws, n_effective = len(belief.draws), float(belief.n_effective)
    if n_effective * (1 - level) / 2 >= 1:
        return ()
    of_them = "" if n_effective > n_draws - 0.5 else f", which count as {n_effective:.2g} by their weights,"
    return (
        f"Intervals are made of {plural(n_draws, 'posterior draw')}{of_them} and may be too narrow: pass more, or "
        "draws of a model that has been fitted to all labels.",
    )


def axis_names(cells: Cells, pool: Pool) -> list[np.ndarray]:
    """Return the names that axes of draws may have: of the cells, of what these are made of, and of the classes."""
    return [cells.names, *(part.names for part in cells.parts), pool.classes]


def check_one_class_each(question: Question, pool: Pool) -> None:
    """Raise DesignError unless labels are of one class each, as posteriors of other models are."""
    kinds = {"sets of labels": pool.multilabel, "numbers": question.numeric, "of pairs": question.labels_each > 1}
    labels = next((kind for kind, is_so in kinds.items() if is_so), None)
    if labels is not None:
        raise DesignError(
            f"Labels are {labels} here, and posteriors of other models are of items with one class each; "
            "leave out the posterior."
        )


def check_takes_posterior(design: Design, question: Question, pool: Pool) -> None:
    """Raise DesignError unless items of a measure can be chosen by the posterior of another model.

    Examples
    --------
    >>> import bayes_assess as ba
    >>> pool = ba.Pool(predictions=[0, 1])
    >>> check_takes_posterior(ba.designs.Passive(), ba.Metric("f1"), pool)
    Traceback (most recent call last):
    bayes_assess.errors.DesignError: Design 'passive' chooses by no belief on labels, so that another posterior ...
    """
    check_one_class_each(question, pool)
    if not design.takes_posterior:
        able = [name for name in question.designs or () if DESIGNS[name].takes_posterior]
        raise DesignError(
            f"Design {design.name!r} chooses by no belief on labels, so that another posterior would change nothing; "
            f"these can choose by one: {listing(able)}."
        )


def other_labels(posterior: object, cells: MetricCells, pool: Pool) -> LabelDraws:
    """Take the posterior of any model, or draws of it, for what is believed of the labels of a measure's cells.

    Parameters
    ----------
    posterior : (S, K) or (S, K, C), Belief, or ArviZ or xarray object or mapping of these
        K cells in the order of ``cells.names``. With (S, K), the rate of the event that decides the measure: of the
        positive class (without one, of the second of two classes), or where cells of design ``"variance_reduction"``
        are about agreement, that the prediction is right. With (S, K, C), the probabilities of all C labels. In an
        object with several variables it is ``theta``; with ``psi`` beside it, of shape (S, C, K), these are the
        parameters of a Dirichlet tree over the cells, or their blocks, and P(label | cell) follows from both.
    cells : MetricCells
    pool : Pool

    Returns
    -------
    LabelDraws of the outcomes that the design counts.

    Raises
    ------
    InferenceError
        If the draws are no probabilities, or do not fit the cells.

    Examples
    --------
    >>> import numpy as np, bayes_assess as ba
    >>> pool = ba.Pool(predictions=[0, 0, 1])
    >>> cells = ba.Metric("f1").cells(pool, seed=0)
    >>> other_labels(np.array([[0.25, 0.75]]), cells, pool).pi.tolist()
    [[[0.75, 0.25], [0.25, 0.75]]]
    """
    if is_belief(posterior):
        posterior = as_draws(posterior)
    theta, weights = checked_draws(_of_tree(posterior, cells), names=axis_names(cells, pool))
    lengths, n_outcomes = theta.shape, cells.measure.n_outcomes
    codes, rate = _event_of(cells, pool)
    wanted: dict[tuple[int, ...], str] = {} if rate is None else {(cells.n_cells,): rate}
    if codes is not None or n_outcomes == pool.n_classes:
        wanted[cells.n_cells, pool.n_classes] = f"the probabilities of {listing(pool.classes)}"
    if lengths[1:] not in wanted:
        said = ", or ".join(f"(draws, {', '.join(map(str, shape))}): {what}" for shape, what in wanted.items())
        raise InferenceError(
            f"The posterior draws have shape {lengths}. This session has K = {cells.n_cells:,} cells, groups of items "
            f"that its design tells apart, named in a.cells.names: pass {said}. For a model, a.counts has the labels "
            "told of every cell, a.cells.sizes its items and a.cells.mean(scores) its mean scores, all in this order."
        )
    if theta.ndim == 3 and n_outcomes == pool.n_classes and not _merges(cells):
        return LabelDraws(theta, weights)
    if theta.ndim == 3:
        assert codes is not None
        theta = theta[:, np.arange(cells.n_cells), codes]
    ones = np.stack([1 - theta, theta], axis=-1)
    return LabelDraws(ones if _merges(cells) or _positive(cells) == 1 else ones[..., ::-1], weights)


def _merges(cells: MetricCells) -> bool:
    """Whether outcomes are whether a label is the event, and not which label it is."""
    return cells.subject is not None and cells.subject.decides


def _positive(cells: MetricCells) -> int:
    return cells.measure.positive if cells.measure.positive >= 0 else 1


def _event_of(cells: MetricCells, pool: Pool) -> tuple[np.ndarray | None, str | None]:
    """Return the label of every cell that is the event, None where it is of no one cell, and what its rate is."""
    subject = cells.subject
    if subject is not None and subject.decides:
        rows = cells.source.row_cells
        codes = np.zeros(cells.n_cells, np.int64)
        codes[rows] = subject.event
        alike = (codes[rows] == subject.event).all()
        if subject.about_agreement:
            return (codes if alike else None), "the probability that the prediction is right"
        return codes, f"the probability of {show(pool.classes[int(codes[0])])}"
    if pool.n_classes != 2:
        return None, None
    code = _positive(cells)
    return np.full(cells.n_cells, code), f"the probability of {show(pool.classes[code])}"


def _of_tree(posterior: object, cells: MetricCells) -> object:
    """Return P(label | cell) of the parameters of a Dirichlet tree, (S, K, C); anything else as it is."""
    if not isinstance(posterior, Mapping):
        return posterior
    held = posterior["posterior"] if "posterior" in posterior else posterior
    if not {"theta", "psi"} <= set(getattr(held, "data_vars", held)):
        return posterior
    theta, psi = (posterior_draws(posterior, name) for name in ("theta", "psi"))
    joint = theta[..., None] * psi  # (S, C, K)
    pi = np.swapaxes(joint / np.maximum(joint.sum(1, keepdims=True), 1e-300), 1, 2)
    measure = cells.measure
    return pi[:, measure.block] if cells.n_cells != pi.shape[1] == measure.n_blocks else pi
