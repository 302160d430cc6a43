"""Two ways to run one step: compiled by JAX, or eager on NumPy.

A step of a design is a pure function of arrays. Simulated campaigns run it a million times, which earns back what
compiling costs; a session runs it a hundred times, and compiling would take most of its time. Steps are therefore
written once, against the array namespace `xp` and the control flow and random bits here, and run on either engine:

- compiled, the default: `xp` is `jax.numpy`, `cond` and `fori_loop` are JAX's, `jit` compiles;
- eager, inside ``with eager():``: `xp` is NumPy, `cond` and `fori_loop` are Python's, `jit` does nothing.

Random bits are those of Threefry in both, so that both engines take the same decisions up to rounding.
"""

from bayes_assess._tools.engine import random
from bayes_assess._tools.engine._arrays import at, block, cummax, fetched, flattened, is_traced, put, tree_map, xp
from bayes_assess._tools.engine._control import cond, fori_loop, jit, mapped, replaced, scan, vmap, while_loop
from bayes_assess._tools.engine._current import compiled, eager, is_chosen, is_eager
from bayes_assess._tools.engine._functions import (
    betainc,
    erf_inv,
    gammaln,
    inverse,
    is_positive_definite,
    log_of_normal,
    log_sigmoid,
    log_softmax,
    logsumexp,
    ndtr,
    ndtri,
    normal_quantile,
    power,
    product,
    sigmoid,
    softmax,
    solve_lower,
    top_k,
    xlog1py,
    xlogy,
)
from bayes_assess._tools.engine._kept import carried, kept, kept_last

__all__ = [
    "at",
    "betainc",
    "block",
    "carried",
    "compiled",
    "cond",
    "cummax",
    "eager",
    "erf_inv",
    "fetched",
    "flattened",
    "fori_loop",
    "gammaln",
    "inverse",
    "is_chosen",
    "is_eager",
    "is_positive_definite",
    "is_traced",
    "jit",
    "kept",
    "kept_last",
    "log_of_normal",
    "log_sigmoid",
    "log_softmax",
    "logsumexp",
    "mapped",
    "ndtr",
    "ndtri",
    "normal_quantile",
    "power",
    "product",
    "put",
    "random",
    "replaced",
    "scan",
    "sigmoid",
    "softmax",
    "solve_lower",
    "top_k",
    "tree_map",
    "vmap",
    "while_loop",
    "xlog1py",
    "xlogy",
    "xp",
]
