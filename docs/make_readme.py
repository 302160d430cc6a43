"""Keep README.md honest: run its code, put the real output below it, draw its figures.

    python docs/make_readme.py            rewrite outputs and figures
    python docs/make_readme.py --check    change nothing; exit with 1 if an output differs from what the code prints

What is run, from top to bottom, in one namespace and one temporary folder:

- every block marked ``python``; a block marked ``text`` directly below one holds what it prints;
- every line ``$ bayes-assess ...`` of a block marked ``console``; the lines below hold what it prints;
- hidden Python in comments that begin with ``<!-- run``. ``FIGURES`` is the folder of figures.

Everything else is left alone. When checking, decimals may differ by one in the last digit shown, because floating-point
sums differ between processors; everything else must be the same.
"""

from __future__ import annotations

import argparse
import contextlib
import difflib
import io
import os
import re
import shlex
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
README = ROOT / "README.md"
FIGURES = ROOT / "docs" / "figures"

_BLOCK = re.compile(
    r"^```(?P<kind>python|console)\n(?P<code>.*?)^```\n(?:\n```text\n(?P<output>.*?)^```\n)?"
    r"|<!-- run\n(?P<hidden>.*?)-->",
    re.MULTILINE | re.DOTALL,
)
_NUMBER = re.compile(r"\d+(?:\.\d+)?")
_COMMAND = [sys.executable, "-c", "from bayes_assess.cli import main; main()"]


def rebuilt(text: str, figures: Path) -> str:
    """Run a README and return it with the outputs that its code prints now.

    Parameters
    ----------
    text : str
    figures : Path
        Folder that hidden code draws into.
    """
    os.environ.setdefault("MPLBACKEND", "Agg")
    namespace = {"__name__": "__readme__", "FIGURES": figures}

    def run(block: re.Match[str]) -> str:
        if block["hidden"] is not None:
            printed(block["hidden"], namespace)
            return block[0]
        if block["kind"] == "console":
            return f"```console\n{session(block['code'])}```\n"
        output = printed(block["code"], namespace)
        if block["output"] is None:
            if output:
                raise SystemExit(f"This code prints, but no text block follows:\n{block['code']}")
            return block[0]
        return f"```python\n{block['code']}```\n\n```text\n{output}```\n"

    with tempfile.TemporaryDirectory() as folder, contextlib.chdir(folder):
        return _BLOCK.sub(run, text)


def printed(code: str, namespace: dict) -> str:
    """Run Python and return what it prints."""
    out = io.StringIO()
    with contextlib.redirect_stdout(out):
        exec(compile(code, "README.md", "exec"), namespace)
    return out.getvalue()


def session(code: str) -> str:
    """Run the commands of a console block and return it with their output."""
    path = os.pathsep.join(filter(None, [str(ROOT), os.environ.get("PYTHONPATH")]))
    lines = []
    for command in re.findall(r"^\$ (.*)$", code, re.MULTILINE):
        name, *arguments = shlex.split(command, comments=True)
        if name != "bayes-assess":
            raise SystemExit(f"Console blocks run bayes-assess alone; found: {command}")
        done = subprocess.run(
            [*_COMMAND, *arguments], capture_output=True, text=True, env={**os.environ, "PYTHONPATH": path}
        )
        if done.returncode:
            raise SystemExit(f"{command}\nfailed: {done.stderr}")
        lines += [f"$ {command}", *(line.rstrip() for line in done.stdout.splitlines())]
    return "".join(f"{line}\n" for line in lines)


def same(old: str, new: str) -> bool:
    """Compare two texts; decimals may differ by one in the last digit.

    Examples
    --------
    >>> same("estimate 0.621 of 212", "estimate 0.622 of 212"), same("rank 1", "rank 2")
    (True, False)
    """
    if _NUMBER.sub("#", old) != _NUMBER.sub("#", new):
        return False
    pairs = zip(_NUMBER.findall(old), _NUMBER.findall(new), strict=True)
    return all(x == y or _close(x, y) for x, y in pairs)


def _close(x: str, y: str) -> bool:
    digits = len(x.partition(".")[2])
    return digits > 0 and digits == len(y.partition(".")[2]) and abs(float(x) - float(y)) < 1.5 * 10**-digits


def missing_figures(text: str, folder: Path) -> Iterator[str]:
    """Name the figures that a README shows and that are not there."""
    for name in re.findall(r"\]\(docs/figures/([^)]+)\)", text):
        if not (folder / name).is_file():
            yield name


def main() -> int:
    """Rewrite or check README.md."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--check", action="store_true", help="change nothing; fail if README.md is out of date")
    check = parser.parse_args().check
    sys.path.insert(0, str(ROOT))
    old = README.read_text(encoding="utf-8")
    if not check:
        FIGURES.mkdir(parents=True, exist_ok=True)
        README.write_text(rebuilt(old, FIGURES), encoding="utf-8")
        return 0
    with tempfile.TemporaryDirectory() as folder:
        new = rebuilt(old, Path(folder))
        absent = [*missing_figures(old, FIGURES), *missing_figures(new, Path(folder))]
    if absent:
        print(f"Figures that README.md shows are missing: {', '.join(absent)}.")
    differs = not same(old, new)
    if differs:
        sys.stdout.writelines(
            difflib.unified_diff(old.splitlines(True), new.splitlines(True), "README.md", "what the code prints")
        )
    if absent or differs:
        print("Run `make readme` and look at what changed.")
    return int(bool(absent) or differs)


if __name__ == "__main__":
    sys.exit(main())
