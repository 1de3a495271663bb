"""Export of a simulation for other tools: the step of a rollout in C, as an FMU (FMI 2 for co-simulation).

export        `to_fmu`, which writes the file
description   modelDescription.xml: names, units and start values of the variables
interface     the C functions of FMI around the exported step
"""
