"""Plans before the first label: how many a question will need."""

from __future__ import annotations

from bayes_assess.designs import Design
from bayes_assess.designs.ranked import RankedDesign
from bayes_assess.models.belief import GivenPrior
from bayes_assess.pool.pool import Pool, check_items
from bayes_assess.pool.ranked import RankedList
from bayes_assess.questions import Question
from bayes_assess.results.plan import Plan
from bayes_assess.sessions.start import assess


def plan(
    pool: Pool | RankedList,
    question: Question,
    *,
    width: float | None = None,
    probability: float | None = None,
    of: str = "widest",
    design: str | Design | RankedDesign | None = None,
    prior: GivenPrior = None,
    prior_strength: float | None = None,
    seed: int = 0,
    level: float = 0.95,
    futures: int = 16,
) -> Plan:
    """Say how many labels a question will need, before any is there.

    Only the prior speaks, so that the spread is wide; `Assessment.plan` knows more once there are labels.

    Parameters
    ----------
    pool, question, design, prior, prior_strength, seed
        As for `assess`.
    width, probability, of, level, futures
        As for `Assessment.plan`.

    Returns
    -------
    Plan

    Raises
    ------
    BudgetError, DesignError, QuestionError, PriorError, PartitionError
        If an argument does not fit the pool, or nothing can be planned for the question.

    Examples
    --------
    >>> import bayes_assess as ba
    >>> pool = ba.Pool(predictions=[0] * 300)
    >>> needed = ba.plan(pool, ba.GroupAccuracy(), width=0.1, design="random", prior="uninformative")
    >>> needed.labels.lower <= needed.labels.expected <= needed.labels.upper
    True
    """
    check_items(pool, "plan takes a Pool first")
    assessment = assess(pool, question, design=design, prior=prior, prior_strength=prior_strength, seed=seed)
    return assessment.plan(width, probability=probability, of=of, level=level, futures=futures)
