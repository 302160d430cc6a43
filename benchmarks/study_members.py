"""Sets of members of calibration curves (`bayes_assess.models.curve_members`) on a population of pools.

    BAYES_ASSESS_POOLS=folder BAYES_ASSESS_ZOO=zoo.py python benchmarks/study_members.py --set package
        [--measure f1] [--zoo 40] [--shuffled] [--flipped] [--campaigns 12] [--minutes 20] [--shard 0/2]
        [--rows members.jsonl]
    ... --set "weaker" --change weak.prior=.3 curve.spike=.7 [--members file.py]
        [--design-options audit=.1]
    ... --rivals [--rival-rows rivals.jsonl]
    ... --known-rates
    ... --report

The folder holds pools as .npz files (see `tournament.py`), the file has ``pools(n, seed)`` that yields name, scores,
predictions, labels and facts; without either nothing is run. Measures of the positive class are on these, with
POSITIVES; with --shuffled the made ones have scores and predictions of other items, with --flipped up to a quarter of
their labels are wrong. Else accuracy is on pools of many classes, with AGREEMENT: those of the folder, and made ones
(`_confidence_pools.py`).

A set starts from the package's table, or from that of the same name in a Python file. --change replaces constants, of
all members with "all." for the name; the prior probabilities that are left share what remains. Every pool has one row
of `variance_reduction` per set, and one per rival that all sets share; --known-rates adds what anybody could reach who
knew the rates of all cells (`_known_rates.py`). --report compares sets on the pools that all of them have. Rows of one
set have one table and one design: others are refused.
"""

from __future__ import annotations

import argparse
import hashlib
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from typing import Any

import numpy as np
from _campaign_rows import campaign_row
from _confidence_pools import pools as confidence_pools
from _known_rates import KNOWN, known_rates_row
from _members_tables import report
from _pools import binaries, flipped, folder, load, shuffled, wholes, zoo
from _rows import Clock, Rows, add_row_options, read_rows, sharded

import bayes_assess as ba
from bayes_assess._tools.compiled_cache import keep_compiled
from bayes_assess.models.curve_members import Members
from bayes_assess.questions import _events

BUDGETS = (50, 100, 250, 500, 1000)
RIVALS = ("adaptive", "importance", "oasis")
KEY = ("measure", "set", "design", "pool", "campaigns")


def table_of(options: argparse.Namespace) -> str:
    """Return the name of the table that the belief on a measure mixes: pools that are made worse are of two classes."""
    of_many = options.measure in ("accuracy", "zero_one_loss") and not (options.shuffled or options.flipped)
    return "AGREEMENT" if of_many else "POSITIVES"


def changed(members: Members, changes: list[str]) -> Members:
    """Replace constants, "member.column=number" each.

    Examples
    --------
    >>> from bayes_assess.models.curve_members import POSITIVES
    >>> found = changed(POSITIVES, ["weak.prior=0.555", "all.bend=0.8"])
    >>> found.names[3], round(float(found.prior[3]), 3), round(float(found.prior.sum()), 3)
    ('weak', 0.555, 1.0)
    """
    columns: dict[str, np.ndarray] = {}
    given = np.zeros(len(members.names), bool)
    for change in changes:
        place, _, value = change.partition("=")
        name, _, column = place.partition(".")
        if name not in (*members.names, "all") or column == "names" or not hasattr(members, column):
            sys.exit(f"There is no constant {place}; members are {', '.join(members.names)}.")
        which = np.isin(members.names, [name]) | (name == "all")
        held = np.array(columns.get(column, getattr(members, column)))
        held[which] = float(value)
        columns[column] = held
        given |= which & (column == "prior")
    if given.any() and not given.all():
        prior = columns["prior"]
        prior[~given] *= (1 - prior[given].sum()) / prior[~given].sum()
    return replace(members, **columns)


@contextmanager
def using(name: str, members: Members) -> Iterator[None]:
    """Let questions mix other members in the place of a table of the package."""
    own = getattr(_events, name)
    setattr(_events, name, members)
    try:
        yield
    finally:
        setattr(_events, name, own)


def cases(options: argparse.Namespace) -> Iterator[tuple[str, str, Any, dict[str, Any]]]:
    """Yield name, kind, a function that makes pool and labels, and facts."""
    real = folder() if options.real else None
    if table_of(options) == "POSITIVES":
        made = zoo(options.zoo, options.seed)
        if options.shuffled:
            worse = enumerate(made)
            made = ((f"{name} shuffled", shuffled(one, np.random.default_rng(at))) for at, (name, one) in worse)
        if options.flipped:
            noisy = enumerate(made)
            made = ((f"{name} flipped", flipped(one, np.random.default_rng(at))) for at, (name, one) in noisy)
        for kind, found in (("zoo", made), ("real", binaries(real) if real else ())):
            for name, binary in found:
                yield name, kind, lambda binary=binary: (binary.pool, binary.labels), binary.facts
    else:
        for name, pool, labels, facts in confidence_pools(options.zoo, options.seed):
            yield name, "zoo", lambda pool=pool, labels=labels: (pool, labels), facts
        for name, pool, labels in wholes(real) if real else ():
            yield name, "real", lambda pool=pool, labels=labels: (pool, labels), {}


def run(rows: Rows, designs: dict[str, Any], common: dict[str, Any], options: argparse.Namespace) -> None:
    """Add the rows of designs that are not there yet."""
    if options.batch > 1:
        common = common | {"set": f"{common['set']}, {options.batch} at a time"}
    clock = Clock(options.minutes)
    for name, kind, made, facts in sharded(cases(options), options.shard):
        if options.pools and name not in options.pools:
            continue
        for design, played in designs.items():
            row = common | {"design": design, "pool": name, "kind": kind, "campaigns": options.campaigns}
            if row in rows:
                continue
            if clock.over:
                print(f"Stopped after {options.minutes:g} minutes; the same command goes on.")
                return
            pool, labels = made()
            if design == KNOWN:
                rows.add(row | known_rates_row(pool, labels, options.measure, options.budgets) | {"facts": facts})
                continue
            found = campaign_row(
                pool, labels, options.measure, played, options.budgets, options.campaigns, options.batch
            )
            if found is not None:
                rows.add(row | found | {"facts": facts})
                print(
                    f"{design} on {name}: score {np.round(found['score'], 3)}, {found['processor']:.1f} s", flush=True
                )


def run_set(options: argparse.Namespace) -> None:
    """Add the rows of a set of members."""
    name = table_of(options)
    held = load(options.members) if options.members else _events
    members = changed(getattr(held, name), options.change)
    given = {key: float(value) for key, _, value in (one.partition("=") for one in options.design_options)}
    if "n_strata" in given:
        given["n_strata"] = int(given["n_strata"])
    design = ba.designs.VarianceReduction(**given)
    digest = hashlib.sha256(repr((members.names, [np.asarray(c).tolist() for c in vars(members).values()])).encode())
    common = {"measure": options.measure, "set": options.set, "of": f"{digest.hexdigest()[:12]} {design!r}"}
    common["changes"] = " ".join([*options.change, *options.design_options])
    rows = Rows(options.rows, KEY)
    others = {row["of"] for row in rows.rows if row["set"] == options.set and row["measure"] == options.measure}
    if others - {common["of"]}:
        sys.exit(f"{options.rows} has rows of a set {options.set!r} with other constants; give this one its own name.")
    with using(name, members):
        run(rows, {"variance_reduction": design}, common, options)


def main(arguments: list[str] | None = None) -> None:
    """Run a set, or the rivals, or report."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    add_row_options(parser, "members.jsonl")
    parser.add_argument("--rival-rows", default="rivals.jsonl")
    parser.add_argument("--rivals", action="store_true", help="run the designs that sets are compared with")
    parser.add_argument("--known-rates", action="store_true", help="run the bound that sets are compared with")
    parser.add_argument("--set", default="package", help="what the set of members is called")
    parser.add_argument("--members", help="Python file with POSITIVES or AGREEMENT")
    parser.add_argument("--change", nargs="*", default=[], metavar="MEMBER.COLUMN=NUMBER")
    parser.add_argument("--design-options", nargs="*", default=[], metavar="OPTION=NUMBER")
    parser.add_argument("--measure", default="f1")
    parser.add_argument("--campaigns", type=int, default=12)
    parser.add_argument("--budgets", nargs="*", type=int, default=list(BUDGETS))
    parser.add_argument("--batch", type=int, default=1, help="labels that are asked for at once")
    parser.add_argument("--zoo", type=int, default=40, help="pools of the generator")
    parser.add_argument("--seed", type=int, default=1, help="of the generator")
    parser.add_argument("--shuffled", action="store_true", help="give made pools the scores of other items")
    parser.add_argument("--flipped", action="store_true", help="let some labels of made pools be wrong")
    parser.add_argument("--no-real", dest="real", action="store_false", help="leave out the pools of the folder")
    parser.add_argument("--pools", nargs="*", help="only those of these names")
    options = parser.parse_args(arguments)
    if options.report:
        print(report(read_rows(options.rows), read_rows(options.rival_rows)))
        return
    if table_of(options) == "POSITIVES" and next(cases(options), None) is None:
        sys.exit("Set BAYES_ASSESS_POOLS to a folder of pools or BAYES_ASSESS_ZOO to a generator; nothing was run.")
    keep_compiled()
    if options.known_rates:
        options.campaigns = 0
        run(Rows(options.rival_rows, KEY), {KNOWN: None}, {"measure": options.measure, "set": KNOWN}, options)
    elif options.rivals:
        common = {"measure": options.measure, "set": "rivals"}
        run(Rows(options.rival_rows, KEY), dict(zip(RIVALS, RIVALS, strict=True)), common, options)
    else:
        run_set(options)


if __name__ == "__main__":
    main()
