import duckdb
import numpy as np
import polars as pl
import pytest

import bayes_assess as ba

M = 2_000
RNG = np.random.default_rng(12)
SCORE = RNG.beta(0.5, 1.5, M).round(3)
LABEL = (RNG.random(M) < 0.8 * SCORE + 0.05).astype(int)  # which predictions contradict now and then
SITE = np.array(["north", "south"])[(RNG.random(M) < 0.2).astype(int)]
IDS = np.arange(M) * 3 + 1
FRAME = pl.DataFrame({"id": IDS, "score": SCORE, "site": SITE, "label": LABEL})
WEIGHTED = ["importance", "adaptive", "oasis", "stratified", "passive", "poisson"]


def pool(kind="memory"):
    if kind == "table":
        return ba.scan_pool(FRAME.lazy(), id="id", scores="score", groups=["site"])
    return ba.Pool(scores=SCORE, groups={"site": SITE}, ids=IDS)


def truth(ids):
    return LABEL[(np.asarray(ids) - 1) // 3]


def labelled(session, n=60, rounds=3):
    for _ in range(rounds):
        queries = session.ask(n // rounds)
        session.tell(queries.ids, truth(queries.ids))
    return session


def sums(table):
    """Return the estimated numbers of items by prediction and label."""
    predicted = (SCORE[(table["id"] - 1) // 3] >= 0.5).astype(int)
    found = np.zeros((2, 2))
    np.add.at(found, (predicted, table["label"].astype(int)), table["weight"])
    return found


@pytest.mark.parametrize("kind", ["memory", "table"])
@pytest.mark.parametrize("design", WEIGHTED)
def test_weighted_sums_of_labels_are_what_the_session_says_of_a_measure(design, kind):
    measures = ["f1"] if design == "oasis" else ["f1", "accuracy"]  # which seeks F measures alone
    a = labelled(ba.assess(pool(kind), ba.Metric(measures), design=design, seed=2))
    found = sums(a.export())
    wanted = [2 * found[1, 1] / (found[1].sum() + found[:, 1].sum()), 1 - (found[0, 1] + found[1, 0]) / M]
    np.testing.assert_allclose(np.ravel(a.result().estimate), wanted[: len(measures)], rtol=1e-6)


@pytest.mark.parametrize("kind", ["memory", "table"])
@pytest.mark.parametrize(
    ("question", "design"),
    [
        (ba.GroupAccuracy(by="site"), "thompson"),
        (ba.GroupAccuracy(by="site"), "random_group"),
        (ba.Metric("f1"), "variance_reduction"),
    ],
    ids=["thompson", "random_group", "variance_reduction"],
)
def test_labels_of_designs_that_play_groups_stand_for_the_items_of_their_group(question, design, kind):
    a = labelled(ba.assess(pool(kind), question, design=design, seed=0))
    table, sizes = a.export(), a.cells.sizes
    by_cell = np.bincount(table["cell"], table["weight"], a.cells.n_cells)
    reached = np.isin(np.arange(a.cells.n_cells), table["cell"])
    np.testing.assert_allclose(by_cell, np.where(reached, sizes, 0))
    for cell in np.unique(table["cell"]):
        assert len(np.unique(table["weight"][table["cell"] == cell])) == 1


def test_labels_that_nobody_asked_for_stand_for_themselves_in_measures_and_for_their_group_in_groups():
    a = labelled(ba.assess(pool(), ba.Metric("f1"), seed=0), 30)
    known = np.setdiff1d(IDS, a.labelled[0])[:200]
    a.tell(known, truth(known))
    table = a.export()
    told = np.isin(table["id"], known)
    assert (table["weight"][told] == 1).all()
    assert (table["round"][told] == 0).all()
    assert set(table["round"][~told].tolist()) == {1, 2, 3}
    b = ba.assess(pool(), ba.GroupAccuracy(by="site"))
    b.tell(known, truth(known))
    np.testing.assert_allclose(b.export()["weight"].sum(), M)


@pytest.mark.parametrize("design", ["importance", "poisson", "passive"])
def test_every_label_counts_once_when_everything_is_labelled(design):
    few = ba.Pool(scores=SCORE[:40], ids=IDS[:40])
    a = ba.assess(few, ba.Metric("accuracy"), design=design)
    while not a.done:
        queries = a.ask(min(10, a.n_remaining))
        a.tell(queries.ids, truth(queries.ids))
    np.testing.assert_allclose(a.export()["weight"], 1)


def test_every_draw_of_a_stochastic_oracle_has_a_row():
    a = ba.assess(pool(), ba.Metric("accuracy"), design="importance", oracle="stochastic", seed=1)
    for _ in range(4):
        queries = a.ask(30)
        a.tell(queries.ids, truth(queries.ids))
    table = a.export()
    assert len(table) == 120
    found = sums(table)
    np.testing.assert_allclose(1 - (found[0, 1] + found[1, 0]) / M, a.result().estimate, rtol=1e-6)


def test_numbers_are_weighed_as_their_estimate_is():
    predictions, labels = SCORE * 10, LABEL * 9.0
    numbers = ba.Pool(predictions=predictions, bounds=(0, 10), ids=IDS)
    for design in ("poisson", "importance", "passive"):
        a = ba.assess(numbers, ba.Metric("mae"), design=design, seed=3)
        for _ in range(3):
            queries = a.ask(20)
            a.tell(queries.ids, labels[(queries.ids - 1) // 3])
        table = a.export()
        off = np.abs(predictions[(table["id"] - 1) // 3] - table["label"])
        np.testing.assert_allclose((off * table["weight"]).sum() / M, a.result().estimate, rtol=1e-6)


def test_sets_of_labels_are_exported_with_the_weights_of_their_rounds():
    predicted = [["a"], ["a", "b"], [], ["b"]] * 25
    sets = ba.Pool(predictions=predicted, classes=["a", "b"], multilabel=True)
    a = ba.assess(sets, ba.Metric("f1_micro"), seed=0)
    for _ in range(2):
        queries = a.ask(10)
        a.tell(queries.ids, [predicted[i] for i in queries.ids.tolist()])
    table = a.export()
    np.testing.assert_allclose(table["weight"].sum(), 100, rtol=0.5)
    assert set(table["label"].tolist()) <= {"a", "a;b", "-", "b"}


def test_rounds_and_times_are_those_of_the_journal(tmp_path):
    path = tmp_path / "run.db"
    a = labelled(ba.assess(pool(), ba.GroupAccuracy(by="site"), journal=path), 6)
    wrong = a.labelled[0][:1]
    a.correct(wrong, 1 - truth(wrong))
    table = a.export()
    assert sorted(table["round"].tolist()) == [1, 1, 2, 2, 3, 3]
    assert table["round"].tolist() == sorted(table["round"].tolist())  # in the order of telling
    events = {event.sequence: event.time for event in a.journal.events()}
    at = table["id"].tolist().index(wrong[0])
    assert table["time"][at] == events[7]
    assert table["label"][at] == 1 - truth(wrong)[0]
    b = ba.resume(path, pool())
    assert b.export().to_frame().equals(table.to_frame())
    assert ba.assess(pool(), ba.GroupAccuracy()).export().columns == table.columns


def test_labels_are_written_to_files_and_to_a_table_of_the_warehouse(tmp_path):
    connection = duckdb.connect()
    connection.register("frame", FRAME.to_arrow())
    connection.execute("CREATE TABLE items AS SELECT * FROM frame")
    for name in ("small", "table", "own"):  # as variables are called here and there
        connection.execute(f'CREATE TABLE "{name}" (nothing INTEGER)')
    items = ba.scan_pool("items", id="id", scores="score", groups=["site"], connection=connection)
    a = labelled(ba.assess(items, ba.Metric("accuracy"), design="importance", seed=0))
    table = a.export(tmp_path / "labels.parquet")
    a.export(tmp_path / "labels.csv")
    a.export("labels", connection=connection)
    found = pl.read_parquet(tmp_path / "labels.parquet")
    assert found.schema["time"] == pl.String
    assert found.drop("time").equals(table.to_frame("polars").drop("time"))
    assert (tmp_path / "labels.csv").read_text().startswith("id,cell,group,label,weight,round,time\n")
    found = connection.sql(
        "SELECT 1 - sum(weight) FILTER (WHERE labels.label <> (score >= 0.5)::INT) / (SELECT count(*) FROM items) "
        "FROM labels JOIN items USING (id)"
    ).fetchall()
    np.testing.assert_allclose(found[0][0], a.result().estimate, rtol=1e-6)
    with pytest.raises(ba.OutputError, match=r"make the table 'labels': .* already exists\. Choose another"):
        a.export("labels", connection=connection)
    with pytest.raises(ba.OutputError, match=r"to \.parquet or \.csv, or with connection="):
        a.export(tmp_path / "labels.xlsx")


def test_a_session_without_labels_exports_none(tmp_path):
    for question in (ba.GroupAccuracy(), ba.Metric("f1")):
        a = ba.assess(pool(), question)
        assert len(a.export(tmp_path / "labels.parquet")) == 0


def test_pairs_and_ranks_have_no_weights_and_say_so():
    a = ba.assess(ba.RankedList(1_000), ba.PrecisionCurve())
    with pytest.raises(ba.DesignError, match="`labelled` of the session has ids and labels"):
        a.export("labels.parquet")


def test_where_labels_cannot_go_is_refused():
    a = ba.assess(ba.Pool(predictions=[0, 1]), ba.GroupAccuracy())
    with pytest.raises(ba.OutputError, match="to a path, or the name of a table; found 3"):
        a.export(3)  # type: ignore[arg-type]
    with pytest.raises(ba.OutputError, match=r"or with connection= to a table of DuckDB; found 'labels\.json'"):
        a.export("labels.json")
    with pytest.raises(ba.OutputError, match="Name the table"):  # and not nothing
        a.export(connection=duckdb.connect())


@pytest.mark.parametrize("design", ["passive", "poisson"])
def test_numbers_count_once_each_when_everything_is_labelled(design):
    """Those that nobody asked for stood for no item, beside an answer that counted them."""
    predictions, labels = RNG.uniform(0, 100, (2, 30)).round(1)
    a = ba.assess(ba.Pool(predictions=predictions, bounds=(0, 100)), ba.Metric("mae"), design=design)
    ids = a.ask(5).ids
    a.tell(ids, labels[ids])
    assert a.export()["weight"].sum() == pytest.approx(30)
    a.tell(range(30), labels)
    table = a.export()
    assert table["weight"].tolist() == [1] * 30
    assert np.abs(predictions[table["id"]] - table["label"]).mean() == pytest.approx(a.result().estimate)


# One of every way to weigh; `tests/designs/test_engines.py` has estimates of the others, which are as their weights.


@pytest.mark.slow
@pytest.mark.parametrize("design", WEIGHTED)
def test_weights_of_compiled_sessions_have_the_digits_of_those_on_numpy(design):
    eager, compiled = (
        labelled(ba.assess(pool(), ba.Metric("f1"), design=design, seed=1, engine=engine)).export()
        for engine in ("eager", "compiled")
    )
    np.testing.assert_array_equal(compiled["id"], eager["id"])
    np.testing.assert_allclose(compiled["weight"], eager["weight"], rtol=1e-11)


@pytest.mark.slow
@pytest.mark.parametrize("design", ["poisson", "passive"])
def test_weights_of_sets_of_labels_have_the_digits_of_those_on_numpy(design):
    scores = np.random.default_rng(0).random((90_000, 3)) ** 2
    topics = ba.Pool(scores=scores, classes=["bill", "bug", "spam"], multilabel=True)
    weights = []
    for engine in ("eager", "compiled"):
        a = ba.assess(topics, ba.Metric("f1_micro"), design=design, seed=0, engine=engine)
        queries = a.ask(30)
        a.tell(queries.ids, scores[queries.ids] > 0.5)
        weights.append(a.export()["weight"])
    np.testing.assert_allclose(weights[1], weights[0], rtol=1e-11)


def test_weights_of_a_compiled_session_are_one_program(caplog):
    """Operation by operation they were some dozens."""
    design = ba.designs.Stratified(n_strata=13)  # of shapes that no other session has
    a = labelled(ba.assess(pool(), ba.Metric("f1"), design=design, seed=1, engine="compiled"))
    caplog.set_level("DEBUG", "jax")
    a.export()
    compiled = [record.getMessage() for record in caplog.records if record.msg.startswith("Compiling")]
    assert len(compiled) == 1
