"""The losses l(a, y) of all attributes and labels as one linear map, dense or sparse.

Shapes: attributes A, labels C, losses D, outputs K. The losses of averages over many classes are nearly all 0, so
that the sparse form (the at most Z losses of a cell that are not) is what fits into memory there.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property, partial
from typing import TYPE_CHECKING, ClassVar

import numpy as np

from bayes_assess._tools import engine
from bayes_assess._tools.engine import xp
from bayes_assess._tools.pytrees import register_dataclass
from bayes_assess._tools.shapes import Array, Bool, Float, Int

if TYPE_CHECKING:
    from scipy import sparse


EVERY = slice(None)
LARGEST_DENSE = 2**22  # numbers; beyond that the sparse form
_MANY = 1e7  # multiplications that are left to a product of matrices
_LARGE, _FEW = 5e6, 0.05  # multiplications that are worth leaving out those with 0, where few losses are not

FloatCells = Float[Array, "A C"] | Float[np.ndarray, "A C"]
Ends = Float[Array, "2 K"]


@partial(register_dataclass, data_fields=["values"], meta_fields=[])
@dataclass(frozen=True, eq=False)
class DenseLosses:
    """Every loss of every cell."""

    values: Float[Array, "A C D"] | Float[np.ndarray, "A C D"]

    is_dense: ClassVar[bool] = True

    @property
    def size(self) -> int:
        return self.values.shape[-1]

    def mean(self, share: Float[Array, "*batch A C"]) -> Float[Array, "*batch D"]:
        if share.ndim == 2:
            return xp.einsum("ac,acd->d", share, self.values, precision="highest")
        cells = share.reshape(*share.shape[:-2], -1)  # one product of matrices for many draws
        if share.ndim == 3 and self._leaves_out_zeros(share.size * self.size):
            return cells @ self.sparse
        return xp.matmul(cells, xp.reshape(self.values, (-1, self.size)), precision="highest")

    def _leaves_out_zeros(self, n_products: int) -> bool:
        """Whether a product of matrices with so many multiplications is one of the losses that are not 0."""
        return engine.is_eager() and n_products > _LARGE and self.density < _FEW

    @cached_property
    def density(self) -> float:
        """Share of the losses that are not 0."""
        return np.count_nonzero(self.values) / np.size(self.values)

    @cached_property
    def sparse(self) -> sparse.csr_array:
        """The losses as a sparse matrix (A C, D)."""
        from scipy import sparse  # takes long to import

        return sparse.csr_array(np.reshape(self.values, (-1, self.size)))

    def project(self, jacobian: Float[Array, "K D"]) -> Float[Array, "A C K"]:
        n_products = np.size(self.values) * len(jacobian)
        if self._leaves_out_zeros(n_products):
            return (self.sparse @ np.asarray(jacobian).T).reshape(*self.values.shape[:2], -1)
        if engine.is_eager() and n_products > _MANY:  # NumPy's sum is no product of matrices
            return np.asarray(self.values) @ np.asarray(jacobian).T
        return xp.einsum("acd,kd->ack", self.values, jacobian, precision="highest")

    def squares(self, jacobian: Float[Array, "K D"]) -> Float[Array, "A C"]:
        return (self.project(jacobian) ** 2).sum(-1)

    def drawn(self, attributes: Bool[Array, " A"]) -> Bool[Array, " D"]:
        return ((xp.asarray(self.values) != 0).any(1) & attributes[:, None]).any(0)

    def ends(
        self, jacobian: Float[Array, "K D"], weight: Float[Array, " A"], labels: Bool[Array, " C"] | None = None
    ) -> Ends:
        return ends_of(self.project(jacobian), weight, labels)

    def dense(self) -> Float[np.ndarray, "A C D"]:
        return np.asarray(self.values)

    def entries(
        self, attribute: Int[np.ndarray, "N #O"], label: Int[np.ndarray, "N O"]
    ) -> tuple[Int[np.ndarray, "N O Z"], Float[np.ndarray, "N O Z"]]:
        """Return the places and values of the losses of some cells that are not 0, padded with zeros."""
        return compress(self.dense()[attribute, label])

    def columns(self, places: Int[np.ndarray, " d"], rows: Int[np.ndarray, " a"] | slice = EVERY) -> DenseLosses:
        return DenseLosses(self.dense()[rows][..., places])

    def weighted_squares(self, jacobian: Float[Array, "K D"], mass: FloatCells) -> Float[Array, " K"]:
        return xp.einsum("ack,ac->k", self.project(jacobian) ** 2, mass, precision="highest")


@partial(register_dataclass, data_fields=["index", "values"], meta_fields=["size"])
@dataclass(frozen=True, eq=False)
class SparseLosses:
    """The losses of a cell that are not 0, padded with zeros to the same number Z; outputs are taken one by one."""

    index: Int[Array, "A C Z"] | Int[np.ndarray, "A C Z"]  # which loss
    values: Float[Array, "A C Z"] | Float[np.ndarray, "A C Z"]
    size: int  # number of losses, D

    is_dense: ClassVar[bool] = False

    def mean(self, share: Float[Array, "*batch A C"]) -> Float[Array, "*batch D"]:
        if engine.is_eager() and share.ndim == 3:
            return share.reshape(len(share), -1) @ self.sparse
        weighted = xp.einsum("...ac,acz->...acz", share, self.values)
        if engine.is_eager() and share.ndim == 2 and weighted.dtype == np.float64:  # the same sums in less time
            return np.bincount(np.ravel(self.index), np.ravel(weighted), self.size)
        total = xp.zeros((*share.shape[:-2], self.size), weighted.dtype)
        return engine.at(total)[..., self.index].add(weighted)

    def project(self, jacobian: Float[Array, "K D"]) -> Float[Array, "A C K"]:
        return xp.moveaxis(engine.mapped(self._project_one, jacobian), 0, -1)

    def squares(self, jacobian: Float[Array, "K D"]) -> Float[Array, "A C"]:
        def add(total: Float[Array, "A C"], row: Float[Array, " D"]) -> tuple[Float[Array, "A C"], None]:
            return total + self._project_one(row) ** 2, None

        return engine.scan(add, xp.zeros(self.values.shape[:2], xp.float64), jacobian)[0]

    def drawn(self, attributes: Bool[Array, " A"]) -> Bool[Array, " D"]:
        drawn = (xp.asarray(self.values) != 0) & attributes[:, None, None]
        return engine.at(xp.zeros(self.size, bool))[self.index].max(drawn)

    def ends(
        self, jacobian: Float[Array, "K D"], weight: Float[Array, " A"], labels: Bool[Array, " C"] | None = None
    ) -> Ends:
        return engine.mapped(lambda row: ends_of(self._project_one(row)[..., None], weight, labels)[..., 0], jacobian).T

    def entries(
        self, attribute: Int[np.ndarray, "N #O"], label: Int[np.ndarray, "N O"]
    ) -> tuple[Int[np.ndarray, "N O Z"], Float[np.ndarray, "N O Z"]]:
        """Return the places and values of the losses of some cells that are not 0, padded with zeros."""
        return np.asarray(self.index)[attribute, label], np.asarray(self.values)[attribute, label]

    def dense(self) -> Float[np.ndarray, "A C D"]:
        dense = np.zeros((*self.index.shape[:2], self.size))
        rows, columns = np.ogrid[: dense.shape[0], : dense.shape[1]]
        for place in range(self.index.shape[-1]):  # the entries of one place are of different cells, so none is lost
            dense[rows, columns, np.asarray(self.index)[..., place]] += np.asarray(self.values)[..., place]
        return dense

    def columns(
        self, places: Int[np.ndarray, " d"], rows: Int[np.ndarray, " a"] | slice = EVERY
    ) -> DenseLosses | SparseLosses:
        """Take the losses at these places alone, of these attributes."""
        of_rows = np.asarray(self.index)[rows]
        n_numbers = self.index.shape[0] * self.index.shape[1] * len(places)
        if n_numbers <= LARGEST_DENSE and n_numbers < of_rows.size:  # fewer than are looked through below
            taken = [self._added(np.array([place]), np.ones(1)) for place in places]
            return DenseLosses(np.stack(taken, axis=-1)[rows])
        position = np.full(self.size, -1)
        position[places] = np.arange(len(places))
        index = position[of_rows]
        return losses_of(np.maximum(index, 0), np.where(index >= 0, np.asarray(self.values)[rows], 0.0), len(places))

    def weighted_squares(self, jacobian: Float[Array, "K D"], mass: FloatCells) -> Float[Array, " K"]:
        return engine.mapped(lambda row: (mass * self._project_one(row) ** 2).sum(), jacobian)

    @cached_property
    def density(self) -> float:
        """Share of the losses that are not 0."""
        n_cells = self.index.shape[0] * self.index.shape[1]
        return np.count_nonzero(self.values) / (n_cells * self.size)

    @cached_property
    def sparse(self) -> sparse.csr_array:
        """The losses as a sparse matrix (A C, D)."""
        from scipy import sparse  # takes long to import

        n_cells, width = self.index.shape[0] * self.index.shape[1], self.index.shape[2]
        entries = np.ravel(self.values), np.ravel(self.index), np.arange(n_cells + 1) * width
        losses = sparse.csr_array(entries, shape=(n_cells, self.size), copy=True)
        losses.sum_duplicates()
        losses.eliminate_zeros()
        return losses

    def _project_one(self, row: Float[Array, " D"]) -> Float[Array, "A C"]:
        if engine.is_eager():
            places = np.flatnonzero(row)
            if len(places) <= _FEW * self.size:
                return self._added(places, np.asarray(row)[places])
        return (row[self.index] * self.values).sum(-1)

    def _added(self, places: Int[np.ndarray, " d"], weights: Float[np.ndarray, " d"]) -> Float[np.ndarray, "A C"]:
        """Add up the losses at some places, each by its weight."""
        cell, value, first = self._by_place
        parts = [slice(first[place], first[place + 1]) for place in places]
        total = np.zeros(self.index.shape[:2])
        for part, weight in zip(parts, weights, strict=True):
            total += weight * np.bincount(cell[part], value[part], total.size).reshape(total.shape)
        return total

    @cached_property
    def _by_place(self) -> tuple[Int[np.ndarray, " N"], Float[np.ndarray, " N"], Int[np.ndarray, " D+1"]]:
        """The losses that are not 0, ordered by their places: cells, values, and the first one of every place."""
        values, index = np.ravel(self.values), np.ravel(self.index)
        there = np.flatnonzero(values)
        there = there[np.argsort(index[there], kind="stable")]
        first = np.searchsorted(index[there], np.arange(self.size + 1))
        return there // self.index.shape[-1], values[there], first


def ends_of(
    directions: Float[Array, "A C K"], weight: Float[Array, " A"], labels: Bool[Array, " C"] | None = None
) -> Ends:
    """Least and greatest of weight times direction, over attributes whose weight is not 0, and over some labels."""
    possible = (weight > 0)[:, None, None]
    possible = possible if labels is None else possible & labels[None, :, None]
    weighted = directions * weight[:, None, None]
    least = xp.where(possible, weighted, xp.inf).min((0, 1))
    return xp.stack([least, xp.where(possible, weighted, -xp.inf).max((0, 1))])


def compress(dense: Float[np.ndarray, "A C D"]) -> tuple[Int[np.ndarray, "A C Z"], Float[np.ndarray, "A C Z"]]:
    """Return the places and values of the losses that are not 0, padded with zeros."""
    rows, columns, places = np.nonzero(dense)
    cells = rows * dense.shape[1] + columns  # in order, so that those of a cell stand together
    rank = np.arange(len(cells)) - np.searchsorted(cells, cells)
    index = np.zeros((*dense.shape[:2], 1 + int(rank.max(initial=0))), np.int64)
    values = np.zeros(index.shape)
    index[rows, columns, rank] = places
    values[rows, columns, rank] = dense[rows, columns, places]
    return index, values


def distinct_rows(
    index: Int[np.ndarray, "N Z"], values: Float[np.ndarray, "N Z"], size: int
) -> tuple[Int[np.ndarray, " n"], Int[np.ndarray, " N"]]:
    """Return the first of the rows that are alike, in the order of `numpy.unique`, and the place of each among these.

    Parameters
    ----------
    index, values : (N, Z)
        Places and values of the numbers of a row that are not 0, padded with zeros.
    size : int
        Numbers of a row.

    Examples
    --------
    >>> index, values = compress(np.array([[[0.0, 2.0]], [[1.0, 0.0]], [[0.0, 2.0]], [[0.0, -1.0]]]))
    >>> first, place = distinct_rows(index[:, 0], values[:, 0], 2)
    >>> first.tolist(), place.tolist()
    ([3, 0, 1], [1, 2, 1, 0])
    """
    at = np.where(values != 0, index, size)
    in_order = np.argsort(at, axis=1, kind="stable")
    at, values = (np.take_along_axis(part, in_order, 1) for part in (at, values))
    # Of two rows the first number that is not 0 in either decides: an earlier one is farther from 0.
    ahead = np.sign(values).astype(np.int64) * (size - at)
    keys = [key[:, z] for z in range(values.shape[1]) for key in (ahead, values)]
    order = np.lexsort(keys[::-1])
    new = np.ones(len(values), bool)
    new[1:] = np.any([key[order[1:]] != key[order[:-1]] for key in keys], axis=0)
    place = np.empty(len(values), np.int64)
    place[order] = np.cumsum(new) - 1
    return order[new], place


def join(parts: Sequence[np.ndarray], axis: int) -> np.ndarray:
    """Concatenate compressed arrays, whose widths may differ, along an axis."""
    width = max(part.shape[-1] for part in parts)
    if axis != 0:
        return np.concatenate(parts, axis)
    return np.concatenate([np.pad(part, ((0, 0), (0, 0), (0, width - part.shape[-1]))) for part in parts])


def losses_of(
    index: Int[np.ndarray, "A C Z"], values: Float[np.ndarray, "A C Z"], size: int, largest: int = LARGEST_DENSE
) -> DenseLosses | SparseLosses:
    """Choose the dense form where it holds no more than `largest` numbers."""
    n_attributes, n_classes, _ = index.shape
    entries = SparseLosses(index.astype(np.int32), values, size)
    if n_attributes * n_classes * size > largest:
        return entries
    return DenseLosses(entries.dense())
