"""What importing the package costs and offers."""

from __future__ import annotations

import ast
import importlib
import inspect
import subprocess
import sys
import typing
from pathlib import Path

import pytest

import bayes_assess as ba
from bayes_assess import questions, results


def run(code: str) -> str:
    return subprocess.run([sys.executable, "-c", code], check=True, capture_output=True, text=True).stdout


def test_importing_the_package_imports_nothing_heavy_and_prints_nothing():
    heavy = "{'jax', 'numpyro', 'arviz', 'matplotlib', 'pandas', 'scipy', 'sklearn'}"
    out = run(f"import sys, bayes_assess; print({heavy} & set(sys.modules))")
    assert out == "set()\n"


FIRST_POOL = """
import sys
import numpy as np
import bayes_assess as ba

rng = np.random.default_rng(0)
scores, sites = rng.random(150), rng.integers(0, 4, 150)
labels = (rng.random(150) < scores).astype(int)
pool = ba.Pool(scores=scores, groups={"site": sites})
"""
FIRST_ANSWER = """
a = ba.assess(pool, %s, seed=0)
queries = a.ask(4)
a.tell(queries.ids, labels[queries.ids])
assert a.result().summary()
print(%r, sorted({"jax", "numpyro", "pandas", "scipy.stats", "jaxtyping"} & set(sys.modules)))
"""


FIRST_QUESTIONS = {
    "measures": [
        'ba.Metric("f1")',
        'ba.Metric("accuracy")',
        'ba.Metric("accuracy", by="site")',
        "ba.Rate(1)",
        *(
            f'ba.Metric("{measure}")'
            for measure in ("f1_macro", "precision_per_class", "matthews_corrcoef", "cohen_kappa", "roc_auc")
        ),
    ],
    "groups": [
        'ba.GroupAccuracy(by="site")',
        'ba.LeastAccurate(by="site")',
        'ba.Compare(0, 1, by="site")',
        "ba.ConfusionMatrix()",
        "ba.Calibration()",
    ],
    "published designs": [
        *(
            f'ba.Metric("f1"), design="{design}"'
            for design in ("passive", "stratified", "importance", "poisson", "oasis", "adaptive")
        ),
        'ba.Metric("accuracy"), design="adaptive"',
        'ba.Metric("f1"), oracle="stochastic"',
    ],
}


LATER = """
from bayes_assess.sessions import snapshots

snapshots.EVERY = 20
a = ba.assess(pool, %s, journal=%r)
while a.labels_used < 60:
    queries = a.ask(10)
    a.tell(queries.ids, labels[queries.ids])
again = ba.resume(a.journal.path, pool)
assert again.result().summary()
print(again.labels_used, sorted({"jax", "numpyro"} & set(sys.modules)))
"""


@pytest.mark.slow
def test_snapshots_of_sessions_on_numpy_need_no_jax(tmp_path):
    asked = enumerate(['ba.Metric("f1")', 'ba.GroupAccuracy(by="site")'])
    later = "".join(LATER % (question, str(tmp_path / f"run{i}.db")) for i, question in asked)
    assert run(FIRST_POOL + later) == "60 []\n60 []\n"


@pytest.mark.parametrize("questions", FIRST_QUESTIONS.values(), ids=FIRST_QUESTIONS)
def test_first_answers_need_neither_jax_nor_other_heavy_libraries(questions):
    """Of one process: what the first question does without, the others may not bring in."""
    asked = "".join(FIRST_ANSWER % (question, question) for question in questions)
    assert run(FIRST_POOL + asked) == "".join(f"{question} []\n" for question in questions)


@pytest.mark.slow
def test_models_are_trees_of_jax_whenever_it_is_imported():
    out = run(
        "import numpy as np, bayes_assess as ba\n"
        "a = ba.assess(ba.Pool(predictions=[0, 1] * 9), ba.GroupAccuracy())\n"
        "belief = ba.BetaBernoulli.from_prior(n_groups=2)\n"
        "import jax\n"
        "print(jax.tree.map(np.shape, belief))\n"
        "print(len(jax.tree.leaves(a.result().posterior)))\n"
    )
    assert out == "BetaBernoulli(a=(2,), b=(2,))\n9\n"


def test_importing_everything_changes_no_global_setting_and_no_public_name():
    """Nor need subpackages be imported to be reached from the package."""
    run(
        "import importlib, pkgutil, jax, numpy as np, matplotlib as mpl\n"
        "before = jax.config.read('jax_enable_x64'), np.geterr(), dict(mpl.rcParams)\n"
        "import bayes_assess as ba\n"
        "ba.designs.Thompson(); ba.acquisition.best_arm; ba.models.BetaBernoulli\n"
        "names = {name: getattr(ba, name) for name in ba.__all__}\n"
        "for found in pkgutil.walk_packages(ba.__path__, 'bayes_assess.'):\n"
        "    if not found.name.endswith('__main__'): importlib.import_module(found.name)\n"
        "assert before == (jax.config.read('jax_enable_x64'), np.geterr(), dict(mpl.rcParams)), 'changed'\n"
        "assert all(getattr(ba, name) is value for name, value in names.items())\n"
    )


@pytest.mark.parametrize("name", ba.__all__)
def test_every_public_name_is_there_and_documented(name):
    value = getattr(ba, name)
    assert name == "__version__" or value.__doc__


STUB = ast.parse((Path(ba.__file__).parent / "__init__.pyi").read_text())
ASKED = {node.name: node.bases[0] for node in STUB.body if isinstance(node, ast.ClassDef)}  # and of what classes


def test_type_checkers_see_every_public_name_where_it_is():
    seen = {
        name.asname: getattr(importlib.import_module(line.module), name.name)
        for line in ast.walk(STUB)
        if isinstance(line, ast.ImportFrom) and line.module.split(".")[0] == "bayes_assess"
        for name in line.names
        if not name.asname.startswith("_")
    }
    asked = [*ASKED, *{node.name for node in STUB.body if isinstance(node, ast.FunctionDef)}]
    assert sorted([*seen, *asked, "__version__"]) == sorted([*ba.__all__, *ba._MODULES])
    assert all(found is getattr(ba, name) for name, found in seen.items())
    assert all(getattr(ba, name) is getattr(questions, name) for name in asked)


ALIASES = {
    name.id: line.value
    for path in (Path(ba.__file__).parent / "results").rglob("*.py")
    for line in ast.parse(path.read_text()).body
    if isinstance(line, ast.Assign) and isinstance(line.value, ast.Subscript)
    for name in line.targets
    if isinstance(name, ast.Name)
}


def of_parts(node: ast.expr, known: tuple[str, ...] = ()) -> tuple[str, ...]:
    """Class of a result and those of its parts, whatever name it goes by, of which some parts may be `known`."""
    if isinstance(node, ast.Subscript):
        parts = node.slice.elts if isinstance(node.slice, ast.Tuple) else [node.slice]
        left = iter(known)
        names = [of_parts(one)[0] for one in parts]
        return of_parts(node.value, tuple(next(left) if name.endswith("T_co") else name for name in names))
    name = node.attr if isinstance(node, ast.Attribute) else node.id
    return of_parts(ALIASES[name], known) if name in ALIASES else (name, *known)


@pytest.mark.parametrize("name", ASKED)
def test_type_checkers_see_the_results_that_questions_have(name):
    base = ASKED[name]
    question = getattr(questions, base.value.attr)
    seen = [of_parts(one) for one in getattr(base.slice, "elts", [base.slice])]
    kind, *sections = next(results._RESULTS[asked] for asked in question.__mro__ if asked in results._RESULTS)
    section = [
        one.__name__ for one in sections if one not in (results.Accuracies, results.Matrix, results.Measures)
    ]  # which is left out
    evidence = [["Believed"], ["Weighted"]] if issubclass(question, ba.Metric) else [[]]
    made = [(kind.__name__, *of, *section) for of in evidence]
    if name == "PrecisionCurve":  # which designs of ranked lists serve, and none that weighs draws of a pool
        made = [made[0], ("Never",)]
    assert question is getattr(ba, name)
    assert seen == made


def test_type_checkers_see_the_options_of_compare():
    seen = {
        option.arg
        for node in STUB.body
        if isinstance(node, ast.FunctionDef)
        for option in [*node.args.args, *node.args.kwonlyargs]
    }
    assert seen == set(inspect.signature(ba.Compare).parameters)


@pytest.mark.parametrize(
    ("question", "options", "returned"),
    [
        (ba.GroupAccuracy(), {}, "Assessment"),
        (ba.Metric("f1"), {"oracle": "stochastic"}, "StochasticAssessment"),
        (ba.PrecisionCurve(p_min=0.5), {}, "RankedAssessment"),
        (ba.PrecisionCurve(p_min=0.5), {"design": "variance_reduction"}, "Assessment"),
    ],
)
def test_assess_returns_what_its_overloads_say(question, options, returned):
    session = ba.assess(ba.Pool(scores=[0.2, 0.6, 0.9]), question, **options)
    assert type(session).__name__ == returned
    said = [overload.__annotations__["return"] for overload in typing.get_overloads(ba.assess)]
    assert returned in {one.partition("[")[0] for one in said}


def test_an_unknown_name_is_an_attribute_error():
    with pytest.raises(AttributeError, match="no attribute 'asses'"):
        _ = ba.asses


@pytest.mark.parametrize("error", [getattr(ba, name) for name in ba.__all__ if name.endswith("Error")])
def test_errors_share_one_root_and_print_as_sentences(error):
    assert issubclass(error, ba.BayesAssessError)
    assert str(error("Something is wrong.")) == "Something is wrong."
