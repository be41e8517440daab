"""A crowd between walls: move, collide, notice who enters and leaves a zone.

    python examples/game_loop.py [frames]

Static walls, moving agents and sensor zones live in one index. In every frame all agents move with
one `update`; contacts come from `pairs(sensors="exclude")`, zone events from
`pairs(sensors="only")`, and what began or ended is the difference between two frames.
"""

import sys

import numpy as np

import spatialindex as si

AGENT, WALL, ZONE = 1, 2, 4  # layers: one bit each
WORLD = 100.0


def build(index: si.Index, n_agents: int, rng: np.random.Generator) -> np.ndarray:
    """Insert walls, zones and agents; return the agents' ids."""
    walls = [
        [-5, -5, 0, WORLD + 5],  # thicker than anybody moves in a frame
        [WORLD, -5, WORLD + 5, WORLD + 5],
        [-5, -5, WORLD + 5, 0],
        [-5, WORLD, WORLD + 5, WORLD + 5],
        [40, 20, 42, 80],
    ]
    index.insert(walls, layer=WALL, mask=AGENT, static=True)
    zones = [[5, 5, 20, 20], [80, 80, 95, 95]]
    index.insert(zones, layer=ZONE, mask=AGENT, static=True, sensor=True)
    centers = rng.uniform(1, WORLD - 1, (n_agents, 2))
    ids: np.ndarray = index.insert(si.box_from_center(centers, half_extents=0.5), layer=AGENT)
    return ids


def keys(pairs: np.ndarray) -> np.ndarray:
    """Pack each pair (a, b) into one number, so that sets of pairs can be compared."""
    return pairs[:, 0] << 32 | pairs[:, 1]


def changed(before: np.ndarray, now: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return the keys that began and those that ended."""
    began = np.setdiff1d(now, before, assume_unique=True)
    ended = np.setdiff1d(before, now, assume_unique=True)
    return began, ended


def bounce(
    velocities: np.ndarray, boxes: np.ndarray, hits: np.ndarray, walls: np.ndarray
) -> np.ndarray:
    """Turn agents away from the walls they touch; rows of `hits` are (row of walls, agent row)."""
    turned = velocities.copy()
    for wall, agent in hits:
        box, solid = boxes[agent], walls[wall]
        depth = np.minimum(box[2:] - solid[:2], solid[2:] - box[:2])
        axis = int(np.argmin(depth))  # the axis along which it is least deep
        away = np.sign((box[:2] + box[2:]) - (solid[:2] + solid[2:]))[axis]
        turned[agent, axis] = away * abs(turned[agent, axis])
    return turned


def main(frames: int = 120, n_agents: int = 400, seed: int = 1) -> None:
    rng = np.random.default_rng(seed)
    index = si.HashGrid(ndim=2)
    agents = build(index, n_agents, rng)
    first = int(agents[0])
    is_wall = index.state()["layer"] == WALL
    walls = index.boxes()[is_wall]  # ids count from 0: the rows of `walls` are the walls' ids
    velocities = rng.normal(0, 0.4, (n_agents, 2))

    contacts = keys(index.pairs(among="dynamic", sensors="exclude"))
    inside = keys(index.pairs(among="dynamic", sensors="only"))
    contacts_began = entered = left = 0
    for frame in range(1, frames + 1):
        boxes = index.boxes(agents) + np.tile(velocities, 2)
        index.update(agents, boxes)

        pairs = index.pairs(among="dynamic", sensors="exclude")
        hits = pairs[pairs[:, 0] < len(walls)] - [0, first]
        velocities = bounce(velocities, boxes, hits, walls)
        began, _ = changed(contacts, keys(pairs))
        contacts = keys(pairs)
        contacts_began += len(began)

        now = keys(index.pairs(among="dynamic", sensors="only"))
        came, went = changed(inside, now)
        inside = now
        entered += len(came)
        left += len(went)
        if frame % 30 == 0:
            print(
                f"frame {frame:3}: {len(contacts):3} contacts, {len(began):2} began; "
                f"{len(inside):2} agents in zones, {len(came)} came, {len(went)} went"
            )
    print(f"{contacts_began} contacts began, {entered} agents entered zones, {left} left them")

    mouse = [50.0, 50.0]
    near = index.query_radius(mouse, 5.0, layers=AGENT)
    print(f"agents within 5 of {mouse}: {near.tolist()}")


if __name__ == "__main__":
    main(*map(int, sys.argv[1:2]))
