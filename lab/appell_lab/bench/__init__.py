"""Measurements of appell against Pinocchio and other programs, run by `appell bench`.

subject               the robots that are measured, in appell and in Pinocchio
batch                 ten thousand samples in one call, against a Python loop
call                  one sample in one call
start                 time from a fresh process to the first result
operations            number of operations of a compiled function
closed_loops          a parallel robot in closed form
constrained           robots with loops; loop_robots defines them
inverse_kinematics    poses reached, and time per pose
control               one control step, from signals to converter codes; control_step sets it up
runge_kutta           rollouts
latency               wake-up latency of a control loop
aims                  the value that each figure should reach
report                the figures as a table, as JSON and as Markdown
peers/                generated C and C++ of other programs, built and run on this machine
"""
