"""Slider-crank with a flexible rod in Exudyn: the numbers of `appell_lab.papers.flexible_links.EXUDYN_MIDDLES`.

    python benchmarks/slider_crank.py [ELEMENTS] [STEPS]

The rod consists of ANCF cables. Its root moves on a circle at constant speed; a point mass slides with its tip. The
deflection of the middle from the line between both ends, relative to the length, is printed next to appell's.
"""

from __future__ import annotations

import sys

import numpy as np

from appell_lab.papers.flexible_links import (
    CRANK,
    CRANK_SPEED,
    CRANK_TIMES,
    ROD,
    ROD_EI,
    ROD_MASS_PER_LENGTH,
    bent_middle,
    flexible_slider_crank,
    turning_crank,
)

EA = 2e11 * np.pi * 0.006**2 / 4.0


def middles(elements: int, steps: int) -> np.ndarray:
    import exudyn as exu
    from exudyn import beams
    from exudyn import utilities as items

    mbs, until, W = exu.SystemContainer().AddSystem(), CRANK_TIMES[-1], CRANK_SPEED
    cable = items.Cable2D(
        physicsMassPerLength=ROD_MASS_PER_LENGTH,
        physicsBendingStiffness=ROD_EI,
        physicsAxialStiffness=EA,
        useReducedOrderIntegration=2,
    )
    free = {"fixedConstraintsNode0": [0] * 4, "fixedConstraintsNode1": [0] * 4}
    nodes = beams.GenerateStraightLineANCFCable2D(mbs, [CRANK, 0, 0], [CRANK + ROD, 0, 0], elements, cable, **free)[0]
    for k, node in enumerate(nodes):  # a straight rod that rotates like a rigid one
        v = [0.0, W * CRANK * (1.0 - k / elements), 0.0, -W * CRANK / ROD]
        mbs.SetNodeParameter(node, "initialVelocities", v)

    def coordinate(node: int, index: int):
        return mbs.AddMarker(items.MarkerNodeCoordinate(nodeNumber=node, coordinate=index))

    ground = coordinate(mbs.AddNode(items.NodePointGround()), 0)
    circle = (lambda t: CRANK * (np.cos(W * t) - 1.0)), (lambda t: CRANK * np.sin(W * t))
    for k, x in enumerate(circle):
        markers = [ground, coordinate(nodes[0], k)]
        follow = items.CoordinateConstraint(markerNumbers=markers, offsetUserFunction=lambda mbs, t, i, o, x=x: x(t))
        mbs.AddObject(follow)
    block = mbs.AddNode(items.NodePoint2D(referenceCoordinates=[CRANK + ROD, 0]))
    mbs.AddObject(items.MassPoint2D(physicsMass=0.5 * ROD_MASS_PER_LENGTH * ROD, nodeNumber=block))
    for one, other in (
        (ground, coordinate(nodes[-1], 1)),
        (ground, coordinate(block, 1)),
        (coordinate(block, 0), coordinate(nodes[-1], 0)),
    ):
        mbs.AddObject(items.CoordinateConstraint(markerNumbers=[one, other]))
    position = exu.OutputVariableType.Position
    sensors = [
        mbs.AddSensor(items.SensorNode(nodeNumber=node, storeInternal=True, outputVariableType=position))
        for node in (nodes[elements // 2], nodes[-1])
    ]
    mbs.Assemble()
    settings = exu.SimulationSettings()
    settings.timeIntegration.numberOfSteps, settings.timeIntegration.endTime = steps, until
    settings.timeIntegration.generalizedAlpha.spectralRadius = 0.9
    settings.timeIntegration.verboseMode = 0
    settings.solution.file.write, settings.solution.sensors.writePeriod = False, until / 9
    mbs.SolveDynamic(settings)
    middle, tip = (mbs.GetSensorStoredData(sensor) for sensor in sensors)
    rows = [int(np.abs(middle[:, 0] - t).argmin()) for t in CRANK_TIMES]
    pin = CRANK * np.exp(1j * W * np.array(CRANK_TIMES))
    chord, arm = ((data[rows, 1] + 1j * data[rows, 2]) - pin for data in (tip, middle))
    return (arm * np.conj(chord) / np.abs(chord)).imag / ROD


def main() -> None:
    elements, steps = (int(x) for x in (*sys.argv[1:3], 8, 14400)[:2])
    ours = flexible_slider_crank(3)
    print("Exudyn", middles(elements, steps).round(6))
    print("appell", bent_middle(ours, turning_crank(ours).q).round(6))


if __name__ == "__main__":
    main()
