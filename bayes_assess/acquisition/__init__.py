"""Pure decisions from posterior samples or moments: they know no session and no design."""

from bayes_assess.acquisition.accuracy_variance import beta_variance_reduction as beta_variance_reduction
from bayes_assess.acquisition.accuracy_variance import sample_variance_reduction as sample_variance_reduction
from bayes_assess.acquisition.arms import best_arm as best_arm
from bayes_assess.acquisition.arms import best_arms as best_arms
from bayes_assess.acquisition.arms import top_two as top_two
from bayes_assess.acquisition.calibration import calibration_reward as calibration_reward
from bayes_assess.acquisition.confusion import cost_reward as cost_reward
from bayes_assess.acquisition.confusion import dirichlet_variance_reduction as dirichlet_variance_reduction
from bayes_assess.acquisition.confusion import (
    sample_dirichlet_variance_reduction as sample_dirichlet_variance_reduction,
)
from bayes_assess.acquisition.equivalence import all_pairs_rope as all_pairs_rope
from bayes_assess.acquisition.equivalence import beta_expected_lambda as beta_expected_lambda
from bayes_assess.acquisition.equivalence import rope_masses_beta as rope_masses_beta
from bayes_assess.acquisition.equivalence import rope_masses_samples as rope_masses_samples
from bayes_assess.acquisition.equivalence import sample_expected_lambda as sample_expected_lambda
from bayes_assess.acquisition.equivalence import verdict as verdict
from bayes_assess.acquisition.from_draws import importance_proposal as importance_proposal
from bayes_assess.acquisition.from_draws import inclusion_probabilities as inclusion_probabilities
from bayes_assess.acquisition.from_draws import rope as rope
from bayes_assess.acquisition.from_draws import thompson as thompson
from bayes_assess.acquisition.from_draws import variance_reduction as variance_reduction
from bayes_assess.acquisition.paired_rope import paired_rope_masses as paired_rope_masses
from bayes_assess.measures.cell_measure import measure_on_cells as measure_on_cells
from bayes_assess.models.sampled_belief import SampledBelief as SampledBelief
