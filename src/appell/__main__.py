"""`python -m appell` is the command `appell`."""

from appell.cli.main import main

if __name__ == "__main__":
    main()
