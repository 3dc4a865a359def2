"""Multi-task feature selection: one linear model a task, with features chosen together, in batch
and in streams.

G. Obozinski, B. Taskar and M. I. Jordan, "Joint covariate selection and joint subspace selection
for multiple classification problems", Statistics and Computing 20, 2010; H. Yang, I. King and M. R.
Lyu, "Online Learning for Multi-Task Feature Selection", CIKM 2010.

task_targets.py         labels of tasks as codes; targets of rows that each belong to a task
task_penalties.py       penalties of a feature over the tasks
estimator.py            batch models
state.py                state of an online model: outputs of all tasks, rounds, weights by task
stream.py               base classes of the online models
online_estimator.py     online models
prediction.py           fit, predict and score with tasks
offset_prediction.py    the same with offsets
"""
