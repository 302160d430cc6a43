"""Libraries that few calls need and that take long to import: imported at their first use.

NumPyro's distributions bring all of SciPy's statistics along, half a second that a session would pay before its first
answer, though only `fit` and programs look at them.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import numpyro as numpyro
    import numpyro.distributions as dist
    from scipy import stats as stats
else:

    class _Lazy:
        """A module that is imported when one of its names is looked up."""

        def __init__(self, name: str):
            self._name = name

        def __getattr__(self, name: str) -> Any:
            from importlib import import_module

            return getattr(import_module(self._name), name)

    numpyro, dist, stats = _Lazy("numpyro"), _Lazy("numpyro.distributions"), _Lazy("scipy.stats")
