"""How items are chosen: designs by name, or as objects with options."""

from bayes_assess.designs._arms import ArmDesign as ArmDesign
from bayes_assess.designs._arms import CellState as CellState
from bayes_assess.designs._base import Design as Design
from bayes_assess.designs._base import State as State
from bayes_assess.designs._base import reserve as reserve
from bayes_assess.designs._batches import choose_batch as choose_batch
from bayes_assess.designs._batches import reserve_batch as reserve_batch
from bayes_assess.designs._batches import update_batch as update_batch
from bayes_assess.designs._registry import ARMS as ARMS
from bayes_assess.designs._registry import DESIGNS as DESIGNS
from bayes_assess.designs._registry import WEIGHTED as WEIGHTED
from bayes_assess.designs._registry import find_design as find_design
from bayes_assess.designs._weighted import WeightedDesign as WeightedDesign
from bayes_assess.designs._weighted import WeightedState as WeightedState
from bayes_assess.designs.bandits import BayesUCB as BayesUCB
from bayes_assess.designs.bandits import EpsilonGreedy as EpsilonGreedy
from bayes_assess.designs.bandits import Thompson as Thompson
from bayes_assess.designs.bandits import TopTwo as TopTwo
from bayes_assess.designs.importance import Adaptive as Adaptive
from bayes_assess.designs.importance import Importance as Importance
from bayes_assess.designs.importance import Passive as Passive
from bayes_assess.designs.oasis import Oasis as Oasis
from bayes_assess.designs.stratified import Stratified as Stratified
from bayes_assess.designs.uniform import RandomGroup as RandomGroup
from bayes_assess.designs.uniform import RandomItem as RandomItem
