"""
Whole categories leave
======================

One-hot columns of a category belong together: a model that keeps *Tuesday* and drops the other days
is hard to read, and depends on which day was left out. The group lasso keeps or drops the category.
Here a stream of mixed rows, numbers and categories, of which two numbers and two categories matter.
"""

import matplotlib.pyplot as plt
import numpy as np

from tamis import OnlineGroupLassoRegressor, RDARegressor, groups_from_names

# %%
# Mixed rows
# ----------
# Six categories with 4 to 12 levels and six numbers. The target depends on the shop and the
# weekday, on price and age.
rng = np.random.default_rng(0)
n = 4000
levels = {"shop": 8, "weekday": 7, "region": 12, "channel": 4, "browser": 5, "colour": 9}
codes = {name: rng.integers(0, k, n) for name, k in levels.items()}
numbers = {
    name: rng.normal(size=n) for name in ("price", "age", "width", "height", "clicks", "delay")
}
effects = {"shop": rng.normal(size=8), "weekday": rng.normal(size=7)}
y = (
    numbers["price"]
    - 0.7 * numbers["age"]
    + sum(effects[name][codes[name]] for name in effects)
    + rng.normal(size=n)
)

names = [*numbers, *(f"{name}_{level}" for name, k in levels.items() for level in range(k))]
X = np.column_stack([*numbers.values(), *(np.eye(k)[codes[name]] for name, k in levels.items())])

# %%
# The names say which columns belong together.
groups = groups_from_names(names)
print(len(names), "columns in", len(set(groups)), "groups")

# %%
# Two paths
# ---------
# The same stream at rising strengths, with and without groups. A dot is a column that is kept.
strengths = np.geomspace(0.003, 0.3, 25)
unique = list(dict.fromkeys(groups.tolist()))
kept = {"single columns (RDA)": [], "groups": []}
for alpha in strengths:
    by_column = RDARegressor(alpha=alpha, max_iter=3, tol=None, random_state=0).fit(X, y)
    by_group = OnlineGroupLassoRegressor(
        groups, alpha=alpha, max_iter=3, tol=None, random_state=0
    ).fit(X, y)
    kept["single columns (RDA)"].append(by_column.coef_ != 0)
    kept["groups"].append(by_group.coef_ != 0)

matter = [name in ("shop", "weekday", "price", "age") for name in groups]
figure, axes = plt.subplots(1, 2, figsize=(10.5, 7.5), sharey=True, layout="constrained")
for axis, (title, paths) in zip(axes, kept.items(), strict=True):
    for alpha, on in zip(strengths, paths, strict=True):
        places = np.flatnonzero(on)
        axis.scatter(
            np.full(len(places), alpha),
            places,
            s=9,
            color=["#00707a" if matter[j] else "#b9b9b9" for j in places],
        )
    axis.set(xscale="log", xlabel="alpha", title=title)
edges = [groups.tolist().index(name) for name in unique]
for axis in axes:
    axis.set_yticks(edges, unique)
    for edge in edges:
        axis.axhline(edge - 0.5, color="0.9", linewidth=0.6, zorder=0)
axes[0].set_ylim(len(names) - 0.5, -0.5)
plt.show()

# %%
# On the right a category leaves at one strength, with all its levels; what matters (dark) stays
# longest. On the left levels leave one by one, and no strength says which categories to keep.
chosen = OnlineGroupLassoRegressor(groups, alpha=0.05, max_iter=3, tol=None, random_state=0).fit(
    X, y
)
print("kept at alpha = 0.05:", [unique[g] for g in chosen.group_support_])
