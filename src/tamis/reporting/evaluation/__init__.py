"""The report of a fitted model: error, checks and charts of rows that it has not seen.

- `report`: the class `Report` and the function `tamis.report`.
- `sections`: the sections of the page.
- `figures`: the charts.
"""
