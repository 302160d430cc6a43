from __future__ import annotations

import numpy as np
import pytest

from bayes_assess.errors import OutputError
from bayes_assess.results import plots

from .drawn import column_names, draw, row_names, texts


def _matrix(rows: int, columns: int) -> np.ndarray:
    return np.random.default_rng(rows).dirichlet(np.ones(columns), rows)


def _names(count: int) -> list[str]:
    return [f"class {k}" for k in range(count)]


def _square_sides(cells) -> np.ndarray:
    """Sides of the drawn squares, across and up."""
    return np.array([np.ptp(path.vertices, axis=0) for path in cells.get_paths()])


def test_rows_are_predictions_from_the_top_and_columns_are_labels():
    matrix = _matrix(3, 5)
    ax = plots.confusion_matrix(matrix, ["a", "b", "c"], ["v", "w", "x", "y", "z"], sizes=[1000, 2, 3])
    cells = ax.collections[0]
    np.testing.assert_array_equal(cells.get_array(), matrix.ravel())
    centres = np.array([path.vertices[:4].mean(axis=0) for path in cells.get_paths()])
    np.testing.assert_allclose(centres, [[column, row] for row in range(3) for column in range(5)], atol=1e-12)
    assert ax.yaxis_inverted()
    assert row_names(ax) == ["a (1,000)", "b (2)", "c (3)"]
    assert column_names(ax) == ["v", "w", "x", "y", "z"]
    assert (ax.get_ylabel(), ax.get_xlabel()) == ("predicted", "label")


def test_numbers_are_those_of_the_matrix_at_their_places():
    matrix = np.array([[0.9, 0.1], [0.004, 0.996]])
    ax = plots.confusion_matrix(matrix, ["a", "b"], annotate=True)
    assert {text.get_position(): text.get_text() for text in ax.texts} == {
        (0, 0): "0.90",
        (1, 0): "0.10",
        (1, 1): "1.00",  # and nothing where a number would be 0.00
    }


def test_numbers_stand_out_from_their_squares():
    ax = plots.confusion_matrix(np.eye(2) * 0.8 + 0.1, ["a", "b"])
    assert [text.get_color() for text in ax.texts] == ["white", "black", "black", "white"]


def test_half_an_interval_is_written_below_its_number():
    width = np.array([[0.2, 0.1], [0.1, 0.008]])
    ax = plots.confusion_matrix([[0.9, 0.1], [0.0, 1.0]], ["a", "b"], interval_width=width)
    assert texts(ax) == ["0.90", "±0.10", "0.10", "±0.05", "0.00", "±0.05", "1.00", "±0.00"]
    np.testing.assert_allclose(_square_sides(ax.collections[0]), 1)


@pytest.mark.parametrize(("count", "annotate", "numbers"), [(12, None, True), (13, None, False), (13, True, True)])
def test_numbers_are_written_for_few_classes_or_on_request(count, annotate, numbers):
    ax = plots.confusion_matrix(np.full((count, count), 0.5), _names(count), annotate=annotate)
    assert len(ax.texts) == (count**2 if numbers else 0)


def test_without_numbers_uncertain_squares_are_small():
    width = np.zeros((13, 13))
    width[0, 1], width[0, 2] = 0.1, 0.4
    ax = plots.confusion_matrix(np.full((13, 13), 0.05), _names(13), interval_width=width)
    sides = _square_sides(ax.collections[0])
    np.testing.assert_allclose(sides[:, 0], sides[:, 1])
    np.testing.assert_allclose(sides[[0, 1, 2, 3], 0], [1, np.sqrt(1 / 2), np.sqrt(1 / 5), 1])


def test_rare_errors_differ_in_colour_beside_a_diagonal_near_one():
    ax = plots.confusion_matrix(np.eye(20) * 0.8 + 0.01, _names(20))
    shades = ax.collections[0].norm([0.0, 0.01, 0.05, 0.1, 0.8])
    assert np.diff(shades).min() > 0.09
    assert ax.collections[0].norm(1.0) == 1


def test_many_classes_are_an_image_without_names():
    matrix = _matrix(41, 41)
    ax = plots.confusion_matrix(matrix, _names(41), interval_width=matrix)
    np.testing.assert_array_equal(ax.images[0].get_array(), matrix)
    assert row_names(ax) == column_names(ax) == texts(ax) == []
    assert "41 classes" in ax.get_ylabel()
    assert row_names(plots.confusion_matrix(matrix, _names(41), max_classes=41)) == _names(41)
    draw(ax.figure)


def test_a_class_without_a_law_stays_blank():
    ax = plots.confusion_matrix([[0.75, 0.25], [np.nan, np.nan]], ["a", "b"])
    assert len(ax.collections[0].get_paths()) == 2
    assert texts(ax) == ["0.75", "0.25"]
    draw(ax.figure)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"matrix": [[0.5, 0.5]]}, r"matrix of shape \(2, 2\); found \(1, 2\)"),
        ({"labels": ["a"]}, r"matrix of shape \(2, 1\); found \(2, 2\)"),
        ({"interval_width": [0.1, 0.1]}, r"interval_width of shape \(2, 2\)"),
        ({"sizes": [1]}, "sizes"),
        ({"matrix": [[3, 1], [2, 0]]}, "probabilities; found values from 0 to 3"),
        ({"matrix": np.zeros((0, 0)), "predicted": []}, "no class"),
    ],
)
def test_confusion_matrix_names_what_does_not_fit(change, message):
    with pytest.raises(OutputError, match=message):
        plots.confusion_matrix(**{"matrix": np.full((2, 2), 0.5), "predicted": ["a", "b"]} | change)
