"""A simulation for other tools: a step of a rollout in C, in the envelope of FMI 2 for co-simulation.

export        to_fmu, which writes the file
variables     what other tools see of a system: names, units, start values
description   modelDescription.xml
interface     the functions of FMI in C, around the exported step
"""
