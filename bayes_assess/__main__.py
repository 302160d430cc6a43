"""`python -m bayes_assess` is the command line."""

from bayes_assess.cli import main

if __name__ == "__main__":
    main()
