"""Crates of pymunk in a split index: who enters a zone, what bullets hit, who sleeps.

    python examples/pymunk_loop.py [frames]

pymunk moves the crates. The index follows it and answers what a game asks beside that: a zone tells
who comes and goes, and bullets, which pymunk knows nothing of, meet all that they pass within a
frame. Whether they hit it, pymunk's own shapes decide.
"""

import sys

import pymunk

import spatialindex as si

DT = 1 / 60
BULLET_RADIUS = 0.05
LAYERS = si.LayerTable(
    {
        "crate": ["crate", "ground", "zone", "bullet"],
        "ground": ["crate", "bullet"],
        "zone": ["crate"],  # bullets may fly through
        "bullet": ["crate", "ground"],
    }
)


def kind(name: str) -> dict[str, int]:
    """Return layer and mask of a kind of object."""
    return {"layer": LAYERS.layers(name), "mask": LAYERS.mask(name)}


class Mirror:
    """A split index that follows a space, and the shapes by their ids."""

    def __init__(self, space: pymunk.Space) -> None:
        self.space = space
        self.world = si.SplitIndex(ndim=2)
        self.shapes: dict[int, pymunk.Shape] = {}
        self.crates: dict[int, pymunk.Shape] = {}  # those that move
        self.asleep: set[int] = set()

    def add(self, shape: pymunk.Shape, name: str) -> int:
        """Put a shape into the index; a pymunk box is (left, bottom, right, top), as ours."""
        is_static = shape.body.body_type == pymunk.Body.STATIC
        new: int = self.world.insert(shape.cache_bb(), static=is_static, **kind(name))
        self.shapes[new] = shape
        if not is_static:
            self.crates[new] = shape
        return new

    def follow(self) -> None:
        """Take over where crates are, and who fell asleep or woke."""
        asleep = {i for i, shape in self.crates.items() if shape.body.is_sleeping}
        moved = [i for i in self.crates if i not in asleep or i not in self.asleep]
        if moved:
            self.world.update(moved, [self.crates[i].bb for i in moved])
        turned = sorted(asleep ^ self.asleep)
        if turned:
            self.world.set_state(turned, asleep=[i in asleep for i in turned])
        self.asleep = asleep


class Bullets:
    """Points that fly straight, by their ids in the index."""

    def __init__(self, world: si.SplitIndex) -> None:
        self.world = world
        self.flying: dict[int, tuple[pymunk.Vec2d, pymunk.Vec2d]] = {}  # where, how fast
        self.before: dict[int, pymunk.Vec2d] = {}

    def shoot(self, position: tuple[float, float], velocity: tuple[float, float]) -> None:
        """Let one fly; as a continuous object it meets all that it passes between two steps."""
        box = si.box_from_sphere(position, BULLET_RADIUS)
        new = self.world.insert(box, continuous=True, **kind("bullet"))
        self.flying[new] = pymunk.Vec2d(*position), pymunk.Vec2d(*velocity)

    def fly(self) -> None:
        """Move them by a frame."""
        for i, (position, velocity) in self.flying.items():
            self.before[i] = position
            self.flying[i] = position + velocity * DT, velocity
            self.world.update(i, si.box_from_sphere(self.flying[i][0], BULLET_RADIUS))

    def hit(self, report: si.StepReport, shapes: dict[int, pymunk.Shape]) -> int:
        """Push what they hit first, and take them out; returns how many have hit something."""
        met: dict[int, list[pymunk.SegmentQueryInfo]] = {}
        for a, b in report.pairs.tolist():  # a box was met: does the shape in it, too?
            if b in self.flying:  # bullets came last, so they are the second of a pair
                end = self.flying[b][0]
                info = shapes[a].segment_query(self.before.get(b, end), end, BULLET_RADIUS)
                if info.shape is not None:
                    met.setdefault(b, []).append(info)
        for bullet, found in met.items():
            first = min(found, key=lambda info: info.alpha)
            if first.shape.body.body_type == pymunk.Body.DYNAMIC:
                push = self.flying[bullet][1] * 0.02  # it weighs 20 g
                first.shape.body.apply_impulse_at_world_point(push, first.point)
            self.world.remove(bullet)
            del self.flying[bullet]
        return len(met)


def build() -> tuple[Mirror, int]:
    """Make ground, two stacks, a crate that slides towards a zone, and the zone."""
    space = pymunk.Space()
    space.gravity = (0, -10)
    space.sleep_time_threshold = 0.3
    mirror = Mirror(space)
    ground = pymunk.Segment(space.static_body, (-1000, -0.5), (1000, -0.5), 0.5)
    ground.friction = 0.5
    space.add(ground)
    mirror.add(ground, "ground")
    places = [(x, 0.5 + row) for x in (0.0, 3.0) for row in range(5)]
    for x, y in [*places, (7.0, 0.5)]:
        body = pymunk.Body(mass=1, moment=pymunk.moment_for_box(1, (1, 1)))
        body.position = x, y
        crate = pymunk.Poly.create_box(body, (1, 1))
        crate.friction = 0.5
        space.add(body, crate)
        mirror.add(crate, "crate")
    body.velocity = 3.5, 0  # far enough
    zone = mirror.world.insert([9, 0, 11, 3], static=True, sensor=True, **kind("zone"))
    return mirror, zone


def main(frames: int = 210) -> None:
    mirror, zone = build()
    bullets = Bullets(mirror.world)
    began = ended = entered = left = hits = 0
    for frame in range(1, frames + 1):
        if frame in (125, 135, 145):
            bullets.shoot((-20, 4.4), (500, 0))  # eight crates a frame
        mirror.space.step(DT)
        mirror.follow()
        bullets.fly()
        report = mirror.world.step()
        hits += bullets.hit(report, mirror.shapes)
        began += len(report.began)
        ended += len(report.ended)
        entered += int((report.sensor_began == zone).any(axis=1).sum())
        left += int((report.sensor_ended == zone).any(axis=1).sum())
        if frame % 30 == 0:
            print(
                f"frame {frame:3}: {len(report.pairs):2} contacts of who is awake, {began} began "
                f"and {ended} ended so far; {len(mirror.asleep):2} asleep"
            )
    print(f"{entered} entered the zone, {left} left it; {hits} bullets hit")


if __name__ == "__main__":
    main(*map(int, sys.argv[1:2]))
