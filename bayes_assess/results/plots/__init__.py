"""Figures from arrays alone.

Every function draws on the axes it is given, or on a new pyplot figure, and returns the axes. rcParams and the
backend stay as they are. The colours are Okabe and Ito's; dashes and markers differ too.
"""

from typing import TYPE_CHECKING

from bayes_assess._tools.lazy import names_of

if TYPE_CHECKING:
    from bayes_assess.results.plots.calibration import accuracy_against_error as accuracy_against_error
    from bayes_assess.results.plots.calibration import reliability as reliability
    from bayes_assess.results.plots.campaigns import campaign as campaign
    from bayes_assess.results.plots.campaigns import label_curves as label_curves
    from bayes_assess.results.plots.campaigns import trajectory as trajectory
    from bayes_assess.results.plots.comparison import pairs as pairs
    from bayes_assess.results.plots.comparison import rope_density as rope_density
    from bayes_assess.results.plots.confusion import confusion_matrix as confusion_matrix
    from bayes_assess.results.plots.curves import precision_recall_curve as precision_recall_curve
    from bayes_assess.results.plots.groups import forest as forest
    from bayes_assess.results.plots.groups import rank_plot as rank_plot
    from bayes_assess.results.plots.plan import expected_path as expected_path
    from bayes_assess.results.plots.ranked import precision_by_rank as precision_by_rank
    from bayes_assess.results.plots.sensitivity import hidden_shares as hidden_shares

_OWNERS = {
    "accuracy_against_error": "calibration",
    "reliability": "calibration",
    "campaign": "campaigns",
    "label_curves": "campaigns",
    "trajectory": "campaigns",
    "pairs": "comparison",
    "rope_density": "comparison",
    "confusion_matrix": "confusion",
    "precision_recall_curve": "curves",
    "forest": "groups",
    "rank_plot": "groups",
    "expected_path": "plan",
    "precision_by_rank": "ranked",
    "hidden_shares": "sensitivity",
}

__getattr__, __dir__ = names_of(__name__, _OWNERS)
