// Looks at a page as somebody would who cannot see it, or not well. It gives back what is wrong, a line each.
() => {
  const wrong = [];
  const say = (what, element) => wrong.push(`${what}: ${(element.outerHTML || "").slice(0, 160)}`);
  const all = (selector) => [...document.querySelectorAll(selector)];
  const is_shown = (element) => element.checkVisibility({ checkOpacity: false, checkVisibilityCSS: true });
  const name_of = (element) => {
    const by = element.getAttribute("aria-labelledby");
    if (by) return by.split(/\s+/).map((id) => document.getElementById(id)?.textContent || "").join(" ").trim();
    return (element.getAttribute("aria-label") || element.textContent || element.getAttribute("title") || "").trim();
  };

  // Names.
  for (const field of all("input:not([type=hidden]), select, textarea")) {
    if (!field.labels?.length && !field.getAttribute("aria-label")) say("a field without a label", field);
  }
  for (const thing of all("a[href], button, [role=region], nav, [role=search], article")) {
    if (is_shown(thing) && !name_of(thing)) say("it has no name", thing);
  }
  for (const picture of all("img, svg")) {
    const is_named = picture.getAttribute("alt") !== null || picture.getAttribute("aria-label");
    if (!is_named && picture.getAttribute("aria-hidden") !== "true") say("a picture without a name", picture);
  }
  if (!document.documentElement.lang) wrong.push("the page has no language");
  if (!document.title) wrong.push("the page has no title");
  for (const landmark of ["main", "header", "footer"]) {
    if (all(landmark === "main" ? "main" : `body > ${landmark}`).length !== 1) wrong.push(`not one ${landmark}`);
  }

  // Headings.
  const headings = all("h1, h2, h3, h4, h5, h6").filter(is_shown);
  if (headings.filter((heading) => heading.tagName === "H1").length !== 1) wrong.push("not one h1");
  let level = 0;
  for (const heading of headings) {
    const next = Number(heading.tagName[1]);
    if (next > level + 1) say("a heading skips a level", heading);
    level = next;
  }

  // Ids and where links in the page lead.
  const ids = new Set();
  for (const element of all("[id]")) {
    if (ids.has(element.id)) say("an id twice", element);
    ids.add(element.id);
  }
  for (const link of all("a[href^='#']")) {
    if (!ids.has(decodeURIComponent(link.getAttribute("href").slice(1)))) say("a link to nowhere", link);
  }
  for (const attribute of ["aria-labelledby", "aria-describedby"]) {
    for (const element of all(`[${attribute}]`)) {
      for (const id of element.getAttribute(attribute).split(/\s+/)) if (!ids.has(id)) say(`${attribute} of nothing`, element);
    }
  }

  // Tables.
  for (const head of all("th")) if (!head.getAttribute("scope")) say("a head of a table without scope", head);
  for (const table of all("table")) {
    const columns = [...table.querySelectorAll("thead tr:first-child th")].reduce((sum, head) => sum + head.colSpan, 0);
    for (const row of table.querySelectorAll("tbody tr")) if (row.children.length !== columns) say("a row with other columns", row);
  }
  // What scrolls can be reached with keys.
  for (const box of all("*")) {
    const style = getComputedStyle(box);
    const scrolls = /auto|scroll/.test(style.overflowX + style.overflowY);
    const is_larger = box.scrollWidth > box.clientWidth + 1 || box.scrollHeight > box.clientHeight + 1;
    if (scrolls && is_larger && box.tabIndex < 0 && box !== document.documentElement && box !== document.body) say("it scrolls, but not with keys", box);
  }

  // Contrast.
  const parse = (text) => (text.match(/[\d.]+/g) || [0, 0, 0, 0]).map(Number);
  const over = (top, bottom) => {
    const alpha = top[3] ?? 1;
    return [0, 1, 2].map((index) => top[index] * alpha + bottom[index] * (1 - alpha));
  };
  const ground_of = (element) => {
    const layers = [];
    for (let at = element; at; at = at.parentElement) layers.unshift(parse(getComputedStyle(at).backgroundColor));
    const paper = matchMedia("(prefers-color-scheme: dark)").matches ? [0, 0, 0] : [255, 255, 255];
    return layers.reduce((ground, layer) => over(layer, ground), paper);
  };
  const light_of = (colour) => {
    const [red, green, blue] = colour.map((part) => (part / 255 <= 0.04045 ? part / 255 / 12.92 : ((part / 255 + 0.055) / 1.055) ** 2.4));
    return 0.2126 * red + 0.7152 * green + 0.0722 * blue;
  };
  const seen = new Set();
  const walker = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
  for (let node = walker.nextNode(); node; node = walker.nextNode()) {
    const element = node.parentElement;
    if (!node.textContent.trim() || seen.has(element) || !is_shown(element) || element.closest("option, script, title")) continue;
    seen.add(element);
    const style = getComputedStyle(element);
    const ground = ground_of(element);
    const lights = [light_of(over(parse(style.color), ground)), light_of(ground)].sort((one, other) => other - one);
    const contrast = (lights[0] + 0.05) / (lights[1] + 0.05);
    const size = parseFloat(style.fontSize);
    const enough = size >= 24 || (size >= 18.66 && Number(style.fontWeight) >= 700) ? 3 : 4.5;
    if (contrast < enough) say(`contrast ${contrast.toFixed(2)}`, element);
  }

  // An underline stands below underscores, not on them.
  for (const link of all("a[href]")) {
    const style = getComputedStyle(link);
    const size = parseFloat(style.fontSize);
    if (link.textContent.includes("_") && !(parseFloat(style.textUnderlineOffset) >= 0.25 * size)) say("an underline hides underscores", link);
  }

  // Nothing that somebody wrote became more than text.
  for (const element of all("*")) {
    for (const attribute of element.attributes) {
      if (/^on/i.test(attribute.name) || attribute.name === "style") say(`the attribute ${attribute.name}`, element);
      if (["href", "src", "action"].includes(attribute.name) && !/^(\/(?!\/)|#)/.test(attribute.value)) say("it leads elsewhere", element);
    }
  }
  for (const element of all("script, iframe, object, embed, img, link, style, base, meta[http-equiv]")) {
    const is_ours = ["SCRIPT", "LINK"].includes(element.tagName) && element.closest("head");
    if (!is_ours) say("an element that is none of ours", element);
  }
  if (window.stolen !== undefined) wrong.push("foreign script ran");
  if (/[\u202a-\u202e\u2066-\u2069\u200b\u0000-\u0008\u001b]/.test(document.body.innerText)) wrong.push("hidden characters");
  return wrong;
};
