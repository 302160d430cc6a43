"""What stands below help texts: examples, and what can be chosen."""

from __future__ import annotations

from bayes_assess.cli.asked import DESIGNS, OVERVIEW


def epilog_block(title: str, *lines: str) -> str:
    """Show lines below a help text; the mark keeps them as they are."""
    return "\n".join(["\b", f"{title}:", *(f"  {line}" for line in lines)])


def example(*lines: str) -> str:
    """Show commands as examples."""
    return epilog_block("Example", *lines)


CHOICES = "".join(
    f"{epilog_block(title, *lines)}\n\n"
    for title, lines in (("Questions and their options", OVERVIEW), ("Designs, the default first", DESIGNS))
)
