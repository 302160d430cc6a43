"""Tasks for labelling tools, and what the tools export.

Exports are those that the tools' documentation shows ("Export annotations" of labelstud.io, "Import and export" of
docs.argilla.io), cut down to what matters; `tests/sessions/exchange/tool_exports.py` makes them.
"""

from __future__ import annotations

import json
import xml.etree.ElementTree as ElementTree
from pathlib import Path

import pytest

import bayes_assess as ba
from bayes_assess.sessions.exchange.sheets import read_sheet
from sessions.exchange.tool_exports import (
    annotated,
    flat_record,
    label_studio,
    label_studio_minimal,
    record,
)

IDS = ["007", "b", "c", "d"]
TEXTS = ["purrs & sleeps", 'says "woof"', "", "<bark>"]
POOL = ba.Pool(predictions=["cat", "dog", "cat", "dog"], scores=None, ids=IDS, show={"der Text": TEXTS})
SETS = ba.Pool(predictions=["cat;dog", "cat", "dog", "-"], ids=IDS, multilabel=True)

UNTOLD = "ignore:.* of which the file does not say whether they were submitted"  # as to_json of Argilla does not


@pytest.fixture(scope="module")
def folder(tmp_path_factory) -> Path:
    return tmp_path_factory.mktemp("tools")


def written(folder: Path, content: object, name: str = "export.json") -> Path:
    path = folder / name
    path.write_text(json.dumps(content), encoding="utf-8")
    return path


def asked(pool: ba.Pool, folder: Path, tool: str, **options) -> list[dict]:
    a = ba.assess(pool, ba.Metric("f1_micro") if pool.multilabel else ba.GroupAccuracy())
    a.ask(pool.n_items).to_json(folder / "tasks.json", tool=tool, **options)
    return json.loads((folder / "tasks.json").read_text(encoding="utf-8"))


# -- out ---------------------------------------------------------------------------------------------------------------


def test_label_studio_gets_ids_and_texts_and_no_prediction(folder):
    tasks = asked(POOL, folder, "label-studio")
    assert {task["data"]["item_id"]: task["data"]["der_Text"] for task in tasks} == dict(zip(IDS, TEXTS, strict=True))
    assert {key for task in tasks for key in task} == {"data"}
    assert {len(task["data"]) for task in tasks} == {2}


def test_the_labelling_configuration_names_what_tasks_and_predictions_name(folder):
    tasks = asked(POOL, folder, "label-studio", show_prediction=True)
    view = ElementTree.parse(folder / "tasks.xml").getroot()
    (text,), (choices,) = view.findall("Text"), view.findall("Choices")
    assert text.get("value") == "$der_Text"
    assert (choices.get("name"), choices.get("toName"), choices.get("choice")) == ("label", text.get("name"), "single")
    assert [choice.get("value") for choice in choices] == ["cat", "dog"]
    for task in tasks:
        (prediction,) = task["predictions"]
        (result,) = prediction["result"]
        assert (result["from_name"], result["to_name"], result["type"]) == ("label", text.get("name"), "choices")
        assert result["value"]["choices"] == [POOL.prediction_names(IDS.index(task["data"]["item_id"]))]


def test_argilla_gets_records_and_settings(folder):
    records = asked(POOL, folder, "argilla")
    assert {one["id"]: one["fields"] for one in records} == {
        id: {"der_text": text} for id, text in zip(IDS, TEXTS, strict=True)
    }
    assert all(one["suggestions"] == {} for one in records)
    made = json.loads((folder / "tasks.settings.json").read_text(encoding="utf-8"))
    assert [(field["name"], field["title"]) for field in made["fields"]] == [("der_text", "der Text")]
    (question,) = made["questions"]
    assert [option["value"] for option in question["settings"]["options"]] == ["cat", "dog"]
    shown = asked(POOL, folder, "argilla", show_prediction=True)
    assert {one["id"]: one["suggestions"]["label"]["value"] for one in shown} == dict(
        zip(IDS, ["cat", "dog", "cat", "dog"], strict=True)
    )


def test_scores_go_with_predictions_where_they_are_numbers(folder):
    pool = ba.Pool(predictions=["cat", "dog"], confidence=[0.75, 0.5], ids=["a", "b"])
    found = {
        one["id"]: one["suggestions"]["label"]["score"] for one in asked(pool, folder, "argilla", show_prediction=True)
    }
    assert found == {"a": 0.75, "b": 0.5}
    tasks = asked(pool, folder, "label-studio", show_prediction=True)
    assert {task["data"]["item_id"]: task["predictions"][0]["score"] for task in tasks} == found


def test_label_sets_are_chosen_together_and_no_class_is_a_choice(folder):
    tasks = asked(SETS, folder, "label-studio", show_prediction=True)
    (choices,) = ElementTree.parse(folder / "tasks.xml").getroot().findall("Choices")
    assert choices.get("choice") == "multiple"
    assert [choice.get("value") for choice in choices] == ["cat", "dog", "-"]
    predicted = {task["data"]["item_id"]: task["predictions"][0]["result"][0]["value"]["choices"] for task in tasks}
    assert predicted == {"007": ["cat", "dog"], "b": ["cat"], "c": ["dog"], "d": ["-"]}
    asked(SETS, folder, "argilla")
    (question,) = json.loads((folder / "tasks.settings.json").read_text(encoding="utf-8"))["questions"]
    assert question["settings"]["type"] == "multi_label_selection"


def test_numbers_are_typed_in(folder):
    pool = ba.Pool(predictions=[10.0, 20.5], bounds=(0, 100), ids=["a", "b"])
    a = ba.assess(pool, ba.Mean())
    a.ask(2).to_json(folder / "n.json", tool="label-studio", show_prediction=True)
    (number,) = ElementTree.parse(folder / "n.xml").getroot().findall("Number")
    assert (number.get("name"), number.get("min"), number.get("max")) == ("label", "0", "100")
    said = [annotated("a", [{"number": 12}]), annotated("b", [{"number": 20.125}], number=2)]
    ids, labels = ba.read_labels(written(folder, said), pool)
    a.tell(ids, labels)
    assert a.labels_used == 2
    ba.assess(pool, ba.Mean()).ask(2).to_json(folder / "n.json", tool="argilla")
    assert json.loads((folder / "n.settings.json").read_text())["questions"][0]["settings"]["type"] == "text"


def test_columns_never_take_the_names_that_tools_use(folder):
    names = ["item_id", "status", "a b", "a_b", "Größe", "annotator", "Lead_time"]
    pool = ba.Pool(predictions=["cat", "dog"], ids=["a", "b"], show={name: [name, name] for name in names})
    for task in asked(pool, folder, "label-studio"):
        own = task["data"].pop("item_id")
        assert own in ("a", "b")
        assert sorted(task["data"].values()) == sorted(names)
        assert "annotator" not in task["data"]
    for one in asked(pool, folder, "argilla"):
        assert sorted(one["fields"].values()) == sorted(names)
        assert all(name.isascii() and name == name.lower() for name in one["fields"])


def test_texts_that_no_file_can_hold_are_written_all_the_same(folder):
    pool = ba.Pool(predictions=["cat", "dog"], show={"text": ["half \ud800 a letter", "whole"]})
    for tool in ("label-studio", "argilla"):
        assert "half ? a letter" in json.dumps(asked(pool, folder, tool))


def test_other_tools_and_other_files_are_refused(folder):
    queries = ba.assess(POOL, ba.GroupAccuracy()).ask(1)
    with pytest.raises(ba.OutputError, match=r"no labelling tool 'prodigy' here; take 'label-studio', 'argilla'\."):
        queries.to_json(folder / "tasks.json", tool="prodigy")
    with pytest.raises(ba.OutputError, match=r"name the file new\.json, not new\.csv"):
        queries.to_json(folder / "new.csv", tool="argilla")
    odd = ba.Pool(predictions=["a\x01", "b"])
    with pytest.raises(ba.OutputError, match="which a labelling configuration cannot hold"):
        ba.assess(odd, ba.GroupAccuracy()).ask(1).to_json(folder / "odd.json", tool="label-studio")
    assert not (folder / "odd.json").exists()


# -- in ----------------------------------------------------------------------------------------------------------------

SAID = [("007", "cat", "anna@example.org"), ("b", "dog", "anna@example.org"), ("007", "dog", "ben@example.org")]
FORMS = {"json": label_studio, "json-min": label_studio_minimal, "records": record, "flat": flat_record}


@pytest.mark.filterwarnings(UNTOLD)
@pytest.mark.parametrize("form", FORMS)
def test_every_export_says_who_said_what(folder, form):
    path = written(folder, FORMS[form](SAID))
    ids, labels, names = ba.read_labels(path, POOL, annotators=True)
    assert sorted(zip(ids.tolist(), labels.tolist(), names.tolist(), strict=True)) == sorted(SAID)
    assert sorted(zip(*(column.tolist() for column in ba.read_labels(path, annotators=True)), strict=True)) == sorted(
        SAID
    )
    a = ba.assess(POOL, ba.GroupAccuracy())
    a.tell(ids, labels, annotator=names)
    assert (a.labels_used, a.n_disagreements) == (2, 1)
    with pytest.raises(ba.LabelError, match="'007' occurs twice with different labels"):
        ba.read_labels(path, POOL)


@pytest.mark.filterwarnings(UNTOLD)
@pytest.mark.parametrize("form", FORMS)
def test_all_that_is_wrong_is_said_at_once(folder, form):
    path = written(folder, FORMS[form]([("nobody", "cat", "a"), ("b", "bird", "a"), ("c", "cat", "a")]))
    with pytest.raises(ba.LabelError) as caught:
        ba.read_labels(path, POOL)
    unit, numbers = ("task", (1, 2)) if form.startswith("json") else ("record", (1, 2))
    said = str(caught.value)
    assert f"{unit} {numbers[0]}: 'nobody' is the id of no item" in said
    assert f"{unit} {numbers[1]}: the label 'bird' is not one of the classes" in said
    assert f"{unit} 3" not in said


@pytest.mark.parametrize("form", [label_studio, label_studio_minimal, record, flat_record])
@pytest.mark.parametrize("number", ["1e400", "-Infinity"])
def test_a_number_that_is_infinite_or_too_large_is_no_missing_label(folder, form, number):
    pool = ba.Pool(predictions=[0.0, 1.0], ids=["a", "b"], bounds=(0, 1))
    path = written(folder, form([("a", 0.25, "1"), ("b", 1234.5, "1")]))
    path.write_text(path.read_text(encoding="utf-8").replace("1234.5", number), encoding="utf-8")
    with pytest.raises(ba.errors.LabelError, match=r"(task|record) 2: .*infinite .* too large"):
        ba.read_labels(path, pool)


def test_tasks_are_named_by_the_numbers_that_label_studio_shows(folder):
    found = label_studio([("b", "bird", "a")])
    found[0]["id"] = 4711
    with pytest.raises(ba.LabelError, match="by the numbers of Label Studio, these tasks are wrong: task 4711: "):
        ba.read_labels(written(folder, found), POOL)


def test_skipped_tasks_are_rows_without_a_label(folder):
    skipped = annotated("b", [], cancelled=True)
    kept = annotated("c", [{"choices": ["dog"]}], cancelled=True, number=2)  # chosen, and then skipped
    sheet = read_sheet(written(folder, [skipped, kept, annotated("d", [{"choices": ["dog"]}], number=3)]), POOL)
    assert (sheet.ids.tolist(), sheet.labels.tolist(), sheet.n_blank) == (["d"], ["dog"], 2)


@pytest.mark.parametrize("status", ["discarded", "draft"])
def test_responses_that_were_not_submitted_are_rows_without_a_label(folder, status):
    found = flat_record([("b", "cat", "u1"), ("b", "dog", "u2")])
    found[0]["label.responses.status"][0] = status
    sheet = read_sheet(written(folder, found), POOL, annotator="annotator")
    assert (sheet.labels.tolist(), sheet.annotators.tolist(), sheet.n_blank) == (["dog"], ["u2"], 1)
    nested = record([("b", "cat", "u1")])
    nested[0]["responses"]["label"][0]["status"] = status
    assert read_sheet(written(folder, nested), POOL).n_blank == 1


def test_responses_of_pending_records_may_be_drafts(folder):
    found = record([("b", "cat", "u1"), ("c", "dog", "u1")])
    found[0]["status"] = "pending"
    sheet = read_sheet(written(folder, found), POOL)
    assert (sheet.ids.tolist(), sheet.n_blank) == (["c"], 1)
    left_out, taken = sheet.notes
    assert left_out == "Left out 1 answer of records that are pending, which may be drafts."
    assert taken.startswith("Took 1 answer of which the file does not say whether they were submitted or discarded")
    found = [{key: value for key, value in one.items() if key != "label.responses.status"} for one in flat_record(SAID)]
    with pytest.warns(UserWarning, match="Took 3 answers of which the file does not say"):
        ba.read_labels(written(folder, found), POOL, annotators=True)


def test_predictions_and_suggestions_are_never_read(folder):
    for tool in ("label-studio", "argilla"):
        tasks = asked(POOL, folder, tool, show_prediction=True)
        assert read_sheet(written(folder, tasks), POOL).n_blank == 4
        assert not len(read_sheet(written(folder, tasks), POOL).ids)


def test_tasks_of_no_annotator_and_ids_that_are_numbers(folder):
    pool = ba.Pool(predictions=["cat", "dog"], ids=[7, 8])
    task = annotated(7, [{"choices": ["dog"]}])
    task["annotations"][0]["completed_by"] = None
    other = annotated(8.0, [{"choices": ["cat"]}], number=2)
    other["annotations"][0]["completed_by"] = 3
    ids, labels, names = ba.read_labels(written(folder, [task, other]), pool, annotators=True)
    assert (ids.tolist(), labels.tolist(), names.tolist()) == ([7, 8], ["dog", "cat"], ["", "3"])


def test_data_with_an_id_of_its_own_is_read_from_json_and_not_from_json_min(folder):
    task = annotated("b", [{"choices": ["dog"]}])
    task["data"] = {"id": "b", "text": "a text"}
    ids, _ = ba.read_labels(written(folder, [task]), POOL)
    assert ids.tolist() == ["b"]
    one = {"id": 2, "text": "a text", "label": "dog", "annotator": 1, "annotation_id": 5, "lead_time": 1.5}
    with pytest.raises(ba.LabelError, match="its 'id' is the number that Label Studio gave the task"):
        ba.read_labels(written(folder, [one]), ba.Pool(predictions=["cat", "dog", "cat"]))
    ids, _ = ba.read_labels(written(folder, [one | {"key": "c"}]), POOL, id="key")
    assert ids.tolist() == ["c"]


def test_numbers_of_tasks_in_the_csv_of_label_studio_are_no_ids(folder):
    path = folder / "project.csv"
    path.write_text("annotation_id,annotator,id,item_id,label,lead_time\n5,1,2,0,dog,1.5\n", encoding="utf-8")
    ids, labels, names = ba.read_labels(path, ba.Pool(predictions=["cat", "dog", "cat"]), annotators=True)
    assert (ids.tolist(), labels.tolist(), names.tolist()) == ([0], ["dog"], ["1"])


@pytest.mark.filterwarnings(UNTOLD)
def test_label_sets_come_back(folder):
    said = [annotated("b", [{"choices": ["dog", "cat"]}]), annotated("c", [{"choices": ["-"]}], number=2)]
    ids, labels = ba.read_labels(written(folder, said), SETS)
    assert (ids.tolist(), labels.tolist()) == (["b", "c"], ["cat;dog", "-"])
    minimal = label_studio_minimal([("b", {"choices": ["dog", "cat"]}, "1"), ("c", "-", "1")])
    ids, labels = ba.read_labels(written(folder, minimal), SETS)
    assert labels.tolist() == ["cat;dog", "-"]
    ids, labels = ba.read_labels(written(folder, record([("b", ["dog", "cat"], "1"), ("c", ["-"], "1")])), SETS)
    assert labels.tolist() == ["cat;dog", "-"]


def test_several_choices_come_back_from_the_csv_of_label_studio(folder):
    path = folder / "project.csv"
    rows = ['5,1,1,b,"{""choices"": [""dog"", ""cat""]}"', "6,1,2,c,cat", "7,1,3,d,-"]
    path.write_text("\n".join(["annotation_id,annotator,id,item_id,label", *rows]), encoding="utf-8")
    ids, labels = ba.read_labels(path, SETS)
    assert (ids.tolist(), labels.tolist()) == (["b", "c", "d"], ["cat;dog", "cat", "-"])
    assert ba.read_labels(path)[1].tolist() == ["dog;cat", "cat", "-"]


def test_another_name_of_the_question_is_asked_for(folder):
    task = annotated("b", [{"choices": ["dog"]}])
    task["annotations"][0]["result"][0]["from_name"] = "animal"
    with pytest.raises(ba.LabelError, match="has no answers to 'label'; it has answers to 'animal'"):
        ba.read_labels(written(folder, [task]), POOL)
    assert ba.read_labels(written(folder, [task]), POOL, label="animal")[1].tolist() == ["dog"]


@pytest.mark.parametrize(
    ("content", "problem"),
    [
        ("", "cannot be read as JSON"),
        ("id,label\na,cat\n", "cannot be read as JSON"),
        ("[" * 100_000, "cannot be read as JSON"),
        ("9" * 5_000, "cannot be read as JSON"),
        ("7", "holds a number; an export is a list of tasks"),
        ("null", "holds null; an export"),
        ("[]", "is an empty list"),
        ("[null, [[]]]", "its first entry has no object"),
        ("[{}]", "its first entry has an empty object"),
        ('[{"id": 1, "text": "a"}]', "is none of the JSON or JSON-MIN of Label Studio, .* has 'id', 'text'"),
        ('[{"data": null}]', "counted from 1, these tasks are wrong: task 1: its data is null, not an object"),
        (
            '[{"data": {"text": "a"}}, 7]',
            "task 1: its data has no 'item_id', .*; task 2: there is a number in the place",
        ),
        ('[{"data": {"item_id": [1]}}]', "a list stands where a text or a number should be"),
        ('[{"data": {"item_id": "b"}, "annotations": {"a": 1}}]', "its annotations are not a list of objects"),
        ('[{"data": {"item_id": "b"}, "annotations": [{"result": [3]}]}]', "the result of an annotation is not a list"),
        ('[{"id": "b", "fields": {}, "responses": [1]}]', "its responses are a list, not an object"),
        (
            '[{"id": "b", "fields": {}, "responses": {"label": [1]}}]',
            "its responses to 'label' are not a list of objects",
        ),
        ('[{"fields": {}, "responses": {}}]', "it has no 'id'"),
        ('[{"id": "b", "label.responses": ["cat"]}]', "not lists with one value, user and status of each"),
    ],
)
def test_files_that_are_no_exports_get_a_sentence(folder, content, problem):
    path = folder / "broken.json"
    path.write_text(content, encoding="utf-8")
    for pool in (POOL, None):
        with pytest.raises(ba.LabelError, match=problem):
            ba.read_labels(path, pool)


def test_bytes_that_are_no_text_get_a_sentence(folder):
    (folder / "broken.json").write_bytes(b'[{"id": "\xff"}]')
    with pytest.raises(ba.LabelError, match=r"cannot be read as UTF-8 or UTF-16: .* at byte 9; export it again\.$"):
        ba.read_labels(folder / "broken.json")


def test_a_value_of_another_kind_of_control_is_refused(folder):
    task = annotated("b", [{"rectanglelabels": ["cat"], "x": 1.5}])
    with pytest.raises(
        ba.LabelError, match="no choice, rating, number or text of Label Studio; its value has 'rectangle"
    ):
        ba.read_labels(written(folder, [task]), POOL)
