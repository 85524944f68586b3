// Keeps what is being run up to date, opens what a link leads to, and copies. Pages work without it.
"use strict";

// While a run goes on, the server tells that there is something new; the part that changes is asked for and put in its place.
function follow(region) {
  const source = new EventSource(region.dataset.live);
  const pause = 300;
  let busy = false;
  let again = false;
  async function refresh() {
    if (busy) {
      again = true;
      return;
    }
    busy = true;
    try {
      const answer = await fetch(region.dataset.part, { headers: { Accept: "text/html" } });
      if (answer.ok && !answer.redirected) replace(region, await answer.text());
    } catch {
      // The server is away for a moment; the stream tells when it is back.
    }
    setTimeout(() => {
      busy = false;
      if (again) {
        again = false;
        refresh();
      }
    }, pause);
  }
  source.addEventListener("changed", refresh);
  source.addEventListener("done", () => {
    source.close();
    location.reload();
  });
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
