"""The dashboard: a web application over a folder of runs, which it reads and never writes.

Every page is made on the server from the same tables and views that reports render; modules in ``static/`` add what
needs a canvas. Nothing outside of the folder is read, and no other host is asked for anything.
"""
