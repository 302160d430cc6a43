"""Labels that may be wrong: how often, and what answers are worth then."""

from __future__ import annotations

import numpy as np
import pytest

import bayes_assess as ba
from bayes_assess.sessions.team.labelling_error import LabellingError


def wrong_labels(rng, truth, rate: float, n_classes: int):
    """Labels of an annotator who errs at this rate, with wrong labels of all kinds."""
    other = (truth + rng.integers(1, n_classes, len(truth))) % n_classes
    return np.where(rng.random(len(truth)) < rate, other, truth)


def campaign(seed: int, n_classes: int = 2, rate: float = 0.1, question=None):
    """A session on 4,000 items, 500 labels of one annotator, 200 of them of another one, too; and the truths."""
    rng = np.random.default_rng(seed)
    truth, predictions = rng.integers(0, n_classes, 4_000), None
    predictions = wrong_labels(rng, truth, 0.15, n_classes)
    question = ba.GroupAccuracy(by="all") if question is None else question
    pool = ba.Pool(predictions=predictions, classes=list(range(n_classes)), groups={"all": np.zeros(4_000, int)})
    prior = "uninformative" if isinstance(question, ba.GroupAccuracy) else None
    a = ba.assess(pool, question, design="random" if prior else None, prior=prior, seed=seed)
    items = rng.choice(4_000, 500, replace=False)
    a.tell(items, wrong_labels(rng, truth[items], rate, n_classes), annotator="anna")
    a.tell(items[:200], wrong_labels(rng, truth[items[:200]], rate, n_classes), annotator="ben")
    return a, (predictions == truth).mean(), truth.mean()


@pytest.mark.slow
@pytest.mark.parametrize("n_classes", [2, 4])
def test_answers_that_count_on_wrong_labels_hold(n_classes):
    repeats, plain, counted, rates = 40, 0, 0, 0
    for seed in range(repeats):
        a, truth, _ = campaign(seed, n_classes)
        error = a.labelling_error()
        low, high = error.adjusted(a.result()).interval[0]
        counted += low <= truth <= high
        rates += error.interval[0] <= 0.1 <= error.interval[1]
        low, high = a.result().interval[0]
        plain += low <= truth <= high
    least = 0.95 - 3 * np.sqrt(0.95 * 0.05 / repeats)
    assert counted / repeats > least
    assert rates / repeats > least
    assert plain / repeats < 0.5  # accuracies are 7 points too low


def test_rates_count_on_them_too():
    a, _, truth = campaign(3, question=ba.Rate())
    result = a.result()
    found = a.labelling_error().adjusted(result)
    assert isinstance(found.estimate, float)
    assert found.interval[0] < truth < found.interval[1]
    assert np.diff(found.interval)[0] > np.diff(result.interval)[0]
    assert "draws" not in repr(found)  # thousands of them


def test_perfect_agreement_leaves_answers_nearly_as_they_are():
    a, _, _ = campaign(0, rate=0.0)
    result, error = a.result(), a.labelling_error()
    found = error.adjusted(result)
    assert error.interval[1] < 0.02
    np.testing.assert_allclose(found.interval, result.interval, atol=0.02)
    assert found.interval[0, 0] < result.interval[0, 1]
    assert np.diff(found.interval)[0, 0] >= np.diff(result.interval)[0, 0] * 0.98


def test_votes_say_how_probable_a_label_is():
    def wrong(*kinds):
        return LabellingError(36.0, 200, 2, kinds)._wrong.mean()

    alone, agreed, split, against = wrong((1, 0, 9)), wrong((2, 0, 9)), wrong((1, 1, 9)), wrong((1, 2, 9))
    assert agreed < 0.02 < alone < split < against
    assert split == pytest.approx(0.5)
    assert wrong((0, 0, 9)) == 0  # somebody decided
    assert wrong((1, 0, 9), (0, 0, 9)) == pytest.approx(alone / 2)


def test_votes_for_one_of_several_labels_say_what_bayes_says():
    """Of four classes that are alike probable, given two labels by people who err, each in one of three ways."""
    for labels, kind in (((0, 1), (1, 1, 1)), ((0, 1, 2), (1, 1, 1, 1)), ((0, 0, 1, 2, 2), (2, 2, 1, 1))):
        error = LabellingError(36.0, 200, 4, (kind,))
        right, other = 1 - error.draws, error.draws / 3
        given = {true: np.prod([np.where(label == true, right, other) for label in labels], 0) for true in range(4)}
        np.testing.assert_allclose(error._wrong, 1 - given[0] / sum(given.values()))


def test_labels_of_three_annotators_are_kept_by_their_votes():
    a = ba.assess(ba.Pool(predictions=["cat", "dog"] * 20), ba.GroupAccuracy())
    for name, label in (("anna", "cat"), ("ben", "cat"), ("cleo", "dog")):
        a.tell([0], [label], annotator=name)
    error = a.labelling_error()
    assert (error.differing, error.shared, error.several) == (1, 1, (((2, 1), 1),))
    assert error.kinds == ((2, 1, 1),)


def three_annotators(seed: int, n_third: int | None = None):
    """A session on 4,000 items, 200 of them labelled by two annotators, and by a third, or only where two differ."""
    rng = np.random.default_rng(seed)
    truth = rng.integers(0, 2, 4_000)
    predictions = wrong_labels(rng, truth, 0.15, 2)
    pool = ba.Pool(predictions=predictions, classes=[0, 1], groups={"all": np.zeros(4_000, int)})
    a = ba.assess(pool, ba.GroupAccuracy(by="all"), design="random", prior="uninformative", seed=seed)
    items = rng.choice(4_000, 200, replace=False)
    anna, ben, cleo = (wrong_labels(rng, truth[items], 0.1, 2) for _ in range(3))
    a.tell(items, anna, annotator="anna")
    a.tell(items, ben, annotator="ben")
    asked = anna != ben if n_third is None else np.arange(200) < n_third
    a.tell(items[asked], cleo[asked], annotator="cleo")
    return a, (predictions == truth).mean()


@pytest.mark.slow
@pytest.mark.parametrize("n_third", [200, None])
@pytest.mark.parametrize("rule", ["majority", "anna"])
def test_labels_that_a_rule_decided_on_may_be_wrong(rule, n_third):
    """Of 600 campaigns .958 and .963 held, and .86 and .32 where such labels counted as right."""
    repeats, held, off = 60, 0, []
    for seed in range(repeats):
        a, truth = three_annotators(seed, n_third)
        a.resolve(rule=rule)
        found = a.labelling_error().adjusted(a.result())
        held += found.interval[0, 0] <= truth <= found.interval[0, 1]
        off.append(found.estimate[0] - truth)
    assert held / repeats > 0.95 - 3 * np.sqrt(0.95 * 0.05 / repeats)
    assert abs(np.mean(off)) < 0.005 + 3 * np.std(off) / np.sqrt(repeats)


def test_a_third_annotator_of_items_on_which_two_differ_leaves_the_rate_as_it_is():
    """Labels of items on which two differ say nothing more of how often they do."""
    rates = [three_annotators(seed)[0].labelling_error().rate for seed in range(20)]
    assert abs(np.mean(rates) - 0.1) < 3 * np.std(rates) / np.sqrt(len(rates)) + 0.002  # .066 by shares of pairs


def test_labels_of_three_say_how_often_they_are_wrong():
    """Against the posterior over a grid of e, given all patterns of votes of three labels of three classes."""
    several = ((1, 1, 1), 1), ((2, 1), 20), ((3,), 40)
    error = LabellingError(15 + 1 + 20, 100, 3, (), several=several, seed=1)
    e = (np.arange(20_000) + 0.5) / 20_000 * 2 / 3
    r, o = 1 - e, e / 2
    delta = 1 - r**2 - 2 * o**2
    score = 14.5 * np.log(delta) + (39 - 15 - 0.5) * np.log1p(-delta) + np.log(r - o)  # d delta / d e = 2 (r - o)
    score += np.log(r * o * o) + 20 * np.log(r * r * o + o * o * r + o**3) + 40 * np.log(r**3 + 2 * o**3)
    weight = np.exp(score - score.max())
    mean = (e * weight).sum() / weight.sum()
    sd = np.sqrt(((e - mean) ** 2 * weight).sum() / weight.sum())
    assert abs(error.draws.mean() - mean) < 4 * sd / np.sqrt(len(error.draws))
    assert error.draws.std() == pytest.approx(sd, rel=0.05)


@pytest.mark.slow
def test_groups_whose_labels_have_more_votes_have_fewer_wrong_ones():
    """Of 150 campaigns .96 and .95 of the intervals held, and .82 and .79 where all groups had the same share."""
    repeats, held, off = 40, np.zeros(2), []
    for seed in range(repeats):
        rng = np.random.default_rng(seed)
        truth, site = rng.integers(0, 2, 4_000), np.repeat(["N", "S"], 2_000)
        predictions = wrong_labels(rng, truth, 0.15, 2)
        question = ba.GroupAccuracy(by="site")
        pool = ba.Pool(predictions=predictions, groups={"site": site})
        a = ba.assess(pool, question, design="random", prior="uninformative", seed=seed)
        often, once = rng.choice(2_000, 300, replace=False), 2_000 + rng.choice(2_000, 300, replace=False)
        for name in ("anna", "ben", "cleo"):
            a.tell(often, wrong_labels(rng, truth[often], 0.1, 2), annotator=name)
        a.tell(once, wrong_labels(rng, truth[once], 0.1, 2), annotator="anna")
        a.resolve(rule="majority")
        found, right = a.labelling_error().adjusted(a.result()), question.truth(pool, truth)
        held += (found.interval[:, 0] <= right) & (right <= found.interval[:, 1])
        off.append(found.estimate - right)
    assert (held / repeats > 0.95 - 3 * np.sqrt(0.95 * 0.05 / repeats)).all()
    assert (abs(np.mean(off, 0)) < 0.003 + 3 * np.std(off, 0) / np.sqrt(repeats)).all()


def test_journals_keep_by_which_rule_labels_were_decided_on(tmp_path):
    path = tmp_path / "run.db"
    pool = ba.Pool(predictions=["cat", "dog"] * 5)
    a = ba.assess(pool, ba.GroupAccuracy(), journal=path)
    other = ba.resume(path, pool)
    for name, labels in (("anna", "cat dog cat"), ("ben", "cat cat dog"), ("cleo", "dog cat dog")):
        a.tell([0, 1, 2], labels.split(), annotator=name)
    assert a.resolve(rule=" majority") == 3
    assert a.labelling_error().kinds == other.labelling_error().kinds == ((2, 1, 3),)
    assert a.resolve([1], ["cat"]) == 1  # a person, who says the same
    assert a.resolve([1], ["cat"]) == 0
    assert a.correct([2], ["cat"]) == 1
    assert a.labelling_error().kinds == ((0, 0, 2), (2, 1, 1))
    assert other.labelling_error().kinds == a.labelling_error().kinds
    a.journal.close()
    assert ba.resume(path, pool).labelling_error().kinds == a.labelling_error().kinds


def test_decisions_count_as_right():
    a, _, _ = campaign(1)
    before, found = a.labelling_error(), a.disagreements()
    a.resolve(found.ids, found.labels["anna"])
    after = a.labelling_error()
    assert before.rate == after.rate
    assert after._wrong.mean() < before._wrong.mean()
    assert dict((kind[:2], kind[2]) for kind in after.kinds)[0, 0] == a.disagreements(resolved=True).resolved.sum()


def test_what_cannot_be_counted_on_is_refused():
    a, _, _ = campaign(2)
    a.tell([next(i for i in range(4_000) if i not in a.labelled[0])], [0])
    with pytest.raises(ba.QuestionError, match="not in the answer to ConfusionMatrix"):
        a.labelling_error().adjusted(a.result(question=ba.ConfusionMatrix()))
    three = ba.assess(ba.Pool(predictions=["a", "b"] * 5), ba.GroupAccuracy())
    for name, labels in (("anna", "aaaa"), ("ben", "aaab"), ("cleo", "aaab")):
        three.tell([0, 1, 2, 3], list(labels), annotator=name)
    said = "Labels differ on 1 of 4 items, so that up to"
    with pytest.raises(ba.LabelError, match=said):
        three.labelling_error().adjusted(three.result())
    whole = ba.assess(ba.Pool(predictions=["a", "b"] * 5), ba.GroupAccuracy())
    for name, labels in (("anna", "aaa"), ("ben", "aaa"), ("cleo", "bbb")):
        whole.tell([0, 1, 2], list(labels), annotator=name)
    with pytest.raises(ba.LabelError, match="Labels differ on 3 of 3 items, so that up to"):
        whole.labelling_error().adjusted(whole.result())
    with pytest.raises(ba.LabelError, match="No item has labels of two annotators"):
        ba.assess(ba.Pool(predictions=[0, 1]), ba.GroupAccuracy()).labelling_error()
    rated = ba.assess(ba.Pool(predictions=[0.1, 0.7], bounds=(0, 1)), ba.Metric("mae"))
    with pytest.raises(ba.LabelError, match="of two classes or more; here labels are numbers"):
        rated.labelling_error()
    many, _, _ = campaign(2, rate=0.4)
    with pytest.raises(ba.LabelError, match="too many, or too few items"):
        many.labelling_error().adjusted(many.result())


def of_all_labelled(n=400, right=320):
    """Return the accuracy of a pool whose items are all labelled, which labels taken for the truth make exact."""
    a = ba.assess(ba.Pool(predictions=["cat"] * n, classes=["cat", "dog"]), ba.GroupAccuracy())
    a.tell(range(n), ["cat"] * right + ["dog"] * (n - right))
    assert np.ptp(a.result().draws[:, 0]) == 0  # of the other class nothing is predicted
    return a.result()


def spread_of(draws):
    """Return the standard deviation and its standard error, from draws whose fourth moment may be large."""
    far = draws - draws.mean()
    return draws.std(), np.sqrt((far**4).mean() - draws.var() ** 2) / (2 * draws.std() * np.sqrt(len(draws)))


def test_chance_in_the_labels_themselves_widens_an_exact_answer():
    known = LabellingError(differing=180_000.0, shared=1_000_000, n_classes=2, kinds=((1, 0, 400),))
    sd, error = spread_of(known.adjusted(of_all_labelled()).draws[:, 0])
    # 400 labels are wrong at e = .1 each: the number of wrong ones is binomial, and the answer divides by 1 - 2 e.
    assert abs(sd - np.sqrt(0.1 * 0.9 / 400) / 0.8) < 4 * error


def test_wrong_labels_of_several_classes_agree_by_chance():
    """Right labels are 1 - e, wrong ones e / 3 each: e = .12 makes two of an item differ in 1 - .88^2 - .12^2 / 3."""
    differing = 1 - 0.88**2 - 0.12**2 / 3
    known = LabellingError(differing=differing * 1e7, shared=10_000_000, n_classes=4, kinds=((1, 0, 400),))
    np.testing.assert_allclose(known.draws, 0.12, atol=5 * np.sqrt(differing / 1e7))  # which e moves by less than
    draws = known.adjusted(of_all_labelled()).draws[:, 0]
    # .8 of the labels agree: (1 - e) p + e / 3 (1 - p) of them if p of the predictions are right.
    expected, sd = (0.8 - 0.04) / (0.88 - 0.04), np.sqrt(0.12 * 0.88 / 400) / 0.84
    assert abs(draws.mean() - expected) < 5 * sd / np.sqrt(len(draws))


def test_few_labels_by_two_annotators_leave_open_how_many_are_wrong():
    few = LabellingError(differing=3.0, shared=20, n_classes=2, kinds=((1, 0, 400),))
    sd, error = spread_of(few.adjusted(of_all_labelled()).draws[:, 0])
    # The same by other draws: 2 e (1 - e) ~ Beta(3.5, 17.5), p = (.8 - e) / (1 - 2 e), and the binomial part.
    rng = np.random.default_rng(5)
    e = (1 - np.sqrt(np.maximum(1 - 2 * rng.beta(3.5, 17.5, 200_000), 0))) / 2
    q = 0.8 + rng.normal(size=len(e)) * np.sqrt(e * (1 - e) / 400)
    p = np.where(e < 0.5, (q - e) / np.where(e < 0.5, 1 - 2 * e, 1), rng.random(len(e)))  # at 1/2 labels say nothing
    expected, expected_error = spread_of(np.clip(p, 0, 1))
    assert abs(sd - expected) < 4 * np.hypot(error, expected_error)


def test_an_estimate_that_counts_on_wrong_labels_lies_in_its_interval():
    """Draws beyond 1 are 1: where nearly all are, the mean lies below all of the quantiles."""
    pool = ba.Pool(predictions=["cat"] * 2000, classes=["cat", "dog"])
    a = ba.assess(pool, ba.GroupAccuracy(), prior="uninformative")
    a.tell(range(1500), ["cat"] * 1470 + ["dog"] * 30, annotator="anna")
    a.tell(range(200), ["dog"] * 20 + ["cat"] * 180, annotator="ben")
    counted = a.labelling_error().adjusted(a.result())
    low, high = counted.interval[0]
    assert low <= counted.estimate[0] <= high
    assert 0.99 < counted.estimate[0] < 1


def test_the_rate_lies_in_its_interval_where_annotators_hardly_ever_agree():
    error = LabellingError(6.0, 6, 3, ((1, 1, 6),))  # most draws are as large as can be, and the mean is less
    assert error.interval[0] <= error.rate <= error.interval[1]
