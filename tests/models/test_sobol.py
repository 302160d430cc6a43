"""Quasi-random points equal SciPy's, whose import they save."""

import numpy as np
import pytest
from scipy.stats import qmc

from bayes_assess.models._numerics.sobol import sobol_points


@pytest.mark.parametrize("dimension", range(1, 13))  # those beyond 10 are SciPy's
@pytest.mark.parametrize("n", [2, 64, 1024])
def test_points_are_those_of_scipy(dimension, n):
    there = qmc.Sobol(dimension, scramble=True, rng=np.random.default_rng(20)).random(n)
    np.testing.assert_array_equal(sobol_points(dimension, n, seed=20), there)
