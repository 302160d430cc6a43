"""A first look at the package: find the digit that a real classifier gets wrong most, with few labels.

A logistic regression learns from few handwritten digits and predicts the others. The true labels of those are known,
but each campaign sees only the ones that it asks for, so that what it says can be held against the truth.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from textwrap import fill
from typing import Any

import numpy as np

from bayes_assess._tools.tables import Table
from bayes_assess._tools.to_arviz import import_arviz
from bayes_assess.cli.files import save_figure
from bayes_assess.errors import BayesAssessError, OutputError
from bayes_assess.pool.pool import Pool
from bayes_assess.questions import LeastAccurate
from bayes_assess.results import GroupResult
from bayes_assess.sessions.start import assess
from bayes_assess.studies.simulate import Study, simulate

N_TRAINING = 300  # digits that the classifier learns from: few, so that there is something to find
N_LABELS = 300  # labels that each of the two campaigns may spend
BATCH = 20  # items asked for at a time
LOOK_EVERY = 20  # labels between two looks at the simulated campaigns
GOAL = 0.99  # mean reciprocal rank of the weakest digit at which it counts as found


@dataclass(frozen=True, eq=False)
class Findings:
    """What the demo found.

    Attributes
    ----------
    pool : Pool
        Predictions on the digits that the classifier has not seen.
    labels : (M,) integers
        Their true digits.
    results : mapping from design to GroupResult
        One campaign each.
    study : Study
        Many simulated campaigns of the same designs.
    files : mapping from file to what is in it
    """

    pool: Pool
    labels: np.ndarray
    results: dict[str, GroupResult]
    study: Study
    files: dict[Path, str]


@contextmanager
def need_scikit_learn() -> Iterator[None]:
    """Say what to install where scikit-learn cannot be imported."""
    try:
        yield
    except ImportError:
        raise BayesAssessError(
            'The demo trains a classifier with scikit-learn, which is missing: pip install "bayes-assess[demo]".'
        ) from None


def output_folder(output: str | Path) -> Path:
    """Return a folder to write to, which need not be there yet.

    Raises
    ------
    OutputError
        If it is a file.
    """
    output = Path(output)
    if output.exists() and not output.is_dir():
        raise OutputError(f"{output} is a file; choose a folder to write to.")
    return output


def digits_pool() -> tuple[Pool, np.ndarray]:
    """Train a classifier of digits and return its predictions on the others, with their true labels.

    Returns
    -------
    pool : Pool of 1,497 items and 10 classes
    labels : (1497,) integers

    Raises
    ------
    BayesAssessError
        If scikit-learn is not installed.
    """
    with need_scikit_learn():
        from sklearn.datasets import load_digits
        from sklearn.linear_model import LogisticRegression
    pixels, digits = load_digits(return_X_y=True)
    pixels = pixels / 16  # in [0, 1], where the optimiser converges quickly
    classifier = LogisticRegression(max_iter=1000).fit(pixels[:N_TRAINING], digits[:N_TRAINING])
    return Pool(scores=classifier.predict_proba(pixels[N_TRAINING:])), np.asarray(digits)[N_TRAINING:]


def run_campaign(pool: Pool, labels: np.ndarray, design: str, seed: int) -> GroupResult:
    """Spend `N_LABELS` labels by a design, asking and telling in batches."""
    assessment = assess(pool, LeastAccurate(by="prediction"), design=design, seed=seed)
    for _ in range(N_LABELS // BATCH):
        queries = assessment.ask(BATCH)
        assessment.tell(queries.ids, labels[pool.positions(queries.ids)])
    return assessment.result()


def run(
    output: Path,
    *,
    repeats: int = 500,
    seed: int = 0,
    say: Callable[[str], object] = print,
    show: Callable[[Table], object] = print,
    progress: bool | None = None,
) -> Findings:
    """Run the demo and write what it finds.

    Parameters
    ----------
    output : path
        Folder for figures and tables; made if it is not there.
    repeats : int
        Simulated campaigns per design.
    seed : int
    say, show : functions
        Print a line and a table.
    progress : bool, optional
        As for `simulate`.

    Returns
    -------
    Findings

    Raises
    ------
    BayesAssessError
        If scikit-learn is missing, or a file cannot be written.
    """
    output = output_folder(output)
    pool, labels = digits_pool()
    say(
        fill(
            f"A logistic regression learned from {N_TRAINING} handwritten digits and predicted {pool.n_items:,} "
            f"others. Which predicted digit can be trusted least? Two campaigns look for it with {N_LABELS} labels "
            "each: Thompson sampling (T), and items at random (R).",
            79,
        )
    )
    say("")
    results = {design: run_campaign(pool, labels, design, seed) for design in ("thompson", "random")}
    looks = [*range(LOOK_EVERY, pool.n_items, LOOK_EVERY), pool.n_items]
    study = simulate(
        pool,
        labels,
        LeastAccurate(),
        designs=list(results),
        budgets=looks,
        repeats=repeats,
        seed=seed,
        progress=progress,
    )
    show(_side_by_side(results, study.truth))
    say("")
    for sentence in _in_words(results, study, float((labels == pool.predictions).mean())):
        say(fill(sentence, 79))
    files = _write(output, pool, labels, results, study)
    say("")
    say(f"In {output}:")
    width = max(len(path.name) for path in files)
    for path, content in files.items():
        say(f"  {path.name:<{width}}  {content}")
    say("Run a campaign of your own on the same pool:")
    say(f"  bayes-assess start {output / 'pool.csv'} --question least-accurate --out run.db")
    return Findings(pool, labels, results, study, files)


def _side_by_side(results: dict[str, GroupResult], truth: np.ndarray) -> Table:
    """One row per digit: the truth, and what both campaigns say of it."""
    thompson, random = results["thompson"], results["random"]
    order = np.argsort(truth, kind="stable")
    columns = {
        "digit": thompson.groups,
        "items": thompson.size,
        "truth": truth,
        "labels T": thompson.labelled,
        "thompson": _with_interval(thompson),
        "labels R": random.labelled,
        "random": _with_interval(random),
    }
    return Table(
        {name: np.asarray(column)[order] for name, column in columns.items()},
        title=f"Accuracy by predicted digit: estimates, {thompson.level:.0%} intervals, labels spent",
        formats={"truth": ".3f"},
    )


def _with_interval(result: GroupResult) -> list[str]:
    ends = zip(result.estimate, *result.interval.T, strict=True)
    return [f"{mean:.3f} [{low:.2f}, {high:.2f}]" for mean, low, high in ends]


def _in_words(results: dict[str, GroupResult], study: Study, accuracy: float) -> list[str]:
    weakest = int(np.argmin(study.truth))
    name = study.groups[weakest]
    lines = [
        f"The truth, from all {int(study.size.sum()):,} labels: overall accuracy {accuracy:.3f}; predictions of "
        f"{name} are the weakest, {study.truth[weakest]:.3f} correct."
    ]
    for design, result in results.items():
        identified = result.identified[0]
        verdict = "right" if identified == name else "wrong"
        lines.append(
            f"{design.capitalize()} points to {identified} with probability {result.probability_worst.max():.2f} "
            f"({verdict}), and spent {result.labelled[weakest]} of its {result.labels_used} labels on {name}."
        )
    needed = study.labels_to("mrr", GOAL)
    n_repeats = len(study.scores["random"]["mrr"])
    lines.append(
        f"One campaign may be luck. Over {n_repeats:,} simulated campaigns each, the weakest digit is found reliably "
        f"(mean reciprocal rank above {GOAL}) after {needed['thompson']} labels by Thompson sampling and after "
        f"{needed['random']} at random: {_saved(needed)}."
    )
    return lines


def _saved(needed: dict[str, int | None]) -> str:
    """Compare the labels that both designs need, whichever needs fewer."""
    thompson, random = needed["thompson"], needed["random"]
    assert thompson is not None and random is not None  # noqa: PT018 - the last look is at all labels
    difference = random - thompson
    if difference <= 0:
        return f"{-difference} labels more than at random" if difference else "no difference"
    return f"{difference} labels saved, {difference / random:.0%}"


def _write(
    output: Path, pool: Pool, labels: np.ndarray, results: dict[str, GroupResult], study: Study
) -> dict[Path, str]:
    """Write figures, tables and the posterior; return what each file holds."""
    output.mkdir(parents=True, exist_ok=True)
    thompson = results["thompson"]
    files: dict[Path, str] = {}

    def put(name: str, content: str) -> Path:
        files[output / name] = content
        return output / name

    save_figure(
        thompson.plot(truth=study.truth),
        put("forest.png", "estimates and intervals of Thompson's campaign, with truth"),
    )
    save_figure(study.plot("mrr"), put("label_curve.png", "how surely the weakest digit is found, by labels"))
    _in_full(results, study).to_csv(put("table.csv", "both campaigns in full"))
    study.table(study.budgets.tolist()).to_csv(put("simulation.csv", "mean scores of the simulated campaigns"))
    posterior = thompson.to_arviz()
    summary = import_arviz().summary(posterior, kind="stats", round_to="none")
    summary.to_csv(put("posterior_summary.csv", "ArviZ summary of the posterior"))
    if _wrote_netcdf(posterior, output / "posterior.nc"):
        put("posterior.nc", "the posterior, for arviz.from_netcdf")
    assert pool.scores is not None
    scores = {f"p_{name}": column for name, column in zip(pool.classes, pool.scores.T, strict=True)}
    Table({"id": pool.ids, **scores}).to_csv(put("pool.csv", "the classifier's predictions"))
    Table({"id": pool.ids, "label": labels}).to_csv(put("labels.csv", "their true labels"))
    return files


def _in_full(results: dict[str, GroupResult], study: Study) -> Table:
    """One row per campaign and digit, with everything that is known of it and the truth."""
    truth = dict(zip(study.groups.tolist(), study.truth.tolist(), strict=True))
    rows = [
        {"design": design, "truth": truth[row["group"]], **row}
        for design, result in results.items()
        for row in result.table().rows()
    ]
    return Table({name: [row[name] for row in rows] for name in rows[0]})


def _wrote_netcdf(posterior: Any, path: Path) -> bool:
    """Write the draws as NetCDF, for which not every installation of ArviZ brings a library."""
    try:
        posterior.to_netcdf(str(path))
    except (ImportError, ValueError):
        path.unlink(missing_ok=True)
        return False
    return True
