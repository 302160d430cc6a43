"""Argilla: its records and the settings of a dataset, and what it exports.

The records are those that ``Dataset.records.from_json`` reads and ``to_json`` or ``to_list`` return, and the settings
those of ``Settings.from_json`` (docs.argilla.io, "Add, update, and delete records" and "Import and export"; version 2).
"""

from __future__ import annotations

from collections.abc import Mapping

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

_ITEM = "item"  # the field, where nothing is shown of an item but its id
_OWN = ("id", "status", "_server_id", LABEL)  # names that records have beside those of fields
_SUBMITTED = (None, "submitted")


def import_records(tasks: Tasks) -> list[dict[str, object]]:
    """Return records; predictions of the tasks become suggestions.

    Examples
    --------
    >>> from bayes_assess.sessions.exchange.tasks import Answers
    >>> tasks = Tasks(["7"], {"Text": ["purrs"]}, Answers(("cat", "dog")), ["cat"])
    >>> import_records(tasks)[0]["fields"], import_records(tasks)[0]["suggestions"]["label"]["value"]
    ({'text': 'purrs'}, 'cat')
    """
    names, records = _names(tasks), []
    for at, id in enumerate(tasks.ids):
        fields = {name: tasks.shown[column][at] for column, name in names.items()} or {_ITEM: id}
        suggestions = {} if tasks.predictions is None else {LABEL: _suggestion(tasks, at)}
        records.append({"id": id, "fields": fields, "metadata": {}, "suggestions": suggestions, "responses": {}})
    return records


def settings(tasks: Tasks) -> dict[str, object]:
    """Return the settings of a dataset for these records."""
    names, answers = _names(tasks) or {"Item": _ITEM}, tasks.answers
    fields = [
        {"name": name, "title": column, "required": at == 0, "settings": {"type": "text", "use_markdown": False}}
        for at, (column, name) in enumerate(names.items())
    ]
    title, asked = HEADING, {"type": "text", "use_markdown": False}
    if answers.bounds is not None:
        title = f"{HEADING}: {answers.within}"
    else:
        options = [{"value": name, "text": name} for name in answers.choices]
        kind = "multi_label_selection" if answers.several else "label_selection"
        asked = {"type": kind, "options": options, "visible_options": None}
    question = {"name": LABEL, "title": title, "required": True, "settings": asked}
    empty = {"vectors": [], "metadata": [], "allow_extra_metadata": False}
    return {"guidelines": None, "fields": fields, "questions": [question], **empty}


def _names(tasks: Tasks) -> dict[str, str]:
    return tasks.named("a-z0-9_-", _OWN, str.lower)


def _suggestion(tasks: Tasks, at: int) -> dict[str, object]:
    assert tasks.predictions is not None
    name = tasks.predictions[at]
    value = tasks.answers.chosen(name) if tasks.answers.several else name
    return {"value": value, "score": None if tasks.scores is None else tasks.scores[at], "agent": "prediction"}


# -- exports -----------------------------------------------------------------------------------------------------------


def is_record(found: Mapping[str, object]) -> bool:
    """Whether this is a record as `to_json` writes it."""
    return "fields" in found


def is_flat(found: Mapping[str, object]) -> bool:
    """Whether this is a record as ``to_list(flatten=True)`` returns it."""
    return "_server_id" in found or any(name.endswith(".responses") for name in found)


def read_record(record: Mapping[str, object], id: str, label: str) -> AnsweredItem:
    """Read what users responded to a record; drafts, and what they discarded, say nothing.

    `to_json` does not say which responses were submitted, as ``to_list(flatten=True)`` does. Those of a pending record
    are left out: they are drafts or were discarded, unless Argilla waits for more users to submit theirs. Those of a
    completed one are taken, and counted.

    Raises
    ------
    UnreadableTask
        If there is no id, or a response cannot be read.

    Examples
    --------
    >>> responses = {"label": [{"value": "cat", "user_id": "u1", "status": "submitted"}]}
    >>> read_record({"id": "7", "fields": {"text": "purrs"}, "responses": responses}, "id", "label")
    AnsweredItem(id='7', said=[Said(label='cat', annotator='u1')], names={'label'}, n_open=0, n_untold=0)
    """
    responses = record.get("responses") or {}
    if not isinstance(responses, dict):
        raise UnreadableTask(f"its responses are {kind_of(responses)}, not an object")
    given = responses.get(label) or []
    if not are_objects(given):
        raise UnreadableTask(f"its responses to {label!r} are not a list of objects, as Argilla writes them")
    pending = record.get("status") == "pending"
    untold = ["status" not in response and response.get("value") is not None for response in given]
    said = [
        Said(
            "" if pending and odd else _response(response.get("value"), response.get("status")),
            _person(response.get("user_id")),
        )
        for response, odd in zip(given, untold, strict=True)
    ]
    n, names = sum(untold), {str(name) for name, all_ in responses.items() if all_}
    return AnsweredItem(_id(record, id), said, names, *((n, 0) if pending else (0, n)))


def read_flat(record: Mapping[str, object], id: str, label: str) -> AnsweredItem:
    """Read what users responded to a record whose parts all have names of their own, such as ``label.responses``.

    Raises
    ------
    UnreadableTask
        If there is no id, or a response cannot be read.

    Examples
    --------
    >>> said = {"label.responses": ["cat"], "label.responses.users": ["u1"], "label.responses.status": ["discarded"]}
    >>> read_flat({"id": "7", "text": "purrs", **said}, "id", "label")
    AnsweredItem(id='7', said=[Said(label='', annotator='u1')], names={'label'}, n_open=0, n_untold=0)
    """
    values, users, states = (record.get(f"{label}.responses{part}") or [] for part in ("", ".users", ".status"))
    if not (isinstance(values, list) and isinstance(users, list) and isinstance(states, list)) or not (
        len(values) == len(users) and len(states) in (0, len(values))
    ):
        raise UnreadableTask(f"its responses to {label!r} are not lists with one value, user and status of each")
    states = states or [None] * len(values)
    said = [Said(_response(v, state), _person(user)) for v, user, state in zip(values, users, states, strict=True)]
    pairs = zip(values, states, strict=True)
    ending = ".responses"
    names = {name.removesuffix(ending) for name in record if name.endswith(ending) and record[name]}
    return AnsweredItem(_id(record, id), said, names, 0, sum(state is None and v is not None for v, state in pairs))


def _id(record: Mapping[str, object], id: str) -> str:
    for part in (record, record.get("metadata"), record.get("fields")):
        if isinstance(part, dict) and part.get(id) is not None:
            return cell_text(part[id])
    raise UnreadableTask(f"it has no {id!r}, so that nobody knows which item it is")


def _response(value: object, status: object) -> str:
    if status not in _SUBMITTED:
        return ""
    return joined(map(cell_text, value)) if isinstance(value, list) else cell_text(value)


def _person(user: object) -> str:
    who = cell_text(user).strip()
    return "" if who == "None" else who  # of responses that were made without a user
