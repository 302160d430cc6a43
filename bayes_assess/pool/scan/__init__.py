"""Pools whose items stay in a table of an engine: files that DuckDB reads, or lazy frames that Narwhals reads."""

from bayes_assess.pool.scan.pool import TablePool as TablePool
from bayes_assess.pool.scan.reading import scan_pool as scan_pool
