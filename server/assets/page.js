// Keeps what is being run up to date, opens what a link leads to, selects the line that a finding is about, and copies. Pages
// work without it.
"use strict";

// How long it takes until something is asked for again: after a change, after the server did not answer, and at most; and
// how long it may be away before that is said.
const PAUSE = 300;
const FIRST_RETRY = 2000;
const LONGEST_RETRY = 30000;
const SILENCE = 5000;

// While a run goes on, the server tells that there is something new; the part that changes is asked for and put in its place.
// A page that nobody sees does not listen: browsers open few connections to a server, and all tabs share them.
function follow(region) {
  let source = null;
  let busy = false;
  let again = false;
  let retry = null;
  let pause = FIRST_RETRY;
  let is_over = false;
  const warning = make_warning(region);

  function listen() {
    retry = null;
    if (document.hidden || source) return;
    source = new EventSource(region.dataset.live);
    source.addEventListener("open", () => {
      pause = FIRST_RETRY;
      warning.take_back();
    });
    // It is told at once what it may have missed.
    source.addEventListener("changed", refresh);
    source.addEventListener("done", finish);
    source.addEventListener("error", lost);
  }

  function stop() {
    source?.close();
    source = null;
    clearTimeout(retry);
    retry = null;
  }

  // Browsers try again by themselves only when there is no answer at all; a refusal would be the end.
  function lost() {
    if (retry || is_over) return;
    stop();
    if (document.hidden) return;
    warning.give_soon();
    retry = setTimeout(() => {
      listen();
      refresh();
    }, pause);
    pause = Math.min(pause * 2, LONGEST_RETRY);
  }

  async function refresh() {
    if (busy || is_over) {
      again = true;
      return;
    }
    busy = true;
    const text = await ask(region.dataset.part);
    if (text === null) lost();
    else if (!is_over) replace_parts(text);
    setTimeout(() => {
      busy = false;
      if (again) {
        again = false;
        refresh();
      }
    }, PAUSE);
  }

  // The whole page is different then. It comes into this one, so that who reads it stays where they are.
  async function finish() {
    stop();
    const text = await ask(location.href);
    const fresh = text && new DOMParser().parseFromString(text, "text/html").getElementById("content");
    if (!fresh) return lost();
    is_over = true;
    document.removeEventListener("visibilitychange", look);
    warning.take_back();
    replace(document.getElementById("content"), fresh);
    prepare();
  }

  function look() {
    stop();
    pause = FIRST_RETRY;
    listen();
  }

  document.addEventListener("visibilitychange", look);
  listen();
}

// What this server answers; `null` when it does not. Who may not see it any more is told so by the page itself.
async function ask(place) {
  try {
    const answer = await fetch(place, { headers: { Accept: "text/html" } });
    if (answer.redirected || [401, 403, 404].includes(answer.status)) location.reload();
    return answer.ok && !answer.redirected ? await answer.text() : null;
  } catch {
    return null;
  }
}

// Says that what is shown may be old, when the server is away for longer than a moment.
function make_warning(region) {
  const notice = document.createElement("p");
  notice.className = "notice stale";
  notice.setAttribute("role", "status");
  notice.textContent = "Not up to date: the server does not answer. Trying again…";
  let timer = null;
  return {
    give_soon() {
      timer ??= setTimeout(() => region.before(notice), SILENCE);
    },
    take_back() {
      clearTimeout(timer);
      timer = null;
      notice.remove();
    },
  };
}

// The parts come from this server, with everything foreign escaped. Each goes where the one with its id is.
function replace_parts(text) {
  for (const fresh of new DOMParser().parseFromString(text, "text/html").body.children) {
    const region = fresh.id && document.getElementById(fresh.id);
    // What is the same stays: somebody may be about to press a button in it.
    if (region && region.innerHTML !== fresh.innerHTML) replace(region, fresh);
  }
}

// Puts what is in `fresh` into `region`. Who is on a link, a button or a moment in it stays there, what was opened or typed stays,
// and what was seen stays where it was on the screen.
function replace(region, fresh) {
  const focused = region.contains(document.activeElement) ? place_of(region, document.activeElement) : null;
  const scrolled = [...region.querySelectorAll(".scroll")].map((box) => box.scrollLeft);
  const opened = [...region.querySelectorAll("details[open]")].map((details) => place_of(region, details.firstElementChild));
  const held = what_is_held(region, focused);
  const typed = [...region.querySelectorAll("input[type=text][id]")].map((field) => [field.id, field.value]);
  region.replaceChildren(...fresh.childNodes);
  for (const [id, value] of typed) if (value) (document.getElementById(id) || {}).value = value;
  count_down();
  region.querySelectorAll(".scroll").forEach((box, index) => {
    box.scrollLeft = scrolled[index] || 0;
  });
  for (const place of opened) find_place(region, place)?.parentElement.setAttribute("open", "");
  if (focused) (find_place(region, focused) || document.getElementById("content")).focus({ preventScroll: true });
  const now = held?.find()?.getBoundingClientRect();
  if (now) scrollBy({ top: now.top - held.top, behavior: "instant" });
}

// What must not move on the screen: where the keys are, or else, for who has scrolled, the first thing that is seen.
function what_is_held(region, focused) {
  const is_seen = (element) => {
    const { top, bottom } = element.getBoundingClientRect();
    return top >= 0 && bottom <= innerHeight;
  };
  if (focused && is_seen(document.activeElement)) {
    return { top: document.activeElement.getBoundingClientRect().top, find: () => find_place(region, focused) };
  }
  const first = scrollY > 0 && [...region.querySelectorAll("[id]")].find(is_seen);
  return first ? { top: first.getBoundingClientRect().top, find: () => document.getElementById(first.id) } : null;
}

// What can be reached with keys, and what tells one of them from others: where it leads, or what it says.
const REACHED = "a[href], summary, button, select, input, textarea, [tabindex='0']";

function name_of(element) {
  const said = ["id", "href", "aria-label"].map((name) => element.getAttribute(name)).find(Boolean);
  const own = said || (element.matches("summary") && element.parentElement.id);
  return `${element.tagName} ${own || element.textContent}`;
}

function place_of(region, element) {
  const name = element && name_of(element);
  const same = [...region.querySelectorAll(REACHED)].filter((other) => name_of(other) === name);
  return { name, index: same.indexOf(element) };
}

function find_place(region, place) {
  const same = [...region.querySelectorAll(REACHED)].filter((other) => name_of(other) === place.name);
  return same[Math.min(place.index, same.length - 1)];
}

// How long somebody may still decide. The server says it once; here it goes on.
function count_down() {
  for (const element of document.querySelectorAll("[data-deadline]")) {
    const left = Math.max(0, Math.floor((Date.parse(element.dataset.deadline) - Date.now()) / 1000));
    const [minutes, seconds] = [Math.floor(left / 60), left % 60];
    element.textContent = minutes ? `${minutes} min ${String(seconds).padStart(2, "0")} s` : `${seconds} s`;
  }
}

function open_target() {
  const target = location.hash.length > 1 && document.getElementById(decodeURIComponent(location.hash.slice(1)));
  if (!target) return;
  const details = target.closest("details");
  if (details) details.open = true;
}

function make_copyable(button) {
  if (!navigator.clipboard) return;
  button.hidden = false;
  button.addEventListener("click", async () => {
    await navigator.clipboard.writeText(document.getElementById(button.dataset.copy).textContent);
    button.textContent = "Copied";
  });
}

// A finding leads to its line in the text below; with a script, to the same line where it can be changed.
function select_line(event) {
  const line = Number(event.currentTarget.hash.slice(2));
  const field = document.getElementById("spec");
  const lines = field.value.split("\n");
  if (!(line >= 1 && line <= lines.length)) return;
  event.preventDefault();
  const start = lines.slice(0, line - 1).reduce((sum, text) => sum + text.length + 1, 0);
  field.focus({ preventScroll: true });
  field.setSelectionRange(start, start + lines[line - 1].length);
  field.scrollTop = (field.scrollHeight / lines.length) * Math.max(0, line - 5);
  field.scrollIntoView({ block: "nearest" });
}

// A key presses the button that names it, unless somebody is writing.
function press_button(event) {
  if (event.ctrlKey || event.metaKey || event.altKey || event.repeat) return;
  if (event.target.closest("input, textarea, select, [contenteditable]")) return;
  const button = document.querySelector(`button[data-key="${CSS.escape(event.key.toLowerCase())}"]`);
  if (!button) return;
  event.preventDefault();
  button.click();
}

function prepare() {
  document.querySelectorAll("[data-live]").forEach(follow);
  document.querySelectorAll("[data-copy]").forEach(make_copyable);
  if (document.querySelector("textarea#spec")) {
    document.querySelectorAll("#findings a[href^='#L']").forEach((link) => link.addEventListener("click", select_line));
  }
}

prepare();
count_down();
if (document.querySelector("[data-deadline], [data-live='/approvals/live']")) setInterval(count_down, 1000);
addEventListener("hashchange", open_target);
if (document.querySelector("button[data-key]")) addEventListener("keydown", press_button);
open_target();
