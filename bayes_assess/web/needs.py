"""What the labelling page needs besides the package."""

from __future__ import annotations

from bayes_assess.errors import OutputError


def need_server() -> None:
    """Raise OutputError where what serves the page is not installed.

    Examples
    --------
    >>> need_server()
    """
    try:
        import starlette  # noqa: F401
        import uvicorn  # noqa: F401
    except ImportError:
        raise OutputError(
            'The labelling page needs Starlette and uvicorn: pip install "bayes-assess[label]".'
        ) from None
