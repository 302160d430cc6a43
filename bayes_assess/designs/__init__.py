"""How items are chosen: designs by name, or as objects with options."""

from bayes_assess.designs._base import CellState as CellState
from bayes_assess.designs._base import Design as Design
from bayes_assess.designs._base import reserve as reserve
from bayes_assess.designs._batches import choose_batch as choose_batch
from bayes_assess.designs._batches import reserve_batch as reserve_batch
from bayes_assess.designs._batches import update_batch as update_batch
from bayes_assess.designs._registry import DESIGNS as DESIGNS
from bayes_assess.designs._registry import find_design as find_design
from bayes_assess.designs.bandits import BayesUCB as BayesUCB
from bayes_assess.designs.bandits import EpsilonGreedy as EpsilonGreedy
from bayes_assess.designs.bandits import Thompson as Thompson
from bayes_assess.designs.bandits import TopTwo as TopTwo
from bayes_assess.designs.uniform import RandomGroup as RandomGroup
from bayes_assess.designs.uniform import RandomItem as RandomItem
