"""`python -m appell` is the command `appell`."""

from appell.cli.entry import run

if __name__ == "__main__":
    run()
