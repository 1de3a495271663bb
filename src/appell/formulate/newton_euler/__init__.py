"""Methods based on Newton's and Euler's equations of each body."""
