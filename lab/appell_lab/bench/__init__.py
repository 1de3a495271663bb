"""Measurements of appell against Pinocchio, run by `appell bench`.

subject     the robots that are measured, on both sides
batch       ten thousand samples in one call, against a Python loop
call        one sample in one call
start       from a fresh process to the first result
counts      operations of a compiled function
control     one control step, signals in and converter codes out
aims        what each figure is held against
report      the figures as a table, as JSON and as Markdown
"""
