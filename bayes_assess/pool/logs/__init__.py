"""Logs of evaluation tools as pools: a row per judged output."""

from bayes_assess.pool.logs.reading import SUFFIXES as SUFFIXES
from bayes_assess.pool.logs.reading import read_log as read_log
