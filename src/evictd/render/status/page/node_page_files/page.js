"use strict";
// Replaces the page's content every five seconds while it is visible; details that are open stay open. A part of which text is
// selected stays as it is, so that the text can be copied.
// Ages go on counting between two answers. Without an answer the headline says so: what stands below it is old then.
const EVERY = 5000, PATIENCE = 15000;
const begun = new WeakMap(); // when each age was written
let asking = false;

function duration(seconds) { // as `seconds_text` of evictd.render.text
  if (seconds >= 172800) return `${Math.round(seconds / 86400)} days`;
  const whole = Math.round(seconds), minutes = Math.floor(whole / 60);
  if (seconds >= 7200) return `${Math.floor(Math.round(seconds / 60) / 60)}h${Math.round(seconds / 60) % 60}m`;
  if (seconds < 10) return `${seconds.toFixed(1)}s`;
  if (minutes >= 60) return `${Math.floor(minutes / 60)}h${minutes % 60}m${whole % 60}s`;
  return minutes ? `${minutes}m${whole % 60}s` : `${whole}s`;
}

function count() {
  for (const each of document.querySelectorAll("[data-age]")) {
    if (!begun.has(each)) begun.set(each, Date.now());
    each.textContent = duration(Number(each.dataset.age) + (Date.now() - begun.get(each)) / 1000);
  }
}

function command(text) {
  return Object.assign(document.createElement("code"), { textContent: text });
}

function lose(why) { // times are the node's: this computer's clock may differ from it
  const headline = document.querySelector("h1"), read = document.getElementById("read");
  if (headline.className === "lost") return;
  const since = new Date(Date.parse(read.dateTime) + Number(read.dataset.age) * 1000).toISOString().slice(11, 19);
  document.getElementById("last").replaceChildren(`It said last: ${headline.textContent} Look on the node at `,
    command("systemctl status evictd"), " and ", command("journalctl --unit evictd"), ", in a cluster at ",
    command("kubectl describe"), " and ", command("kubectl logs"), " of evictd's pod there: the foot of this page says how to find it.");
  for (const each of document.querySelectorAll(".axis span:last-child")) each.textContent = `${since} UTC`;
  for (const each of document.querySelectorAll(".axis span:first-child")) each.textContent = each.textContent.replace(/ ago$/, " before");
  for (const each of document.querySelectorAll(".marks a, .marks li:not(:has(a))")) each.lastChild.data = each.lastChild.data.replace(/ ago$/, ` before ${since} UTC`);
  for (const each of document.querySelectorAll(".rate")) each.textContent = each.textContent.replace("last minute", `minute before ${since} UTC`);
  headline.className = document.body.className = "lost";
  headline.textContent = `evictd ${why} since ${since} UTC; what follows is what it said last, with the times as of then.`;
  document.title = `${headline.textContent.split(";")[0]} - ${document.title.replace(/^.* - /s, "")}`;
}

function isSelected(part) {
  const selection = document.getSelection();
  return !selection.isCollapsed && selection.containsNode(part, true);
}

function selector(active) { // of the link or the summary with the focus, which finds it in the next page
  const link = active.getAttribute("href"), fold = active.closest("details"), part = active.closest("main [id]");
  return link ? `${part ? `#${CSS.escape(part.id)}` : "main"} a[href="${CSS.escape(link)}"]` : fold ? `#${CSS.escape(fold.id)} > summary` : "";
}

function show(fresh) {
  const main = document.querySelector("main"), active = document.activeElement, header = document.querySelector("header");
  const kept = isSelected(main);
  if (!kept) {
    const focused = main.contains(active) ? selector(active) : "";
    for (const each of document.querySelectorAll("details[open]")) fresh.getElementById(each.id)?.setAttribute("open", "");
    main.replaceWith(document.adoptNode(fresh.querySelector("main")));
    if (focused) document.querySelector(focused)?.focus({ preventScroll: true });
  }
  if (!isSelected(header)) header.replaceWith(document.adoptNode(fresh.querySelector("header")));
  if (kept) document.getElementById("last").textContent = "Text below is selected; until it is not, only this part is renewed.";
  document.body.className = "";
  document.title = fresh.title;
  count();
}

async function refresh() {
  if (document.hidden || asking) return;
  asking = true;
  try {
    const answer = await fetch("./", { cache: "no-store", signal: AbortSignal.timeout(PATIENCE) });
    if (answer.ok) {
      const fresh = new DOMParser().parseFromString(await answer.text(), "text/html");
      show(fresh);
    } else lose(`has answered with error ${answer.status}`);
  } catch {
    lose("has not answered");
  } finally {
    asking = false;
  }
}

count();
setInterval(refresh, EVERY);
setInterval(count, 1000);
document.addEventListener("visibilitychange", refresh);
