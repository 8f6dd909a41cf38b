"""``python -m hamiltone``."""

from hamiltone.cli import main

if __name__ == "__main__":
    main()
