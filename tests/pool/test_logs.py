"""Logs of evaluation tools, each made here in the tool's own form, as pools."""

from __future__ import annotations

import contextlib
import json
import struct
import sys
import warnings
import zipfile
import zlib

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import bayes_assess as ba

SCORES = ["C", "I", "C"]


def sample(i, value="C", epoch=1, **more):
    message = {"role": "assistant", "content": [{"type": "text", "text": f"answer {i}"}]}
    return {
        "id": i,
        "epoch": epoch,
        "input": [{"role": "system", "content": "Be brief."}, {"role": "user", "content": f"question {i}"}],
        "target": ["7", "seven"],
        "output": {"model": "m", "choices": [{"message": message, "stop_reason": "stop"}]},
        "scores": {"match": {"value": value, "answer": "7", "explanation": "because"}},
        **more,
    }


def inspect_log(model="openai/gpt", samples=None):
    samples = [sample(i, value) for i, value in enumerate(SCORES)] if samples is None else samples
    return {"version": 2, "status": "success", "eval": {"task": "sums", "model": model}, "samples": samples}


def promptfoo_log():
    results = [
        {
            "testIdx": test,
            "promptIdx": 0,
            "provider": {"id": provider, "label": ""},
            "prompt": {"raw": f"Is {test} even?", "label": "even"},
            "vars": {"n": test},
            "response": {"output": f"{provider} says yes"},
            "success": test % 2 == 0,
            "score": 0.25 * test,
            "namedScores": {"style": 1 - 0.5 * test},
            "gradingResult": {"pass": test % 2 == 0, "score": 0.25 * test, "reason": "rule"},
        }
        for test in range(3)
        for provider in ("openai:a", "openai:b")
    ]
    return {"evalId": "eval-1", "results": {"version": 3, "timestamp": "2030-01-01", "results": results, "stats": {}}}


def harness_rows():
    return [
        {
            "doc_id": i,
            "doc": {"question": f"question {i}"},
            "target": "7",
            "arguments": {"gen_args_0": {"arg_0": f"question {i}", "arg_1": {"until": ["."]}}},
            "resps": [["it is 7"]],
            "filtered_resps": ["7"],
            "filter": "strict-match",
            "metrics": ["exact_match"],
            "doc_hash": "abc",
            "exact_match": float(i != 1),
        }
        for i in range(3)
    ]


def written(path, content):
    path.parent.mkdir(exist_ok=True)
    path.write_text("\n".join(map(json.dumps, content)) if path.suffix == ".jsonl" else json.dumps(content))
    return path


def zipped(path, log):
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        for one in log["samples"]:
            archive.writestr(f"samples/{one['id']}_epoch_{one['epoch']}.json", json.dumps(one))
        archive.writestr("header.json", json.dumps({name: log[name] for name in ("version", "status", "eval")}))
        archive.writestr("summaries.json", "[]")
    return path


def verdicts(pool):
    return pool.prediction_names(slice(None)).tolist()


@pytest.mark.parametrize("suffix", [".json", ".eval"])
def test_a_log_of_inspect(tmp_path, suffix):
    path = tmp_path / f"log{suffix}"
    pool = ba.read_log(written(path, inspect_log()) if suffix == ".json" else zipped(path, inspect_log()))
    assert verdicts(pool) == SCORES
    assert pool.ids.tolist() == ["0", "1", "2"]
    assert pool.groups["prompt_id"].tolist() == ["0", "1", "2"]
    assert pool.show["input"][1] == "system: Be brief.\nuser: question 1"
    assert pool.show["output"].tolist() == ["answer 0", "answer 1", "answer 2"]
    assert pool.show["target"][0] == "7\nseven"


def test_logs_of_several_models_and_epochs_share_their_prompts(tmp_path):
    for model in ("a", "b"):
        samples = [sample(i, "C" if model == "a" else "I", epoch) for i in range(2) for epoch in (1, 2)]
        written(tmp_path / "logs" / f"{model}.json", inspect_log(model, samples))
    pool = ba.read_log(tmp_path / "logs")
    assert sorted(pool.groups) == ["epoch", "model", "prompt_id"]
    assert pool.ids.tolist()[:4] == ["0/1/a", "0/2/a", "1/1/a", "1/2/a"]
    a = ba.assess(pool, ba.Rate("C", by="model"), design="passive")
    a.tell(pool.ids, np.where(pool.groups["model"] == "a", "I", "C"))
    assert a.result().estimate.tolist() == [0.0, 1.0]


def test_pairs_of_two_models(tmp_path):
    files = [written(tmp_path / f"{model}.json", inspect_log(model)) for model in ("a", "b")]
    question = ba.Compare("a", "b", by="model", measure="rate", positive="C", pair="prompt_id")
    assert len(ba.assess(ba.read_log(files), question).ask(4)) == 4


def test_results_of_promptfoo(tmp_path):
    path = written(tmp_path / "results.json", promptfoo_log())
    pool = ba.read_log(path)
    assert verdicts(pool) == [1, 1, 0, 0, 1, 1]
    assert pool.ids.tolist()[:2] == ["0/openai:a", "0/openai:b"]
    assert pool.groups["provider"].tolist()[:2] == ["openai:a", "openai:b"]
    assert pool.show["output"][1] == "openai:b says yes"
    points = ba.read_log(path, score="score")  # 0, 0.25, 0.5: numbers
    assert points.bounds == (0, 1)
    assert points.n_classes == 51


@pytest.mark.parametrize(
    ("changed", "left"),
    [
        ({"failureReason": 2, "error": "timeout", "response": {"error": "timeout"}}, 5),
        ({"failureReason": 2, "error": "grader is down"}, 5),
        ({"error": "timeout", "response": None}, 5),  # before there were reasons
        ({"failureReason": 1, "error": "Expected output to equal 7"}, 6),
        ({"error": "Expected output to equal 7"}, 6),
        ({"failureReason": 0}, 6),
    ],
)
def test_calls_of_promptfoo_that_failed_have_no_verdict(tmp_path, changed, left):
    """They count as tests that failed, with a score of 0, though nothing was judged."""
    log = promptfoo_log()
    log["results"]["results"][0] |= {"success": False, "score": 0} | changed
    path = written(tmp_path / "results.json", log)
    if left == 6:
        assert verdicts(ba.read_log(path)) == [0, 1, 0, 0, 1, 1]
        return
    with pytest.warns(UserWarning, match="Left out 1 output of 6 without the score 'success'"):
        assert verdicts(ba.read_log(path)) == [1, 0, 0, 1, 1]


def test_repetitions_are_numbered(tmp_path):
    log = promptfoo_log()
    log["results"]["results"] += log["results"]["results"][:1]
    assert ba.read_log(written(tmp_path / "r.json", log)).ids.tolist()[-1] == "0/openai:a#2"


def test_samples_of_the_harness(tmp_path):
    files = [
        written(tmp_path / model / "samples_gsm8k_2030-01-01T00-00-00.000.jsonl", harness_rows())
        for model in ("llama", "qwen")
    ]
    written(tmp_path / "llama" / "results_2030.json", {"results": {"gsm8k": {"exact_match,strict-match": 0.5}}})
    for pool in (ba.read_log(files), ba.read_log(tmp_path)):
        assert verdicts(pool) == [1, 0, 1] * 2
        assert pool.groups["model"].tolist() == ["llama"] * 3 + ["qwen"] * 3
        assert pool.show["input"][0] == "question 0"
        assert pool.show["output"][0] == "7"


def test_outputs_without_a_verdict_are_left_out_and_said_so(tmp_path):
    samples = [sample(0), sample(1, scores={}), sample(2, scores=None)]
    with pytest.warns(
        UserWarning, match=r"Left out 2 outputs of 3 without the score 'match'; the first is .*sample 2\."
    ) as caught:
        pool = ba.read_log(written(tmp_path / "log.json", inspect_log(samples=samples)))
    assert pool.ids.tolist() == ["0"]
    assert caught[0].filename == __file__


@pytest.mark.parametrize(
    ("name", "content", "message"),
    [
        ("log.json", {"a": 1}, "is no log that is known"),
        ("log.json", [1, 2], "is no log that is known"),
        ("log.json", inspect_log(samples=[]), "Nothing has been judged"),
        ("log.json", {"eval": {}, "samples": None}, "has no samples"),
        ("log.json", inspect_log(samples=[sample(None)]), "sample 1, has no 'id'"),
        ("log.json", inspect_log(samples=[7]), "sample 1: an object with names and values should be here, not 7"),
        ("log.json", inspect_log(samples=[sample(1, [1])]), r"sample 1: the score 'match' is \[1\]; a verdict is"),
        ("log.json", inspect_log(samples=[sample(1, scores={"a": 1, "b": 2})]), "several scores, 'a', 'b': choose one"),
        ("log.json", inspect_log(samples=[sample(1, scores={})]), "no score in it"),
        ("log.json", inspect_log(samples=[sample(1, 0.5), sample(2, "C")]), "numbers here and words there"),
        ("log.json", inspect_log(samples=[sample(1, 0.5), sample(2, 7)]), "numbers from 0.5 to 7; give bounds"),
        ("log.json", {"results": {"results": {}}}, "should be a list of results"),
        ("s.jsonl", [{"target": 1}], "rows have no 'doc_id'; they have 'target'"),
    ],
)
def test_bad_logs_are_refused_with_the_place(tmp_path, name, content, message):
    with pytest.raises(ba.PoolError, match=message):
        ba.read_log(written(tmp_path / name, content))


def test_files_that_are_no_json_no_zip_or_not_there(tmp_path):
    (tmp_path / "bad.json").write_text("{")
    (tmp_path / "bad.jsonl").write_text('{"doc_id": 1}\n{')
    (tmp_path / "latin.json").write_bytes(b"\xff\xfe\x00")
    with zipfile.ZipFile(tmp_path / "bad.eval", "w") as archive:
        archive.writestr("other.txt", "")
    for name, message in {
        "bad.json": "the file, is no JSON",
        "bad.jsonl": "line 2, is no JSON",
        "latin.json": "is no text in UTF-8, as logs are",
        "bad.eval": "has no header.json",
        "none.json": "There is no file",
    }.items():
        with pytest.raises(ba.PoolError, match=message):
            ba.read_log(tmp_path / name)
    for source in (3, [None], {1: 2}):
        with pytest.raises(ba.PoolError, match="Logs are named by the paths of their files or folders; found"):
            ba.read_log(source)
    with pytest.raises(ba.PoolError, match="There is no score 'f1'; there are 'match'"):
        ba.read_log(written(tmp_path / "log.json", inspect_log()), score="f1")


JSON = st.recursive(
    st.none() | st.booleans() | st.floats(allow_nan=False) | st.text(max_size=3),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(
            st.sampled_from(
                [
                    "eval",
                    "samples",
                    "results",
                    "id",
                    "scores",
                    "value",
                    "output",
                    "choices",
                    "doc_id",
                    "message",
                    "vars",
                ]
            ),
            inner,
            max_size=5,
        )
    ),
    max_leaves=20,
)


@settings(deadline=None)  # the first example imports what reads logs
@given(JSON, st.sampled_from([".json", ".jsonl"]), st.booleans())
def test_anything_else_gives_our_errors_or_a_pool(tmp_path_factory, content, suffix, wrapped):
    path = tmp_path_factory.mktemp("any") / f"log{suffix}"
    content = inspect_log(samples=[content, sample(1)]) if wrapped else content
    path.write_text(json.dumps(content))
    with warnings.catch_warnings(), contextlib.suppress(ba.PoolError):
        warnings.simplefilter("ignore", UserWarning)  # of samples that are left out
        assert len(ba.read_log(path)) > 0


def test_the_positive_class_of_correct_and_incorrect_is_correct(tmp_path):
    pool = ba.read_log(written(tmp_path / "log.json", inspect_log()))
    assert pool.classes.tolist() == ["I", "C"]
    assert pool.prediction_names(slice(None)).tolist() == SCORES
    right = inspect_log(samples=[sample(i) for i in range(3)])
    assert ba.read_log(written(tmp_path / "right.json", right)).classes.tolist() == ["I", "C"]
    partly = inspect_log(samples=[sample(i, value) for i, value in enumerate("CIP")])
    assert ba.read_log(written(tmp_path / "partly.json", partly)).classes.tolist() == ["C", "I", "P"]


def test_halves_of_letters_do_not_keep_a_log_from_being_read(tmp_path):
    log = inspect_log(samples=[sample(f"a\ud83d{i}", value) for i, value in enumerate(SCORES)])
    pool = ba.read_log(written(tmp_path / "log.json", log))
    assert pool.ids.tolist() == ["a\ufffd0", "a\ufffd1", "a\ufffd2"]


def archive_of(path, log, pack=None):
    """Write a log as an archive; with `pack`, its parts compressed by Zstandard as far as zipfile lets us."""
    parts = {"header.json": json.dumps({"eval": log["eval"]})}
    parts |= {f"samples/{one['id']}_epoch_1.json": json.dumps(one) for one in log["samples"]}
    if pack is None:
        with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
            for name, text in parts.items():
                archive.writestr(name, text)
        return path
    content, directory = b"", b""
    for name, text in parts.items():
        packed = pack(text.encode())
        sizes = (zlib.crc32(text.encode()), len(packed), len(text.encode()), len(name), 0)
        fields = struct.pack("<HHHHHIIIHH", 63, 0, 93, 0, 33, *sizes)
        directory += b"PK\x01\x02" + struct.pack("<H", 63) + fields + struct.pack("<HHHII", 0, 0, 0, 0, len(content))
        directory += name.encode()
        content += b"PK\x03\x04" + fields + name.encode() + packed
    end = struct.pack("<HHHHIIH", 0, 0, len(parts), len(parts), len(directory), len(content), 0)
    path.write_bytes(content + directory + b"PK\x05\x06" + end)
    return path


@pytest.mark.parametrize("library", ["compression.zstd", "backports.zstd", "zstandard"])
def test_logs_compressed_by_zstandard_are_read(tmp_path, monkeypatch, library):
    zstandard = pytest.importorskip(library)
    for other in {"compression.zstd", "backports.zstd", "zstandard"} - {library}:
        monkeypatch.setitem(sys.modules, other, None)
    path = archive_of(tmp_path / "log.eval", inspect_log(), zstandard.compress)
    assert ba.read_log(path).prediction_names(slice(None)).tolist() == SCORES
    content = path.read_bytes()
    path.write_bytes(content.replace(zstandard.compress(b"{")[:4], b"\0\0\0\0"))
    with pytest.raises(ba.PoolError, match="cannot be read"):
        ba.read_log(path)


def test_without_zstandard_the_sentence_says_what_to_do(tmp_path, monkeypatch):
    for library in ("compression.zstd", "backports.zstd", "zstandard"):
        monkeypatch.setitem(sys.modules, library, None)
    path = archive_of(tmp_path / "log.eval", inspect_log(), lambda text: text)
    expected = r"pip install .bayes-assess\[zstd\]., or convert it by `inspect log convert log.eval --to json"
    with pytest.raises(ba.PoolError, match=expected):
        ba.read_log(path)


def test_archives_that_would_fill_the_memory_are_refused(tmp_path):
    log = inspect_log(samples=[sample(0, "C", note="x" * 80_000_000)])
    path = archive_of(tmp_path / "log.eval", log)
    assert path.stat().st_size < 1_000_000
    with pytest.raises(
        ba.PoolError, match=r"its 0\.1 MB would unpack to 80 MB, more than is read; if it is sound, split"
    ):
        ba.read_log(path)


@pytest.mark.parametrize("number", ["9" * 5000, "9" * 400, "1e999", "-1e308"])
def test_numbers_that_are_too_large_are_named(tmp_path, number):
    path = tmp_path / "samples_sums.jsonl"
    path.write_text(f'{{"doc_id": 0, "doc": {{}}, "target": "7", "filtered_resps": ["7"], "acc": {number}}}\n')
    with pytest.raises(ba.PoolError, match=r"more digits than can be read|not beyond 2"):
        ba.read_log(path)


def test_a_log_that_is_nested_too_deeply_is_named(tmp_path):
    path = tmp_path / "samples_sums.jsonl"
    path.write_text('{"doc_id": 0, "doc": ' + "[" * 100_000 + "]" * 100_000 + ', "target": "7", "acc": 1.0}\n')
    with pytest.raises(ba.PoolError, match="is no JSON"):
        ba.read_log(path)
