"""The slides of structured sparsity: accuracy and F1 on synthetic groups, and the School exams."""
