"""Keep README.md and pages honest: run their code, put the real output below it, draw their figures.

    python docs/make_readme.py                    rewrite outputs and figures of README.md
    python docs/make_readme.py docs/index.md      the same for pages
    python docs/make_readme.py --check            change nothing; exit with 1 if an output differs from what is printed

What is run, from top to bottom, in one namespace and one temporary folder for each page:

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
    """Run a page and return it with the outputs that its code prints now.

    Parameters
    ----------
    text : str
    figures : Path
        Folder that hidden code draws into.
    """
    os.environ.setdefault("MPLBACKEND", "Agg")
    namespace = {"__name__": "__page__", "FIGURES": figures}

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
        exec(compile(code, "<page>", "exec"), namespace)
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


def same(old: str, new: str, within: float = 0.0) -> bool:
    """Compare two texts; decimals may differ by one in the last digit, or by as much as `within`.

    Examples
    --------
    >>> same("estimate 0.621 of 212", "estimate 0.622 of 212"), same("rank 1", "rank 2")
    (True, False)
    """
    if _NUMBER.sub("#", old) != _NUMBER.sub("#", new):
        return False
    pairs = zip(_NUMBER.findall(old), _NUMBER.findall(new), strict=True)
    return all(x == y or _close(x, y, within) for x, y in pairs)


def _close(x: str, y: str, within: float) -> bool:
    digits = len(x.partition(".")[2])
    leeway = max(1.5 * 10**-digits, within)
    return digits > 0 and digits == len(y.partition(".")[2]) and abs(float(x) - float(y)) <= leeway


def missing_figures(text: str, folder: Path) -> Iterator[str]:
    """Name the figures that a page shows and that are not there."""
    for name in re.findall(r"\]\((?:docs/)?figures/([^)]+)\)", text):
        if not (folder / name).is_file():
            yield name


def differences(page: Path, within: float = 0.0) -> list[str]:
    """Say how a page differs from what its code prints and draws, see `same`; nothing if it does not."""
    old = page.read_text(encoding="utf-8")
    drawn = re.findall(r'FIGURES / "([^"]+)"', old)  # the others of a page are drawn elsewhere
    with tempfile.TemporaryDirectory() as folder:
        new = rebuilt(old, Path(folder))
        absent = [*missing_figures(old, FIGURES), *(name for name in drawn if not (Path(folder) / name).is_file())]
    said = [f"Figures that {page.name} shows are missing: {', '.join(absent)}.\n"] if absent else []
    if not same(old, new, within):
        said += difflib.unified_diff(old.splitlines(True), new.splitlines(True), page.name, "what the code prints")
    return said


def main() -> int:
    """Rewrite or check README.md, or pages."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("pages", nargs="*", type=Path, default=[README], help="files in Markdown; README.md by default")
    parser.add_argument("--check", action="store_true", help="change nothing; fail if a page is out of date")
    asked = parser.parse_args()
    sys.path.insert(0, str(ROOT))
    said = []
    for page in map(Path.resolve, asked.pages):
        if asked.check:
            said += differences(page)
        else:
            FIGURES.mkdir(parents=True, exist_ok=True)
            page.write_text(rebuilt(page.read_text(encoding="utf-8"), FIGURES), encoding="utf-8")
    sys.stdout.writelines(said)
    if said:
        print("Run `make readme`, or this script on the page, and look at what changed.")
    return int(bool(said))


if __name__ == "__main__":
    sys.exit(main())
