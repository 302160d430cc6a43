"""The group that all commands belong to: what it says of itself, and how errors end it.

Exit codes: 0, done; 2, something in the call or in a file is wrong, as one line on standard error says; 130, ended by
Ctrl-C; 1, anything unforeseen.
"""

from __future__ import annotations

import re
from typing import Annotated, Any

import typer
from typer.core import TyperGroup

from bayes_assess import __version__
from bayes_assess._tools.suggestions import did_you_mean, near_names
from bayes_assess.cli.echo import echo
from bayes_assess.cli.epilogs import example
from bayes_assess.cli.interrupt import INTERRUPTED
from bayes_assess.cli.wording import warnings_in_a_line, with_options
from bayes_assess.errors import BayesAssessError

_CHOICE = re.compile(r"""(?:'([^']*)'|"([^"]*)") is not one of (.*)""", re.DOTALL)
FAILED = 2  # as for Typer's own complaints about options


class _Commands(TyperGroup):
    """Turns errors that the user can mend into one line on standard error, and Ctrl-C into an exit code."""

    def invoke(self, ctx: Any) -> Any:
        try:
            with warnings_in_a_line():
                return super().invoke(ctx)
        except BrokenPipeError:  # the reader of a pipe left; Typer knows what to do
            raise
        except KeyboardInterrupt:
            raise typer.Exit(INTERRUPTED) from None
        except typer.BadParameter as error:  # which Typer shows
            match = _CHOICE.search(error.message)
            if match:
                error.message = error.message.removeprefix("Value error, ")  # of Pydantic, by which Typer reads choices
                choices = re.findall(r"'([^']*)'", match[3])
                name = (match[1] or match[2] or "").partition("(")[0]  # Metric('f1'), as in Python
                named = _as_measure(name, choices, alike=1.0)  # 'recall' is a measure, and like 'group-recall'
                error.message += named or did_you_mean(name, choices) or _as_measure(name, choices)
            raise
        except BayesAssessError as error:
            message = with_options(str(error), self._flags(ctx))
        except OSError as error:
            place = f": {error.filename}" if error.filename else ""
            message = f"{error.strerror or error}{place}"
        echo(f"Error: {' '.join(message.split())}", err=True)
        raise typer.Exit(FAILED)

    def _flags(self, ctx: Any) -> dict[str, str]:
        """Options of the command that was called, by the names that they have in Python, and those of `start`.

        What another command says of these is what to start a session with.
        """
        commands = [self.get_command(ctx, name) for name in ("start", ctx.invoked_subcommand or "")]
        options = [option for command in commands for option in getattr(command, "params", ())]
        return {option.name: option.opts[-1] for option in options if option.param_type_name == "option"}


def _as_measure(name: str, questions: list[str], alike: float = 0.6) -> str:
    """Say how to ask for a measure, where its name, or one as much alike, was given for that of a question."""
    if "metric" not in questions:
        return ""
    from bayes_assess.measures import MEASURES

    near = near_names(name, MEASURES, alike, end="_score")
    return f" Did you mean --question metric --measure {near[0]}?" if near else ""


app = typer.Typer(
    cls=_Commands,
    add_completion=False,
    no_args_is_help=True,
    rich_markup_mode=None,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
    epilog=example(
        "bayes-assess start predictions.csv --question least-accurate --out run.db",
        "bayes-assess ask run.db -n 20 -o to_label.csv",
        "bayes-assess tell run.db to_label.csv    (once its labels are filled in)",
        "bayes-assess status run.db",
    )
    + "\n\nExit codes: 0 done; 2 something in the call or in a file is wrong, as the message says; 130 ended by "
    "Ctrl-C; 1 unforeseen.",
)


def _version(wanted: bool) -> None:
    if wanted:
        echo(f"bayes-assess {__version__}")
        raise typer.Exit


@app.callback()
def _root(
    version: Annotated[bool, typer.Option("--version", callback=_version, is_eager=True, help="Print it.")] = False,
) -> None:
    """How good is a classifier, and where does it fail? Bayesian answers from as few labels as possible."""
