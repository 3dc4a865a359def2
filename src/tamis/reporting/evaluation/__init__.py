"""The verdict to look at: figures of judged rows, sections of a page, and the object that shows
them in a notebook.

`figures` (charts), `sections` (parts of a page), `report` (the object, and `tamis.report`).
"""
