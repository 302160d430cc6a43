"""Priors of calibration curves of several shapes, which `calibration_curve` mixes by their evidence."""

from __future__ import annotations

import math
from dataclasses import dataclass, fields, replace

import numpy as np

from bayes_assess._tools.pytrees import register_dataclass, tree_map
from bayes_assess._tools.shapes import Array, Float, Int

NEVER = -30.0  # log odds of a share that is 0
_ANYWHERE = np.float32(2.0)  # times as far from the cut as where predictions tell where positives begin
_NOTHING = {"bend": 1.0, "unannounced": NEVER, "lapse": NEVER}


@dataclass(frozen=True)
class Members:
    """Priors of curves of several shapes, a row of constants each; arrays (B,).

    Attributes
    ----------
    prior : probability of the member.
    coordinate : which of `Coordinates.place`.
    intercept, intercept_sd : of a; `from_log_odds` times the log odds of predicted positives is added.
    shift_sd : of tau.
    slope, slope_sd : median of b, and standard deviation of log b.
    either_slope : standard deviation of a slope of either sign, per standard deviation of the coordinate, added to b.
    bend, bend_sd : of kappa; 1 is straight.
    prediction, prediction_sd : of delta.
    score_sd : of zeta.
    unannounced, unannounced_sd : of log phi.
    spike : probability that phi is 0, beside which it is log-normal: a slab. Draws of a slab are a precaution: they
        move intervals, and estimates only as far as they are more probable than not. Without a spike there is none.
    lapse, lapse_sd : of logit lambda.
    lapse_spike : probability that lambda is 0, beside which it is logit-normal: another slab.
    roughness, roughness_sd : of log s.
    strength, strength_sd : of log nu.
    relative : rho, 1 where cells scatter relative to their odds, 0 where they scatter alike in their rates.
    group_sd, group_slope_sd, group_lapse_sd : of u, v and l, the effects of groups.
    group_mean : of u, where it is how much a verdict tells: a sign is known.
    group_odds : 1 where u is added to the log odds of the event itself, however it comes about, 0 where to eta.
    group_heavy : how heavy the tails of u are, as for `heavy`; of several groups those of the effects together.
    group_spread : standard deviation of the log of a scale of u that all groups share, and labels tell; 0: known.
    heavy : how heavy the tails of log b and delta are: sinh(heavy u) / heavy in the place of a normal u; 0: normal.
    names : what the members are called.
    """

    prior: Float[Array, " B"]
    coordinate: Int[Array, " B"]
    intercept: Float[Array, " B"]
    intercept_sd: Float[Array, " B"]
    from_log_odds: Float[Array, " B"]
    shift_sd: Float[Array, " B"]
    slope: Float[Array, " B"]
    slope_sd: Float[Array, " B"]
    either_slope: Float[Array, " B"]
    bend: Float[Array, " B"]
    bend_sd: Float[Array, " B"]
    prediction: Float[Array, " B"]
    prediction_sd: Float[Array, " B"]
    score_sd: Float[Array, " B"]
    unannounced: Float[Array, " B"]
    unannounced_sd: Float[Array, " B"]
    spike: Float[Array, " B"]
    lapse: Float[Array, " B"]
    lapse_sd: Float[Array, " B"]
    lapse_spike: Float[Array, " B"]
    roughness: Float[Array, " B"]
    roughness_sd: Float[Array, " B"]
    strength: Float[Array, " B"]
    strength_sd: Float[Array, " B"]
    relative: Float[Array, " B"]
    group_sd: Float[Array, " B"]
    group_mean: Float[Array, " B"]
    group_slope_sd: Float[Array, " B"]
    group_lapse_sd: Float[Array, " B"]
    group_odds: Float[Array, " B"]
    group_heavy: Float[Array, " B"]
    group_spread: Float[Array, " B"]
    heavy: Float[Array, " B"]
    names: tuple[str, ...] = ()

    @classmethod
    def of(cls, **members: dict[str, float]) -> Members:
        """Build the table from a dictionary of constants per member; what is left out is 0, and kappa is 1."""
        columns = [field.name for field in fields(cls) if field.name != "names"]
        default = dict.fromkeys(columns, 0.0) | _NOTHING
        rows = [default | constants for constants in members.values()]
        table = {name: np.array([row[name] for row in rows], np.float32) for name in columns}
        return cls(**table | {"coordinate": table["coordinate"].astype(np.int32)}, names=tuple(members))

    def apart(self) -> Members:
        """Return members in which groups differ by as much as labels tell: by e^0.7 of the odds, or far more.

        They differ in the odds of the event itself, so that what no score announces may be frequent in one group alone,
        and in how much the score tells.
        """
        n = np.ones_like(self.prior)
        return replace(self, group_sd=0.7 * n, group_slope_sd=0.6 * n, group_odds=n, group_spread=n, group_heavy=0 * n)

    def anywhere(self) -> Members:
        """Return members for items that are all predicted alike, which tells neither the cut nor the level."""
        return replace(self, shift_sd=_ANYWHERE * self.shift_sd, intercept_sd=_ANYWHERE * self.intercept_sd)

    def beside(self) -> Members:
        """Return members for verdicts of other systems than the one whose score it is: right more often than not.

        At the same score the odds of a positive label are e^4 times as high where the other system says so, by a factor
        that may be far more or none; and there the score may tell more or less.
        """
        n = np.ones_like(self.prior)
        return replace(self, group_mean=5.0 * n, group_sd=3.1 * n, group_slope_sd=0.6 * n, group_heavy=0.8 * n)

    def __getitem__(self, which: int | slice | Array) -> Members:
        """Return one member, or some."""
        return tree_map(lambda column: column[which], self)


register_dataclass(Members, [field.name for field in fields(Members) if field.name != "names"], meta_fields=["names"])


def _logit(share: float) -> float:
    return math.log(share / (1 - share))


_CURVE = {
    "prior": 0.6,
    "shift_sd": 1.0,
    "slope": 4.0,
    "slope_sd": 0.7,
    "prediction_sd": 2.0,
    "score_sd": 0.3,
    "lapse": _logit(0.001),
    "lapse_sd": 2.5,
    "roughness": math.log(0.5),
    "roughness_sd": 1.0,
    "strength": math.log(300.0),
    "strength_sd": 1.5,
    "relative": 1.0,
    "heavy": 0.8,
}
# In three pools of ten positives hide, three to ten that are announced in the median; in four of ten some of the surest
# items are negative, three of a hundred in the median.
_NOISE = {
    "spike": 0.7,
    "unannounced": math.log(0.3),
    "unannounced_sd": 1.5,
    "lapse_spike": 0.6,
    "lapse": _logit(0.03),
    "lapse_sd": 1.5,
}
# Where two systems differ at the same ranks, the odds that the one is right are e^1.4 times those of the other, or far
# more: a system that puts the errors of another right is right nearly always there.
_SYSTEMS = {"group_sd": 1.0, "group_heavy": 0.8}
# Where scores need not rank: about as many positives as are predicted positive, wherever they are.
_LEVEL_OF_POSITIVES = {
    "from_log_odds": 1.0,
    "intercept_sd": 1.5,
    "score_sd": 0.1,
    "roughness_sd": 0.7,
    "strength": math.log(300.0),
    "strength_sd": 1.5,
    "relative": 1.0,
}

POSITIVES = Members.of(
    curve=_CURVE | _SYSTEMS | _NOISE,
    bent=_CURVE | _SYSTEMS | _NOISE | {"prior": 0.19, "bend": 0.6, "bend_sd": 0.25},
    score=_CURVE | _SYSTEMS | _NOISE | {"prior": 0.06, "coordinate": 1, "shift_sd": 1.5, "slope": 2.0, "slope_sd": 1.0},
    weak=_SYSTEMS
    | _LEVEL_OF_POSITIVES
    | {
        "prior": 0.1,
        "either_slope": 3.0,
        "prediction": 3.0,
        "prediction_sd": 3.0,
        "roughness": math.log(0.7),
        "heavy": 0.8,
    },
    flat=_SYSTEMS
    | _LEVEL_OF_POSITIVES
    | {"prior": 0.05, "either_slope": 0.3, "prediction_sd": 0.5, "roughness": math.log(0.1)},
)
"""How positive labels rise with the score (METHODS 12.2, corrected by 12.7).

Where several systems are measured, groups are contrasts of what they predict: one may be right more often than another
where they differ. Without such effects cells alone would scatter, which over many of them evens out to no difference.
Where the score is of one of them and no guide to what others predict, these are verdicts beside it (`Members.beside`).

Either no positive is hidden, or a share of them that may be any: a spike and a slab. So it is with negatives among the
surest items. ``weak`` is for scores that say little, or the opposite, and ``flat`` for scores and predictions that say
nothing: without it labels that find no positive where scores promise some would say that there are hardly any.
`benchmarks/study_members.py` compares sets of members over a population of pools.
"""

# At the same score the odds of a positive label differ between groups by factors of about e^2; and a judge that tells
# good from bad in one group may hardly do so in another, or be taken in by some of its items altogether.
_FAVOUR = {"group_sd": 2.0, "group_slope_sd": 1.0, "group_lapse_sd": 1.5}
# Judges are worse than the classifiers of `POSITIVES`: ten times as many positive labels have no score that tells, and
# one in twenty of the items that they are surest of may be none.
_BIASED = _CURVE | _FAVOUR | {"unannounced": math.log(0.02), "unannounced_sd": 2.0, "relative": 0.0}
# A rise over all ranks or scores, not at the cut alone, from a level that may be any.
_LINE = _FAVOUR | {
    "prior": 0.2,
    "from_log_odds": 0.5,
    "intercept_sd": 2.0,
    "slope": 1.0,
    "slope_sd": 0.8,
    "prediction": 1.0,
    "prediction_sd": 2.0,
    "roughness": math.log(0.4),
    "roughness_sd": 0.7,
    "strength": math.log(100.0),
    "strength_sd": 1.5,
}

RATES = Members.of(
    curve=_BIASED | {"prior": 0.2, "lapse": _logit(0.05), "lapse_sd": 2.0},
    hidden=_BIASED | {"prior": 0.15, "unannounced": math.log(0.1), "unannounced_sd": 1.8},
    rank=_LINE,
    score=_LINE | {"coordinate": 1, "slope": 0.7},
    flat=_FAVOUR
    | {
        "prior": 0.25,
        "from_log_odds": 0.5,
        "intercept_sd": 2.0,
        "either_slope": 0.15,
        "prediction_sd": 0.4,
        "roughness": math.log(0.1),
        "roughness_sd": 0.7,
        "strength": math.log(300.0),
        "strength_sd": 1.5,
    },
)
"""How positive labels rise with the score where their rate is asked for: the judge may be biased, or of no worth.

``flat``, in which items are nearly alike whatever their scores, is for judges that toss coins: labels count as much
there as those of random items.
"""

_LEVEL = {
    "prior": 0.5,
    "from_log_odds": 0.5,
    "intercept_sd": 1.4,
    "prediction": 1.0,
    "prediction_sd": 1.5,
    "strength": math.log(20.0),
    "strength_sd": 1.0,
}

VERDICTS = Members.of(
    level=_FAVOUR | _LEVEL,
    alike=_LEVEL | {"group_sd": 0.3, "strength": math.log(300.0)},
)
"""Rates of positive labels among items of either verdict, where there is no score.

There are as few cells as verdicts and groups, so that all of this is the prior of every rate: nearly uniform, since one
with more at 0 and 1 takes a verdict that has not been seen to err for one that never does.
"""

_RANK = {
    "prior": 0.28,
    "intercept_sd": 1.5,
    "slope": 8.0,
    "slope_sd": 0.8,
    "prediction": 0.5,
    "prediction_sd": 1.0,
    "strength": math.log(100.0),
    "strength_sd": 1.0,
}
_CALIBRATED = {
    "prior": 0.28,
    "coordinate": 1,
    "intercept_sd": 1.0,
    "slope": 0.7,
    "slope_sd": 0.5,
    "roughness": math.log(0.7),
    "strength": math.log(100.0),
    "strength_sd": 1.0,
}

AGREEMENT = Members.of(
    rank=_RANK,
    calibrated=_CALIBRATED,
    both=_CALIBRATED | {"prior": 0.17, "slope_sd": 0.7, "prediction_sd": 0.7},
    flat={
        "prior": 0.17,
        "intercept": 1.5,
        "intercept_sd": 1.5,
        "either_slope": 0.7,
        "roughness": math.log(0.4),
        "strength": math.log(100.0),
        "strength_sd": 1.0,
    },
    lapses=_RANK | {"prior": 0.1, "lapse": _logit(0.02), "lapse_sd": 1.2},
)
"""How agreement with the prediction rises with the confidence; METHODS 12.3."""

UNSCORED = Members.of(
    level={"prior": 1.0, "intercept_sd": 1.6, "strength": math.log(30.0), "strength_sd": 1.5},
)
"""Agreement where there is no confidence: a level that is about uniform, and cells that scatter around it."""

AGREEMENT_APART = AGREEMENT.apart()
"""The same where groups are measured one by one: in some the system may be right more often than in others."""

RATINGS = Members.of(never={"prior": 1.0, "intercept": -40.0, "strength": math.log(100.0)})
"""No event at all, where `RatingLabels` believes all of the labels."""
