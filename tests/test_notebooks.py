"""Notebooks run from top to bottom in this interpreter, quietly, and are committed as they ran."""

from __future__ import annotations

import json
import os
import sys
from pathlib import Path

import pytest

nbclient = pytest.importorskip("nbclient")
nbformat = pytest.importorskip("nbformat")
pytest.importorskip("ipykernel")
pytest.importorskip("sklearn")

ROOT = Path(__file__).parents[1]
NOTEBOOKS = sorted((ROOT / "notebooks").glob("*.ipynb"))
MAX_BYTES = 400_000


@pytest.fixture
def kernel(tmp_path):
    """A manager of one kernel, which runs this interpreter whatever kernels are registered on this machine."""
    from jupyter_client.kernelspec import KernelSpecManager
    from jupyter_client.manager import AsyncKernelManager

    folder = tmp_path / "kernels" / "python3"
    folder.mkdir(parents=True)
    path = os.pathsep.join(filter(None, [str(ROOT), os.environ.get("PYTHONPATH")]))
    spec = {
        "argv": [sys.executable, "-m", "ipykernel_launcher", "-f", "{connection_file}"],
        "display_name": "Python 3",
        "language": "python",
        "env": {"PYTHONPATH": path, "MPLBACKEND": "module://matplotlib_inline.backend_inline"},
    }
    (folder / "kernel.json").write_text(json.dumps(spec))
    specs = KernelSpecManager(kernel_dirs=[str(folder.parent)], ensure_native_kernel=False)
    return AsyncKernelManager(kernel_name="python3", kernel_spec_manager=specs)


def read(path: Path):
    return nbformat.read(path, as_version=4)


def code_cells(notebook):
    return [cell for cell in notebook.cells if cell.cell_type == "code"]


@pytest.mark.slow
@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.stem)
def test_notebook_runs(path, kernel, tmp_path):
    notebook = read(path)
    client = nbclient.NotebookClient(
        notebook, km=kernel, timeout=300, allow_errors=False, resources={"metadata": {"path": str(tmp_path)}}
    )
    client.execute(cleanup_kc=True)  # nbclient leaves a kernel that it was given running
    outputs = [output for cell in code_cells(notebook) for output in cell.outputs]
    complaints = [output.text for output in outputs if output.output_type == "stream" and output.name == "stderr"]
    # tqdm, which NumPyro imports, complains where ipywidgets is missing; that is the reader's choice.
    assert [text for text in complaints if "IProgress not found" not in text] == []


@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.stem)
def test_notebook_is_committed_as_it_ran(path):
    assert path.stat().st_size < MAX_BYTES
    cells = code_cells(read(path))
    assert [cell.execution_count for cell in cells] == list(range(1, len(cells) + 1))
    outputs = [output for cell in cells for output in cell.outputs]
    assert any("image/png" in output.get("data", {}) for output in outputs)
    assert not any(output.output_type == "error" or output.get("name") == "stderr" for output in outputs)


def test_there_are_notebooks():
    assert NOTEBOOKS
