"""Closest points of two convex polytopes, in loops over tables, over abstract scalars.

A polytope is a table of vertices, normals of faces, and edges; a point, a segment and a box are polytopes too. With the
support of a polytope, its vertex farthest along a direction, both bodies A and B define the Minkowski difference
C = A - B. The distance is that of the origin to C; if C contains the origin, the depth is its distance to the boundary.

**Outside** (GJK): v is the point of a triangle in C that is nearest to the origin. The support w of C along -v joins
the triangle, and of the segments and triangles with w,

    v ← the nearest point of (w, pᵢ) and (w, pᵢ, pⱼ)                                                           (1)

The distance decreases in every iteration until the nearest point of C is reached after finitely many of them. A pair is
finished if it does not decrease; the loop is skipped if all pairs are. A tetrahedron of w and the triangle that
contains the origin ends the search: the bodies overlap.

**Inside**, the depth is the smallest overlap along the normals of the faces of C: those of A, those of B, and products
of edges u_A × u_B. An edge is an arc between the normals a, b of its faces on the unit sphere, in the plane across
u = b × a. A product is a normal of C if the arcs of A and of -B cross; with the normals c, d of an edge of B,

    (c·u_A)(d·u_A) < 0        (a·u_B)(b·u_B) < 0        (c·u_A)(b·u_B) < 0                                     (2)

All pairs of edges are compared, without divisions. Parallel arcs do not cross; their ends are normals of faces. The
loops of a pair are skipped where its bodies are apart. Faces that a body does not have, such as the four sides of a
segment, may be added: the overlap along any direction is not smaller than the depth.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise, product

from appell.algebra.loops import LoopBody, Loops, Rows, Table
from appell.algebra.matrix import Mat3
from appell.algebra.rotation import Pose
from appell.algebra.scalar import Scalar, Vector, abs, maximum, minimum, select, sqrt
from appell.algebra.vector import UNITS, Vec3, total
from appell.formulate.distance.closest import MIN_DIVISOR, Closest, Solid, choose

Numbers = tuple[float, ...]
MAX_ITERATIONS = 40  # of (1); random pairs of hulls need at most 15 with 32 vertices, and 20 with 256
LEAST_DECREASE = 1e-15  # of the squared distance, relative, for another iteration
FLAT = 1e-18  # squared sine of the angle of a triangle that counts as a segment
NEAR_M = 1e-10  # distance below which bodies count as overlapping: the direction of v has few digits there
NO_VOLUME = 1e-14  # of a tetrahedron relative to the cube of its size, up to rounding
CHUNK = 8  # vertices per iteration of a loop
A_EDGES, B_EDGES = 2, 4  # per iteration of the loop over pairs of edges
EDGE_SIZE = 13  # numbers of an edge and its own number
LOWEST = -1e100  # below every height and distance; its square is finite


@dataclass(frozen=True)
class Polytope:
    """A convex polytope in its own axes, in m.

    `faces` are outward unit normals, each with the largest height of the polytope along it. `edges` are a point of the
    edge, the normals a and b of its faces (less than half a turn apart), and b × a, 12 numbers each.
    """

    vertices: tuple[Numbers, ...]
    faces: tuple[Numbers, ...] = ()
    edges: tuple[Numbers, ...] = ()

    @property
    def center(self) -> Vec3:
        """The mean of the vertices."""
        return (1.0 / len(self.vertices)) * total(map(Vec3.of, self.vertices))


def polytope_of(solid: Solid) -> Polytope:
    """Return the core of a solid as a polytope; its sizes must be numbers."""
    if solid.polytope is not None:
        return solid.polytope
    if solid.core == "point":
        return Polytope(((0.0, 0.0, 0.0),))
    if solid.core == "segment":
        half = solid.size[0]
        sides = [(1.0, 0.0, 0.0), (0.0, 1.0, 0.0), (-1.0, 0.0, 0.0), (0.0, -1.0, 0.0)]
        edges = tuple(edge_numbers((0.0, 0.0, half), a, b) for a, b in pairwise([*sides, sides[0]]))
        return Polytope(((0.0, 0.0, half), (0.0, 0.0, -half)), tuple((*side, 0.0) for side in sides), edges)
    sizes = solid.size
    corners = tuple(product(*((x, -x) for x in sizes)))
    normals = [tuple(side * x for x in unit) for unit in UNITS for side in (1.0, -1.0)]
    faces = tuple((*n, sum(abs(x) * h for x, h in zip(n, sizes, strict=True))) for n in normals)
    edges = tuple(
        edge_numbers(tuple((x + y) * h for x, y, h in zip(a, b, sizes, strict=True)), a, b)
        for k, a in enumerate(normals)
        for b in normals[k + 1 :]
        if Vec3.of(a).dot(Vec3.of(b)) == 0.0
    )
    return Polytope(corners, faces, edges)


def edge_numbers(point: Sequence[float], a: Sequence[float], b: Sequence[float]) -> Numbers:
    """Return the numbers of an edge of a `Polytope` from a point and the normals of its faces."""
    return (*point, *a, *b, *Vec3.of(b).cross(Vec3.of(a)))


def hull_distances(pairs: Sequence[tuple[Solid, Solid]], loops: Loops) -> list[Closest]:
    """Distances and closest points of the cores of pairs of solids in the world, by (1) and (2)."""
    if not pairs:
        return []
    search = _Search([(polytope_of(one), polytope_of(other)) for one, other in pairs], loops)
    search.start([(one.pose, other.pose) for one, other in pairs])
    for _ in range(MAX_ITERATIONS):
        search.iterate()
    return [search.result(k) for k in range(len(pairs))]


# A state in (1): whether the search continues and whether the bodies overlap (0 or 1), v, its point of A, and three
# points of C, each with its point of A.
LIVE, INSIDE, NEAREST, POINT, SIMPLEX = 0, 1, slice(2, 5), slice(5, 8), slice(8, 26)


class _Search:
    """The tables of some pairs: supports of both bodies, and the state of (1)."""

    def __init__(self, polytopes: Sequence[tuple[Polytope, Polytope]], loops: Loops):
        self.polytopes, self.loops, self.count = polytopes, loops, len(polytopes)
        self.order: list[tuple[int, int, Numbers | None]] = []  # kind, pair or side, numbers; of one iteration
        widths = {len(row) for both in polytopes for body in both for row in _chunks(body)}
        self.widths = sorted(widths)
        for k, both in enumerate(polytopes):
            for side, body in enumerate(both):
                self.order += [(2 + self.widths.index(len(row)), 2 * k + side, row) for row in _chunks(body)]
            self.order.append((min(k, 1), k, None))

    def start(self, poses: Sequence[tuple[Pose, Pose]]) -> None:
        """Begin with the difference of the centres of both bodies."""
        self.poses, states, aims = poses, [], []
        for both, (one, other) in zip(self.polytopes, poses, strict=True):
            point = one.apply(both[0].center)
            v = point - other.apply(both[1].center)
            states.append([1.0, 0.0, *v, *point, *([*v, *point] * 3)])
            aims += _aims(v, one, other)
        given = self.loops.given
        self.state, self.aim = given(states), given(aims)
        self.best = given([[LOWEST, 0.0, 0.0, 0.0]] * (2 * self.count))
        self.live = given([[1.0]])
        self.frames = given([_numbers_of(pose) for both in poses for pose in both])

    def iterate(self) -> None:
        """Compute the supports of all pairs and replace the states by (1)."""
        kinds, numbers = [kind for kind, _, _ in self.order], [row or () for _, _, row in self.order]
        pairs = [k if kind < 2 else None for kind, k, _ in self.order]
        first = [2 * k if kind < 2 else k for kind, k, _ in self.order]  # of both bodies, or the only one
        second = [None if k is None else 2 * k + 1 for k in pairs]
        ones = [None if k is None else 2 * k for k in pairs]
        all_live = [None if k is None else 0 for k in pairs]
        directions = [None if kind < 2 else k for kind, k, _ in self.order]
        reads = [
            Rows(self.best, first),
            Rows(self.aim, directions),
            Rows(self.best, second),
            Rows(self.state, pairs),
            Rows(self.frames, ones),
            Rows(self.frames, second),
            Rows(self.live, all_live),
        ]
        writes = [
            Rows(self.best, first),
            Rows(self.best, second),
            Rows(self.state, pairs),
            Rows(self.aim, ones),
            Rows(self.aim, second),
            Rows(self.live, all_live),
        ]
        bodies: list[LoopBody] = [_replace_first, _replace, *[_support] * len(self.widths)]
        self.loops.each(bodies, kinds, reads, writes, numbers, (self.live, 0))

    def result(self, k: int) -> Closest:
        """The distance of the cores of a pair; where they overlap, by (2)."""
        state = self.loops.values(self.state)[k]
        inside, v, point = state[INSIDE], Vec3.of(state[NEAREST]), Vec3.of(state[POINT])
        depth, normal, deepest = _overlap(*self.polytopes[k], *self.poses[k], inside, self.loops)
        square = v.dot(v)
        inverse = 1.0 / sqrt(select(inside, 1.0, square))
        n = choose(inside, normal, inverse * v)
        distance, point1 = select(inside, depth, square * inverse), choose(inside, deepest, point)
        return Closest(distance, n, point1, point1 - distance * n)


def _chunks(body: Polytope) -> list[Numbers]:
    """Return the vertices of a body in rows of equal lengths; the last vertex fills the last row."""
    vertices = list(body.vertices)
    if len(vertices) > CHUNK:
        vertices += [vertices[-1]] * (-len(vertices) % CHUNK)
    rows = [vertices[start : start + CHUNK] for start in range(0, len(vertices), CHUNK)]
    return [tuple(x for vertex in row for x in vertex) for row in rows]


def _numbers_of(pose: Pose) -> Vector:
    rotation = pose.rotation.matrix if hasattr(pose.rotation, "matrix") else pose.rotation
    return [x for row in rotation.rows for x in row] + list(pose.translation)


def _pose_of(row: Vector) -> Pose:
    return Pose(Mat3.of([row[0:3], row[3:6], row[6:9]]), Vec3.of(row[9:12]))


def _aims(v: Vec3, one: Pose, other: Pose) -> list[list[Scalar]]:
    """Directions of the supports of A and B for the support of A - B along -v, in axes of the bodies."""
    return [list(-(one.rotation.T @ v)), list(other.rotation.T @ v)]


def _support(best: Vector, aim: Vector, *rest: Vector) -> list[Vector]:
    """The highest vertex of a body along a direction, among those of an iteration and the best so far."""
    numbers, direction = rest[-1], Vec3.of(aim)
    height, point = best[0], Vec3.of(best[1:])
    for k in range(0, len(numbers), 3):
        vertex = Vec3.of(numbers[k : k + 3])
        other = direction.dot(vertex)
        higher = other - height
        height, point = select(higher, other, height), choose(higher, vertex, point)
    return [[height, *point], [], [], [], [], []]


def _replace_first(*rows: Vector) -> list[Vector]:
    """The state of the first pair after (1); no other search continues yet."""
    return _replace(*rows[:6], [0.0])


def _replace(
    one: Vector, _: Vector, other: Vector, state: Vector, first: Vector, second: Vector, live: Vector, *numbers: Vector
) -> list[Vector]:
    """The state after (1)."""
    a_pose, b_pose = _pose_of(first), _pose_of(second)
    a = a_pose.apply(Vec3.of(one[1:]))
    w = a - b_pose.apply(Vec3.of(other[1:]))
    rows = [state[SIMPLEX][k : k + 6] for k in (0, 6, 12)]
    points, on_a = [Vec3.of(row[:3]) for row in rows], [Vec3.of(row[3:]) for row in rows]
    v, point = Vec3.of(state[NEAREST]), Vec3.of(state[POINT])
    square = v.dot(v)
    least, second_row, third_row = square * (1.0 - LEAST_DECREASE), rows[0], rows[0]
    nearest, nearest_a = v, point
    for k, (p, p_a) in enumerate(zip(points, on_a, strict=True)):
        e = p - w
        share = maximum(minimum(-w.dot(e) / maximum(e.dot(e), MIN_DIVISOR), 1.0), 0.0)
        on_edge = w + share * e
        candidate = on_edge.dot(on_edge)
        closer = least - candidate
        least = select(closer, candidate, least)
        nearest, nearest_a = choose(closer, on_edge, nearest), choose(closer, a + share * (p_a - a), nearest_a)
        second_row = [select(closer, x, y) for x, y in zip(rows[k], second_row, strict=True)]
        third_row = [select(closer, x, y) for x, y in zip(rows[k], third_row, strict=True)]
    products = [points[(k + 1) % 3].cross(points[(k + 2) % 3]) for k in range(3)]  # p₁ × p₂, p₂ × p₀, p₀ × p₁
    for k in range(3):
        i, j = (k + 1) % 3, (k + 2) % 3
        e1, e2 = points[i] - w, points[j] - w
        n = e1.cross(e2)
        nn = n.dot(n)
        regular = nn - FLAT * (e1.dot(e1) * e2.dot(e2))
        inverse = 1.0 / select(regular, nn, 1.0)
        share_i, share_j = inverse * n.dot(e2.cross(w)), inverse * n.dot(w.cross(e1))
        share_w = 1.0 - share_i - share_j
        inside = minimum(minimum(share_i, share_j), share_w)
        height = n.dot(w) * inverse
        candidate = height * height * nn
        closer = select(minimum(regular, inside), least - candidate, -1.0)
        least = select(closer, candidate, least)
        nearest = choose(closer, height * n, nearest)
        nearest_a = choose(closer, share_w * a + share_i * on_a[i] + share_j * on_a[j], nearest_a)
        second_row = [select(closer, x, y) for x, y in zip(rows[i], second_row, strict=True)]
        third_row = [select(closer, x, y) for x, y in zip(rows[j], third_row, strict=True)]
    volumes = [points[0].dot(products[0]), *(-w.dot(products[k]) for k in range(3))]
    size = maximum(
        maximum(points[0].dot(points[0]), points[1].dot(points[1])), maximum(points[2].dot(points[2]), w.dot(w))
    )
    same = minimum(minimum(volumes[0] * volumes[1], volumes[0] * volumes[2]), volumes[0] * volumes[3])
    same = same - NO_VOLUME**2 * (size * size * size)
    decreased = square * (1.0 - LEAST_DECREASE) - least
    touches = NEAR_M**2 - select(decreased, least, square)
    was_live = state[LIVE]
    is_inside = select(was_live, select(maximum(same, touches), 1.0, state[INSIDE]), state[INSIDE])
    continues = select(minimum(was_live, minimum(decreased, 0.5 - is_inside)), 1.0, 0.0)
    moved = minimum(was_live, decreased)
    v, point = choose(moved, nearest, v), choose(moved, nearest_a, point)
    new = [[*w, *a], second_row, third_row]
    simplex = [select(moved, x, y) for row, old in zip(new, rows, strict=True) for x, y in zip(row, old, strict=True)]
    aims = _aims(v, a_pose, b_pose)
    none = [LOWEST, 0.0, 0.0, 0.0]
    return [none, none, [continues, is_inside, *v, *point, *simplex], *aims, [maximum(live[0], continues)]]


# ---- bodies that overlap, in axes of B


def _overlap(
    one: Polytope, other: Polytope, first: Pose, second: Pose, inside: Scalar, loops: Loops
) -> tuple[Scalar, Vec3, Vec3]:
    """Signed distance, normal and the closest point of A of two bodies that overlap; unspecified where they do not."""
    R, c = second.rotation.T @ _matrix(first), second.rotation.T @ (first.translation - second.translation)
    frame, when = loops.given([_numbers_of(Pose(R, c))]), (loops.given([[inside]]), 0)
    best = loops.given([[LOWEST, 0.0, 0.0, 1.0, 0.0, 0.0, 0.0]])  # signed distance, normal, point of A
    _compare_faces(other.faces, one, (_along_face_of_b, _end_of_face_of_b), frame, best, when, loops)
    _compare_faces(one.faces, other, (_along_face_of_a, _end_of_face_of_a), frame, best, when, loops)
    crossing = _crossing_edges(one.edges, other.edges, frame, when, loops) if one.edges and other.edges else None
    gap, *numbers = loops.values(best)[0]
    n, point = Vec3.of(numbers[:3]), Vec3.of(numbers[3:])
    if crossing is not None:
        edge_gap, edge_n, edge_point = crossing
        larger = edge_gap - gap
        gap, n, point = select(larger, edge_gap, gap), choose(larger, edge_n, n), choose(larger, edge_point, point)
    return gap, second.rotation @ n, second.apply(point)


def _matrix(pose: Pose) -> Mat3:
    return pose.rotation.matrix if hasattr(pose.rotation, "matrix") else pose.rotation


def _compare_faces(
    faces: Sequence[Numbers], seen: Polytope, bodies: tuple, frame: Table, result: Table, when: tuple, loops: Loops
) -> None:
    """Replace the signed distance so far by those along the normals of the faces of one body that are larger."""
    if not faces:
        return
    begin, end = bodies
    aim, best = loops.given([[0.0] * 3]), loops.given([[LOWEST, 0.0, 0.0, 0.0]])
    rows = _chunks(seen)
    kinds, numbers = [], []
    for face in faces:
        kinds += [0, *[1] * len(rows), 2]
        numbers += [face, *rows, face]

    def only(*used: int) -> list[int | None]:
        return [0 if kind in used else None for kind in kinds]

    reads = [Rows(best, only(1, 2)), Rows(aim, only(1)), Rows(frame, only(0, 2)), Rows(result, only(2))]
    writes = [Rows(best, only(0, 1)), Rows(aim, only(0)), Rows(result, only(2))]
    loops.each([begin, _support_of_face, end], kinds, reads, writes, numbers, when)


def _support_of_face(best: Vector, aim: Vector, *rest: Vector) -> list[Vector]:
    return [_support(best, aim, *rest)[0], [], []]


def _along_face_of_b(_: Vector, aim: Vector, frame: Vector, result: Vector, face: Vector) -> list[Vector]:
    return [[LOWEST, 0.0, 0.0, 0.0], list(-(_pose_of(frame).rotation.T @ Vec3.of(face[:3]))), []]


def _along_face_of_a(_: Vector, aim: Vector, frame: Vector, result: Vector, face: Vector) -> list[Vector]:
    return [[LOWEST, 0.0, 0.0, 0.0], list(-(_pose_of(frame).rotation @ Vec3.of(face[:3]))), []]


def _end_of_face_of_b(best: Vector, aim: Vector, frame: Vector, result: Vector, face: Vector) -> list[Vector]:
    """n is the normal of B; the deepest vertex of A is the closest point."""
    n, point = Vec3.of(face[:3]), _pose_of(frame).apply(Vec3.of(best[1:]))
    return [[], [], _larger(result, [n.dot(point) - face[3], *n, *point])]


def _end_of_face_of_a(best: Vector, aim: Vector, frame: Vector, result: Vector, face: Vector) -> list[Vector]:
    """n is opposite to the normal of A; the deepest vertex of B is the closest point of B."""
    pose = _pose_of(frame)
    n, point = -(pose.rotation @ Vec3.of(face[:3])), Vec3.of(best[1:])
    gap = n.dot(pose.translation - point) - face[3]
    return [[], [], _larger(result, [gap, *n, *(point + gap * n)])]


def _larger(old: Vector, new: Vector) -> list[Scalar]:
    return [select(new[0] - old[0], x, y) for x, y in zip(new, old, strict=True)]


def _crossing_edges(
    ones: Sequence[Numbers], others: Sequence[Numbers], frame: Table, when: tuple, loops: Loops
) -> tuple[Scalar, Vec3, Vec3]:
    """The largest signed distance across an edge of A and one of B, by (2), its normal, and the point of A.

    Signed distances g = n·(a - b) / |n| with n = ± u_A × u_B are compared by g |g|, as numerator and denominator.
    u_A × u_B = (b·u_B) a - (a·u_B) b with the normals of an edge of A: it points out of A where b·u_B > 0.
    """
    a_edges, b_edges = ([(*edge, float(k)) for k, edge in enumerate(edges)] for edges in (ones, others))
    a_rows, b_rows = _filled(a_edges, A_EDGES), _filled(b_edges, B_EDGES)
    turned, table = loops.table(len(a_rows), A_EDGES * EDGE_SIZE), loops.table(len(b_rows), B_EDGES * EDGE_SIZE)
    best = loops.given([[LOWEST, 1.0, 0.0, 0.0]])
    every = range(len(a_rows))
    loops.each([_turned], [0] * len(every), [Rows(frame, [0] * len(every))], [Rows(turned, every)], a_rows, when)
    loops.each([_copied], [0] * len(b_rows), [], [Rows(table, range(len(b_rows)))], b_rows, when)
    pairs = list(product(every, range(len(b_rows))))
    always = [0] * len(pairs)
    reads = [Rows(turned, [i for i, _ in pairs]), Rows(table, [j for _, j in pairs]), Rows(best, always)]
    loops.each([_crossing], always, reads, [Rows(best, always)], when=when)
    lines = loops.given([[0.0] * 6, [0.0] * 6])  # a point and the direction of both edges
    for side, edges, rows in ((0, turned, every), (1, table, range(len(b_rows)))):
        zeros, sides = [0] * len(rows), [side] * len(rows)
        reads = [Rows(edges, rows), Rows(best, zeros), Rows(lines, sides)]
        loops.each([_line_of_a, _line_of_b], sides, reads, [Rows(lines, sides)], when=when)
    numerator, denominator, *_ = loops.values(best)[0]
    (a, u), (b, w) = ((Vec3.of(row[:3]), Vec3.of(row[3:])) for row in loops.values(lines))
    across = u.cross(w)
    inverse = 1.0 / sqrt(denominator)
    n = select(across.dot(a - b) * numerator, inverse, -inverse) * across
    along = across.dot(w.cross(a - b)) / maximum(across.dot(across), MIN_DIVISOR)
    gap = select(numerator, inverse, -inverse) * abs(across.dot(a - b))
    return select(numerator - 0.5 * LOWEST, gap, LOWEST), n, a + along * u


def _filled(edges: Sequence[Numbers], count: int) -> list[Numbers]:
    """Return rows of some edges each; the last edge fills the last row."""
    edges = [*edges, *[edges[-1]] * (-len(edges) % count)]
    return [tuple(x for edge in edges[k : k + count] for x in edge) for k in range(0, len(edges), count)]


def _turned(frame: Vector, edges: Vector) -> list[Vector]:
    """Edges of A in axes of B."""
    pose, row = _pose_of(frame), []
    for k in range(0, len(edges), EDGE_SIZE):
        a, b, u = (pose.rotation @ Vec3.of(edges[k + m : k + m + 3]) for m in (3, 6, 9))
        row += [*pose.apply(Vec3.of(edges[k : k + 3])), *a, *b, *u, edges[k + EDGE_SIZE - 1]]
    return [row]


def _copied(edges: Vector) -> list[Vector]:
    """Edges of B, which only this loop needs as constants: a table of constants would be stored for all pairs."""
    return [edges]


def _crossing(ones: Vector, others: Vector, best: Vector) -> list[Vector]:
    """The larger of the signed distance so far and those across some edges of A and of B, by (2)."""
    numerator, denominator, first, second = best
    for i, j in product(range(0, len(ones), EDGE_SIZE), range(0, len(others), EDGE_SIZE)):
        point, a, b, u = (Vec3.of(ones[i + m : i + m + 3]) for m in (0, 3, 6, 9))
        other_point, c, d, w = (Vec3.of(others[j + m : j + m + 3]) for m in (0, 3, 6, 9))
        cu, du, aw, bw = c.dot(u), d.dot(u), a.dot(w), b.dot(w)
        crosses = minimum(minimum(-cu * du, -aw * bw), -cu * bw)
        m = u.cross(w)
        offset = m.dot(other_point - point)
        gap, square = select(bw, offset, -offset) * abs(offset), m.dot(m)
        chosen = minimum(crosses, gap * denominator - numerator * square)
        numerator, denominator = select(chosen, gap, numerator), select(chosen, square, denominator)
        first = select(chosen, ones[i + EDGE_SIZE - 1], first)
        second = select(chosen, others[j + EDGE_SIZE - 1], second)
    return [[numerator, denominator, first, second]]


def _line_of_a(edges: Vector, best: Vector, line: Vector) -> list[Vector]:
    return [_line(edges, best[2], line)]


def _line_of_b(edges: Vector, best: Vector, line: Vector) -> list[Vector]:
    return [_line(edges, best[3], line)]


def _line(edges: Vector, number: Scalar, line: Vector) -> list[Scalar]:
    """Point and direction of the edge with a number, if it is among these edges."""
    for k in range(0, len(edges), EDGE_SIZE):
        is_it = 0.5 - abs(edges[k + EDGE_SIZE - 1] - number)
        edge = [*edges[k : k + 3], *edges[k + 9 : k + 12]]
        line = [select(is_it, x, y) for x, y in zip(edge, line, strict=True)]
    return list(line)
