from __future__ import annotations

import subprocess
import sys

import numpy as np
import pytest
from matplotlib import get_configdir

from bayes_assess._tools.to_arviz import import_arviz, to_arviz
from bayes_assess.errors import OutputError

GROUPS = np.array(["cat", "dog", "owl"])


@pytest.fixture
def draws() -> np.ndarray:
    return np.random.default_rng(0).beta(8, 2, size=(500, 3))


def _is_one_of_arviz(data: object) -> bool:
    az = import_arviz()
    expected = "DataTree" if int(az.__version__.split(".")[0]) >= 1 else "InferenceData"
    return type(data).__name__ == expected


def test_independent_draws_become_four_chains_with_named_groups(draws):
    data = to_arviz({"theta": draws}, dims={"theta": ["group"]}, coords={"group": GROUPS})
    assert _is_one_of_arviz(data)
    theta = data["posterior"]["theta"]
    assert theta.dims == ("chain", "draw", "group")
    assert theta.shape == (4, 125, 3)
    np.testing.assert_array_equal(theta.coords["group"].values, GROUPS)
    np.testing.assert_array_equal(theta.sel(group="dog").values.ravel(), draws[:, 1])


def test_a_number_of_draws_that_is_no_multiple_of_four_makes_one_chain(draws):
    assert to_arviz({"theta": draws[:499]})["posterior"]["theta"].shape[:2] == (1, 499)


def test_summaries_need_no_warning(draws, caplog, recwarn):
    summary = import_arviz().summary(to_arviz({"theta": draws}))
    assert len(summary) == 3
    assert not caplog.records
    assert not recwarn.list


def test_chains_are_kept(draws):
    data = to_arviz({"theta": draws.reshape(4, 125, 3)}, dims={"theta": ["group"]}, chains=True)
    assert data["posterior"]["theta"].shape == (4, 125, 3)
    assert data["posterior"]["theta"].dims == ("chain", "draw", "group")


def test_a_variable_without_dims_and_a_scalar_are_welcome(draws):
    data = to_arviz({"accuracy": draws.mean(axis=1), "theta": draws}, dims={"unused": ["x"]})
    assert data["posterior"]["accuracy"].dims == ("chain", "draw")
    assert data["posterior"]["theta"].shape == (4, 125, 3)


def test_every_group_arrives(draws):
    labels = np.array([1, 0, 1, 1])
    data = to_arviz(
        {"theta": draws},
        dims={"theta": ["group"], "label": ["item"], "size": ["group"]},
        coords={"group": GROUPS, "item": ["a", "b", "c", "d"]},
        prior={"theta": draws[:100]},
        posterior_predictive={"label": np.zeros((500, 4), dtype=int)},
        log_likelihood={"label": np.full((500, 4), -0.7)},
        observed_data={"label": labels},
        constant_data={"size": np.array([10, 20, 30])},
        attrs={"design": "thompson"},
    )
    assert data["prior"]["theta"].shape == (4, 25, 3)
    assert data["posterior_predictive"]["label"].dims == ("chain", "draw", "item")
    assert data["log_likelihood"]["label"].shape == (4, 125, 4)
    np.testing.assert_array_equal(data["observed_data"]["label"].sel(item=["a", "d"]).values, labels[[0, 3]])
    assert data["observed_data"]["label"].dims == ("item",)
    assert data["constant_data"]["size"].sel(group="owl").item() == 30
    assert data.attrs["design"] == "thompson"


def test_arviz_summarises_what_it_gets(draws):
    data = to_arviz({"theta": draws}, dims={"theta": ["group"]}, coords={"group": GROUPS})
    means = data["posterior"]["theta"].mean(("chain", "draw")).values
    np.testing.assert_allclose(means, draws.mean(axis=0))
    assert len(import_arviz().summary(data, kind="stats")) == 3


def test_the_callers_arguments_are_not_changed(draws):
    attrs, dims = {"created_at": "then"}, {"theta": ["group"], "absent": ["x"]}
    to_arviz({"theta": draws}, dims=dims, attrs=attrs)
    assert attrs == {"created_at": "then"}
    assert dims == {"theta": ["group"], "absent": ["x"]}


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"posterior": {}}, "at least one variable"),
        ({"posterior": {"theta": np.float64(0.5)}}, r"shape \(\); expected \(draws"),
        ({"posterior": {"theta": np.zeros(5)}, "chains": True}, r"expected \(chains, draws"),
        ({"posterior": {"theta": np.zeros((0, 3))}}, "no draws"),
        ({"posterior": {"a": np.zeros(5), "b": np.zeros(6)}}, "same chains and draws"),
        ({"posterior": {"theta": np.zeros((5, 3))}, "dims": {"theta": ["g", "h"]}}, "dims names 2"),
        (
            {"posterior": {"theta": np.zeros((5, 3))}, "dims": {"theta": ["g"]}, "coords": {"g": ["a", "b"]}},
            "length 3 along 'g'.*2 labels",
        ),
        (
            {"posterior": {"theta": np.zeros(5)}, "observed_data": {"y": np.zeros((2, 2))}, "dims": {"y": ["item"]}},
            "'y' in the observed_data",
        ),
    ],
)
def test_arrays_that_do_not_fit_are_named(arguments, message):
    with pytest.raises(OutputError, match=message):
        to_arviz(**arguments)


@pytest.mark.slow
def test_nothing_is_printed_and_no_warning_raised_on_the_first_import(tmp_path):
    # ArviZ 0.2x warns on the first import of a day; an empty cache folder is such a day.
    code = (
        "import sys, numpy as np; import bayes_assess._tools.to_arviz as b; assert 'arviz' not in sys.modules;"
        "b.to_arviz({'theta': np.zeros((9, 2))}); assert 'arviz' in sys.modules"
    )
    # Matplotlib keeps its list of fonts, which takes it seconds to make.
    environment = {"XDG_CACHE_HOME": str(tmp_path), "MPLCONFIGDIR": get_configdir(), "PYTHONPATH": ":".join(sys.path)}
    done = subprocess.run(
        [sys.executable, "-W", "error::FutureWarning", "-c", code], env=environment, capture_output=True, text=True
    )
    assert done.returncode == 0, done.stderr
    assert done.stdout == ""
    assert "ArviZ" not in done.stderr
