"""Reading a pool from a CSV and a Parquet file with texts, beside what Arrow and pandas take for the tables alone.

    python benchmarks/bench_reading.py [--rows 3000000] [--folder /tmp]

Processor seconds, with those of importing what is needed, and the most memory in MB, each in a process of its own; on
Linux, where the kernel tells the latter.
"""

from __future__ import annotations

import argparse
import subprocess
import sys
import tempfile
from pathlib import Path

import numpy as np
import pyarrow as pa
from pyarrow import csv, parquet

MEASURED = """
import sys, time
path = sys.argv[1]
start = time.process_time()
{code}
most = next(line for line in open("/proc/self/status") if line.startswith("VmHWM"))
print(round(time.process_time() - start, 2), int(most.split()[1]) // 1024)
"""
READERS = {
    ("bayes_assess", "csv"): "import bayes_assess as ba; held = ba.read_pool(path, groups=['site'])",
    ("bayes_assess", "parquet"): "import bayes_assess as ba; held = ba.read_pool(path, groups=['site'])",
    ("pyarrow", "csv"): "from pyarrow import csv; held = csv.read_csv(path)",
    ("pyarrow", "parquet"): "from pyarrow import parquet; held = parquet.read_table(path)",
    ("pandas", "csv"): "import pandas; held = pandas.read_csv(path)",
    ("pandas", "parquet"): "import pandas; held = pandas.read_parquet(path)",
}


def written(folder: Path, n: int) -> None:
    """Write a table with ids, classes, confidences and sites."""
    rng = np.random.default_rng(0)
    names = [np.array(["cat", "dog", "bird"]), np.array(["london", "paris", "berlin", "rome"])]
    prediction, site = (of[rng.integers(0, len(of), n)] for of in names)
    ids = np.char.add("item-", np.arange(n).astype(str))
    table = pa.table({"id": ids, "prediction": prediction, "confidence": rng.random(n), "site": site})
    parquet.write_table(table, folder / "pool.parquet")
    csv.write_csv(table, folder / "pool.csv")


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rows", type=int, default=3_000_000)
    parser.add_argument("--folder", help="where the files are written for the time being")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory(dir=options.folder) as folder:
        written(Path(folder), options.rows)
        for (library, kind), code in READERS.items():
            command = [sys.executable, "-c", MEASURED.format(code=code), str(Path(folder, f"pool.{kind}"))]
            found = subprocess.run(command, capture_output=True, text=True, check=True).stdout.split()
            print(f"{library:12}  {kind:7}  {float(found[0]):6.2f} s  {int(found[1]):6} MB", flush=True)


if __name__ == "__main__":
    main()
