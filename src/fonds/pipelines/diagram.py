"""Draw a pipeline as a tree of topics and stages, as text or SVG."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from html import escape

from fonds.model.step import Output, Pipeline, Stage, Topic

PUBLIC = "*"
ROW_HEIGHT, COLUMN_WIDTH, BOX_HEIGHT, MARGIN = 46, 250, 28, 12
CHAR_WIDTH = 7.0


@dataclass(frozen=True, slots=True)
class Node:
    """A topic and the stage that reads it, as a node of a pipeline's tree.

    - `stage`: stage that reads the topic; None if the topic is drawn in full at another node.
    - `children`: nodes of the topics that the stage writes.
    """

    topic: Topic
    stage: Stage | None
    children: tuple[Node, ...] = field(default=())

    @property
    def label(self) -> str:
        """Text of the node: names of the topic and the stage."""
        name = self.topic.name + (PUBLIC if self.topic.public else "")
        return f"{name} → {self.stage.name}" if self.stage else f"{name} → see above"


def build_tree(pipeline: Pipeline) -> tuple[Node, ...]:
    """Build the tree of a pipeline and return its roots.

    A topic that several stages write is drawn in full below the first of these stages.
    """
    first = {
        topic: stage for stage in reversed(pipeline.stages) for topic in reversed(stage.writes)
    }

    def nodes(topic: Topic, writer: Stage | None) -> Iterator[Node]:
        if writer is not None and first[topic] != writer:
            yield Node(topic, None)
            return
        for stage in pipeline.stages:
            if stage.reads == topic:
                inner = (node for topic in stage.writes for node in nodes(topic, stage))
                yield Node(topic, stage, tuple(inner))

    return tuple(nodes(pipeline.entry, None))


def format_tree(pipeline: Pipeline) -> str:
    """Format the tree of a pipeline as text. Each line has a topic and the stage that reads it.
    Public topics have an asterisk.
    """
    lines = [f"{pipeline.name}: {pipeline.about}"]
    for node in build_tree(pipeline):
        lines += [node.label, *_iter_lines(node, "")]
    lines += [
        f"{stage.name} omits {_format_omitted(stage.omits)}"
        for stage in pipeline.stages
        if stage.omits
    ]
    return "\n".join(lines)


def _iter_lines(node: Node, indent: str) -> Iterator[str]:
    for number, child in enumerate(node.children, start=1):
        is_last = number == len(node.children)
        yield f"{indent}{'└─' if is_last else '├─'} {child.label}"
        yield from _iter_lines(child, indent + ("   " if is_last else "│  "))


def _format_omitted(omits: tuple[Output, ...]) -> str:
    return ", ".join(f"{output.payload.__name__} {output.tag or ''}".strip() for output in omits)


def draw_svg(pipeline: Pipeline) -> str:
    """Draw the tree of a pipeline from left to right as SVG, with a text description for screen
    readers.
    """
    shapes: list[str] = []
    rows = 0
    for node in build_tree(pipeline):
        rows = _draw(node, 0, rows, shapes, None)[0]
    width = MARGIN * 2 + COLUMN_WIDTH * max(
        1, *(_measure_depth(node) for node in build_tree(pipeline))
    )
    height = MARGIN * 2 + ROW_HEIGHT * max(1, rows)
    title = escape(f"The pipeline {pipeline.name}: {pipeline.about}")
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}" width="{width}"'
        f' height="{height}" role="img" font-family="sans-serif" font-size="12">'
        f"<title>{title}</title><desc>{escape(format_tree(pipeline))}</desc>{''.join(shapes)}</svg>\n"
    )


def _measure_depth(node: Node) -> int:
    return 1 + max((_measure_depth(child) for child in node.children), default=0)


def _draw(
    node: Node, column: int, row: int, shapes: list[str], from_point: tuple[float, float] | None
) -> tuple[int, float]:
    """Draw one node of a pipeline's tree and its children, as SVG.

    Returns the number of the next free line of the drawing, and the y coordinate of the node's
    middle.
    """
    x, y = MARGIN + column * COLUMN_WIDTH, MARGIN + row * ROW_HEIGHT + ROW_HEIGHT / 2
    name = node.stage.name if node.stage else "…"
    box_width = CHAR_WIDTH * len(name) + 16
    if from_point is not None:
        middle_x = (from_point[0] + x + 60) / 2
        shapes.append(
            f'<path d="M{from_point[0]:g} {from_point[1]:g} C{middle_x:g} {from_point[1]:g}'
            f' {middle_x:g} {y:g} {x + 60:g} {y:g}" fill="none" stroke="#888"/>'
        )
    topic = node.topic.name + (PUBLIC if node.topic.public else "")
    shapes.append(
        f'<text x="{x + 60:g}" y="{y - BOX_HEIGHT / 2 - 3:g}" fill="currentColor" font-size="11">'
        f"{escape(topic)}</text>"
        f'<rect x="{x + 60:g}" y="{y - BOX_HEIGHT / 2:g}" width="{box_width:g}"'
        f' height="{BOX_HEIGHT}" rx="4" fill="none" stroke="currentColor"/>'
        f'<text x="{x + 68:g}" y="{y + 4:g}" fill="currentColor">{escape(name)}</text>'
    )
    start = (x + 60 + box_width, y)
    free = row
    for child in node.children:
        free, _ = _draw(child, column + 1, free, shapes, start)
    return max(free, row + 1), y
