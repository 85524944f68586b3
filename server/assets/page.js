// Keeps what is being run up to date, opens what a link leads to, and copies. Pages work without it.
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
    source.addEventListener("done", () => {
      source.close();
      location.reload();
    });
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
    if (retry) return;
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
    if (busy) {
      again = true;
      return;
    }
    busy = true;
    const text = await ask(region.dataset.part);
    if (text === null) lost();
    else replace(region, text);
    setTimeout(() => {
      busy = false;
      if (again) {
        again = false;
        refresh();
      }
    }, PAUSE);
  }

  document.addEventListener("visibilitychange", () => {
    stop();
    pause = FIRST_RETRY;
    listen();
  });
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

// The part comes from this server, with everything foreign escaped. Who is on a link or a moment in it stays there, and what
// was opened stays open.
function replace(region, text) {
  const focused = region.contains(document.activeElement) ? address(document.activeElement) : null;
  const places = [...region.querySelectorAll(".scroll")].map((box) => box.scrollLeft);
  const opened = [...region.querySelectorAll("details[open][id]")].map((details) => details.id);
  region.innerHTML = text;
  region.querySelectorAll(".scroll").forEach((box, index) => {
    box.scrollLeft = places[index] || 0;
  });
  for (const id of opened) document.getElementById(id)?.setAttribute("open", "");
  if (focused) {
    const same = [...region.querySelectorAll("a[href], summary")].find((element) => address(element) === focused);
    if (same) same.focus({ preventScroll: true });
  }
}

// What tells a link, or the line that opens a moment, from all others.
function address(element) {
  return element.getAttribute("href") || (element.matches("summary") && element.parentElement.id) || null;
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

document.querySelectorAll("[data-live]").forEach(follow);
document.querySelectorAll("[data-copy]").forEach(make_copyable);
addEventListener("hashchange", open_target);
open_target();
