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
    sooner_with_many_labels,
    trust_errs_less,
    varies_less,
    worse_at_ends,
)
from _seme_tables import Study

REPLACED, PLAIN = "Uniform, repl.", "Uniform"
AS_PUBLISHED = (REPLACED, "Importance", "Poisson")


@dataclass(frozen=True)
class Claim:
    """A statement: where, in our words, and how it is checked; `needs` are pools."""

    where: str
    words: str
    needs: tuple[str, ...]
    check: Callable[[Study], Verdict]


def _claims() -> list[Claim]:
    mnist, news, labels = (MNIST,), (NEWS,), (LABELS,)
    later = 0.25
    rows = [
        ("2.1", "Scores trusted wholly make intervals overconfident.", (MNIST, NEWS), overconfident_if_trusted),
        (
            "2.1",
            "Scores trusted to 0.9 work well: they err less than if trusted wholly.",
            (MNIST, NEWS),
            trust_errs_less,
        ),
        ("5.1, Fig. 1, 7", "With all labels Poisson sampling returns the exact measures.", (), exact_at_last),
        (
            "5.1, Fig. 2, 8",
            "On MNIST Poisson errs clearly less than importance as labels grow (from a quarter of the pool on).",
            mnist,
            errs_less(mnist, "Poisson", "Importance", from_share=later),
        ),
        (
            "5.1, Fig. 2, 8",
            "On MNIST Poisson errs clearly less than uniform draws as labels grow (from a quarter on).",
            mnist,
            errs_less(mnist, "Poisson", REPLACED, from_share=later),
        ),
        (
            "the same",
            "The same beside uniform sampling without replacement, which [SEME] leaves out.",
            mnist,
            errs_less(mnist, "Poisson", PLAIN, from_share=later),
        ),
        (
            "F, Fig. 8",
            "On MNIST importance errs less than uniform draws.",
            mnist,
            errs_less(mnist, "Importance", REPLACED),
        ),
        (
            "the same",
            "The same beside uniform sampling without replacement.",
            mnist,
            errs_less(mnist, "Importance", PLAIN),
        ),
        (
            "5.1, Fig. 3",
            "On MNIST intervals of all three methods are about calibrated (85 to 95 % in half of the figures each).",
            mnist,
            calibrated(AS_PUBLISHED, 0.05, 0.5),
        ),
        ("5.1, Fig. 3", "They are so with few labels too.", mnist, calibrated(AS_PUBLISHED, 0.0, 0.05)),
        (
            "5.1, Fig. 3",
            "Poisson's are further off with very few labels, and again as the measures become exact.",
            mnist,
            worse_at_ends,
        ),
        (
            "5.1, Fig. 4",
            "On MNIST no item is certain with few labels; items become so at about a quarter of the pool.",
            mnist,
            certain_later,
        ),
        (
            "3.2, Fig. 4",
            "Importance sampling draws no item with certainty, not those that Poisson sampling does.",
            mnist,
            never_certain,
        ),
        (
            "5.1, F.1, Fig. 10",
            "From Poisson samples a measure is best estimated if they were drawn for it.",
            mnist,
            own_is_best(MNIST, "Poisson"),
        ),
        ("5.1, F.1, Fig. 11", "The same of importance samples.", mnist, own_is_best(MNIST, "Importance")),
        (
            "5.2, Fig. 9",
            "On 20 Newsgroups Poisson errs less than importance, on average.",
            news,
            errs_less(news, "Poisson", "Importance", on_average=True),
        ),
        (
            "5.2, Fig. 9",
            "On 20 Newsgroups Poisson errs less than uniform draws, on average.",
            news,
            errs_less(news, "Poisson", REPLACED, on_average=True),
        ),
        (
            "F, Fig. 9",
            "On 20 Newsgroups importance errs less than uniform draws.",
            news,
            errs_less(news, "Importance", REPLACED),
        ),
        (
            "5.3, Fig. 5",
            "With several labels per item Poisson clearly beats importance at small shares (10 % or less).",
            labels,
            sooner_with_many_labels,
        ),
        (
            "D, Fig. 6",
            "Samples drawn for micro and for macro F1 each serve their own measure best.",
            labels,
            own_is_best(LABELS, "Poisson"),
        ),
        ("6, C", "With the fewest labels Poisson and importance err alike.", (MNIST, NEWS), alike_at_first),
        ("6, C", "Poisson's advantage over importance grows with the labels.", labels, gain_grows),
        ("6, C", "Poisson errs nowhere clearly more than importance.", labels, never_more),
        ("6", "Poisson estimates vary less than those of importance sampling.", labels, varies_less),
    ]
    return [Claim(*row) for row in rows]


NOT_CHECKED = (
    "Not checked: that undulations of errors in Fig. 9 come from discrete scores, which these pools do not have; and "
    "that intervals are useful with few labels, which names no figure."
)


def verdicts(study: Study) -> str:
    """Write a row for every statement whose pools are there."""
    claims = [claim for claim in _claims() if set(claim.needs) <= set(study.pools)]
    found = [claim.check(study) for claim in claims]
    rows = [
        f"| {claim.where} | {claim.words} | {'holds' if verdict.holds else 'does not hold'} | {verdict.figures} |"
        for claim, verdict in zip(claims, found, strict=True)
    ]
    held = sum(verdict.holds for verdict in found)
    rule = (
        f"{held} of {len(rows)} hold. A figure is one measure at one number of labels; ratios are geometric means over "
        f"figures. Errors differ clearly by more than {CLEAR:g} standard errors. A method errs less if it does so "
        "clearly in half of the figures, and clearly more in none; on average, if it does so clearly in more figures "
        f"than the other, and the ratio is below {1 - ALIKE:g}."
    )
    head = ["| [SEME] | statement | here | figures |", "| --- | --- | --- | --- |"]
    return "\n".join([rule, "", *head, *rows, "", NOT_CHECKED])
