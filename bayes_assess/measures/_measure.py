"""The specification of a generalised measure G = g(R), R = E[l(x, y)] ([NH] Definition 1)."""

from __future__ import annotations

import inspect
import math
from collections.abc import Callable
from dataclasses import dataclass
from functools import lru_cache, partial
from typing import Any, ClassVar, SupportsIndex

import numpy as np

from bayes_assess._tools import engine
from bayes_assess._tools.arrays import show
from bayes_assess._tools.axes import in_64_bits, own_settings, x64
from bayes_assess._tools.engine import xp
from bayes_assess._tools.lazy import jax, jnp
from bayes_assess._tools.shapes import Array, Float
from bayes_assess.errors import QuestionError
from bayes_assess.measures._shapes import as_risk
from bayes_assess.measures._stacked import Part, jacobian, value

Risk = Float[Array, " D"] | Float[np.ndarray, " D"]

_PACKAGE = __name__.partition(".")[0] + "."
_PER_CLASS = "_per_class"  # the end of names of measures with an output for every class


@dataclass(frozen=True, kw_only=True, repr=False)
class Measure:
    """A measure G = g(R) of the risk R = E[l(y, f)], one of `MEASURES` or one's own ([NH] Definition 1).

    Parameters
    ----------
    loss : callable
        ``loss(y, f)`` or ``loss(y, f, s)`` of ONE item, written in JAX, returns l, shape (d,): the label y, the
        prediction f and the score s.
    g : callable
        Maps the risk R, (d,), to the measure, a scalar or (k,); differentiable with JAX.
    name : str
        Name of the output; several are called ``name[0], name[1], ...`` unless `outputs` names them.
    binary : bool
        True: y and f are 0.0 or 1.0, the indicators of the positive class, and s = P(positive).
        False: y and f are class codes 0..C-1, and s is the confidence, P(the predicted class).
    score_rows : bool
        True: s is the row of all class probabilities, (C,).
    real : bool
        True: labels and predictions are real numbers (regression); such a measure has no table over classes.
    shift_invariant : bool
        True: a number added to all labels and predictions changes nothing, so that `value_of` may centre them.
    outputs : tuple of str, optional
        Names of the k outputs.
    per_class : bool
        True: there is one output per class, named after it.
    bounded : bool
        True: every output lies in [0, 1].
    range : (lowest, highest), optional
        Where every output lies, if that is not [0, 1]; without `bounded` or `range` an output may be any number.
    graded : bool
        True: labels are grades, so that losses are of many sizes, and draws show how large they are: intervals expect
        of the next draw that it is hardly farther away than the farthest so far.
    defined : callable, optional
        Maps R to bool, a scalar or (k,): False where the measure has no value. By default, where g(R) is finite.
    derivative : callable, optional
        Maps R to Dg(R), (k, d), in closed form; by default JAX differentiates g.
    elementwise : bool
        True: g and `defined` take risks (d, ...) with more axes, too, entry by entry, and return (...) or (k, ...).
    made_by : (name, ((option, value), ...)), optional
        Arguments of `measure` that make it, where its name alone does not; left out of measures of one's own.
    build : callable, optional
        Instead of `loss` and `g`: maps the number of classes C to the measure, for those that depend on it.
    ranking : callable, optional
        Instead of `loss` and `g`, of measures of the order of all scores: maps the items that are positive and those
        that are not of every level of the score, from the lowest up, (..., L) each, and the levels to the measure.

    Raises
    ------
    QuestionError
        If neither `loss` and `g` nor `build` is given, or `loss` does not take 2 or 3 arguments.

    Examples
    --------
    The share of false alarms among the negative labels, one's own measure:

    >>> import bayes_assess as ba, jax.numpy as jnp
    >>> from bayes_assess.measures import Measure, value_of
    >>> fpr = Measure(
    ...     loss=lambda y, f: jnp.stack([(1 - y) * f, 1 - y]), g=lambda r: r[0] / r[1], name="fpr", binary=True
    ... )
    >>> value_of(fpr, labels=[0, 0, 0, 0, 1], predictions=[0, 1, 0, 0, 1])
    0.25
    """

    loss: Callable[..., Array] | None = None
    g: Callable[[Risk], Array] | None = None
    name: str
    binary: bool = False
    score_rows: bool = False
    real: bool = False
    shift_invariant: bool = False
    outputs: tuple[str, ...] | None = None
    per_class: bool = False
    bounded: bool = False
    range: tuple[float, float] = (-math.inf, math.inf)
    graded: bool = False
    defined: Callable[[Risk], Array] | None = None
    derivative: Callable[[Risk], Array] | None = None
    elementwise: bool = False
    made_by: tuple[str, tuple[tuple[str, Any], ...]] | None = None
    build: Callable[[int], Measure] | None = None
    ranking: Callable[..., Array] | None = None
    is_curve: ClassVar[bool] = False  # True of a `PRCurveMeasure`
    _made_by_calling: ClassVar[Any] = None  # maker, arguments and options of a measure that `made_once` keeps

    def __post_init__(self) -> None:
        if not isinstance(self.name, str) or not self.name:
            raise QuestionError(f"A measure's name is a text; found {self.name!r}.")
        if self.outputs is not None:
            object.__setattr__(self, "outputs", tuple(self.outputs))  # hashable
        object.__setattr__(self, "range", (0.0, 1.0) if self.bounded else self._checked_range())
        if self.build is not None or self.ranking is not None:
            return
        for what, function in (("loss", self.loss), ("g", self.g)):
            if not callable(function):
                raise QuestionError(f"Measure {self.name!r} needs a function as its {what}; found {function!r}.")
        if _arity(self.loss) not in (2, 3):
            raise QuestionError(
                f"The loss of measure {self.name!r} takes the label and the prediction, and the score if it needs it: "
                f"loss(y, f) or loss(y, f, s); found {_arity(self.loss)} arguments."
            )

    def __repr__(self) -> str:
        """Show the call of `measure` that makes it, of one's own measures the name."""
        if self._made_by_calling is None:
            return f"{type(self).__name__}(name={self.name!r}, ...)"
        name, options = self.made_by or (self.name, ())
        return f"measure({', '.join([repr(name), *(f'{option}={value!r}' for option, value in options)])})"

    @property
    def called(self) -> str:
        """What it is called among others: its name, also of one for every class, whose outputs have the name.

        Examples
        --------
        >>> from bayes_assess.measures import measure
        >>> measure("f1").called, measure("f1", average=None).called
        ('f1', 'f1_per_class')
        """
        of_classes = self.made_by is not None and self.made_by[0].endswith(_PER_CLASS)
        return f"{self.name}{_PER_CLASS}" if of_classes else self.name

    def _checked_range(self) -> tuple[float, float]:
        try:
            low, high = map(float, self.range)
        except (TypeError, ValueError):
            low = high = math.nan
        if not low < high:
            raise QuestionError(f"The range of measure {self.name!r} is (lowest, highest); found {self.range!r}.")
        return low, high

    def __reduce_ex__(self, protocol: SupportsIndex) -> str | tuple[Any, ...]:
        """Pickle a measure of this package as the call that makes it, another one by its fields."""
        if self._made_by_calling is None:
            return super().__reduce_ex__(protocol)
        make, arguments, options = self._made_by_calling
        return partial(make, *arguments, **options), ()

    @property
    def score_kind(self) -> str | None:
        """What the loss takes as s: "positive", "confidence", "rows", or None where it takes no score."""
        if self.ranking is not None:
            return "positive"
        if self.loss is None or _arity(self.loss) == 2:
            return None
        return "rows" if self.score_rows else "positive" if self.binary else "confidence"

    @property
    def is_own(self) -> bool:
        """Whether it is one's own, and none of this package: nobody has looked at its functions yet."""
        return self._made_by_calling is None or not self._made_by_calling[0].__module__.startswith(_PACKAGE)

    def for_classes(self, n_classes: int) -> Measure:
        """Return the measure for pools of `n_classes` classes, with its `loss` and `g`.

        Raises
        ------
        QuestionError
            If its `build` returns no such measure.
        """
        if self.build is None:
            return self
        made: object = self.build(n_classes)
        if not isinstance(made, Measure) or made.build is not None:
            raise QuestionError(
                f"The `build` of measure {self.name!r} returns a Measure with `loss` and `g`; of {n_classes} classes "
                f"found {show(made)}."
            )
        return made

    @x64
    def value_at(self, risk: Risk) -> Float[Array, " K"]:
        """Compute g(R), (k,), at the risk R, (d,); 0 where it has no value.

        Examples
        --------
        >>> from bayes_assess.measures import measure
        >>> measure("r2").value_at([1.0, 3.0, 13.0])  # 1 - E(y-f)^2 / (E y^2 - (E y)^2)
        array([0.75])
        """
        values = self._risk(risk)
        return value(self._parts(len(values)), values)

    @x64
    def jacobian_at(self, risk: Risk) -> Float[Array, "K D"]:
        """Compute Dg(R), (k, d), at the risk R, (d,); 0 where the measure has no derivative.

        Examples
        --------
        >>> from bayes_assess.measures import measure
        >>> measure("mean_squared_error").jacobian_at([0.3])
        array([[1.]])
        """
        values = self._risk(risk)
        return jacobian(self._parts(len(values)), values)

    def _risk(self, risk: Risk) -> Float[Array, " D"]:
        values = xp.asarray(risk, xp.float64)
        return as_risk(values, sizes(self, 2)[0] if self.real else values.shape[-1])

    def _parts(self, size: int) -> tuple[Part]:
        if self.ranking is not None:
            raise QuestionError(f"Measure {self.name!r} is of the order of all scores; call value_of with all labels.")
        if self.g is None:
            raise QuestionError(f"Measure {self.name!r} depends on the number of classes; call for_classes first.")
        return (Part(self.g, self.defined, size, (0,), 1, self.derivative, self.elementwise),)


@lru_cache(maxsize=512)
def sizes(measure: Measure, n_classes: int) -> tuple[int, int]:
    """Return d and k of a measure with a loss, after checking what its two functions return.

    Raises
    ------
    QuestionError
        If the loss does not return a vector, or g neither a scalar nor a vector of floats.
    """
    scalar = np.ones((), np.float64 if measure.binary or measure.real else np.int64)
    score = np.full((n_classes,) if measure.score_rows else (), 0.5)
    arguments = (scalar, scalar) if measure.score_kind is None else (scalar, scalar, score)
    loss = _shape("loss", measure, measure.loss, *arguments)
    if np.issubdtype(loss.dtype, np.complexfloating):
        raise QuestionError(f"The loss of measure {measure.name!r} is of real numbers; found {loss.dtype}.")
    if len(loss.shape) != 1 or not loss.shape[0]:
        raise QuestionError(
            f"The loss of measure {measure.name!r} returns a vector of shape (d,) for one item; found shape "
            f"{tuple(loss.shape)}."
        )
    output = _shape("g", measure, measure.g, np.full(loss.shape, 0.5))
    if len(output.shape) > 1 or 0 in output.shape or not np.issubdtype(output.dtype, np.floating):
        raise QuestionError(
            f"The function g of measure {measure.name!r} maps the risk (d,) to a float or a vector (k,) of floats; "
            f"found shape {tuple(output.shape)} of {output.dtype}."
        )
    k = output.shape[0] if output.shape else 1
    if measure.outputs is not None and len(measure.outputs) != k:
        raise QuestionError(f"Measure {measure.name!r} names {len(measure.outputs)} outputs, but g returns {k}.")
    if measure.per_class and k != n_classes:
        raise QuestionError(f"Measure {measure.name!r} is per class, but g returns {k} values for {n_classes} classes.")
    _check_companions(measure, loss.shape[0], k)
    return loss.shape[0], k


def _check_companions(measure: Measure, d: int, k: int) -> None:
    """Raise QuestionError unless `defined` and `derivative`, if given, have the shapes that g asks for."""
    risk = np.full(d, 0.5)
    if measure.defined is not None:
        known = _shape("defined", measure, measure.defined, risk)
        if tuple(known.shape) not in ((), (k,)) or known.dtype != bool:
            raise QuestionError(
                f"The function `defined` of measure {measure.name!r} maps the risk, ({d},), to a bool, or to {k} of "
                f"them; found shape {tuple(known.shape)} of {known.dtype}."
            )
    if measure.derivative is not None:
        matrix = _shape("derivative", measure, measure.derivative, risk)
        if tuple(matrix.shape) != (k, d):
            raise QuestionError(
                f"The derivative of measure {measure.name!r} is of {k} outputs by {d} losses, shape {(k, d)}; found "
                f"shape {tuple(matrix.shape)}."
            )


def output_names(measure: Measure, k: int, classes: np.ndarray) -> tuple[str, ...]:
    """Return the names of the k outputs of a measure on a pool with these classes."""
    if measure.per_class:
        return tuple(f"{measure.name}[{name}]" for name in classes.tolist())
    if measure.outputs is not None:
        return measure.outputs
    return (measure.name,) if k == 1 else tuple(f"{measure.name}[{i}]" for i in range(k))


def _arity(function: Any) -> int:
    """Count the arguments without default that a function takes."""
    parameters = inspect.signature(function).parameters.values()
    return sum(p.default is p.empty and p.kind in (p.POSITIONAL_ONLY, p.POSITIONAL_OR_KEYWORD) for p in parameters)


def _shape(what: str, measure: Measure, function: Any, *arguments: np.ndarray) -> Array:
    """Return what has the shape and the type of a function's values."""
    problem = f"The {what} of measure {measure.name!r} cannot be evaluated"
    try:
        if measure.derivative is not None:  # written for either engine
            with engine.eager():
                return np.asarray(function(*arguments))
        with engine.compiled(), own_settings():
            shapes = [jax.ShapeDtypeStruct(values.shape, values.dtype) for values in arguments]
            result = jax.eval_shape(lambda *values: jnp.asarray(function(*values)), *shapes)
    except Exception as error:  # whatever functions of one's own raise
        if isinstance(error, jax.errors.JAXTypeError):  # which speaks of traces
            raise QuestionError(
                f"{problem} by JAX: write it with jax.numpy in the place of numpy, jnp.where in the place of if, and "
                "no float()."
            ) from error
        first = str(error).strip().split("\n", 1)[0]
        kind = "" if isinstance(error, TypeError | ValueError | IndexError) else f"{type(error).__name__}: "
        raise QuestionError(f"{problem}: {kind}{first}") from error
    if measure.is_own:
        _check_indices(problem, function, arguments)
    return result


def _check_indices(problem: str, function: Any, arguments: tuple[np.ndarray, ...]) -> None:
    """Raise QuestionError if a function reads beyond the end, where JAX would take the last value."""
    try:
        with in_64_bits():
            function(*arguments)
    except IndexError as error:
        raise QuestionError(f"{problem}: {error}") from error
    except Exception:  # NumPy's arrays are not JAX's
        return
