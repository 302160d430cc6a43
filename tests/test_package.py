"""What importing the package costs and offers."""

from __future__ import annotations

import subprocess
import sys

import pytest

import bayes_assess as ba


def run(code: str) -> str:
    return subprocess.run([sys.executable, "-c", code], check=True, capture_output=True, text=True).stdout


def test_importing_the_package_imports_nothing_heavy_and_prints_nothing():
    heavy = "{'jax', 'numpyro', 'arviz', 'matplotlib', 'pandas', 'scipy', 'sklearn'}"
    out = run(f"import sys, bayes_assess; print({heavy} & set(sys.modules))")
    assert out == "set()\n"


def test_importing_everything_changes_no_global_setting():
    run(
        "import warnings, jax, numpy as np, matplotlib as mpl\n"
        "before = jax.config.read('jax_enable_x64'), np.geterr(), list(warnings.filters), dict(mpl.rcParams)\n"
        "import bayes_assess as ba\n"
        "for name in ba.__all__: getattr(ba, name)\n"
        "after = jax.config.read('jax_enable_x64'), np.geterr(), list(warnings.filters), dict(mpl.rcParams)\n"
        "assert before[:2] == after[:2] and before[3] == after[3], 'changed'\n"
    )


@pytest.mark.parametrize("name", ba.__all__)
def test_every_public_name_is_there_and_documented(name):
    value = getattr(ba, name)
    assert name == "__version__" or value.__doc__


def test_public_names_stay_what_they_are_whatever_modules_are_imported():
    run(
        "import importlib, pkgutil, types, bayes_assess as ba\n"
        "before = {name: getattr(ba, name) for name in ba.__all__}\n"
        "for found in pkgutil.walk_packages(ba.__path__, 'bayes_assess.'):\n"
        "    if not found.name.endswith('__main__'): importlib.import_module(found.name)\n"
        "assert all(getattr(ba, name) is value for name, value in before.items())\n"
    )


def test_an_unknown_name_is_an_attribute_error():
    with pytest.raises(AttributeError, match="no attribute 'asses'"):
        _ = ba.asses


def test_subpackages_are_reached_from_the_package():
    run("import bayes_assess as ba; ba.designs.Thompson(); ba.acquisition.best_arm; ba.models.BetaBernoulli")


@pytest.mark.parametrize("error", [getattr(ba, name) for name in ba.__all__ if name.endswith("Error")])
def test_errors_share_one_root_and_print_as_sentences(error):
    assert issubclass(error, ba.BayesAssessError)
    assert str(error("Something is wrong.")) == "Something is wrong."
