"""The kinds of evidence: on groups, on measures, and on ranked lists."""

from __future__ import annotations

from bayes_assess.results.evidence.believed import Believed
from bayes_assess.results.evidence.given import Given
from bayes_assess.results.evidence.groupwise import Groupwise
from bayes_assess.results.evidence.ranked import RankSample
from bayes_assess.results.evidence.weighted import Weighted

MeasureEvidence = Believed | Given | Weighted
Counted = Groupwise | MeasureEvidence  # by cell and outcome
Evidence = Counted | RankSample
