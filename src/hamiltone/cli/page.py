"""``hamiltone page``: the page that cleans speech in the browser."""

import signal
import threading
import webbrowser
from collections.abc import Callable
from pathlib import Path
from types import FrameType
from typing import Annotated

import typer

from hamiltone.cli.options import printable


def page(
    port: Annotated[
        int | None, typer.Option(metavar="PORT", help="Default: 8016, or any free one if that is taken; 0 is any.")
    ] = None,
    browser: Annotated[bool, typer.Option("--browser/--no-browser", help="Open it in the browser.")] = True,
    write: Annotated[
        Path | None,
        typer.Option(metavar="FOLDER", help="Write the page to a new folder for any web server, and exit."),
    ] = None,
) -> None:
    """Open a page that cleans recordings and live sound in the browser.

    It is served on this computer only, at 127.0.0.1, until Ctrl-C. Nothing is
    uploaded: the models run in the browser, which no longer needs the server
    once the page is loaded. With --write the same page goes to a folder that
    any static host can serve.

    Example: hamiltone page

    Example: hamiltone page --write public/clean
    """
    from hamiltone.page import PageServer, page_files, write_page

    if write is not None:
        size = write_page(write)
        typer.echo(
            printable(f"{write}: {size / 2**20:.1f} MiB; serve it over https, or browsers refuse the microphone")
        )
        return
    with PageServer(page_files(), port) as server:
        ended = threading.Event()
        before = {number: signal.signal(number, _set(ended)) for number in (signal.SIGINT, signal.SIGTERM)}
        try:
            thread = threading.Thread(target=server.serve_forever, daemon=True)
            thread.start()
            typer.echo(f"hamiltone is at {server.address} (Ctrl-C to stop)")
            if browser:
                webbrowser.open(server.address)
            while not ended.wait(1.0):  # a wait without a timeout would block signals on some systems
                pass
        finally:
            for number, handler in before.items():
                signal.signal(number, handler)
            server.shutdown()
            thread.join()


def _set(event: threading.Event) -> Callable[[int, FrameType | None], None]:
    return lambda number, frame: event.set()
