"""MJCF documents for tests, one per feature."""

BODY = '<inertial pos="0.1 0.2 -0.1" mass="1.5" diaginertia="0.02 0.03 0.04"/>'


def mjcf(world: str, beside: str = "", compiler: str = 'angle="radian"', option: str = "") -> str:
    """Return a document in which world bodies are on line 5."""
    return (
        f'<mujoco model="m">\n<compiler {compiler}/>\n<option {option}/>\n<worldbody>\n{world}\n</worldbody>\n'
        f"{beside}\n</mujoco>\n"
    )


def link(inside: str = '<joint name="j"/>', more: str = "", name: str = "arm") -> str:
    return f'<body name="{name}">{inside}{BODY}{more}</body>'


SUPPORTED = {
    "degrees and a default class": mjcf(
        '<body name="a" euler="10 20 30" childclass="c"><joint name="j"/><geom size=".1"/></body>',
        '<default><default class="c"><joint axis="1 2 3" armature=".2"/></default></default>',
        compiler='angle="degree"',
    ),
    "inertia from shapes": mjcf(
        '<body name="a"><joint axis="0 1 0"/><geom type="capsule" size=".05 .2" pos=".1 0 0" euler=".1 .2 .3"/>'
        '<geom type="box" size=".1 .2 .3" density="500"/><geom type="ellipsoid" size=".1 .05 .02" mass=".3"/></body>'
    ),
    "fullinertia": mjcf(
        '<body name="a"><joint axis="1 1 0"/>'
        '<inertial pos=".1 0 0" mass="2" fullinertia=".3 .4 .5 .01 .02 .03"/></body>'
    ),
    "joints off the origin": mjcf(
        '<body name="a" pos="1 0 0" euler=".3 .2 .1"><joint name="x" axis="1 0 0" pos=".1 .2 .3"/>'
        '<joint name="s" type="slide" axis="0 1 1"/><joint name="z" axis="0 0 1" pos="-.2 .1 0" ref=".7"/>'
        f"{BODY}{link(name='b')}</body>"
    ),
    "a free body with an arm": mjcf(
        f'<body name="base" pos="0 0 1" euler=".4 .5 .6"><freejoint name="f"/>{BODY}'
        f"{link('<joint name=' + chr(34) + 'j' + chr(34) + ' axis=' + chr(34) + '1 2 0' + chr(34) + '/>')}</body>"
    ),
    "a ball with armature": mjcf(link('<joint type="ball" armature=".3" damping=".2" pos=".1 0 .2"/>', link(name="b"))),
    "ref of a slide": mjcf(link('<joint type="slide" axis="1 1 0" ref=".4"/>', link(name="b"))),
    "springs": mjcf(link('<joint name="j" axis="1 0 0" ref=".2" stiffness="7" springref=".3" damping=".4"/>')),
    "motors with their own armature": mjcf(
        link(), '<actuator><motor joint="j" gear="3" armature=".5" damping=".2"/></actuator>'
    ),
    "custom gravity": mjcf(link('<joint axis="1 0 0"/>'), option='gravity="1 2 -3"'),
    "no gravity": mjcf(link('<joint axis="1 0 0"/>')).replace(
        "<option />", '<option><flag gravity="disable"/></option>'
    ),
    "gravity compensated by half": mjcf(
        '<body name="a" gravcomp=".5"><joint axis="1 0 0"/><geom size=".1" pos=".3 .2 0"/></body>'
    ),
    "frames and replicas": mjcf(
        '<frame pos=".1 .2 .3" euler=".1 0 .4"><body name="a"><joint axis="0 1 0"/><geom size=".1" pos=".2 0 0"/>'
        '</body></frame><replicate count="3" euler="0 0 1.5" offset=".5 0 0"><body name="r"><joint axis="1 0 0"/>'
        '<geom type="box" size=".1 .2 .1" pos=".1 0 .3"/></body></replicate>'
    ),
    "bodies that cannot move": mjcf(
        link(
            "",
            '<body name="b" pos=".3 0 0" euler=".1 .2 .3"><joint name="j" axis="1 0 0"/>'
            f'{BODY}<body name="c" pos="0 .2 0" euler=".3 0 0">{BODY}<site name="tip" pos=".1 0 0"/></body></body>',
        )
    ),
}
