"""The registry of all figures, used by the gallery and by tests.

A figure of the library is listed with the lines that draw it; the gallery runs them at each build, and so do the tests.
Figures drawn by scripts of this repository are stored in docs/images. Those of the papers take minutes to compute:
`python docs/paper_figures.py` stores them in docs/images/papers, one folder per section of `appell reproduce`.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from textwrap import dedent
from typing import Any

from appell_lab.papers.ledger import LEDGERS

IMAGES = Path(__file__).resolve().parents[1] / "images"


@dataclass(frozen=True)
class Exhibit:
    """A figure of the library: `lines` assign it to the variable `figure`."""

    name: str
    caption: str
    lines: str

    def figure(self) -> Any:
        """Run the lines and return the figure."""
        import numpy as np

        import appell as ap

        names: dict[str, Any] = {"ap": ap, "np": np}
        exec(compile(self.lines, f"<{self.name}>", "exec"), names)
        return names["figure"]


@dataclass(frozen=True)
class KeptFigure:
    """A picture in docs/images and the command that draws it."""

    file: str
    caption: str
    command: str


def _exhibit(name: str, caption: str, lines: str) -> Exhibit:
    return Exhibit(name, caption, dedent(lines).strip() + "\n")


MOTIONS = (
    _exhibit(
        "swing",
        "One motion: one panel per quantity, the energy as its change from the start.",
        """
        start = [0.3, -0.5, 0.4, 0.0, 0.2, 0.0]
        record = ap.simulate(ap.load("puma"), start, until=1.0)
        figure = record.plot()
        """,
    ),
    _exhibit(
        "bounces",
        "Events are marked; constant quantities are named below and have no panel.",
        """
        box = ap.Builder("box", base="floating", root="box")
        box.root_body(1.0, (0, 0, 0), (0.1, 0.1, 0.1))
        floor = ap.Contact("box", ap.Plane(), restitution=0.7, friction=0.0)
        above = [0, 0, 1, 0, 0, 0, 1]
        record = ap.simulate(box.build(), above, until=2.0, contacts=floor)
        figure = record.plot()
        """,
    ),
    _exhibit(
        "many-joints",
        "Many joints in a grid, limbs by row and quantities by column.",
        """
        wall = ap.Contact("all", ap.Circle(2.5), restitution=1.0, friction=0.0)
        record = ap.simulate(ap.load("tree10"), until=1.5, contacts=wall)
        figure = record.plot(quantities=["q", "v"])
        """,
    ),
    _exhibit(
        "samples",
        "Samples of a log: dots if there are few, references dotted, straight lines between rows.",
        """
        t = np.linspace(0.0, 2.0, 41)
        wanted = np.stack([np.sin(2 * t), np.cos(t)], axis=-1)
        noise = 0.03 * np.random.default_rng(0).normal(size=wanted.shape)
        blocks = {"q": wanted + noise, "qd": wanted}
        record = ap.Record.of(t, blocks, ("shoulder", "elbow"))
        figure = record.plot()
        """,
    ),
    _exhibit(
        "spread",
        "A thousand motions: median, central 50 % and central 90 %.",
        """
        dyn = ap.Dynamics(ap.load("puma"))
        noise = np.random.default_rng(0).normal(size=(1000, 6))
        starts = dyn.system.start + 0.1 * noise
        records = ap.rollout(dyn, starts, steps=500, dt=1e-3, output=ap.simulation.Output(every=10))
        figure = records.plot(quantities="q")
        """,
    ),
    _exhibit(
        "members",
        "Some of the motions, one line each.",
        """
        dyn = ap.Dynamics(ap.load("planar-2r"))
        noise = np.random.default_rng(0).normal(size=(100, 2))
        starts = dyn.system.start + 0.3 * noise
        records = ap.rollout(dyn, starts, steps=1000, dt=1e-3, output=ap.simulation.Output(every=10))
        figure = records.plot(quantities=["q", "v"], members=[0, 7, 12])
        """,
    ),
)
SYSTEMS = (
    _exhibit(
        "panda",
        "An arm on a grid.",
        'figure = ap.draw(ap.load("panda"), [0, -0.4, 0, -2.0, 0, 1.6, 0.8])',
    ),
    _exhibit(
        "inertia",
        "The same with inertia ellipsoids.",
        'figure = ap.draw(ap.load("panda"), inertia=True)',
    ),
    _exhibit("platform", "A parallel robot.", 'figure = ap.draw(ap.load("stewart-gough"))'),
    _exhibit(
        "four-bar",
        "A planar mechanism is drawn face on, with axes in metres.",
        'figure = ap.draw(ap.load("four-bar"))',
    ),
    _exhibit("wall", "A tree robot inside a wall.", 'figure = ap.draw(ap.load("tree10"), walls=[ap.Circle(2.5)])'),
    _exhibit(
        "workspace",
        "Workspace of a mechanism, and how well its actuators can hold it.",
        """
        dyn = ap.Dynamics(ap.load("five-bar"))
        reach = np.linspace(-0.6, 0.6, 161)
        x, y = dyn.system.coordinate_names
        figure = ap.kinematics.workspace(dyn, {x: reach, y: reach}).plot()
        """,
    ),
)
EXPERIMENTS = (
    _exhibit(
        "control",
        "A run on the simulated cabinet, as drawn by `appell control run`.",
        """
        from appell.hardware.loop.summary import draw_run
        from appell_lab.papers.cabinet_run import cabinet_run, spline
        from appell.show.plot.style import FIGURE_WIDTH_IN, new_figure, styled

        log = cabinet_run(ap.load("puma"), "tracking-integral", spline)
        with styled():
            figure = new_figure(FIGURE_WIDTH_IN, 8.0)
            draw_run(figure, log)
        """,
    ),
    _exhibit(
        "identification",
        "Prediction of an identified model for a motion that was not used in the fit.",
        """
        from appell import identify

        robot = ap.load("planar-2r")
        parameters = identify.select_parameters(robot, friction=True)
        drive = ap.Actuator(friction=ap.Friction(viscous=0.3, coulomb=0.8))
        driven = robot.with_actuators(dict.fromkeys(robot.joint_names, drive))
        real = ap.Dynamics(driven, friction=True)
        limits, logs = {"velocity": 3.0, "acceleration": 12.0}, []
        for seed in (1, 2):
            plan = identify.excite(parameters, seed=seed, starts=1, **limits)
            motion = plan.path.record(period=5e-3)
            tau = real.inverse_dynamics(motion.q, motion.v, motion.a)
            tau += 0.2 * np.random.default_rng(seed).normal(size=tau.shape)
            blocks = {"q": motion.q, "tau": tau}
            logs.append(ap.Record.of(motion.t, blocks, robot.joint_names))
        data = identify.process(logs[0])
        fit = identify.LeastSquares(parameters).fit_record(data)
        held_out = identify.process(logs[1], smooth=True)
        figure = identify.judge(fit, held_out).plot()
        """,
    ),
)
CHAPTERS = {"motions": MOTIONS, "systems": SYSTEMS, "experiments": EXPERIMENTS}
EXHIBITS = (*MOTIONS, *SYSTEMS, *EXPERIMENTS)

SCRIPTS = (
    KeptFigure("speed.png", "Time per sample, compared with Pinocchio.", "python benchmarks/publish.py"),
    KeptFigure(
        "formulations.png",
        "All formulations against the number of joints.",
        "python benchmarks/formulations.py --plot",
    ),
    KeptFigure("drops.png", "A hundred thousand drops of the tree robot of Shafei 2018.", "python benchmarks/drops.py"),
    KeptFigure("payloads.png", "A million payloads on a straight line of a PUMA.", "python docs/payloads.py"),
    KeptFigure("systems.png", "Three systems side by side.", "python docs/pictures.py"),
    KeptFigure("fall.png", "Four instants of a movie.", "python docs/pictures.py"),
    KeptFigure("ball.png", "A bouncing ball.", "python docs/pictures.py"),
    KeptFigure("impacts.png", "A tree robot falls inside a wall.", "appell reproduce impacts"),
)


def paper_figures(section: str) -> Iterator[KeptFigure]:
    """Yield the figures of a section of `appell reproduce`, with the printed items they show."""
    for path in sorted((IMAGES / "papers" / section).glob("*.png")):
        printed = [
            f"{book.paper}, {item.name}: {item.prints}"
            for book in LEDGERS
            for item in book.items
            if item.section == section and item.title == path.stem
        ]
        caption = "; ".join(printed) or path.stem.replace("-", " ").replace("_", " ")
        yield KeptFigure(f"papers/{section}/{path.name}", caption, f"appell reproduce {section}")
