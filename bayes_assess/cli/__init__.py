"""The command line. Whatever is heavy is imported when a command runs, so that ``--help`` answers at once."""

from bayes_assess.cli.entry import main as main
