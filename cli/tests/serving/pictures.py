"""Makes the README's pictures from real runs: what a terminal shows, and pages of a server. The argument is the folder for them."""

import fcntl
import os
import pty
import re
import shlex
import shutil
import struct
import subprocess
import sys
import tempfile
import termios
from html import escape

from playwright.sync_api import expect, sync_playwright

from palette import with_palette
from processes import BINARY, PATIENCE, ROOT, Process

BROWSER = shutil.which("chromium") or "/usr/bin/chromium"
# The terminal: how wide it is, and the size of a letter's place in the picture.
COLUMNS, ROWS = 112, 60
WIDTH, HEIGHT, EDGE, TITLE = 8, 18, 16, 34
# How much of a page is left out above the heading that ends its picture.
GAP = 8
# What is typed, and the exit code that it ends with. The agent of the example sends its mail a second time, until that is fixed.
STEPS = [
    (["touchstone", "run", "refund"], 1),
    (["touchstone", "trace", "latest"], 0),
    (["sed", "-i", "/to be sure/d", "refund/agent.sh"], 0),
    (["touchstone", "run", "refund"], 0),
    (["touchstone", "compare", "latest~1"], 0),
]
COLOURS = {"31": "#f47067", "32": "#6bc46d", "33": "#daaa3f", "34": "#6cb6ff", "35": "#dcbdfb", "36": "#76e3ea", "90": "#8b949e"}


class Screen:
    """What a terminal shows in the end: rows of letters, each with how it looks."""

    SEQUENCE = re.compile(r"\x1b\[([\d;?]*)([A-Za-z])|\x1b.")

    def __init__(self, columns):
        self.columns, self.rows, self.row, self.column, self.style = columns, [[]], 0, 0, ()

    def show(self, text):
        at = 0
        while at < len(text):
            sequence = self.SEQUENCE.match(text, at)
            if sequence:
                self.command(sequence[1] or "", sequence[2])
                at = sequence.end()
            else:
                self.letter(text[at])
                at += 1
        return self

    def command(self, number, name):
        if name == "m":
            codes = number.split(";")
            self.style = () if codes[-1] in ("", "0") else tuple(dict.fromkeys(self.style + tuple(codes)))
        elif name == "K":
            self.rows[self.row] = [] if number == "2" else self.rows[self.row][:self.column]
        elif name in "AB":
            self.down((int(number or 1)) * (1 if name == "B" else -1))

    def down(self, many):
        self.row = max(0, self.row + many)
        self.rows += [[] for _ in range(self.row + 1 - len(self.rows))]

    def letter(self, letter):
        if letter == "\r":
            self.column = 0
        elif letter == "\n":
            self.down(1)
        elif letter >= " ":
            if self.column == self.columns:
                self.column = 0
                self.down(1)
            row = self.rows[self.row]
            row += [(" ", ())] * (self.column + 1 - len(row))
            row[self.column] = (letter, self.style)
            self.column += 1

    def ended(self):
        """The rows down to the last that has letters."""
        rows = list(self.rows)
        while rows and not "".join(letter for letter, _ in rows[-1]).strip():
            rows.pop()
        return rows


def recorded(folder):
    """What a terminal shows of all steps in the end, each below what was typed."""
    spec = shutil.copytree(os.path.join(ROOT, "specs/refund"), os.path.join(folder, "refund"), dirs_exist_ok=True)
    replaced(os.path.join(spec, "agent.sh"), '[ -n "$mail" ] &&', 'post mail /messages "$mail"  # once more, to be sure\n[ -n "$mail" ] &&')
    rows = []
    for command, code in STEPS:
        typed = [(letter, ("90",)) for letter in "$ "] + [(letter, ("1",)) for letter in shlex.join(command)]
        rows += [typed, *typed_into_a_terminal(command, folder, code), []]
    return rows[:-1]


def typed_into_a_terminal(command, folder, code):
    environment = dict(clean(), TERM="xterm-256color", TOUCHSTONE_BACKEND="local", TOUCHSTONE_DATA_DIR=os.path.join(folder, "terminal"))
    program = BINARY if command[0] == "touchstone" else command[0]
    ours, theirs = pty.openpty()
    fcntl.ioctl(theirs, termios.TIOCSWINSZ, struct.pack("HHHH", ROWS, COLUMNS, 0, 0))
    child = subprocess.Popen([program, *command[1:]], cwd=folder, env=environment, stdin=theirs, stdout=theirs, stderr=theirs)
    os.close(theirs)
    told = b""
    try:
        while data := os.read(ours, 65536):
            told += data
    except OSError:  # The other end is gone.
        pass
    os.close(ours)
    assert child.wait(PATIENCE) == code, told.decode()
    return Screen(COLUMNS).show(told.decode()).ended()


def clean():
    return {name: value for name, value in os.environ.items() if not name.startswith(("TOUCHSTONE_", "NO_COLOR"))}


def pieces(row):
    """Words that look the same with one space between them, and the column that each begins at. More space than that is left
    out, because viewers do different things with it."""
    found = []
    for column, (letter, style) in enumerate(row):
        if letter == " ":
            continue
        gap = column - found[-1][0] - len(found[-1][1]) if found else None
        if found and gap <= 1 and found[-1][2] == style:
            found[-1][1] += " " * gap + letter
        else:
            found.append([column, letter, style])
    return found


def drawn(rows):
    """A picture of a terminal with these rows."""
    width, height = COLUMNS * WIDTH + 2 * EDGE, len(rows) * HEIGHT + TITLE + EDGE
    lines = [f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}" width="{width}" height="{height}" role="img">',
             f"<title>{escape('; '.join(shlex.join(command) for command, _ in STEPS))}</title>",
             f'<rect width="{width}" height="{height}" rx="8" fill="#1c2128"/>']
    lines += [f'<circle cx="{EDGE + 6 + 20 * at}" cy="17" r="6" fill="{fill}"/>' for at, fill in enumerate(["#f47067", "#daaa3f", "#6bc46d"])]
    lines.append('<g font-family="ui-monospace, SFMono-Regular, Menlo, Consolas, \'DejaVu Sans Mono\', monospace" font-size="13" fill="#cdd9e5">')
    for number, row in enumerate(rows):
        for column, text, style in pieces(row):
            lines.append(piece(column, number, text, style))
    return "\n".join([*lines, "</g>", "</svg>", ""])


def piece(column, number, text, style):
    colour = next((f' fill="{COLOURS[code]}"' for code in style if code in COLOURS), "")
    weight = ' font-weight="bold"' if "1" in style else ""
    x, y = EDGE + column * WIDTH, TITLE + number * HEIGHT + 14
    return f'<text x="{x}" y="{y}" textLength="{len(text) * WIDTH}" lengthAdjust="spacingAndGlyphs"{colour}{weight}>{escape(text)}</text>'


class Site:
    """A server that has run some examples, and a browser."""

    def __init__(self, playwright, folder):
        self.server = Process(["serve", "--backend", "local", "--listen", "127.0.0.1:0", "--data-dir", os.path.join(folder, "data")], clean())
        self.base = re.search(r"http://[\d.:]+", self.server.wait_for("serving on"))[0]
        self.key = next(told.split("=")[1] for told in self.server.told if told.startswith("TOUCHSTONE_API_KEY="))
        self.browser = playwright.chromium.launch(executable_path=BROWSER, args=["--no-sandbox", "--disable-dev-shm-usage"])
        self.page = self.browser.new_context(base_url=self.base, viewport={"width": 1280, "height": 800}, color_scheme="light").new_page()
        self.page.set_default_timeout(PATIENCE * 1000)

    def run(self, spec):
        """Runs an example on the server; the id of its experiment."""
        environment = dict(clean(), TOUCHSTONE_URL=self.base, TOUCHSTONE_API_KEY=self.key)
        told = subprocess.run([BINARY, "submit", spec, "--watch"], cwd=ROOT, env=environment, capture_output=True, text=True, timeout=PATIENCE)
        return re.search(r"^experiment ([0-9a-f-]{36})$", told.stdout, re.MULTILINE)[1]

    def sign_in(self):
        self.page.goto("/sign-in")
        self.page.get_by_label("API key").fill(self.key)
        self.page.get_by_role("button", name="Sign in").click()
        expect(self.page.get_by_role("heading").first).to_be_visible()

    def keep(self, address, before, file):
        """Keeps a picture of a page, down to this heading."""
        self.page.goto(address)
        below = self.page.get_by_role("heading", name=before, exact=True)
        expect(below).to_be_visible()
        height = below.bounding_box()["y"] - GAP
        png = self.page.screenshot(full_page=True, animations="disabled", clip={"x": 0, "y": 0, "width": 1280, "height": height})
        with open(file, "wb") as picture:
            picture.write(with_palette(png))

    def end(self):
        self.browser.close()
        self.server.end()


def replaced(path, before, after):
    with open(path) as file:
        text = file.read()
    assert before in text
    with open(path, "w") as file:
        file.write(text.replace(before, after))


def mistaken(folder):
    """The matrix of languages, with a mistake that its agent avoids: awk shows large sums as 5.00005e+09."""
    spec = shutil.copytree(os.path.join(ROOT, "specs/language-matrix"), os.path.join(folder, "language-matrix"))
    replaced(os.path.join(spec, "agent.sh"), 'printf "%.0f\\n", sum', "print sum")
    return spec


def pages(folder, images):
    with sync_playwright() as playwright:
        site = Site(playwright, folder)
        try:
            _, failing, matrix = [site.run(spec) for spec in ("specs/refund", "specs/failing-agent", mistaken(folder))]
            site.sign_in()
            site.keep(f"/experiments/{matrix}", "Scenarios", os.path.join(images, "experiment.png"))
            site.keep(f"/experiments/{failing}/scenarios/default-r0", "What it changed", os.path.join(images, "scenario.png"))
        finally:
            site.end()


def main(images):
    os.makedirs(images, exist_ok=True)
    with tempfile.TemporaryDirectory(prefix="touchstone-pictures-") as folder:
        # The first run makes what a database begins with; the second one is as every other.
        recorded(folder)
        with open(os.path.join(images, "terminal.svg"), "w") as file:
            file.write(drawn(recorded(folder)))
        pages(folder, images)


if __name__ == "__main__":
    main(sys.argv[1])
