"""Tools that know nothing of pools or models: arrays, axes, tables, strict JSON, ArviZ objects."""
