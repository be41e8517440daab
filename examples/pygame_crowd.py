"""A crowd of sprites in a world larger than the window.

    python examples/pygame_crowd.py [frames]

All sprites live in one index. In each frame those that overlap push each other away, sprites whose
contact began flash, only what is in view is drawn, and the one nearest to the mouse is marked.
Without a number of frames it runs until the window is closed; with SDL_VIDEODRIVER=dummy it needs
no window.
"""

import os
import sys

import numpy as np

import spatialindex as si

os.environ.setdefault("PYGAME_HIDE_SUPPORT_PROMPT", "1")

import pygame

WORLD = np.array([1600.0, 1200.0])
WINDOW = np.array([640, 480])
SIZE = 12.0
CALM, FLASH, MARKED = "steelblue", "orange", "white"


class Person(pygame.sprite.Sprite):
    """One of the crowd; its row in the arrays is its id in the index."""

    def __init__(self, group: pygame.sprite.Group) -> None:
        super().__init__(group)
        self.image = pygame.Surface((int(SIZE), int(SIZE)))
        self.rect = self.image.get_rect()

    def show(self, colour: str, position: np.ndarray) -> None:
        """Take a colour and a place in the window."""
        self.image.fill(colour)
        self.rect.center = position


class Crowd:
    """Sprites, where they are, and the index that knows who is where."""

    def __init__(self, n: int, seed: int) -> None:
        rng = np.random.default_rng(seed)
        self.group = pygame.sprite.Group()
        self.people = [Person(self.group) for _ in range(n)]
        self.centers = rng.uniform(SIZE, WORLD - SIZE, (n, 2))
        self.velocities = rng.normal(0, 60, (n, 2))
        self.world = si.SplitIndex(ndim=2)
        self.world.insert(self.boxes())  # ids count from 0, as rows do
        self.flash = np.zeros(n)  # seconds left

    def boxes(self) -> np.ndarray:
        """Return a box a person."""
        boxes: np.ndarray = si.box_from_center(self.centers, SIZE / 2)
        return boxes

    def move(self, dt: float) -> int:
        """Move all by a frame, push apart who overlaps, and return how many contacts began."""
        self.centers += self.velocities * dt
        outside = (self.centers < 0) | (self.centers > WORLD)
        self.velocities[outside] *= -1
        np.clip(self.centers, 0, WORLD, out=self.centers)
        self.world.update(None, self.boxes())
        report = self.world.step()
        a, b = report.pairs.T
        away = (self.centers[a] - self.centers[b]) * dt
        np.add.at(self.velocities, a, 20 * away)
        np.add.at(self.velocities, b, -20 * away)
        self.flash = np.maximum(self.flash - dt, 0)
        self.flash[report.began.ravel()] = 0.3
        return len(report.began)

    def draw(self, screen: pygame.Surface, camera: np.ndarray, mouse: np.ndarray) -> int:
        """Draw who is in view, and return how many."""
        seen = self.world.query([*camera, *(camera + WINDOW)])
        nearest = self.world.nearest(camera + mouse).ids[0]
        screen.fill("black")
        for i in seen.tolist():
            colour = MARKED if i == nearest else FLASH if self.flash[i] else CALM
            self.people[i].show(colour, self.centers[i] - camera)
            screen.blit(self.people[i].image, self.people[i].rect)
        return len(seen)


def main(frames: int | None = None, n: int = 500, seed: int = 3) -> None:
    pygame.display.init()
    screen = pygame.display.set_mode(tuple(WINDOW.tolist()))
    clock = pygame.time.Clock()
    crowd = Crowd(n, seed)
    camera = (WORLD - WINDOW) / 2
    frame = began = 0
    while frame != frames:
        if any(event.type == pygame.QUIT for event in pygame.event.get()):
            break
        keys = pygame.key.get_pressed()
        right = int(keys[pygame.K_RIGHT]) - int(keys[pygame.K_LEFT])
        down = int(keys[pygame.K_DOWN]) - int(keys[pygame.K_UP])
        camera = np.clip(camera + 8.0 * np.array([right, down]), 0, WORLD - WINDOW)
        began += crowd.move(1 / 60)
        seen = crowd.draw(screen, camera, np.array(pygame.mouse.get_pos(), float))
        pygame.display.flip()
        frame += 1
        if frames is None:
            clock.tick(60)
        if frame % 60 == 0:
            print(f"frame {frame}: {seen} of {n} in view, {began} contacts began so far")
    pygame.quit()


if __name__ == "__main__":
    main(*map(int, sys.argv[1:2]))
