"""The other demo: what share of reviews is good, from a cheap judge of all of them and a few labels.

Reviews are put together from phrases, so that it is known what each of them means. A classifier of words has learned
from a few of a web shop and judges the others. Those in an app say "not good" where those of the shop say "bad", which
it has not learned, so that by its figures the wrong channel has the better reviews.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from textwrap import fill

import numpy as np

from bayes_assess._tools.seeds import generator
from bayes_assess._tools.tables import Table
from bayes_assess.cli.demo import need_scikit_learn, output_folder
from bayes_assess.cli.files import save_figure
from bayes_assess.pool.pool import Pool
from bayes_assess.questions import Compare, Question, Rate
from bayes_assess.results import BeliefRateResult, Result
from bayes_assess.sessions.start import assess

N_TRAINING, N_REVIEWS = 400, 6000
N_LABELS = 200  # of each campaign
BATCH = 25
ROPE = 0.02

_THINGS = "bag boots camera chair charger coffee grinder jacket kettle keyboard lamp mouse pan speaker tent".split()
_PRAISE = "comfortable cheap elegant fast good great handy light perfect quiet reliable solid sturdy useful".split()
_BLAME = "awful bad broken clumsy dear flimsy heavy loud ugly poor scratched slow useless wobbly".split()
_OPENINGS = (
    "I bought this {thing} last week.",
    "My new {thing} came today.",
    "A {thing} for my sister.",
    "This {thing}!",
)
_DIRECT = ("It is {word}.", "So {word}.", "It looks {word} and works well enough.", "I find it {word}, really.")
_NEGATED = ("It is not {word}.", "Not {word} at all.", "Nobody would call it {word}.", "I do not find it {word}.")
_CHANNELS = {  # share of good reviews, and of negated phrases in bad ones and in good ones
    "app": (0.52, 0.45, 0.05),
    "web": (0.60, 0.10, 0.05),
}


@dataclass(frozen=True, eq=False)
class JudgedReviews:
    """Reviews with a classifier's verdicts.

    Attributes
    ----------
    pool : Pool of 6,000 items and the classes bad and good
        Groups by channel; annotators see the text.
    labels : (6000,) names
        What every review means.
    """

    pool: Pool
    labels: np.ndarray


def judged_reviews(seed: int = 0) -> JudgedReviews:
    """Make reviews, train a judge on a few, and return what it says of the others, with what they mean.

    Parameters
    ----------
    seed : int

    Raises
    ------
    BayesAssessError
        If scikit-learn is not installed.
    """
    with need_scikit_learn():
        from sklearn.feature_extraction.text import CountVectorizer
        from sklearn.linear_model import LogisticRegression
        from sklearn.pipeline import make_pipeline
    rng = generator(seed, "reviews")
    judge = make_pipeline(CountVectorizer(binary=True), LogisticRegression(max_iter=1000))
    judge.fit(*_reviews(rng, ["web"] * N_TRAINING))
    channels = rng.choice(list(_CHANNELS), N_REVIEWS)
    texts, labels = _reviews(rng, channels)
    pool = Pool(
        scores=judge.predict_proba(texts),
        classes=judge.classes_.tolist(),
        ids=[f"review-{i:04}" for i in range(1, N_REVIEWS + 1)],
        groups={"channel": channels},
        show={"text": np.array(texts)},
    )
    return JudgedReviews(pool, labels)


def _reviews(rng: np.random.Generator, channels: Sequence[str] | np.ndarray) -> tuple[list[str], np.ndarray]:
    """Put reviews together from phrases that praise, or blame, or deny one of both; return what they mean, too."""
    share, of_bad, of_good = np.array([_CHANNELS[name] for name in channels]).T
    good = rng.random(len(channels)) < share
    negated = np.where(good, of_good, of_bad)
    texts = []
    for means_well, no in zip(good.tolist(), negated.tolist(), strict=True):
        parts = [rng.choice(_OPENINGS).format(thing=rng.choice(_THINGS))]
        for _ in range(rng.integers(1, 4)):
            turned = rng.random() < no
            words, forms = (_PRAISE if means_well != turned else _BLAME), (_NEGATED if turned else _DIRECT)
            parts.append(rng.choice(forms).format(word=rng.choice(words)))
        texts.append(" ".join(parts))
    return texts, np.where(good, "good", "bad")


def run(
    output: Path, *, seed: int = 0, say: Callable[[str], object] = print, show: Callable[[Table], object] = print
) -> BeliefRateResult:
    """Run the demo and write what it finds.

    Parameters
    ----------
    output : path
        Folder for the figure and tables; made if it is not there.
    seed : int
    say, show : functions
        Print a line and a table.

    Returns
    -------
    BeliefRateResult

    Raises
    ------
    BayesAssessError
        If scikit-learn is missing, or a file cannot be written.
    """
    output = output_folder(output)
    reviews = judged_reviews(seed)
    share = (reviews.pool.classes[reviews.pool.predictions] == reviews.labels).mean()
    intro = (
        f"A classifier of words learned from {N_TRAINING} reviews of a web shop and judges {N_REVIEWS:,} others, of "
        f"the shop and of an app: good or bad. It is right in {share:.0%} of cases. What share of them is really good? "
        f"The judge has a figure for nothing; a campaign asks a person about {N_LABELS} reviews."
    )
    say(fill(intro, 79))
    say("")
    question = Rate("good", by="channel")
    result = _campaign(reviews, question, seed)
    truth = question.truth(reviews.pool, reviews.labels)
    show(_beside_the_truth(result, truth))
    say("")
    _say_all(say, result)
    say(fill(f"Which channel has the better reviews? Another {N_LABELS} answers, where they tell most of that:", 79))
    _say_all(say, _campaign(reviews, Compare("app", "web", "channel", ROPE, measure="rate", positive="good"), seed))
    judge, difference = result.judge_rate, truth[0] - truth[1]
    say(fill(f"By the judge alone it is {judge[0] - judge[1]:+z.3f}; by all labels it is {difference:+z.3f}.", 79))
    _write(output, reviews, result, truth, say)
    return result


def _say_all(say: Callable[[str], object], result: Result) -> None:
    """Print a summary and an empty line."""
    for line in result.summary().splitlines():
        say(fill(line, 79))
    say("")


def _campaign(reviews: JudgedReviews, question: Question, seed: int) -> BeliefRateResult:
    """Spend `N_LABELS` labels."""
    pool = reviews.pool
    assessment = assess(pool, question, seed=seed)
    for _ in range(N_LABELS // BATCH):
        queries = assessment.ask(BATCH)
        assessment.tell(queries.ids, reviews.labels[pool.positions(queries.ids)])
    return assessment.result()


def _beside_the_truth(result: BeliefRateResult, truth: np.ndarray) -> Table:
    """One row per channel: the judge's figure, the estimate, the truth."""
    ends = zip(np.atleast_1d(result.estimate), result.interval, strict=True)
    columns = {
        "measure": result.groups,
        "items": result.items,
        "judge": result.judge_rate,
        "estimate": [f"{value:.3f} [{low:.3f}, {high:.3f}]" for value, (low, high) in ends],
        "truth": truth,
        "random labels": result.random_labels,
    }
    title = f"Share of good reviews: {result.labels_used} labels, and random ones for intervals as narrow"
    return Table(columns, title=title, formats={"judge": ".3f", "truth": ".3f"})


def _write(output: Path, reviews: JudgedReviews, result: BeliefRateResult, truth: np.ndarray, say: Callable) -> None:
    """Write the figure, the table and the pool, and say what is where."""
    output.mkdir(parents=True, exist_ok=True)
    pool = reviews.pool
    assert pool.scores is not None
    save_figure(result.plot(truth=truth), output / "rates.png")
    result.table().to_csv(output / "rates.csv")
    scores = {f"p_{name}": column.round(4) for name, column in zip(pool.classes, pool.scores.T, strict=True)}
    Table({"id": pool.ids, "text": pool.show["text"], **pool.groups, **scores}).to_csv(output / "reviews.csv")
    Table({"id": pool.ids, "label": reviews.labels}).to_csv(output / "review_labels.csv")
    say(f"In {output}:")
    say("  rates.png          estimates and intervals, with the truth")
    say("  rates.csv          the same in full")
    say("  reviews.csv        the reviews with the judge's scores")
    say("  review_labels.csv  what they mean")
    say("Run a campaign of your own on the same reviews:")
    say(f"  bayes-assess start {output / 'reviews.csv'} --question rate --positive good --by channel --show text")
    say("  --out run.db")
