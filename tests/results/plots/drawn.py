"""What a figure shows."""

from __future__ import annotations

import io

import numpy as np


def row_names(ax) -> list[str]:
    return [label.get_text() for label in ax.get_yticklabels()]


def column_names(ax) -> list[str]:
    return [label.get_text() for label in ax.get_xticklabels()]


def line(ax, label: str):
    return next(line for line in ax.lines if line.get_label() == label)


def legend(ax) -> list[str]:
    legends = ax.figure.legends or [ax.get_legend()]
    return [text.get_text() for text in legends[0].get_texts()]


def segments(collection) -> np.ndarray:
    """Ends of lines, (line, end, coordinate)."""
    return np.array(collection.get_segments())


def texts(ax) -> list[str]:
    return [text.get_text() for text in ax.texts]


def draw(figure) -> None:
    figure.savefig(io.BytesIO(), format="raw")  # all of a PNG but its compression
