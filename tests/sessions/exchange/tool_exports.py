"""Exports of labelling tools, made by hand from the formats that the tools document."""

from __future__ import annotations

from typing import Any

Rows = list[tuple[Any, Any, str]]  # id, label and annotator


def annotated(id: Any, values: list[dict], who: Any = 1, number: int = 1, cancelled: bool = False) -> dict:
    """Return a task of Label Studio's JSON, as "Task format" of its guide has it, with one annotation."""
    results = [
        {"id": "Dx_aB91ISN", "from_name": "label", "to_name": "item", "type": next(iter(value)), "value": value}
        for value in values
    ]
    annotation = {
        "id": 1000 + number,
        "completed_by": who,
        "result": results,
        "was_cancelled": cancelled,
        "ground_truth": False,
        "created_at": "2026-03-09T22:16:08.728353Z",
        "updated_at": "2026-03-09T22:16:08.728378Z",
        "lead_time": 4.288,
        "prediction": {},
        "task": number,
    }
    return {
        "id": number,
        "annotations": [annotation],
        "drafts": [],
        "predictions": [],
        "data": {"item_id": id, "text": "a text"},
        "meta": {},
        "created_at": "2026-03-09T21:52:49.513742Z",
        "project": 83,
    }


def label_studio(rows: Rows) -> list[dict]:
    """Return the JSON export: a task of each item, with predictions that all are of another class."""
    tasks: dict[Any, dict] = {}
    for id, label, who in rows:
        person = {"id": len(who), "email": who, "first_name": "", "last_name": ""}
        one = annotated(id, [{"choices": [label]}], person, len(tasks) + 1)
        one["predictions"] = [{"model_version": "prediction", "score": 0.5, "result": [{"value": {"choices": ["x"]}}]}]
        tasks.setdefault(id, {**one, "annotations": []})["annotations"] += one["annotations"]
    return list(tasks.values())


def label_studio_minimal(rows: Rows) -> list[dict]:
    """Return the JSON-MIN export: an entry of each annotation, with the number of the task as ``id``."""
    numbers = {id: at for at, id in enumerate(dict.fromkeys(id for id, _, _ in rows), start=1)}
    return [
        {
            "item_id": id,
            "text": "a text",
            "id": numbers[id],
            "label": label,
            "annotator": who,
            "annotation_id": 1000 + at,
            "created_at": "2026-03-09T22:16:08.728353Z",
            "updated_at": "2026-03-09T22:16:08.728378Z",
            "lead_time": 4.288,
        }
        for at, (id, label, who) in enumerate(rows)
    ]


def record(rows: Rows) -> list[dict]:
    """Return records as Argilla's `to_json` writes them, with suggestions that all are of another class."""
    records: dict[Any, dict] = {}
    for id, label, who in rows:
        one = {
            "id": id,
            "fields": {"text": "a text"},
            "metadata": {},
            "suggestions": {"label": {"value": "x", "score": None, "agent": "prediction"}},
            "responses": {"label": []},
            "vectors": {},
            "status": "completed",
            "_server_id": "8b2f9d6c-53f5-4b83-9fb4-bd1b40b0f3a5",
        }
        records.setdefault(id, one)["responses"]["label"].append({"value": label, "user_id": who})
    return list(records.values())


def flat_record(rows: Rows) -> list[dict]:
    """Return records as Argilla's ``to_list(flatten=True)`` does."""
    records: dict[Any, dict] = {}
    for id, label, who in rows:
        one = {
            "id": id,
            "status": "completed",
            "_server_id": "8b2f9d6c-53f5-4b83-9fb4-bd1b40b0f3a5",
            "text": "a text",
            "label.responses": [],
            "label.responses.users": [],
            "label.responses.status": [],
            "label.suggestion": "x",
            "label.suggestion.score": None,
            "label.suggestion.agent": "prediction",
        }
        found = records.setdefault(id, one)
        found["label.responses"].append(label)
        found["label.responses.users"].append(who)
        found["label.responses.status"].append("submitted")
    return list(records.values())
