"""Starting a session, and going on with one from its journal."""

from __future__ import annotations

from collections.abc import Mapping
from os import PathLike
from typing import Literal, TypeAlias, TypedDict, Unpack, overload

from bayes_assess._tools.arrays import show
from bayes_assess._tools.compiled_cache import keep_compiled, leave_room
from bayes_assess._tools.progress import in_progress
from bayes_assess._tools.seeds import checked_seed
from bayes_assess.designs import (
    COMPILED,
    DESIGNS,
    Design,
    VarianceReduction,
    WeightedDesign,
    check_campaign,
    find_design,
    find_engine,
)
from bayes_assess.designs.ranked import RANKED_DESIGNS, RankedDesign
from bayes_assess.errors import DesignError, JournalError, PriorError
from bayes_assess.models.belief import GivenPrior
from bayes_assess.pool.pool import Pool, check_items
from bayes_assess.pool.ranked import RankedList
from bayes_assess.questions import PrecisionCurve, Question, Setting
from bayes_assess.questions.asked import check_question
from bayes_assess.questions.precision_curve import RankedSetting, put_to_ranks
from bayes_assess.sessions.assessment import Assessment, BelievedT, WeighedT
from bayes_assess.sessions.description import (
    describe,
    describe_ranked,
    is_of_ranked_list,
    read_description,
    read_ranked_description,
)
from bayes_assess.sessions.journal import Journal
from bayes_assess.sessions.ranked_assessment import RankedAssessment
from bayes_assess.sessions.session import AnySession
from bayes_assess.sessions.stochastic_assessment import StochasticAssessment
from bayes_assess.studies.oracles import check_oracle, default_of_draws


class Options(TypedDict, total=False):
    """Options of `assess` that have no say in what kind of session it returns."""

    prior: GivenPrior
    prior_strength: float | None
    seed: int
    journal: str | PathLike[str] | None
    source: Mapping[str, object] | None
    engine: str | None


class _AnyOptions(Options, total=False):
    oracle: str


_Items: TypeAlias = Pool | RankedList
_Ranking: TypeAlias = RankedDesign | Literal["adastrat", "logstrat", "paula", "random"]
_Weighing: TypeAlias = WeightedDesign | Literal["adaptive", "importance", "oasis", "passive", "poisson", "stratified"]
_Believing: TypeAlias = VarianceReduction | Literal["variance_reduction"]


@overload
def assess(  # the one question that has sessions of two kinds
    pool: _Items, question: PrecisionCurve, *, design: _Ranking | None = None, **options: Unpack[_AnyOptions]
) -> RankedAssessment: ...
@overload
def assess(
    pool: Pool,
    question: Question[BelievedT, WeighedT],
    *,
    design: str | Design | None = None,
    oracle: Literal["stochastic"],
    **options: Unpack[Options],
) -> StochasticAssessment[WeighedT]: ...
@overload
def assess(
    pool: _Items, question: Question[BelievedT, WeighedT], *, design: _Believing, **options: Unpack[_AnyOptions]
) -> Assessment[BelievedT]: ...
@overload
def assess(
    pool: _Items, question: Question[BelievedT, WeighedT], *, design: _Weighing, **options: Unpack[_AnyOptions]
) -> Assessment[WeighedT]: ...
@overload
def assess(
    pool: _Items,
    question: Question[BelievedT, WeighedT],
    *,
    design: str | Design | None = None,
    **options: Unpack[_AnyOptions],
) -> Assessment[BelievedT | WeighedT]: ...
@overload
def assess(
    pool: _Items,
    question: Question[BelievedT, WeighedT],
    *,
    design: str | Design | RankedDesign | None = None,
    **options: Unpack[_AnyOptions],
) -> Assessment[BelievedT | WeighedT] | RankedAssessment: ...
@in_progress("Starting")
def assess(
    pool: Pool | RankedList,
    question: Question,
    *,
    design: str | Design | RankedDesign | None = None,
    prior: GivenPrior = None,
    prior_strength: float | None = None,
    seed: int = 0,
    oracle: str = "deterministic",
    journal: str | PathLike[str] | None = None,
    source: Mapping[str, object] | None = None,
    engine: str | None = None,
) -> Assessment | RankedAssessment:
    """Start to assess a pool.

    Parameters
    ----------
    pool : Pool or RankedList
        Predictions to be assessed; a ranked list for `PrecisionCurve`, which takes pools too.
    question : Question
        What is asked: `GroupAccuracy`, `LeastAccurate`, `MostAccurate`, `GroupRecall`, `LowestRecall`,
        `HighestRecall`, `ConfusionMatrix`, `MostCostly`, `Calibration`, `LeastCalibrated`, `Compare`, `Best`, `Metric`,
        `Rate`, `Mean`, `PRCurve` or `PrecisionCurve`.
    design : str or Design, optional
        How items are chosen: ``"thompson"`` (the default), ``"top_two"``, ``"epsilon_greedy"``, ``"bayes_ucb"``,
        ``"random"``, ``"random_group"``; for measures ``"variance_reduction"`` (the
        default where one event of a label decides), ``"adaptive"``, ``"oasis"``, ``"importance"``,
        ``"poisson"``, ``"stratified"``, ``"passive"``; for measures of items with several labels each ``"poisson"``
        (the default) and ``"passive"``; for `PrecisionCurve` ``"adastrat"`` (the default), ``"logstrat"``,
        ``"paula"``, ``"random"`` and ``"variance_reduction"``; or a design object with options.
    prior : {"learned", "informative", "uninformative"} or Belief, optional
        By default groups learn from each other, and from all labels how far scores can be trusted
        (`HierarchicalAccuracy` and its like); the other two are fixed, as published. A belief of your own is of one
        value per cell: a `BetaBernoulli` over cells, a `DirichletConfusion` for confusion matrices and costs, a
        `PairedOutcomes` for two systems, or any `bayes_assess.models.belief.Belief` of that shape, such as
        `SampledBelief` over prior draws of a NumPyro program.
    prior_strength : float, optional
        Labels per cell that a fixed prior counts as; by default 2 for accuracies, 1 for the others. Given without
        `prior`, it asks for ``"informative"``, or for ``"uninformative"`` of a pool without scores.
    seed : int
        Decides the order of items within cells and every random choice.
    oracle : {"deterministic", "stochastic"}
        Whether an item has one label, whoever gives it, or every label of it is a draw from p(y | x): then an item may
        be asked again, its labels may differ, and a measure is that of the expected losses over p(y | x) ([NH] sec. 2).
        `Metric` and `PRCurve` take it, with the designs ``"adaptive"`` (the default then), ``"importance"``,
        ``"oasis"`` and ``"passive"``.
    journal : path, optional
        A new file that records every ask and tell, so that `resume` can go on from it.
    source : mapping, optional
        How the pool was read, kept in the journal for the command line; nothing else looks at it.
    engine : {"eager", "compiled"}, optional
        What runs the steps: NumPy, which answers at once, or programs compiled by JAX, which take seconds to compile
        and are several times faster after that. By default NumPy where the pool has up to 20,000 cells, with
        ``"variance_reduction"`` up to 3,000, with the published designs of measures up to 100,000. For a thousand
        labels and more the other is worth it. Both ask alike up to rounding, and the journal says which it was. Designs
        and priors of your own classes are always compiled.

    Returns
    -------
    Assessment, RankedAssessment for designs of ranked lists, or StochasticAssessment

    Raises
    ------
    QuestionError, DesignError, PriorError, PartitionError, JournalError
        If the question, design or prior does not fit the pool, or the journal exists already.

    Examples
    --------
    >>> import bayes_assess as ba
    >>> pool = ba.Pool(predictions=["cat", "cat", "dog", "dog"])
    >>> a = ba.assess(pool, ba.LeastAccurate(by="prediction"), design="thompson", seed=0)
    >>> queries = a.ask(3)
    >>> a.tell(queries.ids, ["cat"] * 3)
    >>> a.result().identified.tolist()
    ['dog']
    """
    check_question(question)
    seed = checked_seed(seed)
    ranked = put_to_ranks(question, pool, design, seed)
    if ranked is not None:
        check_oracle(oracle, question)
        return _start_ranked(ranked, prior, prior_strength, seed, journal, source)
    assessment = _start(pool, question, design, prior, prior_strength, seed, oracle, engine)
    if journal is not None:
        if type(assessment.design) is not DESIGNS.get(assessment.design.name):
            raise DesignError(
                f"A journal can bring back the designs {', '.join(DESIGNS)}; {show(assessment.design)} is none of "
                "them. Leave out the journal."
            )
        setting = assessment.pool, question, assessment.design, assessment.prior, assessment.cells
        meta = describe(*setting, int(seed), source, assessment.engine)
        assessment.journal = Journal.create(journal, meta | {"oracle": oracle})
    return assessment


@in_progress("Resuming")
def resume(
    journal: str | PathLike[str],
    pool: Pool | RankedList,
    question: Question | None = None,
    design: Design | RankedDesign | None = None,
) -> AnySession:
    """Go on with an assessment from its journal, exactly where it stopped.

    Parameters
    ----------
    journal : path
    pool : Pool or RankedList
        The same as before.
    question : optional
        Needed only if groups or predictions were given as an array, which the journal does not hold.
    design : optional
        Needed only if its strata were cut from an array of scores or features, of which the journal holds a digest.

    Raises
    ------
    JournalError
        If the file is no journal, belongs to another pool, question or design, or contradicts itself.

    Examples
    --------
    >>> import bayes_assess as ba, tempfile, os
    >>> path = os.path.join(tempfile.mkdtemp(), "run.db")
    >>> pool = ba.Pool(predictions=[0, 0, 1, 1])
    >>> a = ba.assess(pool, ba.GroupAccuracy(), journal=path)
    >>> a.tell(a.ask(2).ids, [0, 0])
    >>> ba.resume(path, pool).labels_used
    2
    """
    check_items(pool, "resume takes the path of a journal first, then its Pool")
    book = Journal.open(journal)
    if is_of_ranked_list(book):
        ranked, seed = read_ranked_description(book, pool, question, design)
        assessment = RankedAssessment(*ranked, seed)
        assessment._replay(book)
        return assessment
    pool = pool.as_pool()
    question, design, prior, seed = read_description(book, pool, question, design)
    engine = book.meta["engine"]
    pool, _ = question.posed(question.labelled_pool(pool))
    cells = question.cells(pool, seed, design.strata_of(pool))
    if book.meta["cells"] != cells.source.fingerprint():
        raise JournalError(f"The journal {str(book.path)!r} was written with other groups than these.")
    setting = question.setting_on(cells, prior)
    if check_oracle(book.meta["oracle"], question):
        setting = setting.of_draws()
    assessment = _session(pool, question, design, setting, seed, engine)
    assessment._replay(book)
    return assessment


def _start_ranked(
    ranked: RankedSetting,
    prior: GivenPrior,
    prior_strength: float | None,
    seed: int,
    journal: str | PathLike[str] | None,
    source: Mapping[str, object] | None,
) -> RankedAssessment:
    """Start a session on a ranked list."""
    design = ranked.design
    if prior is not None or prior_strength is not None:
        raise PriorError(f"Design {design.name!r} starts from no prior; leave it out.")
    if journal is not None and type(design) is not RANKED_DESIGNS.get(design.name):
        raise DesignError(
            f"A journal can bring back the designs {', '.join(RANKED_DESIGNS)}; {show(design)} is none of them. "
            "Leave out the journal."
        )
    assessment = RankedAssessment(*ranked, seed)
    if journal is not None:
        assessment.journal = Journal.create(journal, describe_ranked(*ranked, seed, source))
    return assessment


def _start(
    items: Pool | RankedList,
    question: Question,
    design: str | Design | RankedDesign | None,
    prior: GivenPrior,
    prior_strength: float | None,
    seed: int,
    oracle: str,
    engine: str | None,
) -> Assessment:
    pool = question.items_in(items)
    question = question.for_pool(pool)
    pool = question.labelled_pool(pool)
    draws = check_oracle(oracle, question)
    if draws:
        pool.check_in_memory("Labels that are draws are of items that may be asked again")
    if design is None:
        design = default_of_draws(question, pool) if draws else question.default_design_on(pool)
    design = find_design(design, question.n_sought, question.designs)
    check_campaign(design, oracle)
    pool, _ = question.posed(pool)
    setting = question.setting(pool, seed, design.strata_of(pool), prior, prior_strength)
    setting = setting.of_draws() if draws else setting
    return _session(
        pool, question, design, setting, seed, find_engine(engine, design, setting.cells.n_cells, setting.prior)
    )


def _session(pool: Pool, question: Question, design: Design, setting: Setting, seed: int, engine: str) -> Assessment:
    """Make the session: of labels that are draws, or of one label of every item."""
    if engine == COMPILED:
        keep_compiled()
        leave_room()
    kind = StochasticAssessment if setting.stochastic else Assessment
    return kind(pool, question, design, setting, seed, engine)
