"""The page about a fit.

- `page`: writes the page; `sections` adds its sections to a `page_body`.
- `plot_data`, `held_out_error`: what is drawn and said, read from models and comparisons.
- `charts`, `svg`, `feature_table`: figures and the table of kept features.
- `formatting`: numbers and names as text.
- `rank_page`: the page of word associations.
"""
