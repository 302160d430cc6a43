"""The Dirichlet tree of labels and blocks ([NH] sec. 4): its NumPyro program, posterior, and fit to latent labels."""

from bayes_assess.models.dirichlet_tree.explicit import ExplicitTree as ExplicitTree
from bayes_assess.models.dirichlet_tree.explicit import explicit_tree as explicit_tree
from bayes_assess.models.dirichlet_tree.latent import Latent as Latent
from bayes_assess.models.dirichlet_tree.latent import LatentPrior as LatentPrior
from bayes_assess.models.dirichlet_tree.latent import fit_latent as fit_latent
from bayes_assess.models.dirichlet_tree.latent import latent_prior as latent_prior
from bayes_assess.models.dirichlet_tree.latent import log_posterior as log_posterior
from bayes_assess.models.dirichlet_tree.latent import refresh as refresh
from bayes_assess.models.dirichlet_tree.model import DirichletTree as DirichletTree
from bayes_assess.models.dirichlet_tree.model import latent_program as latent_program
from bayes_assess.models.dirichlet_tree.model import program as program
from bayes_assess.models.dirichlet_tree.model import statistics as statistics
from bayes_assess.models.dirichlet_tree.tree import Tree as Tree
