"""Do intervals hold the truth, for every question, by every design that serves it, on unlike made pools?

    python benchmarks/audit_coverage.py [--minutes 12] [--repeats 12] [--more 40] [--seconds 20] [--each 3]
        [--questions f1 "rate"] [--designs passive] [--worlds "rare positives"] [--back 0.5] [--unscored]
        [--rows benchmarks/results/audit_coverage.jsonl]
    ... --report [--worst 40] [--by-case]

Questions are those of the package's registries (`_audit_questions.py`), worlds those of `_audit_worlds.py`: two
classes, more classes, ratings, numbers, several labels per item, ranked lists; and samples of real predictions where
BAYES_ASSESS_POOLS names a folder of them. Every campaign has a pool of its own,
drawn from the world, and is a session: items are asked for in batches of 10, later 30, and looked at with 30 and 120
labels (ranked lists with 200 and 600). With --back 0.5 of every batch only half of the labels come; with --unscored,
which takes rows of its own, pools of two classes have predictions alone. All intervals of an
answer are held against the truth: those of every group or class, overall values, costs, calibration bins, and the
intervals that lean on random items alone; and verdicts of a probability of .95 or more.

A cell of the grid (question, design, world) is 12 campaigns, and 40 where an interval was missed in more than 15 % of
these, but no more than fit into --seconds of processor time, six at least: coverage of one cell is known within some
.08 only. Default designs are asked on all worlds, others on --each of them in turn. Intervals of no width that hold the
truth are left out, as of groups that are labelled whole, and so are groups without items.

A row has a cell; rows are written as soon as they are made, and a run goes on where one stopped. --report writes a
table by question, and the cells whose coverage is below .90 (or below .95, if the interval promises so many campaigns)
by more than two standard errors.
"""

from __future__ import annotations

import argparse
import time
import warnings
import zlib
from collections.abc import Iterator
from typing import Any

import numpy as np
from _audit_answers import BAND, SLACK, SURE, Said, full_result, intervals, truth_of, verdicts
from _audit_questions import CASES, Case
from _audit_worlds import KIND_OF, World, made
from _rows import Clock, Rows, add_row_options, read_rows

import bayes_assess as ba
from bayes_assess.errors import BayesAssessError, BudgetError, LabelError
from bayes_assess.questions import QUESTIONS

BUDGETS, LIST_BUDGETS = (30, 120), (200, 600)
SMALL, LARGE = 10, 30  # batches up to the first look, and after it
FEWEST = 6  # campaigns of a cell, whatever they cost
MISSED = 0.15  # share of misses in the first campaigns that makes more of them
ERRING = 0.05  # share of labels of each of two annotators that are wrong
PROMISED = {"credible": 0.90, "asymptotic": 0.90, "exact": 1.0, "anytime": 0.95, BAND: 0.95}
KEY = ("question", "design", "world", "back")
# Questions whose results say more than one thing, and quantities of ranked lists of which all ranks must hold.
WITH_MORE = tuple(
    name for name in QUESTIONS if name not in ("Metric", "Rate", "Mean", "Best", "PRCurve", "PrecisionCurve")
)
WHOLE = ("precision", "recall", "f1")


def cells(options: argparse.Namespace) -> Iterator[tuple[Case, str, str]]:
    """Yield questions, designs and worlds: first every question by its default design, on one world after another."""
    chosen: list[tuple[int, int, Case, str, str]] = []
    for c, case in enumerate(CASES.values()):
        if options.questions and case.name not in options.questions:
            continue
        worlds = [world for world in case.worlds if not options.unscored or KIND_OF[world] == "binary"]
        by_design: dict[str, list[str]] = {}
        for world in worlds:
            for at, design in enumerate(case.designs(made(world, 0, not options.unscored))):
                by_design.setdefault(f"{int(at > 0)}{design}", []).append(world)
        for design, served in by_design.items():
            turn = zlib.crc32(f"{case.name} {design}".encode()) % len(served)
            order = served[turn:] + served[:turn]
            if not options.worlds and (design[0] == "1" or case.rotates):
                order = order[:: max(1, len(order) // options.each)][: options.each]
            for place, world in enumerate(order):
                chosen.append((2 * place + 3 * int(design[0]), c, case, design[1:], world))
    for _, _, case, design, world in sorted(chosen, key=lambda one: one[:2]):
        if options.designs and design not in options.designs:
            continue
        if not options.worlds or world in options.worlds:
            yield case, design, world


def _ask(session: Any, n: int) -> Any:
    """Ask for so many items, or as many as there are; None if there are none."""
    try:
        return session.ask(n)
    except BudgetError:
        return session.ask(1) if n == 1 else _ask(session, max(1, n // 2)) if n > 1 else None


def _answered(case: Case, world: World, ids: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    if case.options.get("oracle") == "stochastic":
        return (rng.random((len(ids), 1)) > world.chances[ids].cumsum(1)).sum(1)
    return world.labels[ids]


def _err(rng: np.random.Generator, labels: np.ndarray, n_classes: int) -> np.ndarray:
    wrong = rng.random(len(labels)) < ERRING
    return np.where(wrong, (labels + rng.integers(1, n_classes, len(labels))) % n_classes, labels)


def _look(case: Case, session: Any, truth: Any, full: Any) -> tuple[dict[str, Said], list[tuple[float, bool]]]:
    result = session.result()
    if case.labels == "two annotators":
        try:
            counted = session.labelling_error().adjusted(result)
        except LabelError:  # so few items say too little of how often labels are wrong
            return {}, []
        said = Said(np.ravel(counted.estimate), np.reshape(counted.interval, (-1, 2)), np.ravel(truth), "credible")
        return {"adjusted": said}, []
    return intervals(result, truth, full), ([] if hasattr(type(result), "ranks") else verdicts(result, truth))


def campaign(case: Case, design: str, name: str, seed: int, back: float, scored: bool = True) -> list[Any]:
    """Run a campaign, and return what it said at every look: intervals by name, and verdicts."""
    world, rng = made(name, seed, scored), np.random.default_rng([seed, 1])
    question = case.make(world)
    start = {"design": design, "seed": seed, **case.options}
    session, full, of_list = ba.assess(world.pool, question, **start), None, KIND_OF[name] == "lists"
    unbounded = KIND_OF[name] == "numbers"  # as R2 is of numbers within bounds, too
    if of_list:
        truth = _curves(world, session)
    else:
        question = question.for_pool(world.pool)
        truth = truth_of(case, world, question, design, seed)
        if case.registered in WITH_MORE and case.labels == "one" and not hasattr(question, "measure_name"):
            full = full_result(ba.assess(world.pool, case.make(world), **(start | {"prior": "uninformative"})), world)
    looks = []
    for budget in LIST_BUDGETS if of_list else BUDGETS:
        while session.labels_used < budget and not getattr(session, "done", False):
            left = budget - session.labels_used
            queries = _ask(session, min(2 * left, 100 if of_list else SMALL if budget == BUDGETS[0] else LARGE))
            if queries is None or not len(queries.ids):
                break
            ids = np.asarray(queries.ids)
            came = max(1, min(left, int(np.ceil(back * len(ids)))))
            if session.question.labels_each == 2 and came < len(ids):
                came += came % 2
            ids = ids[:came]
            rows = ids if not of_list else world.pool.positions(ids)
            labels = _answered(case, world, rows, rng)
            if case.labels == "two annotators":
                n_classes = world.pool.n_classes
                session.tell(ids, _err(rng, labels, n_classes), annotator="first")
                session.tell(ids, _err(rng, labels, n_classes), annotator="second")
            else:
                session.tell(ids, labels)
        found, said = _look(case, session, truth, full)
        looks.append(({name: one._replace(unbounded=unbounded) for name, one in found.items()}, said))
    return looks


def _curves(world: World, session: Any) -> list[np.ndarray]:
    """Precision, recall, F1 at the ranks of an answer, and the average precision, of a ranked list."""
    positive = world.labels[np.argsort(-np.asarray(world.pool.scores)[:, 1], kind="stable")]
    found, at = positive.cumsum(), np.arange(1, len(positive) + 1)
    ranks = np.unique(np.geomspace(1, len(positive), 64).round().astype(int)) - 1
    total = max(found[-1], 1)
    average = (positive * found / at).sum() / total
    return [(found / at)[ranks], (found / total)[ranks], (2 * found / (at + found[-1]))[ranks], np.array([average])]


def tally(campaigns: list[list[Any]]) -> tuple[list[dict[str, Any]], dict[str, Any]]:
    """Count what held, by look and quantity, and verdicts by look."""
    found, said = [], {}
    for look in range(len(campaigns[0])):
        names = list(dict.fromkeys(name for one in campaigns for name in one[look][0]))
        for name in names:
            answers = [one[look][0][name] for one in campaigns if name in one[look][0]]
            # Credible intervals hold every rank by itself, and say so.
            whole = name in WHOLE and "credible" not in {one.guarantee for one in answers}
            found.append({"look": look, "quantity": name, **_held(answers, whole)})
        sure = [right for one in campaigns for p, right in one[look][1] if p >= SURE]
        if sure:
            said[str(look)] = [len(sure), len(sure) - int(sum(sure))]
    return found, said


def _held(answers: list[Said], whole: bool) -> dict[str, Any]:
    """Share of intervals that held, and its standard error over campaigns; of whole curves all must."""
    held, counted, width, error, missed_by, broken = [], [], [], [], [], 0
    for one in answers:
        low, high = one.interval.T
        known = np.isfinite(one.truth)
        fit = ~np.isnan(one.interval) if one.unbounded else np.isfinite(one.interval)
        broken += int((~fit.all(1) & known).sum())
        broken += int(((one.estimate < low - SLACK) | (one.estimate > high + SLACK))[known].sum())
        inside = (low - SLACK <= one.truth) & (one.truth <= high + SLACK)
        open_ = known & ((high - low > SLACK) | ~inside)
        if not open_.any():
            continue
        held.append(float(inside[open_].all()) if whole else float(inside[open_].sum()))
        counted.append(1.0 if whole else float(open_.sum()))
        width.append((high - low)[open_].mean())
        error.append((one.estimate - one.truth)[open_].mean())
        missed_by.append((one.truth < low - SLACK)[open_].mean())
    kinds = [one.guarantee for one in answers]
    row: dict[str, Any] = {"guarantees": {kind: kinds.count(kind) for kind in sorted(set(kinds))}, "broken": broken}
    if not held:
        return row | {"n": 0}
    h, n = np.array(held), np.array(counted)
    share = h.sum() / n.sum()
    spread = np.sqrt(((h - share * n) ** 2).sum()) / n.sum() * np.sqrt(len(h) / max(len(h) - 1, 1))
    return row | {
        "n": len(h),
        "coverage": round(float(share), 4),
        "se": round(float(spread), 4),
        "of": int(n.sum()),
        "width": round(float(np.mean(width)), 4),
        "bias": round(float(np.mean(error)), 4),
        "bias_se": round(float(np.std(error) / np.sqrt(len(error))), 4),
        "too_high": round(float(np.mean(missed_by)), 4),
    }


def row_of(case: Case, design: str, world: str, options: argparse.Namespace) -> dict[str, Any]:
    """Run the campaigns of a cell: more of them where the first ones missed."""
    begin, campaigns, errors = time.process_time(), [], []
    # Pools and draws of its own: luck that cells share would look like a fault of all of them.
    first = 1000 * (zlib.crc32(f"{case.name} {design}".encode()) % 1_000_000)
    found, said = [], {}
    for most in (options.repeats, options.more):
        while len(campaigns) + len(errors) < most:
            if time.process_time() - begin > options.seconds and len(campaigns) >= FEWEST:
                break
            try:
                seed = first + len(campaigns) + len(errors)
                campaigns.append(campaign(case, design, world, seed, options.back, not options.unscored))
            except BayesAssessError as error:  # an answer that the package refuses is not wrong
                errors.append(f"{type(error).__name__}: {error}"[:160])
            except Exception as error:
                errors.append(f"CRASH {type(error).__name__}: {error}"[:200])
        found, said = tally(campaigns) if campaigns else ([], {})
        if all(one.get("coverage", 1) >= 1 - MISSED for one in found) and not any(wrong for _, wrong in said.values()):
            break
    row = {"question": case.name, "design": design, "world": world, "back": options.back, "campaigns": len(campaigns)}
    more = {"refused": len(errors), "first_error": errors[0]} if errors else {}
    return row | {"found": found, "verdicts": said, **more, "seconds": round(time.process_time() - begin, 1)}


def run(options: argparse.Namespace) -> None:
    """Add the rows that are not there yet."""
    rows, clock = Rows(options.rows, KEY), Clock(options.minutes)
    for case, design, world in cells(options):
        if {"question": case.name, "design": design, "world": world, "back": options.back} in rows:
            continue
        if clock.over:
            print(f"Stopped after {options.minutes:g} minutes; the same command goes on.")
            return
        row = row_of(case, design, world, options)
        if not row["campaigns"] and not row["first_error"].startswith("CRASH"):
            continue  # the design does not serve the question on this pool
        rows.add(row)
        least = min((one["coverage"] for one in row["found"] if "coverage" in one), default=np.nan)
        print(f"{case.name}, {design}, {world}: {least:.2f} of {row['campaigns']}, {row['seconds']} s", flush=True)


def low(found: dict[str, Any]) -> bool:
    """Whether a coverage is below what is promised by more than two standard errors.

    They are those of as many independent intervals as the coverage of the campaigns is as good as: one to a campaign at
    least.
    """
    if "coverage" not in found:
        return False
    share, promised = found["coverage"], min(0.95, *(PROMISED[kind] for kind in found["guarantees"]))
    independent = share * (1 - share) / found["se"] ** 2 if found["se"] and 0 < share < 1 else 0.0
    independent = np.clip(independent, found["n"], found["of"])
    return share < promised - 2 * np.sqrt(promised * (1 - promised) / independent)


def report(rows: list[dict[str, Any]], worst: int, each: bool = False) -> str:
    """Write a table by registered question, or by question as it was asked, and the cells that hold too seldom."""
    of = {name: name if each else case.registered for name, case in CASES.items()}
    lines = [
        "| question | designs | worlds | cells | campaigns | held, first look | second | low cells | wrong verdicts |"
    ]
    lines.append("|---|--:|--:|--:|--:|--:|--:|--:|--:|")
    bad: list[tuple[dict, dict]] = []
    for name in dict.fromkeys(of.values()):
        of_it = [row for row in rows if of.get(row["question"]) == name]
        found = [(row, one) for row in of_it for one in row["found"] if "coverage" in one]
        if found:
            bad += [(row, one) for row, one in found if low(one)]
            lines.append(_line(name, of_it, [one for _, one in found]))
    lines += ["", "| question | design | world | look | quantity | held | SE | campaigns | width | bias |"]
    lines.append("|---|---|---|--:|---|--:|--:|--:|--:|--:|")
    for row, one in sorted(bad, key=lambda x: x[1]["coverage"])[:worst]:
        where = f"{row['design']} | {row['world']}" + (", half back" if row["back"] < 1 else "")
        lines.append(
            f"| {row['question']} | {where} | {one['look'] + 1} | {one['quantity']} | {one['coverage']:.2f} | "
            f"{one['se']:.2f} | {one['n']} | {one['width']:.3f} | {one['bias']:+.3f} |"
        )
    return "\n".join([*lines, "", *_troubles(rows)])


def _line(name: str, rows: list[dict[str, Any]], found: list[dict[str, Any]]) -> str:
    """Write the line of a question: campaigns weigh alike in shares that hold, whatever the number of quantities."""
    shares = []
    for look in (0, 1):
        at = [one for one in found if one["look"] == look]
        n = sum(one["n"] for one in at)
        shares.append(f"{sum(one['coverage'] * one['n'] for one in at) / n:.3f}" if n else "")
    n_low = sum(any(low(one) for one in row["found"]) for row in rows)
    said, wrong = np.sum([v for row in rows for v in row["verdicts"].values()] or [[0, 0]], axis=0)
    counts = (len({row["design"] for row in rows}), len({row["world"] for row in rows}), len(rows))
    cells = [name, *map(str, counts), f"{sum(row['campaigns'] for row in rows):,}", *shares, str(n_low)]
    return f"| {' | '.join(cells)} | {f'{wrong} of {said}' if said else ''} |"


def _troubles(rows: list[dict[str, Any]]) -> list[str]:
    """Say where answers were refused, or were no numbers, or had estimates outside their intervals, or crashed."""
    told = []
    for row in rows:
        where = f"{row['question']}, {row['design']}, {row['world']}"
        if row.get("refused"):
            told.append(f"{where}: {row['refused']} refused: {row['first_error']}")
        for one in row["found"]:
            if one["broken"]:
                told.append(f"{where}: {one['broken']} ends or estimates of {one['quantity']} are wrong")
        for look, (said, wrong) in row["verdicts"].items():
            if wrong > 2 + 0.1 * said:
                told.append(f"{where}: {wrong} of {said} verdicts of look {int(look) + 1} are wrong")
    return told


def main(arguments: list[str] | None = None) -> None:
    """Run the audit, or report."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    add_row_options(parser, "benchmarks/results/audit_coverage.jsonl")
    parser.add_argument("--repeats", type=int, default=12, help="campaigns of a cell")
    parser.add_argument("--more", type=int, default=40, help="campaigns of a cell whose intervals missed")
    parser.add_argument("--seconds", type=float, default=20, help="of processor time that a cell may take")
    parser.add_argument("--each", type=int, default=3, help="worlds of designs that are no default")
    parser.add_argument("--questions", nargs="*", help="only these")
    parser.add_argument("--designs", nargs="*", help="only these")
    parser.add_argument("--worlds", nargs="*", help="only these, then for all designs")
    parser.add_argument("--back", type=float, default=1.0, help="share of every batch whose labels come")
    parser.add_argument("--unscored", action="store_true", help="leave the scores out, of worlds of two classes")
    parser.add_argument("--by-case", action="store_true", help="a row of the first table for every question as asked")
    parser.add_argument("--worst", type=int, default=40, help="rows of the second table")
    options = parser.parse_args(arguments)
    if options.report:
        print(report(read_rows(options.rows), options.worst, options.by_case))
        return
    warnings.simplefilter("ignore")
    run(options)


if __name__ == "__main__":
    main()
