"""The kinds of evidence: on groups, and on measures."""

from __future__ import annotations

from bayes_assess.results.evidence.believed import Believed
from bayes_assess.results.evidence.given import Given
from bayes_assess.results.evidence.groupwise import Groupwise
from bayes_assess.results.evidence.weighted import Weighted

MeasureEvidence = Believed | Given | Weighted
Evidence = Groupwise | MeasureEvidence
