"""The demo to take part in: handwritten digits, drawn from their pixels, to label in the browser."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from bayes_assess._tools.tables import Table
from bayes_assess.cli import files
from bayes_assess.cli.demo import N_TRAINING, digits_pool, need_scikit_learn, output_folder
from bayes_assess.cli.live import let_go
from bayes_assess.pool.readers import read_pool
from bayes_assess.questions import GroupAccuracy
from bayes_assess.sessions.start import assess

WIDTH = 0.1  # of the interval of the overall accuracy at which the page says that one may stop


def prepared(output: Path, seed: int = 0) -> tuple[Path, Path]:
    """Write a classifier's predictions on digits with pictures of these, and start a campaign on them.

    Parameters
    ----------
    output : path
        Folder; a campaign that was begun there goes on.
    seed : int

    Returns
    -------
    run : path
        The journal.
    pictures : path
        The folder of pictures.

    Raises
    ------
    BayesAssessError
        If scikit-learn is missing, or a file cannot be written.
    """
    folder = output_folder(output)
    run, pictures = folder / "digits.db", folder / "digits"
    if run.exists():
        return run, pictures
    pool, _ = digits_pool()
    names = [f"digit_{place:04}.png" for place in range(pool.n_items)]
    pictures.mkdir(parents=True, exist_ok=True)
    _draw(pictures, names)
    assert pool.scores is not None
    scores = {f"p_{name}": column for name, column in zip(pool.classes, pool.scores.T, strict=True)}
    Table({"id": pool.ids, "picture": np.array(names), **scores}).to_csv(folder / "digits.csv")
    classes = ",".join(map(str, pool.classes.tolist()))
    options = files.reader_options(None, list(scores), None, None, classes)
    options |= {"groups": [], "systems": [], "show": ["picture"]}
    read = read_pool(folder / "digits.csv", **options)
    source = files.source_of(folder / "digits.csv", options)
    with let_go(assess(read, GroupAccuracy(), seed=seed, journal=run, source=source)):
        return run, pictures


def _draw(folder: Path, names: list[str]) -> None:
    """Draw every digit that the classifier has not seen, dark on white."""
    from matplotlib.image import imsave

    with need_scikit_learn():
        from sklearn.datasets import load_digits
    pixels, _ = load_digits(return_X_y=True)
    images = np.asarray(pixels).reshape(-1, 8, 8)[N_TRAINING:]
    for name, image in zip(names, images, strict=True):
        imsave(folder / name, 16 - image, cmap="gray", vmin=0, vmax=16)
