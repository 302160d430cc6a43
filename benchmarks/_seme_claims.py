"""What [SEME] says of its figures and tables, in other words, and whether the same is found on other pools."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from _seme_checks import (
    ALIKE,
    CLEAR,
    LABELS,
    MNIST,
    NEWS,
    Verdict,
    alike_at_first,
    calibrated,
    certain_later,
    errs_less,
    exact_at_last,
    gain_grows,
    never_certain,
    never_more,
    overconfident_if_trusted,
    own_is_best,
    trust_errs_less,
    varies_less,
    worse_at_ends,
)
from _seme_tables import LEAST_ERROR, Study

REPLACED, PLAIN = "Uniform, repl.", "Uniform"
AS_PUBLISHED = (REPLACED, "Importance", "Poisson")


@dataclass(frozen=True)
class Claim:
    """A statement: where, in our words, and how it is checked; `needs` are pools."""

    where: str
    words: str
    needs: tuple[str, ...]
    check: Callable[[Study], Verdict]


LATER = 0.25  # share of the pool from which on "as labels grow" is read
CLAIMS = [
    Claim(
        "2.1",
        "On MNIST, scores trusted wholly make intervals overconfident.",
        (MNIST,),
        overconfident_if_trusted(MNIST),
    ),
    Claim("2.1", "On 20 Newsgroups they do.", (NEWS,), overconfident_if_trusted(NEWS)),
    Claim(
        "2.1",
        "On MNIST, samples by scores trusted to 0.9 err less than by scores trusted wholly.",
        (MNIST,),
        trust_errs_less(MNIST),
    ),
    Claim("2.1", "On 20 Newsgroups they do.", (NEWS,), trust_errs_less(NEWS)),
    Claim("5.1, Fig. 1, 7", "With all labels Poisson sampling returns the exact measures.", (), exact_at_last),
    Claim(
        "5.1, Fig. 2, 8",
        "On MNIST Poisson errs clearly less than importance as labels grow (from a quarter of the pool on).",
        (MNIST,),
        errs_less(MNIST, "Poisson", "Importance", from_share=LATER),
    ),
    Claim(
        "5.1, Fig. 2, 8",
        "On MNIST Poisson errs clearly less than uniform draws as labels grow (from a quarter on).",
        (MNIST,),
        errs_less(MNIST, "Poisson", REPLACED, from_share=LATER),
    ),
    Claim(
        "the same",
        "The same beside uniform sampling without replacement, which [SEME] leaves out.",
        (MNIST,),
        errs_less(MNIST, "Poisson", PLAIN, from_share=LATER),
    ),
    Claim(
        "F, Fig. 8",
        "On MNIST importance errs less than uniform draws.",
        (MNIST,),
        errs_less(MNIST, "Importance", REPLACED),
    ),
    Claim(
        "the same",
        "The same beside uniform sampling without replacement.",
        (MNIST,),
        errs_less(MNIST, "Importance", PLAIN),
    ),
    Claim(
        "5.1, Fig. 3",
        "On MNIST intervals of all three methods are about calibrated (85 to 95 % in half of the figures each).",
        (MNIST,),
        calibrated(MNIST, AS_PUBLISHED, 0.05, 0.5),
    ),
    Claim("the same", "The same on 20 Newsgroups.", (NEWS,), calibrated(NEWS, AS_PUBLISHED, 0.05, 0.5)),
    Claim(
        "5.1, Fig. 3", "On MNIST they are so with few labels too.", (MNIST,), calibrated(MNIST, AS_PUBLISHED, 0.0, 0.05)
    ),
    Claim(
        "5.1, Fig. 3",
        "On MNIST Poisson's are further off with very few labels, and again as the measures become exact.",
        (MNIST,),
        worse_at_ends,
    ),
    Claim(
        "5.1, Fig. 4",
        "On MNIST no item is certain with few labels; items become so at about a quarter of the pool.",
        (MNIST,),
        certain_later,
    ),
    Claim(
        "3.2, Fig. 4",
        "Importance sampling draws no item with certainty, not those that Poisson sampling does.",
        (MNIST,),
        never_certain,
    ),
    Claim(
        "5.1, F.1, Fig. 10",
        "From Poisson samples a measure is best estimated if they were drawn for it.",
        (MNIST,),
        own_is_best(MNIST, "Poisson"),
    ),
    Claim("5.1, F.1, Fig. 11", "The same of importance samples.", (MNIST,), own_is_best(MNIST, "Importance")),
    Claim(
        "the same",
        "From Poisson samples, the same of several labels per item.",
        (LABELS,),
        own_is_best(LABELS, "Poisson"),
    ),
    Claim(
        "5.2, Fig. 9",
        "On 20 Newsgroups Poisson errs less than importance, on average.",
        (NEWS,),
        errs_less(NEWS, "Poisson", "Importance", on_average=True),
    ),
    Claim(
        "5.2, Fig. 9",
        "On 20 Newsgroups Poisson errs less than uniform draws, on average.",
        (NEWS,),
        errs_less(NEWS, "Poisson", REPLACED, on_average=True),
    ),
    Claim(
        "F, Fig. 9",
        "On 20 Newsgroups importance errs less than uniform draws.",
        (NEWS,),
        errs_less(NEWS, "Importance", REPLACED),
    ),
    Claim("6, C", "With the fewest labels Poisson and importance err alike.", (MNIST, NEWS), alike_at_first),
    Claim("6, C", "Poisson's advantage over importance grows with the labels.", (MNIST, NEWS), gain_grows),
    Claim("6, C", "Poisson errs nowhere clearly more than importance.", (MNIST, NEWS), never_more(worse=False)),
    Claim(
        "the same",
        "The same by worse scores, and by scores trusted wholly, which [SEME] leaves out.",
        (MNIST, NEWS),
        never_more(worse=True),
    ),
    Claim(
        "6", "Poisson estimates vary less than those of importance sampling, on average.", (MNIST, NEWS), varies_less
    ),
]

NOT_CHECKED = (
    "Not checked: that undulations of errors in Fig. 9 come from discrete scores, which these pools do not have; and "
    "that intervals are useful with few labels, which names no figure; and that with several labels per item Poisson "
    "beats importance at small shares (5.3, Fig. 5), since `Importance` does not serve such pools. Fig. 6 stands "
    "alone, with no word on it."
)


def verdicts(study: Study) -> str:
    """Write a row for every statement whose pools, and whose samples, are there."""
    rows, held = [], 0
    for claim in [claim for claim in CLAIMS if set(claim.needs) <= set(study.facts)]:
        try:
            verdict = claim.check(study)
        except LookupError:  # rows are missing
            continue
        held += verdict.holds
        words = "holds" if verdict.holds else "does not hold"
        rows.append(f"| {claim.where} | {claim.words} | {words} | {verdict.figures} |")
    rule = (
        f"{held} of {len(rows)} hold. A figure is one measure at one number of labels; ratios are geometric means over "
        f"figures, mean errors below {LEAST_ERROR:g} counting as that. Errors differ clearly by more than {CLEAR:g} "
        "standard errors. A method errs less if it does so clearly in half of the figures, and clearly more in none; "
        f"on average, if it does so clearly in more figures than the other, and the ratio is below {1 - ALIKE:g}."
    )
    head = ["| [SEME] | statement | here | figures |", "| --- | --- | --- | --- |"]
    return "\n".join([rule, "", *head, *rows, "", NOT_CHECKED])
