"""`python -m softhat`: the command line, where the script `softhat` is not on the path."""

from softhat.cli import main

if __name__ == "__main__":
    main()
