"""The page that cleans speech in the browser: the built files, and a server for them on this computer.

`static/` is what ``make web`` builds from web/; `files` adds the bundled models and can write all of it to a folder
for any static host; `server` serves it on 127.0.0.1. Neither torch nor numpy is needed.
"""

from hamiltone.page.files import page_files, write_page
from hamiltone.page.server import PageServer

__all__ = ["PageServer", "page_files", "write_page"]
