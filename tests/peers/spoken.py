"""What assistive technology is told of a window, by Debian's own AT-SPI library.

spoken.py walk PROGRAM    one JSON document: everything showing, from the window down
spoken.py listen PROGRAM  `ready`, then a line of JSON for each text that a live region brings
"""

import json
import sys

import gi

gi.require_version("Atspi", "2.0")
from gi.repository import Atspi, GLib  # noqa: E402

# A page of ours has some hundreds of nodes; more is a loop.
LIMIT = 20_000


def application(name):
    desktop = Atspi.get_desktop(0)
    for i in range(desktop.get_child_count()):
        child = desktop.get_child_at_index(i)
        if child is not None and child.get_name() == name:
            return child
    return None


def told(node):
    states = node.get_state_set()
    attributes = node.get_attributes() or {}
    value = {
        "role": node.get_role_name(),
        "name": node.get_name() or "",
        "description": node.get_description() or "",
        "focusable": states.contains(Atspi.StateType.FOCUSABLE),
        "focused": states.contains(Atspi.StateType.FOCUSED),
        "enabled": states.contains(Atspi.StateType.ENABLED),
        "showing": states.contains(Atspi.StateType.SHOWING),
        "attributes": dict(attributes),
    }
    value["text"] = text_of(node)
    return value


def text_of(node):
    return (Atspi.Text.get_text(node, 0, -1) or "") if "Text" in node.get_interfaces() else ""


def walk(root):
    out = []
    todo = [(root, 0)]
    while todo:
        node, depth = todo.pop()
        try:
            value = told(node)
            children = [node.get_child_at_index(i) for i in range(node.get_child_count())]
        except GLib.Error:
            # It went away while it was asked: the page was drawing.
            continue
        value["depth"] = depth
        out.append(value)
        if len(out) > LIMIT:
            raise SystemExit("there is no end to it")
        todo.extend((child, depth + 1) for child in reversed(children) if child is not None)
    return out


def live(node):
    """The politeness of the live region a node is in, if it is in one."""
    while node is not None:
        attributes = node.get_attributes() or {}
        for name in ("container-live", "live"):
            if attributes.get(name) in ("polite", "assertive"):
                return attributes[name]
        node = node.get_parent()
    return None


def words(node):
    parts = [text_of(node).replace("\ufffc", ""), node.get_name() or ""]
    parts += [words(node.get_child_at_index(i)) for i in range(node.get_child_count())]
    return " ".join(part for part in parts if part)


def listen(name):
    def heard(event):
        try:
            whose = event.source.get_application()
            if whose is None or whose.get_name() != name:
                return
            how = live(event.source)
            if how is None:
                return
            said = event.any_data if isinstance(event.any_data, str) else words(event.source)
            print(json.dumps({"event": event.type, "live": how, "text": said}), flush=True)
        except GLib.Error:
            pass

    listener = Atspi.EventListener.new(heard)
    for kind in ("object:children-changed:add", "object:text-changed:insert", "object:announcement", "object:notification"):
        listener.register(kind)
    print("ready", flush=True)
    Atspi.event_main()


def main():
    what, name = sys.argv[1:]
    Atspi.init()
    if what == "listen":
        return listen(name)
    found = application(name)
    print(json.dumps(walk(found) if found is not None else []))


main()
