"""Measures of items that have several labels each, with scikit-learn's names and meanings.

As all measures they are functions g(R) of expected losses R = E[l(f, y)] ([NH] Definition 1); an item's losses see its
labels of all classes together. Shapes: n items, C classes, D losses, Q outputs.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property, partial
from types import MappingProxyType
from typing import NamedTuple

import numpy as np

from bayes_assess._tools.arrays import CHUNK, show
from bayes_assess._tools.shapes import Bool, Float
from bayes_assess._tools.suggestions import near_names
from bayes_assess.errors import QuestionError
from bayes_assess.measures import _label_set_values as g
from bayes_assess.measures._label_set_checks import check_shapes, checked_indicators, checked_label_sets
from bayes_assess.measures._label_set_losses import AnyWrong, ItemRatio, LossFamily, PerClass, Totals, WrongShare

Risk = Float[np.ndarray, "*batch D"]
_NOTHING = 1e-15  # a change that is rounding
_ROUNDING = 1e-12  # of sums of the losses of all classes


class _Output(NamedTuple):
    """One measure: g and its gradient, functions of the losses of one family."""

    family: LossFamily
    value: Callable[[Risk], Float[np.ndarray, "*batch"]]
    gradient: Callable[[Float[np.ndarray, " D"]], Float[np.ndarray, " D"]]


@dataclass(frozen=True)
class MultiLabelMeasure:
    """One or more measures of a pool whose items have several labels each; `multilabel_measure` makes it.

    Losses of measures that need the same ones are laid once: for f1_macro and precision_macro together D = 3C.

    Parameters
    ----------
    outputs : tuple of str
        Names of the Q measures, of `MULTILABEL_MEASURES`.

    Examples
    --------
    >>> import numpy as np
    >>> from bayes_assess.measures import multilabel_measure
    >>> f1 = multilabel_measure(["f1_micro", "f1_macro"])
    >>> predicted, labels = np.array([[1, 0], [1, 1]], bool), np.array([[1, 1], [1, 0]], bool)
    >>> f1.value(f1.losses(predicted, labels).mean(0)).round(3).tolist()
    [0.667, 0.5]
    """

    outputs: tuple[str, ...]

    @property
    def ranges(self) -> tuple[tuple[float, float], ...]:
        """The lowest and the highest value of every measure."""
        return ((0.0, 1.0),) * len(self.outputs)

    @cached_property
    def _measures(self) -> tuple[_Output, ...]:
        return tuple(MULTILABEL_MEASURES[name] for name in self.outputs)

    @cached_property
    def _families(self) -> tuple[LossFamily, ...]:
        return tuple(dict.fromkeys(output.family for output in self._measures))

    def n_losses(self, n_classes: int) -> int:
        """Return D, the number of losses of an item.

        Examples
        --------
        >>> multilabel_measure("f1_micro").n_losses(10), multilabel_measure("f1_macro").n_losses(10)
        (3, 30)
        """
        return sum(family.width(n_classes) for family in self._families)

    def losses(self, predicted: Bool[np.ndarray, "n C"], labels: Bool[np.ndarray, "n C"]) -> Float[np.ndarray, "n D"]:
        """Compute the losses of items from the indicators of their predictions and labels.

        Raises
        ------
        QuestionError
            If these are no indicators of equal shape.

        Examples
        --------
        >>> multilabel_measure("hamming_loss").losses(np.array([[True, False]]), np.array([[True, True]]))
        array([[0.5]])
        """
        f, y = checked_indicators("predictions", predicted), checked_indicators("labels", labels)
        check_shapes(f, y, "labels")
        return self._laid(f, y, lambda family, *pair: family.losses(*pair))

    def expected_losses(
        self, predicted: Bool[np.ndarray, "n C"], probabilities: Float[np.ndarray, "n C"]
    ) -> Float[np.ndarray, "n D"]:
        """Compute the expected losses of items whose labels are independent, with these probabilities.

        Ratios of single items (``f1_samples`` and the like) have exact expectations too, by the Poisson-binomial
        distributions of the labels that are right and of those that are missed.

        Raises
        ------
        QuestionError
            If the shapes differ, or a probability lies outside [0, 1].

        Examples
        --------
        >>> multilabel_measure("f1_samples").expected_losses(np.array([[True, False]]), np.array([[0.5, 0.5]]))
        array([[0.41666667]])
        """
        f, p = checked_label_sets(predicted, probabilities)
        return self._laid(f, p, lambda family, *pair: family.expected(*pair))

    def value(self, mean_losses: Risk) -> Float[np.ndarray, "*batch Q"]:
        """Compute the measures g(R), (..., Q), at mean losses R, (..., D); 0 where a denominator is 0.

        Raises
        ------
        QuestionError
            If the last axis does not hold the losses of some number of classes.

        Examples
        --------
        >>> multilabel_measure("precision_micro").value([1.0, 2.0, 1.5])
        array([0.5])
        """
        risk = np.asarray(mean_losses, np.float64)
        blocks = self._blocks(risk.shape[-1] if risk.ndim else 0)
        return np.stack([output.value(risk[..., blocks[output.family]]) for output in self._measures], axis=-1)

    def jacobian(self, mean_losses: Float[np.ndarray, " D"]) -> Float[np.ndarray, "Q D"]:
        """Compute Dg(R), (Q, D), at mean losses R, (D,), in closed form; 0 where a denominator is 0.

        Examples
        --------
        >>> multilabel_measure("precision_micro").jacobian([1.0, 2.0, 1.5])
        array([[ 0.5 , -0.25,  0.  ]])
        """
        risk = np.asarray(mean_losses, np.float64)
        if risk.ndim != 1:
            raise QuestionError(f"A Jacobian is taken at one vector of mean losses, (D,); found shape {risk.shape}.")
        blocks, matrix = self._blocks(len(risk)), np.zeros((len(self.outputs), len(risk)))
        for row, output in zip(matrix, self._measures, strict=True):
            row[blocks[output.family]] = output.gradient(risk[blocks[output.family]])
        return matrix

    def deviations(
        self,
        predicted: Bool[np.ndarray, "n C"],
        probabilities: Float[np.ndarray, "n C"],
        mean_losses: Float[np.ndarray, " D"] | None = None,
    ) -> Float[np.ndarray, " n"]:
        r"""Compute how much items matter to the measures where labels are independent.

        .. math:: h_n^2 = E \lVert Dg(R)\, (l_n - R) \rVert^2

        These are eqs. (95) to (97) of [SEME] for micro F1, up to a factor that all items share: of ratios of mean
        losses Dg(R) R is 0. Eq. (109) of [SEME], for its macro F1, leaves out the products of different classes; here
        they are in. Of means over items, such as of their own F1, estimates err by how far an item is from the mean.

        Parameters
        ----------
        predicted : (n, C) indicators of the predictions
        probabilities : (n, C) probabilities of the labels
        mean_losses : (D,), optional
            R; by default the mean of the expected losses of these items.

        Returns
        -------
        (n,) array of h

        Raises
        ------
        QuestionError
            If the shapes differ, or a probability lies outside [0, 1].

        Examples
        --------
        >>> predicted, p = np.array([[True, False], [True, False]]), np.array([[0.5, 0.0], [1.0, 0.0]])
        >>> multilabel_measure("accuracy").deviations(predicted, p).round(3).tolist()
        [0.559, 0.25]
        """
        f, p = checked_label_sets(predicted, probabilities)
        if mean_losses is None:
            sums = (self.expected_losses(f[rows], p[rows]).sum(0) for rows in _chunks(*f.shape))
            mean_losses = sum(sums, start=np.zeros(self.n_losses(f.shape[1]))) / max(len(f), 1)
        risk = np.asarray(mean_losses, np.float64)
        jacobian, blocks = self.jacobian(risk), self._blocks(self.n_losses(f.shape[1]))
        centres = jacobian @ risk
        centres[np.abs(centres) < _ROUNDING] = 0  # those of ratios
        squares = np.zeros(len(f))
        for rows in _chunks(*f.shape):
            pair = f[rows].astype(np.float64), p[rows].astype(np.float64)
            for gradient, centre, output in zip(jacobian, centres.tolist(), self._measures, strict=True):
                squares[rows] += output.family.mean_square(*pair, gradient[blocks[output.family]], centre)
        return np.sqrt(squares)

    def unseen_classes(self, mean_losses: Float[np.ndarray, " D"]) -> Bool[np.ndarray, " C"]:
        """Tell which classes have neither labels nor predictions; none where losses are not of single classes.

        Examples
        --------
        >>> multilabel_measure("f1_macro").unseen_classes([0.0, 0.0, 0.1, 0.0, 0.2, 0.0]).tolist()
        [False, True]
        """
        risk = np.asarray(mean_losses, np.float64)
        at = self._blocks(len(risk)).get(PerClass())
        return np.zeros(0, bool) if at is None else (risk[at].reshape(3, -1) == 0).all(0)

    def with_classes_of(
        self, mean_losses: Float[np.ndarray, " D"], other: Float[np.ndarray, " D"], classes: Bool[np.ndarray, " C"]
    ) -> Float[np.ndarray, " D"]:
        """Return mean losses in which those of some single classes are other ones.

        Examples
        --------
        >>> f1, classes = multilabel_measure("f1_macro"), np.array([False, True])
        >>> f1.with_classes_of(np.zeros(6), np.arange(6.0), classes).tolist()
        [0.0, 1.0, 0.0, 3.0, 0.0, 5.0]
        """
        risk = np.array(mean_losses, np.float64)
        at = self._blocks(len(risk)).get(PerClass(), slice(0))
        risk[at] = np.where(np.tile(classes, 3), other[at], risk[at])
        return risk

    def unseen_changes(
        self,
        mean_losses: Float[np.ndarray, " D"],
        predicted: Float[np.ndarray, "K C"],
        share: Float[np.ndarray, " K"],
        unseen: Bool[np.ndarray, " C"],
    ) -> tuple[Float[np.ndarray, "2 Q"], Float[np.ndarray, "2 Q"]]:
        r"""Compute by how much items that were not drawn could raise and lower the measures.

        An item that would stand for a share w of the pool turns g(R) into g((1 - w) R + w l). Where losses are of
        single classes, every class may have such an item, and the changes add up as independent errors do, by the root
        of the sum of their squares. A class whose ratio is 0/0 without it may have any ratio: these add up in full.

        Parameters
        ----------
        mean_losses : (D,)
            R, as estimated; as believed of unseen classes.
        predicted : (K, C)
            Share of the items of every cell of which a class is predicted.
        share : (K,)
            Share w of the pool that an item of the cell stands for; 0 where all are known.
        unseen : (C,) booleans
            See `unseen_classes`.

        Returns
        -------
        single : (2, Q)
            Rise and fall by one such item, each at least 0.
        unknown : (2, Q)
            Rise and fall by classes of which nothing is known.

        Examples
        --------
        >>> measure, right = multilabel_measure("accuracy"), np.array([0.0])
        >>> single, unknown = measure.unseen_changes(right, np.array([[1.0, 0.0]]), np.array([0.02]), np.zeros(0, bool))
        >>> single.round(6).tolist(), unknown.tolist()
        ([[0.0], [0.02]], [[0.0], [0.0]])
        """
        risk = np.asarray(mean_losses, np.float64)
        blocks, jacobian = self._blocks(len(risk)), self.jacobian(risk)
        kinds = {family: family.unseen(predicted, np.minimum(share, 1.0)) for family in self._families}
        single, unknown = np.zeros((2, 2, len(self.outputs)))
        for q, output in enumerate(self._measures):
            at, (losses, weight) = risk[blocks[output.family]], kinds[output.family]
            step = weight[..., None] * (losses - at)
            free = np.zeros(len(losses), bool)
            if output.family == PerClass():
                free = unseen | (np.abs(step @ jacobian[q, blocks[output.family]]) <= _NOTHING).all(1)
                step[free] = np.where(
                    losses[free].any(1, keepdims=True), step[free] + (weight[free, :, None] - 1) * at, 0
                )
            change = output.value(at + step) - output.value(at)
            for row, sign in enumerate((1, -1)):
                most = np.maximum(sign * change, 0).max(1)
                single[row, q] = np.sqrt(np.square(most[~free]).sum())
                unknown[row, q] = most[free].sum()
        return single, unknown

    def _blocks(self, size: int) -> dict[LossFamily, slice]:
        """Return the places of every family among D = `size` losses."""
        per_class = PerClass() in self._families
        n_classes = (size - self.n_losses(0)) // 3 if per_class else 1
        if size != self.n_losses(n_classes) or n_classes < 1:
            fixed = self.n_losses(0)
            expected = f"{fixed} + 3 C" if per_class and fixed else "3 C" if per_class else f"{fixed}"
            raise QuestionError(f"The mean losses of {', '.join(self.outputs)} are {expected} numbers; found {size}.")
        ends = np.cumsum([family.width(n_classes) for family in self._families]).tolist()
        return {family: slice(a, b) for family, a, b in zip(self._families, [0, *ends], ends, strict=False)}

    def _laid(self, f: np.ndarray, other: np.ndarray, losses: Callable[..., np.ndarray]) -> Float[np.ndarray, "n D"]:
        """Lay the losses of all families side by side."""
        table = np.empty((len(f), self.n_losses(f.shape[1])))
        blocks = self._blocks(table.shape[1])
        for rows in _chunks(*f.shape):
            pair = f[rows].astype(np.float64), other[rows].astype(np.float64)
            for family, columns in blocks.items():
                table[rows, columns] = losses(family, *pair)
        return table


def multilabel_measure(names: str | Iterable[str]) -> MultiLabelMeasure:
    """Return measures of pools whose items have several labels each, by scikit-learn's names.

    Parameters
    ----------
    names : str or list of str
        Of `MULTILABEL_MEASURES`, with or without the ending ``_score``: ``f1``, ``precision``, ``recall`` and
        ``jaccard``, each with ``_micro``, ``_macro``, ``_weighted`` or ``_samples``; ``accuracy`` (all labels of an
        item right), ``zero_one_loss`` (its complement), ``hamming_loss``; and ``seme_f1_macro``, the harmonic mean
        of macro precision and macro recall ([SEME] eq. 102), which is not scikit-learn's.

    Returns
    -------
    MultiLabelMeasure

    Raises
    ------
    QuestionError
        If there is no such measure, a name occurs twice, or there is none.

    Notes
    -----
    A ratio whose denominator is 0 counts as 0, scikit-learn's ``zero_division=0``, also that of an item with
    neither predictions nor labels.

    Examples
    --------
    >>> from bayes_assess.measures import multilabel_measure
    >>> multilabel_measure(["f1_micro", "accuracy_score"]).outputs
    ('f1_micro', 'accuracy')
    >>> multilabel_measure("f1")
    Traceback (most recent call last):
        ...
    bayes_assess.errors.QuestionError: There is no multi-label measure 'f1'; did you mean 'f1_micro', ...?
    """
    given = [names] if isinstance(names, str) else list(names) if isinstance(names, Iterable) else [names]
    outputs = tuple(_known_name(name) for name in given)
    if not outputs:
        raise QuestionError("There is no measure in the list; name at least one, such as 'f1_micro'.")
    if len(set(outputs)) < len(outputs):
        raise QuestionError(f"Every measure is named once; found {', '.join(map(repr, outputs))}.")
    return MultiLabelMeasure(outputs)


def _known_name(name: object) -> str:
    text = str(name)
    known = next((key for key in (text, text.removesuffix("_score")) if key in MULTILABEL_MEASURES), None)
    if known is None:
        near = near_names(text, MULTILABEL_MEASURES, cutoff=0.3, end="_score")
        hint = f"did you mean {', '.join(map(repr, near))}?" if near else f"there are {', '.join(MULTILABEL_MEASURES)}."
        if text.endswith("_per_class"):
            kind = text.removesuffix("_per_class")
            hint = f"of one class alone ask for {show(kind)} of a pool that has its scores or predictions, 0 and 1."
        raise QuestionError(f"There is no multi-label measure {show(name)}; {hint}")
    return known


def _chunks(n_items: int, n_classes: int) -> Iterator[slice]:
    """Cut items into pieces of as many numbers as stay in cache."""
    step = max(CHUNK // max(n_classes, 1), 1)
    return (slice(start, start + step) for start in range(0, n_items, step))


def _all() -> Mapping[str, _Output]:
    outputs = {}
    for kind in ("f1", "precision", "recall", "jaccard"):
        per_class = {"macro": (g.macro, g.macro_gradient), "weighted": (g.weighted, g.weighted_gradient)}
        outputs[f"{kind}_micro"] = _Output(Totals(), partial(g.micro, kind), partial(g.micro_gradient, kind))
        for average, pair in per_class.items():
            outputs[f"{kind}_{average}"] = _Output(PerClass(), *(partial(function, kind) for function in pair))
        outputs[f"{kind}_samples"] = _Output(ItemRatio(kind), g.first, np.ones_like)
    outputs["seme_f1_macro"] = _Output(PerClass(), g.harmonic, g.harmonic_gradient)
    outputs["accuracy"] = _Output(AnyWrong(), g.complement, partial(np.full_like, fill_value=-1.0))
    outputs["zero_one_loss"] = _Output(AnyWrong(), g.first, np.ones_like)
    outputs["hamming_loss"] = _Output(WrongShare(), g.first, np.ones_like)
    return MappingProxyType(outputs)


MULTILABEL_MEASURES: Mapping[str, _Output] = _all()
"""Measures of several labels per item by name; call `multilabel_measure` rather than these."""
