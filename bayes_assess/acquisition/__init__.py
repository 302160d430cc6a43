"""Pure decisions from posterior samples or moments: they know no pool, no session and no design."""

from bayes_assess.acquisition.thompson import best_arm as best_arm
from bayes_assess.acquisition.thompson import best_arms as best_arms
from bayes_assess.acquisition.thompson import top_two as top_two
from bayes_assess.acquisition.variance_reduction import beta_variance_reduction as beta_variance_reduction
from bayes_assess.acquisition.variance_reduction import sample_variance_reduction as sample_variance_reduction
