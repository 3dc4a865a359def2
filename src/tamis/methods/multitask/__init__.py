"""Multi-task feature selection: one linear model a task, features chosen together, in batch and in
streams.

G. Obozinski, B. Taskar and M. I. Jordan, "Joint covariate selection and joint subspace selection
for multiple classification problems", Statistics and Computing 20, 2010; H. Yang, I. King and M. R.
Lyu, "Online Learning for Multi-Task Feature Selection", CIKM 2010.

labels.py               labels of tasks, coded once; targets of rows that each belong to a task
blocks.py               penalties of a feature over the tasks
estimator.py            the batch models
state.py                the engine of a stream: outputs of all tasks, rounds, weights by task
stream.py               tasks in a stream: met at their first row
online_estimator.py     the models of streams
answers.py              fit, predictions and scores by task
"""
