"""Every error that this package raises on purpose.

A message is a sentence for a person: what is wrong, where, and what to do. Each class also derives from the
built-in exception that fits, so code that catches ``ValueError`` or ``KeyError`` keeps working.
"""

from __future__ import annotations


class BayesAssessError(Exception):
    """Root of all errors raised on purpose by this package.

    Examples
    --------
    >>> import bayes_assess as ba
    >>> try:
    ...     ba.Pool(scores=[[0.7, 0.7]])
    ... except ba.BayesAssessError as error:
    ...     print(type(error).__name__)
    PoolError
    """

    def __str__(self) -> str:
        # KeyError quotes its message as if it were a key; a sentence should print as it is.
        return " ".join(str(part) for part in self.args)


class PoolError(BayesAssessError, ValueError):
    """The predictions, scores, ids, classes or groups of a pool are not usable."""


class EngineError(PoolError, RuntimeError):
    """An engine that holds the items of a pool gave no answer, or its table has changed."""


class PartitionError(BayesAssessError, ValueError):
    """The pool cannot be cut into groups as asked."""


class PriorError(BayesAssessError, ValueError):
    """A prior is unknown, improper, or needs scores that the pool lacks."""


class QuestionError(BayesAssessError, ValueError):
    """A question cannot be asked of this pool."""


class DesignError(BayesAssessError, ValueError):
    """A design is unknown or cannot serve the question."""


class BudgetError(BayesAssessError, ValueError):
    """More labels were asked for than the pool has left."""


class LabelError(BayesAssessError, ValueError):
    """Labels do not fit the pool, or contradict labels already told."""


class UnknownIdError(LabelError, KeyError):
    """An id names no item of the pool."""


class JournalError(BayesAssessError, ValueError):
    """A journal cannot be created, read, or belongs to another pool."""


class LostTurnError(JournalError):
    """Another session has written to the journal since this one looked; nothing was written."""


class OutputError(BayesAssessError, ValueError):
    """A table, a figure, an ArviZ object or a copy cannot be made from what was given."""


class UnknownColumnError(OutputError, KeyError):
    """A name is not a column of the table."""


class InferenceError(BayesAssessError, ValueError):
    """A generative program cannot be fitted to the data as given."""
