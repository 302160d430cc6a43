"""Label Studio: its tasks and labelling configuration, and what it exports.

Tasks and pre-annotations are those of its guide (labelstud.io/guide, "Import data" and "Import pre-annotations"), the
JSON and JSON-MIN exports those of "Export annotations" and "Task format". Label Studio numbers tasks on its own, and
JSON-MIN puts this number in the place of any ``id`` of the data: ids of items travel as ``item_id``.
"""

from __future__ import annotations

import json
import math
import re
from collections.abc import Mapping

from bayes_assess.errors import OutputError
from bayes_assess.sessions.exchange.answered import (
    AnsweredItem,
    Said,
    UnreadableTask,
    are_objects,
    cell_text,
    joined,
    kind_of,
)
from bayes_assess.sessions.exchange.tasks import HEADING, LABEL, Tasks

ID = "item_id"
CSV = (ID, "annotation_id")  # columns of its CSV export, whose column id has its own numbers of tasks
_ITEM = "item"  # the name of the tag that the label belongs to
_OWN = ("id", "annotator", "annotation_id", "created_at", "updated_at", "lead_time", "agreement")  # names in JSON-MIN
_VALUES = ("choices", "rating", "number", "text")  # what a control says, by the name of its kind
_NO_XML = re.compile("[^\t\n\r\x20-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")


def import_tasks(tasks: Tasks) -> list[dict[str, object]]:
    """Return what Label Studio imports; predictions of the tasks become pre-annotations.

    Examples
    --------
    >>> from bayes_assess.sessions.exchange.tasks import Answers
    >>> import_tasks(Tasks(["7"], {"text": ["purrs"]}, Answers(("cat", "dog"))))
    [{'data': {'item_id': '7', 'text': 'purrs'}}]
    """
    names = _names(tasks)
    entries: list[dict[str, object]] = []
    for at, id in enumerate(tasks.ids):
        shown = {name: tasks.shown[column][at] for column, name in names.items()}
        entries.append({"data": {ID: id, **shown}})
        if tasks.predictions is not None:
            entries[-1]["predictions"] = [_prediction(tasks, at)]
    return entries


def configuration(tasks: Tasks) -> str:
    """Return the labelling configuration, in XML.

    Examples
    --------
    >>> from bayes_assess.sessions.exchange.tasks import Answers
    >>> print(configuration(Tasks(["7"], {"text": ["purrs"]}, Answers(("cat", "dog")))))
    <View>
      <Text name="item" value="$text"/>
      <Choices name="label" toName="item" choice="single" required="true">
        <Choice value="cat"/>
        <Choice value="dog"/>
      </Choices>
    </View>
    """
    names, lines, answers = _names(tasks) or {"": ID}, [], tasks.answers
    for number, (column, name) in enumerate(names.items()):
        if len(names) > 1:
            lines.append(f"<Header value={_attribute(column)}/>")
        lines.append(f'<Text name="{_ITEM}{f"_{number + 1}" * (number > 0)}" value="${name}"/>')
    control = f'name="{LABEL}" toName="{_ITEM}"'
    if answers.bounds is not None:
        low, high = answers.bounds
        ends = [f'{what}="{end:g}"' for what, end in (("min", low), ("max", high)) if math.isfinite(end)]
        ends += [f'step="{(high - low) / 1000:g}"'] if len(ends) == 2 else []
        lines += [f'<Header value="{HEADING}: {answers.within}"/>']
        lines += [f'<Number {" ".join([control, *ends])} required="true"/>']
    else:
        choice = "multiple" if answers.several else "single"
        lines.append(f'<Choices {control} choice="{choice}" required="true">')
        lines += [f"  <Choice value={_attribute(name)}/>" for name in answers.choices]
        lines.append("</Choices>")
    return "\n".join(["<View>", *(f"  {line}" for line in lines), "</View>"])


def _names(tasks: Tasks) -> dict[str, str]:
    # Names that its variables, such as $text, can have; those of JSON-MIN would be overwritten there.
    return tasks.named("A-Za-z0-9_", (ID, LABEL, *_OWN))


def _attribute(text: str) -> str:
    odd = _NO_XML.search(text)
    if odd:
        raise OutputError(f"{text!r} has the character {odd[0]!r}, which a labelling configuration cannot hold.")
    from xml.sax.saxutils import quoteattr  # takes long to import

    return quoteattr(text)


def _prediction(tasks: Tasks, at: int) -> dict[str, object]:
    assert tasks.predictions is not None
    name, number = tasks.predictions[at], tasks.answers.bounds is not None
    value = {"number": float(name)} if number else {"choices": tasks.answers.chosen(name)}
    result = {"from_name": LABEL, "to_name": _ITEM, "type": next(iter(value)), "value": value}
    score = None if tasks.scores is None else tasks.scores[at]
    return {"model_version": "prediction", **({} if score is None else {"score": score}), "result": [result]}


# -- exports -----------------------------------------------------------------------------------------------------------


def is_task(found: Mapping[str, object]) -> bool:
    """Whether this is a task of the JSON export."""
    return "data" in found


def is_annotation(found: Mapping[str, object]) -> bool:
    """Whether this is an annotation of the JSON-MIN export."""
    return "annotation_id" in found


def read_task(task: Mapping[str, object], id: str, label: str) -> AnsweredItem:
    """Read what annotators said of a task of the JSON export; annotations that were skipped say nothing.

    Raises
    ------
    UnreadableTask
        If there is no id, or an annotation cannot be read.

    Examples
    --------
    >>> said = {"result": [{"from_name": "label", "value": {"choices": ["cat"]}}], "completed_by": {"email": "a@b.org"}}
    >>> read_task({"id": 1, "data": {"item_id": 7}, "annotations": [said]}, "id", "label")
    AnsweredItem(id='7', said=[Said(label='cat', annotator='a@b.org')], names={'label'}, n_open=0, n_untold=0)
    """
    data = task.get("data")
    if not isinstance(data, dict):
        raise UnreadableTask(f"its data is {kind_of(data)}, not an object")
    key = ID if id == "id" and ID in data else id
    if key not in data:
        raise UnreadableTask(f"its data has no {ID if id == 'id' else id!r}, so that nobody knows which item it is")
    annotations = task.get("annotations", task.get("completions")) or []  # as they were called before version 1.0
    if not are_objects(annotations):
        raise UnreadableTask("its annotations are not a list of objects, as in the JSON export of Label Studio")
    said, names = [], set()
    for annotation in annotations:
        results = annotation.get("result") or []
        if not are_objects(results):
            raise UnreadableTask("the result of an annotation is not a list of objects")
        names |= {str(entry.get("from_name")) for entry in results if entry.get("from_name") is not None}
        cancelled = annotation.get("was_cancelled") or annotation.get("skipped")
        mine = [] if cancelled else [_said(entry, label) for entry in results if entry.get("from_name") == label]
        said.append(Said(joined(part for parts in mine for part in parts), _person(annotation.get("completed_by"))))
    return AnsweredItem(cell_text(data[key]), said, names)


def read_annotation(found: Mapping[str, object], id: str, label: str) -> AnsweredItem:
    """Read an annotation of the JSON-MIN export.

    Raises
    ------
    UnreadableTask
        If there is no id, or the label cannot be read.

    Examples
    --------
    >>> read_annotation({"id": 1, "item_id": 7, "label": "cat", "annotator": 3, "annotation_id": 5}, "id", "label")
    AnsweredItem(id='7', said=[Said(label='cat', annotator='3')], names={'label'}, n_open=0, n_untold=0)
    """
    key = ID if id == "id" else id
    if key not in found:
        own = "; its 'id' is the number that Label Studio gave the task" * (key == ID)
        raise UnreadableTask(f"it has no {key!r}, so that nobody knows which item it is{own}")
    value = found.get(label)
    parts = value if isinstance(value, list) else [] if value is None else [value]
    mine = [text for part in parts for text in (_of_value(part) if isinstance(part, dict) else [cell_text(part)])]
    names = {str(name) for name in found if name not in (ID, id, *_OWN)}
    return AnsweredItem(cell_text(found[key]), [Said(joined(mine), _person(found.get("annotator")))], names)


def csv_label(text: str) -> str:
    """Return a label as the text of a sheet: the CSV export has several choices as an object of JSON.

    Examples
    --------
    >>> csv_label('{"choices": ["cat", "dog"]}'), csv_label("cat")
    ('cat;dog', 'cat')
    """
    if not text.startswith("{"):
        return text
    try:
        value = json.loads(text)
        return joined(_of_value(value)) if isinstance(value, dict) else text
    except (ValueError, RecursionError, UnreadableTask):
        return text


def _said(result: Mapping[str, object], label: str) -> list[str]:
    value = result.get("value")
    if not isinstance(value, dict):
        raise UnreadableTask(f"the value of {label!r} is {kind_of(value)}, not an object")
    return _of_value(value)


def _of_value(value: Mapping[str, object]) -> list[str]:
    kind = next((kind for kind in _VALUES if kind in value), None)
    if kind is None:
        keys = ", ".join(map(repr, list(value)[:5])) or "nothing"
        raise UnreadableTask(f"the label is no choice, rating, number or text of Label Studio; its value has {keys}")
    said = value[kind]
    return [cell_text(choice) for choice in said] if isinstance(said, list) else [cell_text(said)]


def _person(found: object) -> str:
    """Return the address of an annotator, or the number; nothing where both are unknown."""
    if isinstance(found, dict):
        found = found.get("email") or found.get("id")
    who = "" if isinstance(found, list | dict) else cell_text(found).strip()
    return "" if who in ("None", "{}") else who  # as JSON-MIN writes nobody
